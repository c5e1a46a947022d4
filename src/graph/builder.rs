//! Building a graph by hand: for tests, and for callers who have a model in another form.

use super::{
    Act, BuildError, Bytes, Concat, Constant, Conv2d, CoordMode, DepthwiseConv2d, ElementType, Epilogue, Graph, MatMul,
    Node, Op, Pool2d, Reduce, ReduceKind, Resize, ResizeMode, Shape, Tensor, TensorId, TransposeConv, Unary,
    check::{check, size},
    infer,
};

/// Builds a [`Graph`] node by node, inferring shapes.
///
/// ```
/// use texpool::graph::{Act, GraphBuilder, Unary};
///
/// let mut b = GraphBuilder::new("tiny");
/// let x = b.input("x", &[1, 8, 8, 3])?;
/// let y = b.unary("y", Unary::Relu, x)?;
/// let z = b.binary("z", texpool::graph::Binary::Add, x, y, Act::None)?;
/// let graph = b.finish(&[z])?;
/// assert_eq!(graph.nodes.len(), 2);
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    graph: Graph,
}

impl GraphBuilder {
    /// An empty graph called `name`.
    pub fn new(name: &str) -> Self {
        Self { graph: Graph { name: name.to_owned(), ..Graph::default() } }
    }

    /// A tensor of 32-bit floats that the caller brings, of any rank up to four.
    ///
    /// # Errors
    /// If the extents are no shape, empty or too large.
    pub fn input(&mut self, name: &str, dims: &[usize]) -> Result<TensorId, BuildError> {
        self.input_of(name, dims, ElementType::F32)
    }

    /// A tensor that the caller brings, of any type of elements. They are computed with as 32-bit floats: integers and
    /// truth values as the numbers that they are.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn input_of(&mut self, name: &str, dims: &[usize], element_type: ElementType) -> Result<TensorId, BuildError> {
        let id = self.tensor(name, dims, None)?;
        self.graph.tensors[id].element_type = element_type;
        self.graph.inputs.push(id);
        Ok(id)
    }

    /// A constant of 32-bit floats.
    ///
    /// # Errors
    /// If the extents are no shape, empty or too large, or `values` has another number of elements.
    pub fn constant(&mut self, name: &str, dims: &[usize], values: &[f32]) -> Result<TensorId, BuildError> {
        self.tensor(name, dims, Some(Constant::from_f32(values)))
    }

    /// A constant of 16-bit floats, as bytes.
    ///
    /// # Errors
    /// As [`constant`](Self::constant).
    pub fn constant_f16(&mut self, name: &str, dims: &[usize], bytes: Bytes) -> Result<TensorId, BuildError> {
        self.tensor(name, dims, Some(Constant::new(ElementType::F16, bytes)))
    }

    /// A convolution of `x` by `weights [O, KH, KW, I / groups]`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn conv2d(
        &mut self,
        name: &str,
        conv: Conv2d,
        x: TensorId,
        weights: TensorId,
        bias: Option<TensorId>,
        act: Act,
    ) -> Result<TensorId, BuildError> {
        self.node(name, Op::Conv2d(conv), &weighted(x, weights, bias), act)
    }

    /// A depthwise convolution of `x` by `weights [1, KH, KW, I * multiplier]`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn depthwise(
        &mut self,
        name: &str,
        conv: Conv2d,
        x: TensorId,
        weights: TensorId,
        bias: Option<TensorId>,
        act: Act,
    ) -> Result<TensorId, BuildError> {
        self.node(name, Op::DepthwiseConv2d(DepthwiseConv2d(conv)), &weighted(x, weights, bias), act)
    }

    /// A transposed convolution to an image of `size` (`[height, width]`).
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn transpose_conv(
        &mut self,
        name: &str,
        conv: TransposeConv,
        [x, weights]: [TensorId; 2],
        bias: Option<TensorId>,
        [h, w]: [usize; 2],
    ) -> Result<TensorId, BuildError> {
        // Batch and channels follow from the operands: `infer` puts them in, whatever stands here.
        self.node_to(name, Op::TransposeConv(conv), &weighted(x, weights, bias), &[1, h, w, 1], Act::None)
    }

    /// A fully connected layer: every `I` elements of `x` make a row of the result.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn fully_connected(
        &mut self,
        name: &str,
        x: TensorId,
        weights: TensorId,
        bias: Option<TensorId>,
        act: Act,
    ) -> Result<TensorId, BuildError> {
        // `node_to` refuses unknown ids by name, so any extents do for them here.
        let elements = self.graph.tensors.get(x).map_or(0, |t| t.shape.len());
        let (outputs, depth) = self.graph.tensors.get(weights).map_or((0, 1), |t| (t.shape.w, t.shape.c));
        let dims = [elements / depth.max(1), outputs];
        self.node_to(name, Op::FullyConnected, &weighted(x, weights, bias), &dims, act)
    }

    /// A pool.
    ///
    /// # Errors
    /// If the window does not fit.
    pub fn pool(&mut self, name: &str, pool: Pool2d, x: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::Pool2d(pool), &[x], Act::None)
    }

    /// The mean over the axes marked, which stay as ones.
    ///
    /// # Errors
    /// If `x` is no tensor of this graph.
    pub fn mean(&mut self, name: &str, axes: [bool; 4], x: TensorId) -> Result<TensorId, BuildError> {
        self.reduce(name, ReduceKind::Mean, axes, x)
    }

    /// A reduction over the axes marked, which stay as ones.
    ///
    /// # Errors
    /// If `x` is no tensor of this graph, or an index is asked for along more than one axis.
    pub fn reduce(
        &mut self,
        name: &str,
        kind: ReduceKind,
        axes: [bool; 4],
        x: TensorId,
    ) -> Result<TensorId, BuildError> {
        self.node(name, Op::Reduce(Reduce { kind, axes }), &[x], Act::None)
    }

    /// The matrix product of `a [B, H, M, K]` and `b [B, H, K, N]`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn matmul(&mut self, name: &str, a: TensorId, b: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::MatMul(MatMul { transpose_b: false }), &[a, b], Act::None)
    }

    /// A function of one value.
    ///
    /// # Errors
    /// If `x` is no tensor of this graph.
    pub fn unary(&mut self, name: &str, unary: Unary, x: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::Unary(unary), &[x], Act::None)
    }

    /// A function of two values, with broadcasting.
    ///
    /// # Errors
    /// If the shapes do not broadcast.
    pub fn binary(
        &mut self,
        name: &str,
        binary: super::Binary,
        a: TensorId,
        b: TensorId,
        act: Act,
    ) -> Result<TensorId, BuildError> {
        self.node(name, Op::Binary(binary), &[a, b], act)
    }

    /// Operands one behind the other along `axis` of `B, H, W, C`.
    ///
    /// # Errors
    /// If the other extents differ.
    pub fn concat(&mut self, name: &str, axis: usize, inputs: &[TensorId]) -> Result<TensorId, BuildError> {
        self.node(name, Op::Concat(Concat { axis }), inputs, Act::None)
    }

    /// The same elements under other extents.
    ///
    /// # Errors
    /// If the number of elements differs.
    pub fn reshape(&mut self, name: &str, x: TensorId, dims: &[usize]) -> Result<TensorId, BuildError> {
        self.node_to(name, Op::Reshape, &[x], dims, Act::None)
    }

    /// The image resized to `size` (`[height, width]`).
    ///
    /// # Errors
    /// If `x` is no tensor of this graph.
    pub fn resize(
        &mut self,
        name: &str,
        mode: ResizeMode,
        coords: CoordMode,
        x: TensorId,
        [h, w]: [usize; 2],
    ) -> Result<TensorId, BuildError> {
        self.node_to(name, Op::Resize(Resize { mode, coords, scale: None }), &[x], &[1, h, w, 1], Act::None)
    }

    /// Any node whose operator determines its result's shape.
    ///
    /// # Errors
    /// If an operand is no tensor of this graph, or the shapes do not fit.
    pub fn node(&mut self, name: &str, op: Op, inputs: &[TensorId], act: Act) -> Result<TensorId, BuildError> {
        // Operators that determine their result's shape do not look at a stated one.
        self.node_to(name, op, inputs, &[1, 1, 1, 1], act)
    }

    /// Any node, with the extents of its result where the operator leaves them open ([`infer`]).
    ///
    /// # Errors
    /// If an operand is no tensor of this graph, or the shapes do not fit.
    pub fn node_to(
        &mut self,
        name: &str,
        op: Op,
        inputs: &[TensorId],
        dims: &[usize],
        act: Act,
    ) -> Result<TensorId, BuildError> {
        let (node, operator) = (self.graph.nodes.len(), op.name());
        let mut shapes = Vec::with_capacity(inputs.len());
        for &id in inputs {
            let missing = || BuildError::NoSuchTensor { node, operator, name: name.to_owned(), id };
            shapes.push(self.graph.tensors.get(id).ok_or_else(missing)?.shape);
        }
        let stated = shape(name, dims)?;
        let inferred = infer(&op, &shapes, stated).map_err(|source| BuildError::Shape {
            node,
            operator,
            name: name.to_owned(),
            source: Box::new(source),
        })?;
        // The caller's extents have the rank that was asked for; inferred ones are always four.
        let dims = if inferred == stated { dims } else { &inferred.dims() };
        let output = self.tensor(name, dims, None)?;
        let epilogue = Epilogue::of(act);
        self.graph.nodes.push(Node { op, inputs: inputs.to_vec(), output, epilogue, op_index: node, integers: None });
        Ok(output)
    }

    /// The graph, with these tensors as outputs.
    ///
    /// # Errors
    /// If the graph is not valid ([`check`]).
    pub fn finish(mut self, outputs: &[TensorId]) -> Result<Graph, BuildError> {
        self.graph.outputs = outputs.to_vec();
        check(&self.graph)?;
        Ok(self.graph)
    }

    fn tensor(&mut self, name: &str, dims: &[usize], constant: Option<Constant>) -> Result<TensorId, BuildError> {
        let tensor = Tensor { dims: dims.to_vec(), constant, ..Tensor::new(name, shape(name, dims)?) };
        // Inferred shapes are looked at, too, so that `Shape::len` of a tensor of the builder never overflows.
        size(&tensor)?;
        Ok(self.graph.tensors.push(tensor))
    }
}

fn shape(name: &str, dims: &[usize]) -> Result<Shape, BuildError> {
    Shape::from_dims(dims).ok_or_else(|| BuildError::Rank { name: name.to_owned(), dims: dims.to_vec() })
}

fn weighted(x: TensorId, weights: TensorId, bias: Option<TensorId>) -> Vec<TensorId> {
    [x, weights].into_iter().chain(bias).collect()
}
