//! Short notation for graphs, and comparison of a graph with its rewritten form.

use texpool_compile::schedule::schedule;
use texpool_model::rewrite::{Rewritten, Rules, SkipReason, rewrite};
use texpool_ops::{
    graph::{
        Act, Binary, Conv2d, DepthwiseConv2d, Graph, GraphBuilder, IdVec, Op, Pad, PadMode, Padding, Shape, TensorId,
        Unary, check,
    },
    ops::reference,
};

pub(crate) const RELU: Act = Act::Unary(Unary::Relu);

/// A graph under construction whose tensors are named after their ids.
#[derive(Default)]
pub(crate) struct Net {
    builder: GraphBuilder,
    shapes: IdVec<TensorId, Shape>,
    read: Vec<TensorId>,
}

impl Net {
    fn next(&self) -> String {
        format!("t{}", self.shapes.len())
    }

    fn add_shape(&mut self, id: TensorId, shape: Shape) -> TensorId {
        assert_eq!(id, self.shapes.push(shape));
        id
    }

    pub(crate) fn shape(&self, tensor: TensorId) -> Shape {
        self.shapes[tensor]
    }

    pub(crate) fn input(&mut self, dims: &[usize]) -> TensorId {
        let id = self.builder.input(&self.next(), dims).unwrap();
        self.add_shape(id, Shape::from_dims(dims).unwrap())
    }

    pub(crate) fn constant(&mut self, dims: &[usize], values: &[f32]) -> TensorId {
        let id = self.builder.constant(&self.next(), dims, values).unwrap();
        self.add_shape(id, Shape::from_dims(dims).unwrap())
    }

    /// A constant of small values of both signs, none of them zero.
    pub(crate) fn weights(&mut self, dims: &[usize]) -> TensorId {
        let seed = self.shapes.len();
        let value = |i: usize| ((i * 7 + seed * 5) % 23) as f32 / 23.0 - 0.47;
        let values: Vec<f32> = (0..dims.iter().product()).map(value).collect();
        self.constant(dims, &values)
    }

    pub(crate) fn node(&mut self, op: Op, inputs: &[TensorId]) -> TensorId {
        self.node_to(op, inputs, &[1, 1, 1, 1], Act::None)
    }

    pub(crate) fn node_to(&mut self, op: Op, inputs: &[TensorId], dims: &[usize], act: Act) -> TensorId {
        let shapes: Vec<Shape> = inputs.iter().map(|&id| self.shapes[id]).collect();
        let shape = texpool_ops::graph::infer(&op, &shapes, Shape::from_dims(dims).unwrap()).unwrap();
        let id = self.builder.node_to(&self.next(), op, inputs, dims, act).unwrap();
        self.read.extend(inputs);
        self.add_shape(id, shape)
    }

    /// Returns true if the node reads the tensor.
    pub(crate) fn is_read(&self, tensor: TensorId) -> bool {
        self.read.contains(&tensor)
    }

    /// A convolution with a `kernel` by `kernel` window that keeps height and width.
    pub(crate) fn conv(&mut self, x: TensorId, channels: usize, kernel: usize) -> TensorId {
        let weights = self.weights(&[channels, kernel, kernel, self.shapes[x].c]);
        let bias = self.weights(&[channels]);
        self.node(Op::Conv2d(same(kernel)), &[x, weights, bias])
    }

    /// A depthwise convolution with a window of 3 by 3 that keeps height and width.
    pub(crate) fn depthwise(&mut self, x: TensorId) -> TensorId {
        let c = self.shapes[x].c;
        let weights = self.weights(&[1, 3, 3, c]);
        let bias = self.weights(&[c]);
        self.node(Op::DepthwiseConv2d(DepthwiseConv2d(same(3))), &[x, weights, bias])
    }

    pub(crate) fn unary(&mut self, unary: Unary, x: TensorId) -> TensorId {
        self.node(Op::Unary(unary), &[x])
    }

    pub(crate) fn relu(&mut self, x: TensorId) -> TensorId {
        self.unary(Unary::Relu, x)
    }

    pub(crate) fn binary(&mut self, binary: Binary, a: TensorId, b: TensorId) -> TensorId {
        self.node(Op::Binary(binary), &[a, b])
    }

    pub(crate) fn add(&mut self, a: TensorId, b: TensorId) -> TensorId {
        self.binary(Binary::Add, a, b)
    }

    pub(crate) fn reshape(&mut self, x: TensorId, dims: &[usize]) -> TensorId {
        self.node_to(Op::Reshape, &[x], dims, Act::None)
    }

    pub(crate) fn pad(&mut self, x: TensorId, before: [usize; 4], after: [usize; 4]) -> TensorId {
        let [before, after] = [before, after].map(|amounts| amounts.map(|n| n as isize));
        self.node(Op::Pad(Pad { before, after, mode: PadMode::Constant(0.0) }), &[x])
    }

    pub(crate) fn finish(self, outputs: &[TensorId]) -> Graph {
        self.builder.finish(outputs).unwrap()
    }
}

/// A convolution of stride 1 that keeps height and width.
pub(crate) fn same(kernel: usize) -> Conv2d {
    let (before, after) = ((kernel - 1) / 2, kernel / 2);
    let padding = Padding { top: before, bottom: after, left: before, right: after };
    Conv2d { stride: [1, 1], dilation: [1, 1], padding, groups: 1 }
}

/// Rewrites a graph, and checks that the result is a valid graph with a schedule and the same answers.
pub(crate) fn rewritten(graph: &Graph, rules: &Rules) -> Rewritten {
    let rewriting = rewrite(graph, rules);
    check(&rewriting.graph).unwrap();
    let steps = schedule(&rewriting.graph, &rewriting.views).unwrap().steps.len();
    assert_eq!((rewriting.report.nodes_before, rewriting.report.nodes_after), (graph.nodes.len(), steps));
    assert_eq!(rewriting.graph.outputs, graph.outputs);
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&input| signal(graph.shape(input).len())).collect();
    let before = reference::graph(graph, &inputs).unwrap();
    let after = reference::graph(&rewriting.graph, &inputs).unwrap();
    for &output in &graph.outputs {
        close(before[output].as_ref().unwrap(), after[output].as_ref().unwrap());
    }
    rewriting
}

/// Values between -2 and 2.
fn signal(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 + 11) % 101) as f32 / 25.0 - 2.0).collect()
}

fn close(before: &[f32], after: &[f32]) {
    assert_eq!(before.len(), after.len());
    let largest = before.iter().filter(|v| v.is_finite()).fold(1.0_f32, |m, v| m.max(v.abs()));
    for (i, (a, b)) in before.iter().zip(after).enumerate() {
        assert!(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-5 * largest, "element {i}: {a} became {b}");
    }
}

/// Enables only the rule with this name.
pub(crate) fn only(rule: &str) -> Rules {
    Rules::only(&[rule]).unwrap()
}

/// Asserts that a rule alone fires `times` times on a graph, and returns the result.
pub(crate) fn fires(graph: &Graph, rule: &str, times: usize) -> Rewritten {
    let rewriting = rewritten(graph, &only(rule));
    assert_eq!(rewriting.report.count(rule), times, "{}", rewriting.report);
    rewriting
}

/// Asserts that a rule alone leaves a graph unchanged, and returns its reason for the only candidate.
pub(crate) fn reason(graph: &Graph, rule: &str) -> SkipReason {
    let rewriting = rewritten(graph, &only(rule));
    assert!(rewriting.report.fired.is_empty() && rewriting.views.is_empty(), "{}", rewriting.report);
    let [missed] = &rewriting.report.missed[..] else { panic!("one place was to be looked at: {}", rewriting.report) };
    assert_eq!(missed.rule, rule);
    missed.why.clone()
}

/// The operators of a graph, in order.
pub(crate) fn ops(graph: &Graph) -> Vec<&'static str> {
    graph.nodes.iter().map(|node| node.op.name()).collect()
}
