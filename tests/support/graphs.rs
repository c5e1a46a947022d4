//! Helpers shared by the tests: graphs of one node, and node ids by number.

use texpool_ops::graph::{
    Act, Constant, Conv2d, Epilogue, Graph, GraphBuilder, Node, NodeId, Op, Padding, Rearrange, Shape, StridedAxis,
    Tensor, TensorId, Unary,
};

/// Returns the id of node `number`.
pub(crate) const fn n(number: usize) -> NodeId {
    NodeId::new(number)
}

/// Returns a copy of elements at strides; axes are pairs of extent and stride, outermost first.
pub(crate) fn copy(offset: usize, axes: &[(usize, isize)]) -> Op {
    let axes = axes.iter().map(|&(extent, stride)| StridedAxis { extent, stride }).collect();
    Op::Rearrange(Rearrange { offset, axes })
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

/// Four branches that grow wide and shrink again; the file computes the wide results of all branches first.
pub(crate) fn branches() -> Graph {
    let mut net = GraphBuilder::new("branches");
    let x = net.input("x", &[1, 12, 10, 4]).unwrap();
    let plain = Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 };
    let mut conv = |name: &str, x, [from, to]: [usize; 2], salt: usize| {
        let values: Vec<f32> = (0..to * from).map(|i| ((i * 7 + salt) % 13) as f32 / 40.0 - 0.15).collect();
        let weights = net.constant("w", &[to, 1, 1, from], &values).unwrap();
        let conv = net.conv2d(name, plain, x, weights, None, Act::None).unwrap();
        net.unary(name, Unary::Sin, conv).unwrap()
    };
    let stem = conv("stem", x, [4, 8], 0);
    let wide = [1, 2, 3, 4].map(|salt| conv("wide", stem, [8, 64], salt));
    let narrow = wide.map(|wide| conv("narrow", wide, [64, 8], 5));
    let ends = narrow.map(|narrow| conv("end", narrow, [8, 4], 6));
    let both = net.concat("both", 3, &ends).unwrap();
    let flat = net.reshape("flat", both, &[1, 6, 20, 16]).unwrap();
    let out = net.unary("out", Unary::Cos, flat).unwrap();
    net.finish(&[out]).unwrap()
}

/// Adds a tensor and returns its id.
pub(crate) fn add_tensor(graph: &mut Graph, shape: Shape, constant: Option<Constant>) -> TensorId {
    let name = format!("t{}", graph.tensors.len());
    graph.tensors.push(Tensor { constant, ..Tensor::new(name, shape) })
}
