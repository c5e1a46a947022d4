//! Inputs and outputs of a model.

use texpool_model::tensor::convert::TensorSpec;
use texpool_ops::graph::{ElementType, Graph, Quantization, TensorId};

/// An input or output of a model.
///
/// ```
/// use texpool::{ElementType, Model, graph::{GraphBuilder, Unary}};
///
/// let mut b = GraphBuilder::new("relu");
/// let x = b.input_of("image", &[1, 4, 4, 3], ElementType::U8)?;
/// let y = b.unary("y", Unary::Relu, x)?;
/// let model = Model::from_graph(b.finish(&[y])?)?;
/// let image = model.input("image")?;
/// assert_eq!((&*image.name, &image.dims[..], image.len()), ("image", &[1, 4, 4, 3][..], 48));
/// assert_eq!((image.element_type, image.quantization), (ElementType::U8, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name in the file.
    pub name: String,
    /// Extents as in the file, of any rank.
    pub dims: Vec<usize>,
    /// Type of the elements. Input values may also be given as 32-bit floats, whatever the type.
    pub element_type: ElementType,
    /// Quantisation of integer elements; `None` if integers represent themselves.
    pub quantization: Option<Quantization>,
    /// Axes along which an input may have any extent up to the one in [`dims`](Self::dims), or along which the extent of
    /// an output is found in each run, with that as the most that it can be.
    pub bounded_axes: Vec<usize>,
}

impl TensorInfo {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns true if the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size of the elements on the host in bytes.
    ///
    /// ```
    /// use texpool::{Model, graph::{GraphBuilder, Unary}};
    ///
    /// let mut b = GraphBuilder::new("relu");
    /// let x = b.input("x", &[1, 4, 4, 3])?;
    /// let y = b.unary("y", Unary::Relu, x)?;
    /// let model = Model::from_graph(b.finish(&[y])?)?;
    /// assert_eq!(model.input("x")?.bytes(), 4 * 4 * 3 * 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.len() * self.element_type.size()
    }

    pub(super) fn spec(&self) -> TensorSpec<'_> {
        TensorSpec {
            dims: &self.dims,
            element_type: self.element_type,
            quantization: self.quantization,
            integer_range: None,
        }
    }
}

/// Returns descriptions of some of a graph's tensors.
fn infos(graph: &Graph, tensors: &[TensorId]) -> Vec<TensorInfo> {
    let info = |&tensor: &TensorId| {
        let tensor = &graph.tensors[tensor];
        TensorInfo {
            name: tensor.name.clone(),
            dims: tensor.dims.clone(),
            element_type: tensor.element_type,
            quantization: tensor.quantization,
            bounded_axes: Vec::new(),
        }
    };
    tensors.iter().map(info).collect()
}

/// Returns descriptions of the inputs of the caller.
pub(super) fn input_infos(graph: &Graph) -> Vec<TensorInfo> {
    let mut inputs = infos(graph, graph.caller_inputs());
    for bounded in &graph.bounded_inputs {
        if let Some(info) = inputs.get_mut(bounded.input) {
            info.bounded_axes.push(bounded.axis);
        }
    }
    inputs
}

/// Returns descriptions of the outputs of the caller.
pub(super) fn output_infos(graph: &Graph) -> Vec<TensorInfo> {
    let mut outputs = infos(graph, graph.caller_outputs());
    for bounded in &graph.bounded {
        if let Some(info) = outputs.get_mut(bounded.output) {
            info.bounded_axes.push(bounded.axis);
        }
    }
    outputs
}
