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
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, Shape, Unary};
    ///
    /// let mut b = GraphBuilder::new("rank two");
    /// let x = b.input("x", &[7, 10])?;
    /// assert_eq!(
    ///     b.input("video", &[2, 3, 4, 5, 6]).unwrap_err().to_string(),
    ///     "tensor `video`: [2, 3, 4, 5, 6] has more than four extents"
    /// );
    /// let y = b.unary("y", Unary::Relu, x)?;
    /// assert_eq!(b.finish(&[y])?.shape(x), Shape::new(1, 1, 7, 10));
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn input(&mut self, name: &str, dims: &[usize]) -> Result<TensorId, BuildError> {
        self.input_of(name, dims, ElementType::F32)
    }

    /// Adds an input tensor with elements of any type. Computations use 32-bit floats; integers and truth values are
    /// converted to the same numbers.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    ///
    /// ```
    /// use texpool::graph::{ElementType, GraphBuilder, Unary};
    ///
    /// let mut b = GraphBuilder::new("bytes");
    /// let image = b.input_of("image", &[1, 224, 224, 3], ElementType::U8)?;
    /// let y = b.unary("y", Unary::Relu, image)?;
    /// let graph = b.finish(&[y])?;
    /// assert_eq!(graph.tensors[image].element_type, ElementType::U8);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::{Act, Binary, GraphBuilder};
    ///
    /// let mut b = GraphBuilder::new("offset");
    /// let x = b.input("x", &[1, 4, 4, 3])?;
    /// let offsets = b.constant("offsets", &[3], &[0.1, 0.2, 0.3])?; // one for each channel
    /// let y = b.binary("y", Binary::Add, x, offsets, Act::None)?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 4, 4, 3]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn constant(&mut self, name: &str, dims: &[usize], values: &[f32]) -> Result<TensorId, BuildError> {
        self.tensor(name, dims, Some(Constant::from_f32(values)))
    }

    /// Adds a constant of 16-bit floats, given as bytes.
    ///
    /// # Errors
    /// As [`constant`](Self::constant).
    ///
    /// ```
    /// use texpool::graph::{Act, GraphBuilder};
    ///
    /// let mut b = GraphBuilder::new("halves");
    /// let x = b.input("x", &[1, 2])?;
    /// let weights = b.constant_f16("weights", &[1, 2], vec![0x00, 0x3c, 0x00, 0xc0].into())?;
    /// let y = b.fully_connected("y", x, weights, None, Act::None)?;
    /// let graph = b.finish(&[y])?;
    /// assert_eq!(*graph.tensors[weights].constant.as_ref().unwrap().to_f32(), [1.0, -2.0]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn constant_f16(&mut self, name: &str, dims: &[usize], bytes: Bytes) -> Result<TensorId, BuildError> {
        self.tensor(name, dims, Some(Constant::new(ElementType::F16, bytes)))
    }

    /// Adds a convolution of `x` by `weights [O, KH, KW, I / groups]`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    ///
    /// ```
    /// use texpool::graph::{Act, Conv2d, GraphBuilder, Padding, Unary};
    ///
    /// let mut b = GraphBuilder::new("first layer");
    /// let x = b.input("x", &[1, 224, 224, 3])?;
    /// let weights = b.constant("weights", &[32, 3, 3, 3], &[0.1; 32 * 27])?;
    /// let padding = Padding { top: 0, bottom: 1, left: 0, right: 1 };
    /// let conv = Conv2d { stride: [2, 2], dilation: [1, 1], padding, groups: 1 };
    /// let y = b.conv2d("y", conv, x, weights, None, Act::Unary(Unary::Relu6))?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 112, 112, 32]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::{Act, Conv2d, GraphBuilder, Padding};
    ///
    /// let mut b = GraphBuilder::new("depthwise");
    /// let x = b.input("x", &[1, 8, 8, 4])?;
    /// let weights = b.constant("weights", &[1, 3, 3, 4], &[0.1; 36])?;
    /// let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    /// let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding, groups: 1 };
    /// let y = b.depthwise("y", conv, x, weights, None, Act::None)?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 8, 8, 4]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, Padding, TransposeConv};
    ///
    /// let mut b = GraphBuilder::new("twice as large");
    /// let x = b.input("x", &[1, 8, 8, 4])?;
    /// let weights = b.constant("weights", &[2, 2, 2, 4], &[0.1; 32])?;
    /// let conv = TransposeConv { stride: [2, 2], dilation: [1, 1], padding: Padding::default(), groups: 1 };
    /// let y = b.transpose_conv("y", conv, [x, weights], None, [16, 16])?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 16, 16, 2]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::{Act, GraphBuilder};
    ///
    /// let mut b = GraphBuilder::new("classifier");
    /// let x = b.input("x", &[1, 1, 1, 64])?;
    /// let (weights, bias) = (b.constant("weights", &[10, 64], &[0.1; 640])?, b.constant("bias", &[10], &[0.0; 10])?);
    /// let scores = b.fully_connected("scores", x, weights, Some(bias), Act::None)?;
    /// assert_eq!(b.finish(&[scores])?.tensors[scores].dims, [1, 10]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, Padding, Pool2d, PoolKind};
    ///
    /// let mut b = GraphBuilder::new("pool");
    /// let x = b.input("x", &[1, 8, 8, 4])?;
    /// let y = b.pool("y", Pool2d::plain(PoolKind::Max, [2, 2], [2, 2], Padding::default()), x)?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 4, 4, 4]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn pool(&mut self, name: &str, pool: Pool2d, x: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::Pool2d(pool), &[x], Act::None)
    }

    /// Adds a mean over the marked axes, whose extents become 1.
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph.
    ///
    /// ```
    /// use texpool::graph::GraphBuilder;
    ///
    /// let mut b = GraphBuilder::new("global average");
    /// let x = b.input("x", &[1, 7, 7, 64])?;
    /// let y = b.mean("y", [false, true, true, false], x)?; // over height and width
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 1, 1, 64]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn mean(&mut self, name: &str, axes: [bool; 4], x: TensorId) -> Result<TensorId, BuildError> {
        self.reduce(name, ReduceKind::Mean, axes, x)
    }

    /// Adds a reduction over the marked axes, whose extents become 1.
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph, or if `kind` computes an index and more than one axis is marked.
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, ReduceKind};
    ///
    /// let mut b = GraphBuilder::new("largest of the channels");
    /// let x = b.input("x", &[1, 7, 7, 64])?;
    /// let y = b.reduce("y", ReduceKind::Max, [false, false, false, true], x)?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 7, 7, 1]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::GraphBuilder;
    ///
    /// let mut b = GraphBuilder::new("product");
    /// let (a, c) = (b.input("a", &[1, 2, 5, 8])?, b.input("c", &[1, 2, 8, 3])?);
    /// let y = b.matmul("y", a, c)?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 2, 5, 3]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn matmul(&mut self, name: &str, a: TensorId, b: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::MatMul(MatMul { transpose_b: false }), &[a, b], Act::None)
    }

    /// Adds a function of one value.
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph.
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, Unary};
    ///
    /// let mut b = GraphBuilder::new("limited");
    /// let x = b.input("x", &[1, 8, 8, 3])?;
    /// let y = b.unary("y", Unary::Clip { min: 0.0, max: 1.0 }, x)?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 8, 8, 3]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn unary(&mut self, name: &str, unary: Unary, x: TensorId) -> Result<TensorId, BuildError> {
        self.node(name, Op::Unary(unary), &[x], Act::None)
    }

    /// Adds a function of two values, with broadcasting.
    ///
    /// # Errors
    /// If the shapes do not broadcast.
    ///
    /// ```
    /// use texpool::graph::{Act, Binary, GraphBuilder, Unary};
    ///
    /// let mut b = GraphBuilder::new("broadcast");
    /// let (rows, columns) = (b.input("rows", &[1, 4, 1, 3])?, b.input("columns", &[1, 1, 5, 1])?);
    /// let y = b.binary("y", Binary::Mul, rows, columns, Act::Unary(Unary::Relu))?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 4, 5, 3]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::GraphBuilder;
    ///
    /// let mut b = GraphBuilder::new("side by side");
    /// let (x, y) = (b.input("x", &[1, 8, 8, 3])?, b.input("y", &[1, 8, 8, 5])?);
    /// let z = b.concat("z", 3, &[x, y])?; // channels
    /// assert_eq!(b.finish(&[z])?.tensors[z].dims, [1, 8, 8, 8]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn concat(&mut self, name: &str, axis: usize, inputs: &[TensorId]) -> Result<TensorId, BuildError> {
        self.node(name, Op::Concat(Concat { axis }), inputs, Act::None)
    }

    /// Adds a reshape: the same elements with other extents.
    ///
    /// # Errors
    /// If the number of elements differs.
    ///
    /// ```
    /// use texpool::graph::GraphBuilder;
    ///
    /// let mut b = GraphBuilder::new("flat");
    /// let x = b.input("x", &[1, 4, 4, 2])?;
    /// let y = b.reshape("y", x, &[1, 32])?;
    /// assert!(b.reshape("z", x, &[33]).is_err());
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 32]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn reshape(&mut self, name: &str, x: TensorId, dims: &[usize]) -> Result<TensorId, BuildError> {
        self.node_to(name, Op::Reshape, &[x], dims, Act::None)
    }

    /// Adds a resize of the image to `size` (`[height, width]`).
    ///
    /// # Errors
    /// If `x` is not a tensor of this graph.
    ///
    /// ```
    /// use texpool::graph::{CoordMode, GraphBuilder, ResizeMode};
    ///
    /// let mut b = GraphBuilder::new("twice as large");
    /// let x = b.input("x", &[1, 8, 8, 3])?;
    /// let y = b.resize("y", ResizeMode::Linear, CoordMode::HalfPixel, x, [16, 16])?;
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 16, 16, 3]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::{Act, GraphBuilder, Op, Softmax};
    ///
    /// let mut b = GraphBuilder::new("probabilities");
    /// let x = b.input("scores", &[1, 10])?;
    /// let y = b.node("y", Op::Softmax(Softmax { beta: 1.0, log: false }), &[x], Act::None)?;
    /// assert_eq!(b.finish(&[y])?.nodes.len(), 1);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn node(&mut self, name: &str, op: Op, inputs: &[TensorId], act: Act) -> Result<TensorId, BuildError> {
        // Operators that determine the shape of their result ignore the stated one.
        self.node_to(name, op, inputs, &[1, 1, 1, 1], act)
    }

    /// Adds any node. `dims` are the extents of its result, for operators that leave them open ([`infer`]).
    ///
    /// # Errors
    /// If an operand is not a tensor of this graph, or the shapes do not fit.
    ///
    /// ```
    /// use texpool::graph::{Act, GraphBuilder, StridedSlice};
    ///
    /// let mut b = GraphBuilder::new("every other pixel");
    /// let x = b.input("x", &[1, 8, 8, 3])?;
    /// let slice = StridedSlice { begin: [0; 4], stride: [1, 2, 2, 1] };
    /// let y = b.node_to("y", slice.into(), &[x], &[1, 4, 4, 3], Act::None)?;
    /// let error = b.node_to("z", slice.into(), &[x], &[1, 5, 4, 3], Act::None).unwrap_err();
    /// assert!(error.to_string().ends_with("axis 1: index 8 lies outside an extent of 8"));
    /// assert_eq!(b.finish(&[y])?.tensors[y].dims, [1, 4, 4, 3]);
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// use texpool::graph::GraphBuilder;
    ///
    /// let mut b = GraphBuilder::new("nothing to compute");
    /// let x = b.input("x", &[4])?;
    /// assert_eq!(b.finish(&[x]).unwrap_err().to_string(), "output `x` is an input: no node computes it");
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
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
