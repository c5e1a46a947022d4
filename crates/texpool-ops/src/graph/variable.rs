//! Values that a model keeps from run to run.

use super::Constant;

/// A value that the model keeps from run to run. A run reads it as an input, and the value that it writes as an output is
/// read by the next one. The caller sees neither of the two: they are the last inputs and outputs of the graph.
///
/// ```
/// use texpool::graph::{Act, Binary, GraphBuilder, Unary, Variable, check};
///
/// let mut b = GraphBuilder::new("running sum");
/// let (x, before) = (b.input("x", &[1, 1, 1, 4])?, b.input("sum before", &[1, 1, 1, 4])?);
/// let after = b.binary("sum after", Binary::Add, x, before, Act::None)?;
/// let y = b.unary("y", Unary::Sqrt, after)?;
/// let mut graph = b.finish(&[y, after])?;
/// graph.variables.push(Variable { name: "sum".to_owned(), input: 1, output: 1, initial: None });
/// check(&graph)?;
/// assert_eq!((graph.caller_inputs(), graph.caller_outputs()), (&[x][..], &[y][..]));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
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
