//! A network as the conversion sees it: layers in order, and which rows of what it reads a row of a layer's result
//! needs.

use std::ops::Range;

use super::DataflowError;

/// Layers, each after those that it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Name of the network.
    pub name: String,
    /// The layers; a layer names others by index.
    pub layers: Vec<Layer>,
}

/// A layer: the data that comes in, an operator, or the data that goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name.
    pub name: String,
    /// What it computes.
    pub op: String,
    /// Rows of its result.
    pub rows: usize,
    /// Elements of a row of its result.
    pub row_elements: usize,
    /// What it reads; each is an edge with a buffer of its own.
    pub inputs: Vec<Input>,
    /// Its parameters (weights and biases), in elements.
    pub parameters: u64,
    /// Whether its result goes out only when all of it is there.
    pub output_when_complete: bool,
}

/// An edge into a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The layer that is read.
    pub from: usize,
    /// Which of its rows.
    pub rows: InputRows,
}

/// Which rows of an input the rows of a result need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputRows {
    /// A window that slides down.
    Window(RowWindow),
    /// All rows for any.
    All,
    /// These rows for each row.
    PerRow(Vec<Range<u32>>),
}

/// A sliding window's vertical extents, in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWindow {
    /// Height of the window.
    pub height: usize,
    /// Rows from one position to the next.
    pub stride: usize,
    /// Rows of padding above the input; negative where rows are cropped.
    pub padding_top: isize,
}

impl InputRows {
    /// The same row.
    pub const SAME_ROW: Self = Self::Window(RowWindow { height: 1, stride: 1, padding_top: 0 });
}

impl Network {
    /// Checks that every layer has rows and reads only layers before it.
    ///
    /// # Errors
    /// [`DataflowError::Empty`], [`EmptyLayer`](DataflowError::EmptyLayer),
    /// [`LayerOrder`](DataflowError::LayerOrder).
    pub fn check(&self) -> Result<(), DataflowError> {
        if self.layers.is_empty() {
            return Err(DataflowError::Empty);
        }
        for (index, layer) in self.layers.iter().enumerate() {
            if layer.rows == 0 || layer.row_elements == 0 {
                return Err(DataflowError::EmptyLayer { layer: layer.name.clone() });
            }
            if let Some(input) = layer.inputs.iter().find(|input| input.from >= index) {
                return Err(DataflowError::LayerOrder { layer: layer.name.clone(), input: input.from });
            }
        }
        Ok(())
    }

    /// Parameters of all layers, in elements.
    pub fn parameters(&self) -> u64 {
        self.layers.iter().map(|layer| layer.parameters).sum()
    }
}
