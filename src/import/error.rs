//! Why a model file cannot be imported.

use std::{fmt, io, path::PathBuf};

use super::{file_kind::FileKind, label::label, meter::Excess};
use crate::{graph::CheckError, plan::printable};

/// One operator that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedOp {
    /// Index of the operator in the file.
    pub node: usize,
    /// Its name, or that of its result.
    pub name: String,
    /// The operator, as the file's format writes it.
    pub operator: String,
    /// Why not.
    pub reason: String,
    /// What the model's owner can do.
    pub hint: String,
}

impl UnsupportedOp {
    pub(super) fn new(node: usize, name: &str, operator: &str, problem: &Problem) -> Self {
        // Cut here: there may be thousands of these, with names as long as a file likes.
        let [name, operator, reason] = [name, operator, &problem.reason].map(label);
        Self { node, name, operator, reason, hint: problem.hint.to_owned() }
    }
}

impl fmt::Display for UnsupportedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, name, operator, reason, hint } = self;
        let [operator, name, reason] = [operator, name, reason].map(|text| printable(text));
        write!(f, "node {node} {operator} `{name}`: {reason}; {hint}")
    }
}

/// Why a model file cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be opened or read, or it changed while it was read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There are no bytes.
    #[error("the file is empty")]
    Empty,
    /// The bytes are something else.
    #[error("neither a TensorFlow Lite nor an ONNX model: {kind}")]
    NotAModel {
        /// What they are.
        kind: FileKind,
    },
    /// A model, but truncated or damaged.
    #[error("the model is damaged or cut short: {}", printable(what))]
    Malformed {
        /// What was found.
        what: String,
    },
    /// A schema version other than 3.
    #[error("schema version {0} is not supported, only 3 is; convert the model again")]
    Version(u32),
    /// An operator set that is not read.
    #[error("operator set {version} is not supported, {oldest} to {newest} are; export the model with one of these")]
    Opset {
        /// The file's.
        version: i64,
        /// Oldest that is read.
        oldest: i64,
        /// Newest that is read.
        newest: i64,
    },
    /// All extents that the file leaves open and nobody [bound](super::ImportOptions::dims).
    #[error("{} of the inputs' extents are {}:{}", .0.len(), open_or_zero(.0), Listed(.0))]
    UnresolvedDim(Vec<UnresolvedDim>),
    /// Extents were bound by names that the file does not have.
    #[error("no input of the model has an extent called {}", printable(&names.join(", ")))]
    NoSuchDim {
        /// The names.
        names: Vec<String>,
    },
    /// An extent was bound to a number that it cannot be.
    #[error("`{name}` cannot be {asked}: {why}")]
    CannotBind {
        /// The name by which it was bound.
        name: String,
        /// The number.
        asked: usize,
        /// Why not.
        why: String,
    },
    /// Values were bound to inputs that the file does not have.
    #[error("the model has no input called {}", printable(&names.join(", ")))]
    NoSuchInput {
        /// The names.
        names: Vec<String>,
    },
    /// Extents were bound in a file whose format has no names for them.
    #[error(
        "extents of a TensorFlow Lite model cannot be bound ({}): it is computed with those that it states, {}{}",
        printable(&names.join(", ")), printable(&stated.join(", ")), Signature(open)
    )]
    FixedDims {
        /// The names that were bound.
        names: Vec<String>,
        /// The inputs with their extents.
        stated: Vec<String>,
        /// Axes that its `shape_signature` leaves open, which are computed with the extent that stands in `shape`.
        open: Vec<String>,
    },
    /// An input of which not even the number of axes is stated.
    #[error(
        "input `{0}` states no shape, not even how many axes it has; bind each of its axes by number (`{0}:0`, `{0}:1` \
         and so on), or export the model with a shape",
        printable(input)
    )]
    UnstatedShape {
        /// Name of the input.
        input: String,
    },
    /// A graph input or output that cannot be computed with.
    #[error("graph {role} `{}`: {}; {hint}", printable(tensor), printable(reason))]
    GraphIo {
        /// Input or output.
        role: &'static str,
        /// Name of the tensor.
        tensor: String,
        /// Why not.
        reason: String,
        /// What the model's owner can do.
        hint: String,
    },
    /// Importing would take more memory or work than a file of its size may ask for.
    #[error("{0}")]
    TooMuch(Box<TooMuch>),
    /// Two things of one name where the name is what tells them apart.
    #[error("the model has two {what}s called `{}`; give each a name of its own", printable(name))]
    Duplicate {
        /// What there are two of.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// All operators that cannot be imported.
    #[error("{} of the model's operators cannot be imported:{}", .0.len(), Listed(.0))]
    Unsupported(Vec<UnsupportedOp>),
    /// The graph as a whole makes no sense: operators out of order, tensors written twice.
    #[error("the model's graph is not valid: {0}")]
    Graph(#[from] CheckError),
}

/// An extent of an input that the file leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnresolvedDim {
    /// Name of the input.
    pub input: String,
    /// Which of its axes.
    pub axis: usize,
    /// What to call it when binding it.
    pub name: String,
    /// Whether the file states that it is 0. Tensors without elements are not supported, and some exporters write 0 for
    /// what they do not know.
    pub zero: bool,
}

impl fmt::Display for UnresolvedDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, axis, name, zero } = self;
        let stated = if *zero { "; the file states 0, tensors without elements are not supported" } else { "" };
        write!(f, "{} (axis {axis} of input `{}`{stated})", printable(name), printable(input))
    }
}

/// What is said of all of them.
fn open_or_zero(dims: &[UnresolvedDim]) -> &'static str {
    if dims.iter().any(|dim| dim.zero) { "open or 0" } else { "open" }
}

struct Signature<'a>(&'a [String]);

impl fmt::Display for Signature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let open = self.0.join(", ");
        write!(f, ", also where its shape_signature leaves them open ({})", printable(&open))?;
        f.write_str("; convert the model with the extents that are wanted")
    }
}

/// What is asked for beyond what the import of a file may take, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// Index of the operator in the file that asks for it; none where none does.
    pub node: Option<usize>,
    /// The operator, as the file's format writes it; empty where there is none.
    pub operator: String,
    /// Name of its result, or of the input or output that is the reason; empty where none is.
    pub tensor: String,
    /// What was asked for, and what there was.
    pub excess: Excess,
    /// The same in words, with the constant that it is about.
    pub reason: String,
    /// What the model's owner can do.
    pub hint: String,
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, operator, tensor, reason, hint, .. } = self;
        let [operator, tensor, reason] = [operator, tensor, reason].map(|text| printable(text));
        match node {
            Some(node) => write!(f, "node {node} {operator} `{tensor}`: {reason}; {hint}"),
            None if self.tensor.is_empty() => write!(f, "the model: {reason}; {hint}"),
            None => write!(f, "`{tensor}`: {reason}; {hint}"),
        }
    }
}

struct Listed<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|one| write!(f, "\n  {one}"))
    }
}

/// Why something cannot be imported, before it is known which operator asks.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) reason: String,
    pub(super) hint: &'static str,
    /// What was asked for, if it is more than the import may take: then nothing more is looked at.
    pub(super) excess: Option<Excess>,
}

/// What is said of a file that no converter writes.
const MALFORMED: &str = "the file is not as its format asks; convert the model again";
/// What is said of a sound file that passes a limit of this library.
const LIMIT: &str = "the file is sound, but this is more than is supported: make the tensor smaller, or split it";
/// What is said of tensors without elements.
const EMPTY: &str = "tensors without elements are not supported: convert the model with extents of at least 1";

impl Problem {
    pub(super) fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self { reason: reason.into(), hint, excess: None }
    }

    /// Ends the import if this asks for more than it may take: nothing that follows would fare better.
    pub(super) fn within(self, node: Option<usize>, operator: &str, tensor: &str) -> Result<Self, ImportError> {
        let Some(excess) = self.excess else { return Ok(self) };
        let [operator, tensor] = [operator, tensor].map(label);
        let (reason, hint) = (self.reason, self.hint.to_owned());
        Err(ImportError::TooMuch(Box::new(TooMuch { node, operator, tensor, excess, reason, hint })))
    }

    /// The same as an error of a graph input or output, or of what the role says.
    pub(super) fn of_graph_io(self, role: &'static str, tensor: &str) -> ImportError {
        match self.within(None, "", tensor) {
            Ok(Self { reason, hint, .. }) => {
                let [tensor, reason] = [tensor, &reason].map(label);
                ImportError::GraphIo { role, tensor, reason, hint: hint.to_owned() }
            }
            Err(too_much) => too_much,
        }
    }

    /// Something that no converter writes.
    pub(super) fn malformed(reason: impl Into<String>) -> Self {
        Self::new(reason, MALFORMED)
    }

    /// Numbers of a sound file that pass a limit of this library, which the reason names.
    pub(super) fn limit(reason: impl Into<String>) -> Self {
        Self::new(reason, LIMIT)
    }

    /// A tensor without elements.
    pub(super) fn empty(reason: impl Into<String>) -> Self {
        Self::new(reason, EMPTY)
    }

    /// The same where somebody, or this library, gave extents to what the file leaves open: those may be what does not fit.
    pub(super) fn with_bound_extents(self) -> Self {
        let hint = match (self.hint, self.excess) {
            (MALFORMED, _) => "the file leaves extents open, and others may fit than those that were bound",
            (LIMIT | EMPTY, _) => "this may follow from the extents that were bound: bind others",
            (_, Some(_)) => "this may follow from the extents that were bound: bind smaller ones",
            (hint, None) => hint,
        };
        Self { hint, ..self }
    }

    /// The same of a constant that lies in the file: no extent that was bound is its reason.
    pub(super) fn of_constant(self, name: &str) -> Self {
        let hint = match self.hint {
            LIMIT => "the file is sound, but this is more than is supported: split the constant",
            hint => hint,
        };
        Self { reason: format!("constant `{name}`: {}", self.reason), hint, ..self }
    }

    /// Something that depends on values of a run.
    pub(super) fn dynamic(reason: impl Into<String>) -> Self {
        Self::new(reason, "convert the model with fixed shapes")
    }

    /// Something beyond what this version does.
    pub(super) fn unsupported(reason: impl Into<String>) -> Self {
        Self::new(reason, "express it by supported operators, or cut the graph in front of it")
    }
}

impl From<Excess> for Problem {
    fn from(excess: Excess) -> Self {
        let hint = "fold the constants of the model before (onnxsim does), so that the file holds what it needs";
        Self { excess: Some(excess), ..Self::new(excess.to_string(), hint) }
    }
}
