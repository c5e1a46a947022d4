//! A network as input to the conversion: layers in order, and the input rows that each row of a result needs.

use std::ops::Range;

use super::DataflowError;

/// Layers, each after the layers that it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Name of the network.
    pub name: String,
    /// The layers; inputs refer to them by index.
    pub layers: Vec<Layer>,
}

/// A layer: input data, an operator, or output data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name.
    pub name: String,
    /// Operator that it computes.
    pub op: String,
    /// Rows of its result.
    pub rows: usize,
    /// Elements per row of its result.
    pub row_elements: usize,
    /// Its inputs. Each is an edge with a separate buffer.
    pub inputs: Vec<Input>,
    /// Number of elements of its parameters (weights and biases).
    pub parameters: u64,
    /// Set if the layer puts out its result only once it is complete.
    pub output_when_complete: bool,
}

/// An edge into a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The layer that is read.
    pub from: usize,
    /// Rows of that layer that are read.
    pub rows: InputRows,
}

/// Input rows that each row of a result needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputRows {
    /// A window that slides downwards.
    Window(RowWindow),
    /// All rows, for each row of the result.
    All,
    /// A range of rows for each row of the result.
    PerRow(Vec<Range<u32>>),
}

/// Vertical extents of a sliding window, in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWindow {
    /// Height of the window.
    pub height: usize,
    /// Rows from one position to the next.
    pub stride: usize,
    /// Rows of padding above the input; negative if rows are cropped.
    pub padding_top: isize,
}

impl InputRows {
    /// Each row of the result needs only the same row of the input.
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

    /// Returns the number of parameters of all layers, in elements.
    pub fn parameters(&self) -> u64 {
        self.layers.iter().map(|layer| layer.parameters).sum()
    }
}
