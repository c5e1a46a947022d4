//! Lists a file's nodes with the importer's verdict on each. Meant for checking which parts of a model other programs
//! could delegate to texpool, so a refused node does not make the whole file fail.

use std::{fmt, sync::Arc};

use super::{
    error::{ImportError, Problem},
    label::label,
};
use texpool_ops::graph::{ElementType, Graph};

/// Number of refusals that are described in words. Chosen beyond any real model. Each description is a text, which a
/// hostile file could multiply by its number of nodes.
const MAX_TOLD: usize = 10_000;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.tflite`.
    TfLite,
    /// `.onnx`.
    Onnx,
}

/// Outline of a file.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Its format.
    pub format: Format,
    /// Its graphs. The first one is run; the others are bodies of control flow or entries of other signatures.
    pub graphs: Vec<GraphOutline>,
}

/// Outline of a graph.
#[derive(Clone, Debug, Default)]
pub struct GraphOutline {
    /// Its name in the file.
    pub name: String,
    /// Nodes in the file's order.
    pub nodes: Vec<NodeOutline>,
    /// All tensors that nodes read and write.
    pub tensors: Vec<TensorOutline>,
    /// Indices of the input tensors.
    pub inputs: Vec<usize>,
    /// Indices of the output tensors.
    pub outputs: Vec<usize>,
    /// Extents of inputs that the file leaves open and that were not bound.
    pub open: Vec<OpenExtent>,
    /// True if an open height or width of an image was tried with a [usual one](super::IMAGES).
    pub is_of_image: bool,
    /// Reads nodes as a graph of their own, if the outline is one of a file.
    pub reader: Option<PartReader>,
}

/// An extent of an input that the file leaves open and that was not bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenExtent {
    /// Name for binding it.
    pub name: String,
    /// Description with its place.
    pub place: String,
    /// The value with which nodes were examined.
    pub tried: usize,
}

/// Nodes of a graph that are read as a graph of their own, with the tensors that cross their border. All are indices of the
/// outline, nodes in ascending order.
#[derive(Clone, Debug, Default)]
pub struct NodesToRead<'p> {
    /// The nodes.
    pub nodes: &'p [usize],
    /// Tensors that are given in every run.
    pub inputs: &'p [usize],
    /// Results that are wanted.
    pub outputs: &'p [usize],
}

/// The function of a [`PartReader`].
type ReadNodes = dyn Fn(&NodesToRead<'_>) -> Result<Graph, ImportError> + Send + Sync;

/// Reads nodes of a file as a graph of their own. Open extents have the tried values.
#[derive(Clone)]
pub struct PartReader(Arc<ReadNodes>);

impl PartReader {
    pub(super) fn new(
        read: impl Fn(&NodesToRead<'_>) -> Result<Graph, ImportError> + Send + Sync + 'static,
    ) -> Option<Self> {
        Some(Self(Arc::new(read)))
    }

    /// Reads nodes. Errors name nodes by their positions in the list.
    ///
    /// # Errors
    /// As for a file that consists of these nodes.
    pub fn read(&self, part: &NodesToRead<'_>) -> Result<Graph, ImportError> {
        (self.0)(part)
    }
}

impl fmt::Debug for PartReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartReader")
    }
}

/// Outline of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeOutline {
    /// The operator, spelled as in the file's format.
    pub operator: String,
    /// Name of the node, or else of its result.
    pub name: String,
    /// Operands that are present.
    pub inputs: Vec<usize>,
    /// Results.
    pub outputs: Vec<usize>,
    /// Elementary operations of a run; 0 if the node is not computed.
    pub operations: u64,
    /// Tensors of the enclosing graph that bodies of control flow read.
    pub implicit: Vec<usize>,
    /// Graph of the file that the node runs once, before all else, to give variables their first values.
    pub calls_once: Option<usize>,
    /// The importer's verdict.
    pub verdict: Verdict,
}

impl NodeOutline {
    /// Memory that the outline takes, in bytes.
    pub(super) fn size(&self) -> usize {
        let text_bytes = match &self.verdict {
            Verdict::Computed | Verdict::Passed | Verdict::Known => 0,
            Verdict::Refused(Refusal { reason, hint }) | Verdict::Unknown(Refusal { reason, hint }) => {
                reason.len() + hint.len()
            }
        };
        let tensors = self.inputs.len() + self.outputs.len() + self.implicit.len();
        size_of::<Self>() + self.operator.len() + self.name.len() + text_bytes + tensors * size_of::<usize>()
    }
}

/// The importer's verdict on a single node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The node is supported, and a run computes it.
    #[default]
    Computed,
    /// The node is supported but computes nothing: it only reinterprets elements under other extents.
    Passed,
    /// The results are known at import.
    Known,
    /// The node is refused.
    Refused(Refusal),
    /// The node depends on results of a refused node, and the file does not describe those well enough.
    Unknown(Refusal),
}

/// Reason for refusing a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: String,
    /// Advice for the model's owner.
    pub hint: String,
}

/// Outline of a tensor.
#[derive(Clone, Debug, Default)]
pub struct TensorOutline {
    /// Its name in the file.
    pub name: String,
    /// Extents, each `None` if it is only known during a run. `None` if not even the rank is known.
    pub dims: Option<Vec<Option<usize>>>,
    /// Type of the elements in the file, if it is a supported one.
    pub element_type: Option<ElementType>,
    /// True if the values are stored in the file, or follow from such values and from extents.
    pub constant: bool,
    /// Size of the elements in bytes where it depends on open extents, with the tried values for those.
    pub tried_bytes: Option<u64>,
}

impl TensorOutline {
    /// Size of the elements in the file's type, in bytes, if extents and type are known.
    pub fn bytes(&self) -> Option<u64> {
        let extents = self.dims.as_ref()?.iter().copied().collect::<Option<Vec<_>>>()?;
        let elements = extents.iter().try_fold(1u64, |all, &extent| all.checked_mul(extent as u64))?;
        elements.checked_mul(self.element_type?.size() as u64)
    }
}

/// Counts refusals, and describes them in words up to a limit.
#[derive(Debug, Default)]
pub(super) struct RefusalCount(usize);

impl RefusalCount {
    /// Creates a refusal for a problem.
    pub(super) fn refusal(&mut self, problem: &Problem) -> Refusal {
        self.0 += 1;
        match self.0 > MAX_TOLD {
            true => Refusal {
                reason: format!("it is refused, as are {MAX_TOLD} nodes before it"),
                hint: "see what these are refused for".to_owned(),
            },
            false => Refusal { reason: label(&problem.reason), hint: problem.hint.to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_where_all_is_known() {
        let tensor = |dims: Option<Vec<Option<usize>>>, element_type| TensorOutline {
            dims,
            element_type,
            ..TensorOutline::default()
        };
        let [half, float] = [ElementType::F16, ElementType::F32].map(Some);
        assert_eq!(tensor(Some(vec![Some(2), Some(3)]), half).bytes(), Some(12));
        assert_eq!(tensor(Some(Vec::new()), float).bytes(), Some(4));
        assert_eq!(tensor(Some(vec![Some(2), None]), float).bytes(), None);
        assert_eq!(tensor(None, float).bytes(), None);
        assert_eq!(tensor(Some(vec![Some(2)]), None).bytes(), None);
        assert_eq!(tensor(Some(vec![Some(usize::MAX); 2]), float).bytes(), None);
    }
}
