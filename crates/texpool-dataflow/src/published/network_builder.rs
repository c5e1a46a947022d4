//! Builds a network in two forms at once: as the layers of the public file, and as the graph that this library would
//! run, with normalisations folded into weights and activations fused. All weights are zero.

use crate::{Input, InputRows, Layer, Network, RowWindow};
use texpool_ops::graph::{
    Act, Binary, Concat, Constant, Conv2d, ElementType, Epilogue, Graph, Lrn, Node, Op, Padding, Pool2d, PoolKind,
    Reduce, ReduceKind, Shape, Softmax, Tensor, TensorId, Unary,
};

/// A network under construction. Each layer is named by its operator and its index.
pub(super) struct NetworkBuilder {
    pub(super) network: Network,
    pub(super) graph: Graph,
    /// Shape of each layer's result.
    shapes: Vec<Shape>,
    /// The graph's tensor for each layer's result.
    tensors: Vec<TensorId>,
}

/// Sliding window: its size (both height and width), its stride, and the padding on each side.
type Slide = (usize, usize, usize);

impl NetworkBuilder {
    pub(super) fn new(name: &str, side: usize) -> (Self, usize) {
        let mut builder = Self {
            network: Network { name: name.into(), ..Network::default() },
            graph: Graph { name: name.into(), ..Graph::default() },
            shapes: Vec::new(),
            tensors: Vec::new(),
        };
        let shape = Shape::new(1, side, side, 3);
        let input = builder.layer("input", shape, Vec::new(), 0);
        let tensor = builder.tensor(shape, None);
        builder.graph.inputs.push(tensor);
        builder.tensors.push(tensor);
        (builder, input)
    }

    pub(super) fn channels(&self, x: usize) -> usize {
        self.shapes[x].c
    }

    pub(super) fn relu(&mut self, x: usize) -> usize {
        let layer = self.each("relu", x, 0);
        let tensor = self.tensors[x];
        let relu = Op::Unary(Unary::Relu);
        // Other layers read a concatenation without the activation, so it cannot be fused into it.
        let fused = self.graph.nodes.iter_mut().find(|node| node.output == tensor && node.epilogue.is_empty());
        match fused {
            Some(node) if !matches!(node.op, Op::Concat(_)) => {
                node.epilogue = Epilogue::of(Act::Unary(Unary::Relu));
                self.tensors.push(tensor);
            }
            _ => self.node(relu, vec![tensor], self.shapes[x]),
        }
        layer
    }

    pub(super) fn dropout(&mut self, x: usize) -> usize {
        // A layer of the file that does nothing at run time, so the graph has no node for it.
        self.tensors.push(self.tensors[x]);
        self.each("dropout", x, 0)
    }

    pub(super) fn lrn(&mut self, x: usize) -> usize {
        let lrn = Op::Lrn(Lrn { size: 5, alpha: 1e-4, beta: 0.75, bias: 1.0 });
        self.node(lrn, vec![self.tensors[x]], self.shapes[x]);
        self.each("lrn", x, 0)
    }

    pub(super) fn softmax(&mut self, x: usize) -> usize {
        self.node(Op::Softmax(Softmax { beta: 1.0, log: false }), vec![self.tensors[x]], self.shapes[x]);
        self.each("softmax", x, 0)
    }

    /// Adds a normalisation with scale, offset, mean and variance for each channel.
    fn norm(&mut self, x: usize) -> usize {
        // The graph folds it into the weights, so its result is the same tensor as its input.
        self.tensors.push(self.tensors[x]);
        self.each("norm", x, 4 * self.shapes[x].c)
    }

    /// Adds a normalisation of two layers, and an activation.
    pub(super) fn scaled_relu(&mut self, x: usize) -> usize {
        let x = self.norm(x);
        self.tensors.push(self.tensors[x]);
        let x = self.each("scale", x, 0);
        self.relu(x)
    }

    /// Adds a convolution without bias.
    pub(super) fn conv_bare(&mut self, x: usize, channels: usize, (k, s, pad): Slide) -> usize {
        let (from, to) = (self.shapes[x], self.slid(x, (k, s, pad), channels, 0));
        let layer = self.slide("conv", x, to, (k, s, pad), k * k * from.c * channels);
        let weights = self.weights(Shape::new(channels, k, k, from.c));
        let conv = Conv2d { stride: [s; 2], dilation: [1; 2], padding: border(pad, pad), groups: 1 };
        self.node(Op::Conv2d(conv), vec![self.tensors[x], weights], to);
        layer
    }

    pub(super) fn conv(&mut self, x: usize, channels: usize, slide: Slide) -> usize {
        let layer = self.conv_bare(x, channels, slide);
        self.network.layers[layer].parameters += channels as u64;
        layer
    }

    pub(super) fn conv_norm(&mut self, x: usize, channels: usize, slide: Slide) -> usize {
        let x = self.conv_bare(x, channels, slide);
        self.norm(x)
    }

    pub(super) fn conv_relu(&mut self, x: usize, channels: usize, slide: Slide) -> usize {
        let x = self.conv(x, channels, slide);
        self.relu(x)
    }

    pub(super) fn pool(&mut self, x: usize, slide: Slide) -> usize {
        self.pooled(x, slide, 0)
    }

    /// Adds a pool with one more row and column of padding at the bottom and right, for a last window that would not
    /// fit.
    pub(super) fn pool_below(&mut self, x: usize, slide: Slide) -> usize {
        self.pooled(x, slide, 1)
    }

    fn pooled(&mut self, x: usize, (k, s, pad): Slide, more: usize) -> usize {
        let to = self.slid(x, (k, s, pad), self.shapes[x].c, more);
        let padding = border(pad, pad + more);
        let pool = Pool2d::plain(PoolKind::Max, [k; 2], [s; 2], padding);
        self.node(Op::Pool2d(pool), vec![self.tensors[x]], to);
        self.slide("pool", x, to, (k, s, pad), 0)
    }

    pub(super) fn mean(&mut self, x: usize) -> usize {
        let to = Shape::new(1, 1, 1, self.shapes[x].c);
        let op = Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, true, true, false] });
        self.node(op, vec![self.tensors[x]], to);
        self.layer("mean", to, vec![Input { from: x, rows: InputRows::All }], 0)
    }

    pub(super) fn dense(&mut self, x: usize, channels: usize) -> usize {
        let (depth, to) = (self.shapes[x].len(), Shape::new(1, 1, 1, channels));
        let weights = self.weights(Shape::new(1, 1, channels, depth));
        self.node(Op::FullyConnected, vec![self.tensors[x], weights], to);
        self.layer("dense", to, vec![Input { from: x, rows: InputRows::All }], (depth + 1) * channels)
    }

    pub(super) fn add(&mut self, a: usize, b: usize) -> usize {
        self.join(Op::Binary(Binary::Add), "add", &[a, b], self.shapes[a])
    }

    pub(super) fn concat(&mut self, parts: &[usize]) -> usize {
        let c = parts.iter().map(|&part| self.shapes[part].c).sum();
        let to = Shape { c, ..self.shapes[parts[0]] };
        self.join(Op::Concat(Concat { axis: 3 }), "concat", parts, to)
    }

    pub(super) fn output(mut self, x: usize) -> Self {
        self.each("output", x, 0);
        self.graph.outputs.push(self.tensors[x]);
        self
    }

    /// Adds a layer with several inputs. The published totals reserve room for its whole result, for each of its
    /// readers.
    fn join(&mut self, op: Op, name: &str, parts: &[usize], to: Shape) -> usize {
        self.node(op, parts.iter().map(|&part| self.tensors[part]).collect(), to);
        let inputs = parts.iter().map(|&from| Input { from, rows: InputRows::SAME_ROW }).collect();
        let layer = self.layer(name, to, inputs, 0);
        self.network.layers[layer].output_when_complete = true;
        layer
    }

    /// Adds a layer that computes each element or pixel separately.
    fn each(&mut self, op: &str, x: usize, parameters: usize) -> usize {
        self.layer(op, self.shapes[x], vec![Input { from: x, rows: InputRows::SAME_ROW }], parameters)
    }

    /// Returns the shape after a window has slid, with `more` rows and columns of padding added at the end.
    fn slid(&self, x: usize, (k, s, pad): Slide, channels: usize, more: usize) -> Shape {
        let positions = |extent: usize| (extent + 2 * pad + more - k) / s + 1;
        let Shape { h, w, .. } = self.shapes[x];
        Shape::new(1, positions(h), positions(w), channels)
    }

    fn slide(&mut self, op: &str, x: usize, to: Shape, (k, s, pad): Slide, parameters: usize) -> usize {
        let rows = InputRows::Window(RowWindow { height: k, stride: s, padding_top: pad as isize });
        self.layer(op, to, vec![Input { from: x, rows }], parameters)
    }

    fn layer(&mut self, op: &str, shape: Shape, inputs: Vec<Input>, parameters: usize) -> usize {
        let index = self.network.layers.len();
        self.network.layers.push(Layer {
            name: format!("{op}{index}"),
            op: op.into(),
            rows: shape.h,
            row_elements: shape.w * shape.c,
            inputs,
            parameters: parameters as u64,
            output_when_complete: false,
        });
        self.shapes.push(shape);
        index
    }

    fn tensor(&mut self, shape: Shape, constant: Option<Constant>) -> TensorId {
        let name = format!("t{}", self.graph.tensors.len());
        self.graph.tensors.push(Tensor { constant, ..Tensor::new(name, shape) })
    }

    /// Creates weights of one byte per element. They are zeros, since nothing reads the values.
    fn weights(&mut self, shape: Shape) -> TensorId {
        let zeros = vec![0; shape.len()];
        self.tensor(shape, Some(Constant::new(ElementType::U8, zeros.into())))
    }

    /// Adds the graph's node for the next layer.
    fn node(&mut self, op: Op, inputs: Vec<TensorId>, shape: Shape) {
        let result = self.tensor(shape, None);
        let op_index = self.graph.nodes.len();
        self.graph.nodes.push(Node {
            op,
            inputs,
            output: result,
            epilogue: Epilogue::default(),
            op_index,
            integers: None,
        });
        self.tensors.push(result);
    }
}

fn border(before: usize, after: usize) -> Padding {
    Padding { top: before, bottom: after, left: before, right: after }
}
