//! Topologies of published networks: shapes, windows and strides, with weights that have no values. Used for planning
//! only.

use texpool_ops::graph::{
    Constant, Conv2d, DepthwiseConv2d, ElementType, Epilogue, Graph, Node, Op, Padding, Pool2d, PoolKind, Reduce,
    ReduceKind, Shape, Tensor, TensorId,
};

/// A graph under construction; convolutions pad so that a window of `k` rows has `(k - 1) / 2` above it.
pub(crate) struct Net {
    pub(crate) graph: Graph,
}

impl Net {
    pub(crate) fn new(name: &str, side: usize) -> (Self, TensorId) {
        let mut net = Self { graph: Graph { name: name.into(), ..Graph::default() } };
        let x = net.tensor(Shape::new(1, side, side, 3), None);
        net.graph.inputs.push(x);
        (net, x)
    }

    fn tensor(&mut self, shape: Shape, constant: Option<Constant>) -> TensorId {
        let name = format!("t{}", self.graph.tensors.len());
        self.graph.tensors.push(Tensor { constant, ..Tensor::new(name, shape) })
    }

    /// Weights without values: zeros of one byte each, which are never read.
    fn weights(&mut self, shape: Shape) -> TensorId {
        let zeros = vec![0; shape.len()];
        self.tensor(shape, Some(Constant::new(ElementType::U8, zeros.into())))
    }

    fn node(&mut self, op: Op, inputs: Vec<TensorId>, shape: Shape, add: Option<TensorId>) -> TensorId {
        let out = self.tensor(shape, None);
        let op_index = self.graph.nodes.len();
        let epilogue = Epilogue { add, ..Epilogue::default() };
        self.graph.nodes.push(Node { op, inputs, output: out, epilogue, op_index, integers: None });
        out
    }

    fn halved(&self, x: TensorId, s: usize) -> Shape {
        let shape = self.graph.shape(x);
        Shape { h: shape.h.div_ceil(s), w: shape.w.div_ceil(s), ..shape }
    }

    pub(crate) fn conv(&mut self, x: TensorId, c: usize, k: usize, s: usize, add: Option<TensorId>) -> TensorId {
        let input = self.graph.shape(x).c;
        let weights = self.weights(Shape::new(c, k, k, input));
        let out = Shape { c, ..self.halved(x, s) };
        self.node(Op::Conv2d(square(k, s)), vec![x, weights], out, add)
    }

    fn depthwise(&mut self, x: TensorId, s: usize) -> TensorId {
        let out = self.halved(x, s);
        let weights = self.weights(Shape::new(1, 3, 3, out.c));
        self.node(Op::DepthwiseConv2d(DepthwiseConv2d(square(3, s))), vec![x, weights], out, None)
    }

    fn pool(&mut self, x: TensorId, k: usize) -> TensorId {
        let out = self.halved(x, 2);
        let pad = (k - 1) / 2;
        let padding = Padding { top: pad, bottom: pad, left: pad, right: pad };
        let pool = Pool2d::plain(PoolKind::Max, [k; 2], [2; 2], padding);
        self.node(Op::Pool2d(pool), vec![x], out, None)
    }

    fn mean(&mut self, x: TensorId) -> TensorId {
        let c = self.graph.shape(x).c;
        let op = Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, true, true, false] });
        self.node(op, vec![x], Shape::new(1, 1, 1, c), None)
    }

    fn dense(&mut self, x: TensorId, c: usize) -> TensorId {
        let input = self.graph.shape(x).len();
        let weights = self.weights(Shape::new(1, 1, c, input));
        self.node(Op::FullyConnected, vec![x, weights], Shape::new(1, 1, 1, c), None)
    }

    pub(crate) fn finish(mut self, outputs: &[TensorId]) -> Graph {
        self.graph.outputs = outputs.to_vec();
        self.graph
    }
}

fn square(k: usize, s: usize) -> Conv2d {
    let pad = (k - 1) / 2;
    let padding = Padding { top: pad, bottom: pad, left: pad, right: pad };
    Conv2d { stride: [s; 2], dilation: [1; 2], padding, groups: 1 }
}

pub(crate) fn mobilenet_v1() -> Graph {
    let (mut net, x) = Net::new("MobileNet v1", 224);
    let mut x = net.conv(x, 32, 3, 2, None);
    let mut layers = vec![(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)];
    layers.extend([(512, 1); 5]);
    layers.extend([(1024, 2), (1024, 1)]);
    for (c, s) in layers {
        let wide = net.depthwise(x, s);
        x = net.conv(wide, c, 1, 1, None);
    }
    let mean = net.mean(x);
    let out = net.dense(mean, 1001);
    net.finish(&[out])
}

pub(crate) fn mobilenet_v2() -> Graph {
    let (mut net, x) = Net::new("MobileNet v2", 224);
    let mut x = net.conv(x, 32, 3, 2, None);
    let blocks = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2)];
    for (t, c, n, stride) in blocks.into_iter().chain([(6, 320, 1, 1)]) {
        for j in 0..n {
            let s = if j == 0 { stride } else { 1 };
            let before = net.graph.shape(x).c;
            let wide = if t > 1 { net.conv(x, before * t, 1, 1, None) } else { x };
            let wide = net.depthwise(wide, s);
            x = net.conv(wide, c, 1, 1, (s == 1 && before == c).then_some(x));
        }
    }
    x = net.conv(x, 1280, 1, 1, None);
    let mean = net.mean(x);
    let out = net.dense(mean, 1000);
    net.finish(&[out])
}

/// The first layers of a small one, with most of the weights in the last.
pub(crate) fn small() -> Graph {
    let (mut net, x) = Net::new("small", 64);
    let mut x = net.conv(x, 16, 3, 2, None);
    for (c, s) in [(32, 1), (48, 2), (64, 2)] {
        let wide = net.depthwise(x, s);
        x = net.conv(wide, c, 1, 1, None);
    }
    let out = net.dense(x, 100);
    net.finish(&[out])
}

/// Both expands of a fire module are one convolution, as if they wrote one tensor.
pub(crate) fn squeezenet() -> Graph {
    let (mut net, x) = Net::new("SqueezeNet 1.1", 224);
    let x = net.conv(x, 64, 3, 2, None);
    let mut x = net.pool(x, 3);
    let fires = [(16, 64, false), (16, 64, true), (32, 128, false), (32, 128, true), (48, 192, false)];
    for (squeeze, expand, pool) in fires.into_iter().chain([(48, 192, false), (64, 256, false), (64, 256, false)]) {
        let s = net.conv(x, squeeze, 1, 1, None);
        x = net.conv(s, 2 * expand, 3, 1, None);
        if pool {
            x = net.pool(x, 3);
        }
    }
    x = net.conv(x, 1000, 1, 1, None);
    let out = net.mean(x);
    net.finish(&[out])
}

pub(crate) fn resnet18() -> Graph {
    let (mut net, x) = Net::new("ResNet-18", 224);
    let x = net.conv(x, 64, 7, 2, None);
    let mut x = net.pool(x, 3);
    for (c, s) in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)] {
        let y = net.conv(x, c, 3, s, None);
        let skip = if s == 1 { x } else { net.conv(x, c, 1, s, None) };
        x = net.conv(y, c, 3, 1, Some(skip));
    }
    let mean = net.mean(x);
    let out = net.dense(mean, 1000);
    net.finish(&[out])
}

pub(crate) fn vgg19() -> Graph {
    let (mut net, mut x) = Net::new("VGG-19", 224);
    for (c, n) in [(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)] {
        for _ in 0..n {
            x = net.conv(x, c, 3, 1, None);
        }
        x = net.pool(x, 2);
    }
    for c in [4096, 4096, 1000] {
        x = net.dense(x, c);
    }
    net.finish(&[x])
}
