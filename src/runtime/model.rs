//! A model that is read but not yet planned.

use std::{path::Path, sync::Arc};

use super::{
    Error, TensorInfo, TensorKey,
    info::{input_infos, output_infos},
    lookup::find,
};
use texpool_gpu::TensorRole;
use texpool_model::import::{self, ImportOptions, ModelMetadata};
use texpool_ops::{
    graph::{Graph, check},
    ops,
};

/// A model that is read and checked, but not yet planned. Clones refer to the same model. Constants are borrowed from
/// the file's bytes.
///
/// ```no_run
/// let model = texpool::Model::open("face_detection_short.tflite")?;
/// for input in model.inputs() {
///     println!("{} {:?} {}", input.name, input.dims, input.element_type);
/// }
/// # Ok::<(), texpool::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    graph: Arc<Graph>,
    inputs: Arc<[TensorInfo]>,
    outputs: Arc<[TensorInfo]>,
    metadata: Arc<ModelMetadata>,
}

impl Model {
    /// Reads a `.tflite` or `.onnx` file into memory. A file of more than 1 GiB is mapped instead, as
    /// [`import::open`](texpool_model::import::open) explains.
    ///
    /// ```no_run
    /// let model = texpool::Model::open("mobilenet_v2.tflite")?;
    /// println!("{}: {} outputs", model.name(), model.outputs().len());
    /// # Ok::<(), texpool::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Import`] if the file cannot be read, is damaged, or uses unsupported features, which are all listed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &ImportOptions::default())
    }

    /// Like [`open`](Self::open), with values for open extents or inputs.
    ///
    /// ```no_run
    /// use texpool::{ImportOptions, Model};
    ///
    /// // A batch that the file leaves open.
    /// let dims = [("batch".to_owned(), 1)].into();
    /// let model = Model::open_with("text_reader.onnx", &ImportOptions { dims, ..Default::default() })?;
    /// # Ok::<(), texpool::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open), and for names that the file does not have and extents that stay unknown.
    pub fn open_with(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Self, Error> {
        let (graph, metadata) = import::open_with_metadata(path, options)?;
        Self::new(graph, metadata)
    }

    /// Reads a model from bytes.
    ///
    /// ```
    /// use texpool::{Error, ImportError, Model};
    ///
    /// assert!(matches!(Model::from_bytes([]), Err(Error::Import(ImportError::Empty))));
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        Self::from_bytes_with(bytes, &ImportOptions::default())
    }

    /// Like [`from_bytes`](Self::from_bytes), with values for open extents or inputs.
    ///
    /// ```
    /// use texpool::{ImportOptions, Model};
    ///
    /// // An ONNX file of `y = Relu(x)` that leaves the extent `n` of `x` open.
    /// let file = *b"\x08\x08:2\n\x0c\n\x01x\x12\x01y\x22\x04ReluZ\x10\n\x01x\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\
    ///     \x01nb\x10\n\x01y\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01nB\x02\x10\x11";
    /// let dims = [("n".to_owned(), 4)].into();
    /// let model = Model::from_bytes_with(file, &ImportOptions { dims, ..Default::default() })?;
    /// assert_eq!((&model.inputs()[0].dims[..], &model.outputs()[0].dims[..]), (&[4][..], &[4][..]));
    /// # Ok::<(), texpool::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    pub fn from_bytes_with(bytes: impl Into<Vec<u8>>, options: &ImportOptions) -> Result<Self, Error> {
        let (graph, metadata) = import::from_bytes_with_metadata(Arc::new(bytes.into()), options)?;
        Self::new(graph, metadata)
    }

    /// Creates a model from a graph that was built in code.
    ///
    /// ```
    /// use texpool::{Model, graph::{GraphBuilder, Unary}};
    ///
    /// let mut b = GraphBuilder::new("relu");
    /// let x = b.input("x", &[1, 4, 4, 3])?;
    /// let y = b.unary("y", Unary::Relu, x)?;
    /// let model = Model::from_graph(b.finish(&[y])?)?;
    /// assert_eq!(model.output(0)?.name, "y");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Graph`] if the graph is inconsistent.
    pub fn from_graph(graph: Graph) -> Result<Self, Error> {
        Self::new(graph, ModelMetadata::default())
    }

    fn new(graph: Graph, metadata: ModelMetadata) -> Result<Self, Error> {
        check(&graph)?;
        ops::check(&graph)?;
        let (inputs, outputs) = (input_infos(&graph), output_infos(&graph));
        Ok(Self {
            inputs: inputs.into(),
            outputs: outputs.into(),
            graph: Arc::new(graph),
            metadata: Arc::new(metadata),
        })
    }

    /// Returns the model's name: the file name without the extension.
    pub fn name(&self) -> &str {
        &self.graph.name
    }

    /// Returns the inputs, without [variables](crate::graph::Variable), which the session keeps.
    pub fn inputs(&self) -> &[TensorInfo] {
        &self.inputs
    }

    /// Returns the outputs.
    ///
    /// ```no_run
    /// let model = texpool::Model::open("face_detection_short.tflite")?;
    /// let room: usize = model.outputs().iter().map(|output| output.bytes()).sum();
    /// println!("{room} bytes for the results of a run");
    /// # Ok::<(), texpool::Error>(())
    /// ```
    pub fn outputs(&self) -> &[TensorInfo] {
        &self.outputs
    }

    /// Returns one input, by name or index.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`].
    pub fn input<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<&TensorInfo, Error> {
        Ok(&self.inputs[self.index(TensorRole::Input, key.into())?])
    }

    /// Returns one output, by name or index.
    ///
    /// ```no_run
    /// let model = texpool::Model::open("mobilenet_v2.tflite")?;
    /// let scores = model.output(0)?;
    /// println!("{} classes of type {}", scores.len(), scores.element_type);
    /// # Ok::<(), texpool::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn output<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<&TensorInfo, Error> {
        Ok(&self.outputs[self.index(TensorRole::Output, key.into())?])
    }

    pub(super) fn index(&self, role: TensorRole, key: TensorKey<'_>) -> Result<usize, Error> {
        find(role, self.tensors(role), key)
    }

    pub(super) fn tensors(&self, role: TensorRole) -> &[TensorInfo] {
        match role {
            TensorRole::Input => &self.inputs,
            TensorRole::Output => &self.outputs,
        }
    }

    /// Facts that the file states about its origin, such as its producer; all empty for a graph that was built by hand.
    ///
    /// ```no_run
    /// let model = texpool::Model::open("model.onnx")?;
    /// let metadata = model.metadata();
    /// println!("written by {}, version {}", metadata.producer_name, metadata.version);
    /// println!("classes: {:?}", metadata.custom.get("names"));
    /// # Ok::<(), texpool::Error>(())
    /// ```
    pub fn metadata(&self) -> &ModelMetadata {
        &self.metadata
    }

    /// Returns the operators and tensors.
    ///
    /// ```
    /// use texpool::{Model, graph::{GraphBuilder, Unary}};
    ///
    /// let mut b = GraphBuilder::new("limited roots");
    /// let x = b.input("x", &[1, 4, 4, 3])?;
    /// let root = b.unary("root", Unary::Sqrt, x)?;
    /// let y = b.unary("y", Unary::Relu6, root)?;
    /// let model = Model::from_graph(b.finish(&[y])?)?;
    /// assert!(model.graph().nodes.iter().map(|node| node.op.name()).eq(["SQRT", "RELU6"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}
