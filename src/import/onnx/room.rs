//! How much a file may have made of its constants on import. Knows numbers alone.
//!
//! A file of a few bytes can ask for arrays of any size, and for a thousand of them; what a real model has folded is a
//! few copies of what it holds, and tables of positions that depend on its extents.

use crate::import::error::Problem;

/// Elements that may be made for each byte of the file and of those beside it: copies of every weight in many layouts.
const TIMES: usize = 16;
/// Elements that any file may have made: ONNX's own topology of VGG-19 makes its 144 million weights of a single number each,
/// and they are laid out once more.
const BASE: usize = 3 << 27;

/// What is left.
#[derive(Debug)]
pub(super) struct Room {
    elements: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { elements: BASE }
    }
}

impl Room {
    /// Adds what so many bytes of values allow.
    pub(super) fn widen(&mut self, bytes: usize) {
        self.elements = self.elements.saturating_add(bytes.saturating_mul(TIMES));
    }

    /// Refuses to make more elements than there is room for.
    pub(super) fn holds(&self, elements: usize) -> Result<(), Problem> {
        if elements <= self.elements {
            return Ok(());
        }
        Err(Problem::new(
            format!("too large: {elements} more elements would be made of constants, {} may be", self.elements),
            "fold the constants of the model before (onnxsim does), so that the file holds what it needs",
        ))
    }

    /// Takes the room of elements that are made.
    pub(super) fn take(&mut self, elements: usize) -> Result<(), Problem> {
        self.holds(elements)?;
        self.elements -= elements;
        Ok(())
    }
}
