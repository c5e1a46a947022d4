//! Builds a graph in code: for tests, and for callers whose model is in another form.

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
    /// Starts an empty graph with the name `name`.
    pub fn new(name: &str) -> Self {
        Self { graph: Graph { name: name.to_owned(), ..Graph::default() } }
    }

    /// Adds an input tensor of 32-bit floats, of any rank up to four.
    ///
    /// # Errors
    /// If a dimension is zero, there are more than four dimensions, or the tensor is too large.
    pub fn input(&mut self, name: &str, dims: &[usize]) -> Result<TensorId, BuildError> {
        self.input_of(name, dims, ElementType::F32)
    }

    /// Adds an input tensor with elements of any type. Computations use 32-bit floats; integers and truth values are
    /// converted to the same numbers.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn input_of(&mut self, name: &str, dims: &[usize], element_type: ElementType) -> Result<TensorId, BuildError> {
        let id = self.tensor(name, dims, None)?;
        self.graph.tensors[id].element_type = element_type;
        self.graph.inputs.push(id);
        Ok(id)
    }

    /// Adds a constant of 32-bit floats.
    ///
    /// # Errors
    /// If the dimensions are invalid or too large, or do not match the number of `values`.
    pub fn constant(&mut self, name: &str, dims: &[usize], values: &[f32]) -> Result<TensorId, BuildError> {
        self.tensor(name, dims, Some(Constant::from_f32(values)))
    }

    /// Adds a constant of 16-bit floats, given as bytes.
    ///
    /// # Errors
    /// As [`constant`](Self::constant).
    pub fn constant_f16(&mut self, name: &str, dims: &[usize], bytes: Bytes) -> Result<TensorId, BuildError> {
        self.tensor(name, dims, Some(Constant::new(ElementType::F16, bytes)))
    }

    /// Adds a convolution of `x` by `weights [O, KH, KW, I / groups]`.
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

    /// Adds a depthwise convolution of `x` by `weights [1, KH, KW, I * multiplier]`.
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

    /// Adds a transposed convolution whose result is an image of `size` (`[height, width]`).
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
        // The 1s are placeholders: `infer` takes batch and channels from the operands.
        self.node_to(name, Op::TransposeConv(conv), &weighted(x, weights, bias), &[1, h, w, 1], Act::None)
    }

    /// Adds a fully connected layer: every `I` elements of `x` make one row of the result.
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
        // `node_to` reports unknown ids as an error, so the extents used for them here do not matter.
        let elements = self.graph.tensors.get(x).map_or(0, |t| t.shape.len());
        let (outputs, depth) = self.graph.tensors.get(weights).map_or((0, 1), |t| (t.shape.w, t.shape.c));
        let dims = [elements / depth.max(1), outputs];
        self.node_to(name, Op::FullyConnected, &weighted(x, weights, bias), &dims, act)
    }

    /// Adds a pool.
    ///
    /// # Errors
    /// If the window does not fit.
    pub fn pool(&mut self, name: &str, pool: Pool2d, x: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::Pool2d(pool), &[x], Act::None)
    }

    /// Adds a mean over the marked axes, whose extents become 1.
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph.
    pub fn mean(&mut self, name: &str, axes: [bool; 4], x: TensorId) -> Result<TensorId, BuildError> {
        self.reduce(name, ReduceKind::Mean, axes, x)
    }

    /// Adds a reduction over the marked axes, whose extents become 1.
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph, or if `kind` computes an index and more than one axis is marked.
    pub fn reduce(
        &mut self,
        name: &str,
        kind: ReduceKind,
        axes: [bool; 4],
        x: TensorId,
    ) -> Result<TensorId, BuildError> {
        self.node(name, Op::Reduce(Reduce { kind, axes }), &[x], Act::None)
    }

    /// Adds the matrix product of `a [B, H, M, K]` and `b [B, H, K, N]`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn matmul(&mut self, name: &str, a: TensorId, b: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::MatMul(MatMul { transpose_b: false }), &[a, b], Act::None)
    }

    /// Adds a function of one value.
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph.
    pub fn unary(&mut self, name: &str, unary: Unary, x: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::Unary(unary), &[x], Act::None)
    }

    /// Adds a function of two values, with broadcasting.
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

    /// Adds a concatenation along `axis` of `B, H, W, C`.
    ///
    /// # Errors
    /// If the other extents differ.
    pub fn concat(&mut self, name: &str, axis: usize, inputs: &[TensorId]) -> Result<TensorId, BuildError> {
        self.node(name, Op::Concat(Concat { axis }), inputs, Act::None)
    }

    /// Adds a reshape: the same elements with other extents.
    ///
    /// # Errors
    /// If the number of elements differs.
    pub fn reshape(&mut self, name: &str, x: TensorId, dims: &[usize]) -> Result<TensorId, BuildError> {
        self.node_to(name, Op::Reshape, &[x], dims, Act::None)
    }

    /// Adds a resize of the image to `size` (`[height, width]`).
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph.
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

    /// Adds any node whose operator determines the shape of its result.
    ///
    /// # Errors
    /// If an operand is not a tensor of this graph, or the shapes do not fit.
    pub fn node(&mut self, name: &str, op: Op, inputs: &[TensorId], act: Act) -> Result<TensorId, BuildError> {
        // Operators that determine the shape of their result ignore the stated one.
        self.node_to(name, op, inputs, &[1, 1, 1, 1], act)
    }

    /// Adds any node. `dims` are the extents of its result, for operators that leave them open ([`infer`]).
    ///
    /// # Errors
    /// If an operand is not a tensor of this graph, or the shapes do not fit.
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
        // The caller's extents have the rank that the caller chose; inferred ones always have rank four.
        let dims = if inferred == stated { dims } else { &inferred.dims() };
        let output = self.tensor(name, dims, None)?;
        let epilogue = Epilogue::of(act);
        self.graph.nodes.push(Node { op, inputs: inputs.to_vec(), output, epilogue, op_index: node, integers: None });
        Ok(output)
    }

    /// Finishes the graph, with these tensors as outputs.
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
        // Checks inferred shapes as well, so that `Shape::len` never overflows for a tensor of the builder.
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
