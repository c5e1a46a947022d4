//! A file's nodes as they stand in it, each with what the importer says of it: for those that ask what another program
//! could hand to texpool, where a single node that is refused does not refuse the file.

use super::{error::Problem, label::label};
use crate::graph::ElementType;

/// Refusals told in words. Chosen beyond any real model: each holds texts, which a hostile file would have multiplied by
/// its number of nodes.
const MAX_TOLD: usize = 10_000;

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.tflite`.
    TfLite,
    /// `.onnx`.
    Onnx,
}

/// A file.
#[derive(Clone, Debug)]
pub struct Outline {
    /// What it is.
    pub format: Format,
    /// Its graphs; the first one is run, others are bodies of control flow or entries of other signatures.
    pub graphs: Vec<GraphOutline>,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct GraphOutline {
    /// Its name in the file.
    pub name: String,
    /// In the file's order.
    pub nodes: Vec<NodeOutline>,
    /// Whatever nodes read and write.
    pub tensors: Vec<TensorOutline>,
    /// Indices of the tensors that the caller brings.
    pub inputs: Vec<usize>,
    /// Indices of those that the caller gets.
    pub outputs: Vec<usize>,
    /// What inputs leave open and nobody bound, in words.
    pub open: Vec<String>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct NodeOutline {
    /// As the file's format writes it.
    pub operator: String,
    /// Its name, or that of its result.
    pub name: String,
    /// Operands that are there.
    pub inputs: Vec<usize>,
    /// Results.
    pub outputs: Vec<usize>,
    /// What bodies of control flow read of the tensors around them.
    pub implicit: Vec<usize>,
    /// What the importer says of it.
    pub verdict: Verdict,
}

impl NodeOutline {
    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        let told = match &self.verdict {
            Verdict::Computed | Verdict::Passed | Verdict::Known => 0,
            Verdict::Refused(Refusal { reason, hint }) | Verdict::Unknown(Refusal { reason, hint }) => {
                reason.len() + hint.len()
            }
        };
        let tensors = self.inputs.len() + self.outputs.len() + self.implicit.len();
        size_of::<Self>() + self.operator.len() + self.name.len() + told + tensors * size_of::<usize>()
    }
}

/// What the importer says of a node by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It is computed.
    #[default]
    Computed,
    /// It is read, but nothing is computed: it looks at elements under other extents.
    Passed,
    /// Its results are known without a run.
    Known,
    /// It is refused.
    Refused(Refusal),
    /// It depends on what a refused node gives, which the file says too little about.
    Unknown(Refusal),
}

/// Why a node is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why not.
    pub reason: String,
    /// What the model's owner can do.
    pub hint: String,
}

/// A tensor.
#[derive(Clone, Debug, Default)]
pub struct TensorOutline {
    /// Its name in the file.
    pub name: String,
    /// Its extents, as far as they are known before a run; nothing where not even their number is.
    pub dims: Option<Vec<Option<usize>>>,
    /// The type of its elements in the file, if it is one that values are read of.
    pub element_type: Option<ElementType>,
    /// Whether the file has its values, or they follow from such values alone.
    pub constant: bool,
}

impl TensorOutline {
    /// Bytes of its elements in the file's type, where all of that is known.
    pub fn bytes(&self) -> Option<u64> {
        let extents = self.dims.as_ref()?.iter().copied().collect::<Option<Vec<_>>>()?;
        let elements = extents.iter().try_fold(1u64, |all, &extent| all.checked_mul(extent as u64))?;
        elements.checked_mul(self.element_type?.size() as u64)
    }
}

/// Refusals, told in words as long as there are not too many.
#[derive(Debug, Default)]
pub(super) struct Told(usize);

impl Told {
    /// A refusal for a problem.
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
