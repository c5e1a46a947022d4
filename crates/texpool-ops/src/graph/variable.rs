//! Values that a model keeps from run to run.

use super::Constant;

/// A value that the model keeps from run to run. A run reads it as an input, and the value that it writes as an output is
/// read by the next one. The caller sees neither of the two: they are the last inputs and outputs of the graph.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Name in the file.
    pub name: String,
    /// Index among the graph's inputs of the tensor that a run reads.
    pub input: usize,
    /// Index among the graph's outputs of the tensor that a run writes.
    pub output: usize,
    /// Values before the first run, in the file's order. `None` stands for zeros.
    pub initial: Option<Constant>,
}
