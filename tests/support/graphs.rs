//! Helpers shared by the tests: graphs of one node, and node ids by number.

use texpool_ops::graph::{Constant, Epilogue, Graph, Node, NodeId, Op, Shape, Tensor, TensorId};

/// Returns the id of node `number`.
pub(crate) const fn n(number: usize) -> NodeId {
    NodeId::new(number)
}

/// An operand of a one-node graph.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Provided by the caller at run time.
    Input(Shape),
    /// Part of the model.
    Constant(Shape, Vec<f32>),
}

/// A graph of one node.
pub(crate) fn one_node(op: Op, operands: &[Source], output: Shape, epilogue: Epilogue) -> Graph {
    let mut graph = Graph { name: op.name().into(), ..Graph::default() };
    let mut inputs = Vec::new();
    for operand in operands {
        let (shape, constant) = match operand {
            Source::Input(shape) => (*shape, None),
            Source::Constant(shape, values) => (*shape, Some(Constant::from_f32(values))),
        };
        let id = add_tensor(&mut graph, shape, constant);
        if !graph.is_constant(id) {
            graph.inputs.push(id);
        }
        inputs.push(id);
    }
    let id = add_tensor(&mut graph, output, None);
    graph.outputs.push(id);
    graph.nodes.push(Node { op, inputs, output: id, epilogue, op_index: 0, integers: None });
    graph
}

/// Adds a tensor and returns its id.
pub(crate) fn add_tensor(graph: &mut Graph, shape: Shape, constant: Option<Constant>) -> TensorId {
    let name = format!("t{}", graph.tensors.len());
    graph.tensors.push(Tensor { constant, ..Tensor::new(name, shape) })
}
