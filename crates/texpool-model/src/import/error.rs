//! Errors of importing a model file.

use std::{collections::BTreeMap, fmt, io, path::PathBuf};

use super::{file_kind::FileKind, label::label, meter::Excess};
use texpool_ops::graph::{CheckError, MAX_ELEMENTS, TensorId};
use texpool_plan::printable;

/// An operator that cannot be imported.
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{ImportError, from_bytes};
///
/// // An ONNX file whose only node is a `Foo`.
/// let file = *b"\x08\x08:/\n\x0b\n\x01x\x12\x01y\x22\x03FooZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x04\
///     b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x04B\x02\x10\x11";
/// let Err(ImportError::Unsupported(refused)) = from_bytes(Arc::new(file)) else { panic!("it is no operator") };
/// assert_eq!((refused[0].node, &*refused[0].name, &*refused[0].operator), (0, "y", "Foo"));
/// assert!(refused[0].to_string().starts_with("node 0 Foo `y`: the operator is not supported; "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedOp {
    /// Index of the operator in the file. For an operator in a branch of an `If`, that of the outermost `If`.
    pub node: usize,
    /// Name of the node, or else of its result. Names of the nodes and branches that contain it come first, separated
    /// by slashes.
    pub name: String,
    /// The operator, spelled as in the file's format.
    pub operator: String,
    /// The reason.
    pub reason: String,
    /// Advice for the model's owner.
    pub hint: String,
    /// Inputs of the model that decide whether the operator is needed, or how often, or that give an operand which must
    /// be known. Values for all of them ([`constants`](super::ImportOptions::constants)) may help. Empty if some of
    /// them hold too much to be bound.
    pub inputs: Vec<String>,
    /// Integer that a run computes, and that the operator takes as an extent. Its greatest value
    /// ([`bounds`](super::ImportOptions::bounds)) may help.
    pub extent: Option<String>,
}

impl UnsupportedOp {
    pub(super) fn new(node: usize, name: &str, operator: &str, problem: &Problem) -> Self {
        // Shortened here: there may be thousands of these, with names of any length.
        let [name, operator, reason] = [name, operator, &problem.reason].map(label);
        let (hint, (inputs, extent)) = (problem.hint.to_owned(), Remedy::parts(problem.remedy.as_deref()));
        Self { node, name, operator, reason, hint, inputs, extent }
    }

    /// A node in a branch of the file's node with index `node`, which is called `outer`.
    pub(super) fn of_branch(node: usize, outer: &str, refused: RefusedNode) -> Self {
        let RefusedNode { name, operator, reason, hint, remedy } = refused.within(outer);
        let (reason, hint, (inputs, extent)) = (label(&reason), hint.to_owned(), Remedy::parts(remedy.as_deref()));
        Self { node, name, operator, reason, hint, inputs, extent }
    }
}

impl fmt::Display for UnsupportedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, name, operator, reason, hint, .. } = self;
        let [operator, name, reason] = [operator, name, reason].map(|text| printable(text));
        write!(f, "node {node} {operator} `{name}`: {reason}; {hint}")
    }
}

/// Error of importing a model file.
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{FileKind, ImportError, from_bytes, open};
///
/// assert!(matches!(open("no such file.onnx"), Err(ImportError::Read { .. })));
/// let error = from_bytes(Arc::new(*b"%PDF-1.7 and so on")).unwrap_err();
/// assert!(matches!(error, ImportError::NotAModel { kind: FileKind::Pdf }));
/// assert_eq!(error.to_string(), "neither a TensorFlow Lite nor an ONNX model: it is a PDF");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be opened or read, or it changed while it was read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is not a model in a supported format.
    #[error("neither a TensorFlow Lite nor an ONNX model: {kind}")]
    NotAModel {
        /// Kind of the file.
        kind: FileKind,
    },
    /// A model, but truncated or damaged.
    #[error("the model is damaged or cut short: {}", printable(what))]
    Malformed {
        /// Description of the damage.
        what: String,
    },
    /// A schema version other than 3.
    #[error("schema version {0} is not supported, only 3 is; convert the model again")]
    Version(u32),
    /// An unsupported operator set.
    #[error("operator set {version} is not supported, {oldest} to {newest} are; export the model with one of these")]
    Opset {
        /// The file's operator set.
        version: i64,
        /// Oldest supported one.
        oldest: i64,
        /// Newest supported one.
        newest: i64,
    },
    /// Lists all extents that the file leaves open and that were not [bound](super::ImportOptions::dims).
    #[error("{}:{}", OpenCount(.0), OpenDims(.0))]
    UnresolvedDim(Vec<UnresolvedDim>),
    /// Extents were bound by names that are not those of open extents.
    #[error("no extent of the model is called {}", printable(&names.join(", ")))]
    NoSuchDim {
        /// The names.
        names: Vec<String>,
    },
    /// An extent was bound to an invalid number.
    #[error("`{name}` cannot be {asked}: {why}")]
    CannotBind {
        /// The name that was bound.
        name: String,
        /// The number.
        asked: usize,
        /// The reason.
        why: String,
    },
    /// Values were bound to inputs that do not exist in the file.
    #[error("the model has no input called {}", printable(&names.join(", ")))]
    NoSuchInput {
        /// The names.
        names: Vec<String>,
    },
    /// Values were bound to inputs of a TensorFlow Lite model whose nodes are listed. They are those of the file.
    #[error(
        "the nodes of a TensorFlow Lite model are listed as in the file, without constants for its inputs: {}; leave \
         them out",
        printable(&names.join(", "))
    )]
    NoConstantInputs {
        /// The names.
        names: Vec<String>,
    },
    /// Extents of a TensorFlow Lite model were bound to the most that they can be, which only ONNX models support.
    #[error(
        "extents of a TensorFlow Lite model are the same in each run: {}; bind each to a number",
        printable(&names.join(", "))
    )]
    NoBounds {
        /// The names that were bound.
        names: Vec<String>,
    },
    /// Extents were bound that a TensorFlow Lite model does not leave open.
    #[error(
        "the model leaves no extent open that is called {}: it states {}{}",
        printable(&names.join(", ")), printable(&stated.join(", ")), Signature(open)
    )]
    FixedDims {
        /// The names that were bound.
        names: Vec<String>,
        /// The inputs with their extents.
        stated: Vec<String>,
        /// Names of the extents that the file's `shape_signature` leaves open: an input, a colon and an axis.
        open: Vec<String>,
    },
    /// An input for which the file does not even state the number of axes.
    #[error(
        "input `{0}` states no shape, not even how many axes it has; bind each of its axes by number (`{0}:0`, `{0}:1` \
         and so on), or export the model with a shape",
        printable(input)
    )]
    UnstatedShape {
        /// Name of the input.
        input: String,
    },
    /// A graph input or output that is not supported.
    #[error("graph {role} `{}`: {}; {hint}", printable(tensor), printable(reason))]
    GraphIo {
        /// Input or output.
        role: &'static str,
        /// Name of the tensor.
        tensor: String,
        /// The reason.
        reason: String,
        /// Advice for the model's owner.
        hint: String,
    },
    /// Importing would take more memory or work than is allowed for a file of this size.
    #[error("{0}")]
    TooMuch(Box<TooMuch>),
    /// Two objects have the same name, but must be distinguishable by name.
    #[error("the model has two {what}s called `{}`; give each a name of its own", printable(name))]
    Duplicate {
        /// Kind of the objects.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Lists all operators that cannot be imported.
    #[error("{}:{}", RefusedCount(.0.len()), RefusedOps(.0))]
    Unsupported(Vec<UnsupportedOp>),
    /// The graph as a whole is invalid, for example with operators out of order or tensors written twice.
    #[error("the model's graph is not valid: {0}")]
    Graph(#[from] CheckError),
}

impl ImportError {
    /// Returns whether other extents of the inputs may avoid the error. False for an input of strings, for example.
    pub fn may_follow_from_extents(&self) -> bool {
        match self {
            Self::TooMuch(_) | Self::Graph(_) => true,
            Self::GraphIo { hint, .. } => [MALFORMED, LIMIT, EMPTY, BOUND_FIT, BOUND_SIZE].contains(&hint.as_str()),
            Self::Unsupported(refused) => refused.iter().any(|op| [BOUND_FIT, BOUND_SIZE].contains(&op.hint.as_str())),
            _ => false,
        }
    }
}

/// An extent of an input that the file leaves open.
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{ImportError, from_bytes};
///
/// // An ONNX file of `y = Relu(x)` that leaves the extent `n` of `x` open.
/// let file = *b"\x08\x08:2\n\x0c\n\x01x\x12\x01y\x22\x04ReluZ\x10\n\x01x\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01n\
///     b\x10\n\x01y\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01nB\x02\x10\x11";
/// let Err(ImportError::UnresolvedDim(open)) = from_bytes(Arc::new(file)) else { panic!("it is open") };
/// assert_eq!((&*open[0].input, open[0].axis, &*open[0].name), ("x", 0, "n"));
/// assert_eq!(open[0].to_string(), "n (axis 0 of input `x`)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnresolvedDim {
    /// Name of the input.
    pub input: String,
    /// The axis.
    pub axis: usize,
    /// Name for binding it.
    pub name: String,
    /// True if the file states 0, which some exporters write for unknown extents. An input that has 0 is left out.
    pub zero: bool,
}

impl fmt::Display for UnresolvedDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, axis, name, zero } = self;
        let stated = if *zero { STATED_ZERO } else { "" };
        write!(f, "{} (axis {axis} of input `{}`{stated})", printable(name), printable(input))
    }
}

/// Addition to an extent that the file states as 0.
const STATED_ZERO: &str = "; the file states 0, as some exporters do for any number; bind 0 to leave the input out";
/// Maximum number of inputs that the error text lists for an axis of an extent that several inputs have.
const MAX_INPUTS: usize = 6;
/// Least number of operators whose common reason is stated once.
const MIN_GROUPED: usize = 3;

/// Number of the extents for the error text.
struct OpenCount<'a>(&'a [UnresolvedDim]);

impl fmt::Display for OpenCount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.0.iter().any(|dim| dim.zero) { "open or 0" } else { "open" };
        match self.0.len() {
            1 => write!(f, "1 extent of the inputs is {open}"),
            several => write!(f, "{several} of the inputs' extents are {open}"),
        }
    }
}

/// Lists open extents, each name once with the axes where it occurs.
struct OpenDims<'a>(&'a [UnresolvedDim]);

impl fmt::Display for OpenDims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for dims in groups(self.0, |dim| (&dim.name, dim.zero)) {
            if let [one] = dims[..] {
                write!(f, "\n  {one}")?;
                continue;
            }
            let axes = groups(&dims, |dim| dim.axis);
            let axes = axes.iter().map(|dims| {
                let named = dims.iter().take(MAX_INPUTS).map(|dim| format!("`{}`", printable(&dim.input)));
                let named = named.collect::<Vec<_>>().join(", ");
                let plural = if dims.len() == 1 { "" } else { "s" };
                let more = match dims.len().saturating_sub(MAX_INPUTS) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("axis {} of input{plural} {named}{more}", dims[0].axis)
            });
            let (name, stated) = (printable(&dims[0].name), if dims[0].zero { STATED_ZERO } else { "" });
            write!(f, "\n  {name} ({}{stated})", axes.collect::<Vec<_>>().join("; "))?;
        }
        Ok(())
    }
}

/// Number of the operators for the error text.
struct RefusedCount(usize);

impl fmt::Display for RefusedCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => write!(f, "1 operator of the model cannot be imported"),
            several => write!(f, "{several} of the model's operators cannot be imported"),
        }
    }
}

/// Lists refused operators. A reason that several of them have is stated once, in front of these.
struct RefusedOps<'a>(&'a [UnsupportedOp]);

impl fmt::Display for RefusedOps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for refused in groups(self.0, |op| (&op.reason, &op.hint)) {
            if refused.len() < MIN_GROUPED {
                refused.iter().try_for_each(|one| write!(f, "\n  {one}"))?;
                continue;
            }
            write!(f, "\n  {}; {}:", printable(&refused[0].reason), refused[0].hint)?;
            for UnsupportedOp { node, name, operator, .. } in refused {
                write!(f, "\n    node {node} {} `{}`", printable(operator), printable(name))?;
            }
        }
        Ok(())
    }
}

/// Groups elements with the same key. The groups are in the order of their first elements.
fn groups<'a, T, K: Ord>(elements: &'a [T], key: impl Fn(&'a T) -> K) -> Vec<Vec<&'a T>> {
    let mut index_of: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&'a T>> = Vec::new();
    for element in elements {
        let index = *index_of.entry(key(element)).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(element),
            None => groups.push(vec![element]),
        }
    }
    groups
}

struct Signature<'a>(&'a [String]);

impl fmt::Display for Signature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let open = self.0.join(", ");
        write!(f, ", and its shape_signature leaves open {}", printable(&open))
    }
}

/// Describes an import that exceeds an allowance, and the operator or tensor that caused it.
///
/// ```
/// use texpool::import::{Excess, ImportError, Resource, TooMuch};
///
/// let excess = Excess { resource: Resource::Memory, asked: 4 << 30, left: 60 << 20, allowed: 64 << 20 };
/// let (operator, tensor) = ("Expand".to_owned(), "wide".to_owned());
/// let (reason, hint) = (excess.to_string(), "fold the constants before".to_owned());
/// let error = ImportError::TooMuch(Box::new(TooMuch { node: Some(3), operator, tensor, excess, reason, hint }));
/// assert!(error.to_string().starts_with("node 3 Expand `wide`: too large: it asks for 4294967296 more bytes"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// Index in the file of the operator that caused it, if any.
    pub node: Option<usize>,
    /// The operator, spelled as in the file's format; empty if no operator caused it.
    pub operator: String,
    /// Name of the operator's result, or of the input or output that caused it; empty if unknown.
    pub tensor: String,
    /// The amount requested, and the amount left.
    pub excess: Excess,
    /// Description of the excess, including the constant concerned.
    pub reason: String,
    /// Advice for the model's owner.
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

/// A reason for refusing something, before it is attributed to an operator.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) reason: String,
    pub(super) hint: &'static str,
    /// Set if an allowance of the import was exceeded. The import then stops at once.
    pub(super) excess: Option<Excess>,
    /// True if the reason states no extents, so that those of the operands explain it.
    pub(super) by_operands: bool,
    /// A tensor whose values must be known, so that the importer adds what it is computed from.
    pub(super) computed: Option<TensorId>,
    /// Nodes of branches that are the cause, if there are any. They are reported instead of the operator.
    pub(super) nodes: Vec<RefusedNode>,
    /// Boxed, so that results stay small.
    pub(super) remedy: Option<Box<Remedy>>,
}

/// Binding by which the caller may avoid a refusal.
#[derive(Clone, Debug)]
pub(super) enum Remedy {
    /// Inputs of the model, to values.
    Inputs(Vec<String>),
    /// An integer of a run that is an extent, to the most that it can be.
    Extent(String),
}

impl Remedy {
    /// Returns the inputs and the extent.
    fn parts(remedy: Option<&Self>) -> (Vec<String>, Option<String>) {
        match remedy {
            Some(Self::Inputs(inputs)) => (inputs.clone(), None),
            Some(Self::Extent(name)) => (Vec::new(), Some(name.clone())),
            None => (Vec::new(), None),
        }
    }
}

/// A node of a branch that is refused.
#[derive(Clone, Debug)]
pub(super) struct RefusedNode {
    /// Its name after those of the nodes and branches that contain it, separated by slashes.
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) reason: String,
    pub(super) hint: &'static str,
    pub(super) remedy: Option<Box<Remedy>>,
}

/// Maximum number of refusals listed. Chosen beyond any real model. Each entry contains three texts, which a hostile
/// file could multiply by its number of nodes.
pub(super) const MAX_LISTED: usize = 10_000;
/// Maximum number of nodes of a branch that a single reason names.
const MAX_NAMED: usize = 4;

/// Collects the nodes of a branch that are refused.
#[derive(Debug, Default)]
pub(super) struct RefusedNodes(Vec<RefusedNode>);

impl RefusedNodes {
    /// Adds a node. Fails at once if an allowance of the import was exceeded.
    pub(super) fn note(&mut self, name: &str, operator: &str, problem: Problem) -> Result<(), Problem> {
        if problem.excess.is_some() {
            return Err(problem);
        }
        let Problem { reason, hint, nodes, remedy, .. } = problem;
        if nodes.is_empty() {
            let [name, operator, reason] = [name, operator, &reason].map(label);
            self.0.push(RefusedNode { name, operator, reason, hint, remedy });
        }
        self.0.extend(nodes.into_iter().map(|node| node.within(name)));
        Ok(())
    }

    /// Returns whether the maximum number of refusals is listed.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_LISTED
    }

    /// Fails if any node was added.
    pub(super) fn finish(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::of_nodes(self.0)) }
    }
}

impl RefusedNode {
    /// Prefixes the node's name with that of the node or branch around it.
    fn within(self, outer: &str) -> Self {
        Self { name: label(&format!("{outer}/{}", self.name)), ..self }
    }
}

/// Hint for files that violate their format.
const MALFORMED: &str = "the file is not as its format asks; convert the model again";
/// Hint for valid files that exceed a limit of this library.
const LIMIT: &str = "the file is sound, but this is more than is supported: make the tensor smaller, or split it";
/// Hint for tensors without elements.
const EMPTY: &str = "tensors without elements are not supported: convert the model with extents of at least 1";

impl Problem {
    pub(super) fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self {
            reason: reason.into(),
            hint,
            excess: None,
            by_operands: false,
            computed: None,
            nodes: Vec::new(),
            remedy: None,
        }
    }

    /// A problem of nodes in branches, of which there is at least one.
    fn of_nodes(mut nodes: Vec<RefusedNode>) -> Self {
        nodes.truncate(MAX_LISTED);
        let named = nodes.iter().take(MAX_NAMED);
        let named = named.map(|RefusedNode { name, operator, reason, .. }| format!("{operator} `{name}`: {reason}"));
        let mut reason = named.collect::<Vec<_>>().join("; ");
        if let Some(more @ 1..) = nodes.len().checked_sub(MAX_NAMED) {
            reason.push_str(&format!("; and {more} more nodes"));
        }
        let hint = nodes.first().map_or(MALFORMED, |node| node.hint);
        Self { nodes, ..Self::new(reason, hint) }
    }

    /// Attributes a problem to a branch of an operator.
    pub(super) fn of_branch(self, branch: &str, operator: &str) -> Self {
        if self.excess.is_some() {
            return self;
        }
        let Self { reason, hint, nodes, remedy, .. } = self;
        Self::of_nodes(match nodes.is_empty() {
            true => vec![RefusedNode { name: branch.to_owned(), operator: label(operator), reason, hint, remedy }],
            false => nodes.into_iter().map(|node| node.within(branch)).collect(),
        })
    }

    /// Joins the problems of two branches. `needed` has the reason for which both are needed, the hint, and the inputs
    /// that decide. Each problem gets these.
    pub(super) fn of_branches(problems: Vec<Self>, needed: &Self) -> Self {
        let Self { reason: needed, hint, remedy, .. } = needed;
        let mut nodes = Vec::new();
        for problem in problems {
            if problem.excess.is_some() {
                return problem;
            }
            nodes.extend(problem.nodes.into_iter().map(|node| match node.hint == *hint {
                // The branch that contains it has a condition that is computed, too.
                true => node,
                false => {
                    let reason = format!("{}; {needed}", node.reason);
                    RefusedNode { reason, hint, remedy: remedy.clone(), ..node }
                }
            }));
        }
        Self::of_nodes(nodes)
    }

    /// Turns the problem into an error that ends the import, if an allowance was exceeded. Continuing would be
    /// useless, because everything that follows would fail, too.
    pub(super) fn within(self, node: Option<usize>, operator: &str, tensor: &str) -> Result<Self, ImportError> {
        let Some(excess) = self.excess else { return Ok(self) };
        let [operator, tensor] = [operator, tensor].map(label);
        let (reason, hint) = (self.reason, self.hint.to_owned());
        Err(ImportError::TooMuch(Box::new(TooMuch { node, operator, tensor, excess, reason, hint })))
    }

    /// Turns the problem into an error of a graph input or output, as named by `role`.
    pub(super) fn of_graph_io(self, role: &'static str, tensor: &str) -> ImportError {
        match self.within(None, "", tensor) {
            Ok(Self { reason, hint, .. }) => {
                let [tensor, reason] = [tensor, &reason].map(label);
                ImportError::GraphIo { role, tensor, reason, hint: hint.to_owned() }
            }
            Err(too_much) => too_much,
        }
    }

    /// A violation of the file format, which no converter would produce.
    pub(super) fn malformed(reason: impl Into<String>) -> Self {
        Self::new(reason, MALFORMED)
    }

    /// A valid file that exceeds a limit of this library. The reason names the limit.
    pub(super) fn limit(reason: impl Into<String>) -> Self {
        Self::new(reason, LIMIT)
    }

    /// A tensor without elements.
    pub(super) fn empty(reason: impl Into<String>) -> Self {
        Self::new(reason, EMPTY)
    }

    /// A result without elements, with extents as in the file.
    pub(super) fn empty_result(dims: &[usize]) -> Self {
        Self::empty(format!("its result has no elements: its extents are {dims:?}"))
    }

    /// Refuses extents in the file's order that are too large for a tensor, or without elements.
    pub(super) fn check_result(dims: &[usize]) -> Result<(), Self> {
        if dims.contains(&0) {
            return Err(Self::empty_result(dims));
        }
        let elements = dims.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        if elements.is_some_and(|n| n <= MAX_ELEMENTS) {
            return Ok(());
        }
        Err(Self::limit(format!("its result of {dims:?} is too large: at most {MAX_ELEMENTS} elements are supported")))
    }

    /// Marks a reason that states no extents, so that the importer adds those of the node's operands.
    pub(super) fn explained_by_operands(self) -> Self {
        Self { by_operands: true, ..self }
    }

    /// Marks a reason that ends with values that are computed in a run, so that the importer adds what from.
    pub(super) fn explained_by_sources(self, computed: TensorId) -> Self {
        Self { computed: Some(computed), ..self }
    }

    /// Returns whether an operand without elements may be the cause.
    pub(super) fn may_be_of_no_elements(&self) -> bool {
        self.excess.is_none() && [MALFORMED, EMPTY].contains(&self.hint)
    }

    /// Adapts the hint for a file with open extents. The extents that the user or this library chose for them may be
    /// the cause.
    pub(super) fn with_bound_extents(self) -> Self {
        let nodes =
            self.nodes.into_iter().map(|node| RefusedNode { hint: hint_for_bound(node.hint), ..node }).collect();
        let hint = match self.excess {
            Some(_) => "this may follow from the extents that were bound: bind smaller ones",
            None => hint_for_bound(self.hint),
        };
        Self { hint, nodes, ..self }
    }

    /// Adapts the hint for a file that leaves extents of its inputs open, and is read with those that it states.
    pub(super) fn with_open_extents(self) -> Self {
        let open = |hint| if hint == MALFORMED { OPEN } else { hint };
        let nodes = self.nodes.into_iter().map(|node| RefusedNode { hint: open(node.hint), ..node }).collect();
        Self { hint: open(self.hint), nodes, ..self }
    }

    /// Adapts the problem for a constant stored in the file, which cannot be caused by extents that were bound.
    pub(super) fn of_constant(self, name: &str) -> Self {
        let hint = match self.hint {
            LIMIT => "the file is sound, but this is more than is supported: split the constant",
            hint => hint,
        };
        Self { reason: format!("constant `{name}`: {}", self.reason), hint, ..self }
    }

    /// Something that depends on values known only during a run.
    pub(super) fn dynamic(reason: impl Into<String>) -> Self {
        Self::new(reason, "convert the model with fixed shapes")
    }

    /// Names inputs of the model whose values may help.
    pub(super) fn decided_by(self, inputs: Vec<String>) -> Self {
        Self { remedy: Some(Box::new(Remedy::Inputs(inputs))), ..self }
    }

    /// Names an integer of a run that is an extent, and whose greatest value may help.
    pub(super) fn sized_by(self, name: &str) -> Self {
        Self { remedy: Some(Box::new(Remedy::Extent(name.to_owned()))), ..self }
    }

    /// Something that this version does not support.
    pub(super) fn unsupported(reason: impl Into<String>) -> Self {
        Self::new(reason, "express it by supported operators, or cut the graph in front of it")
    }
}

/// Hint for a file whose stated extents may not be the ones to read it with.
const OPEN: &str = "the file leaves extents of its inputs open: bind them by INPUT:AXIS";

/// Hints for a file whose open extents were bound: to extents that may not fit each other, or to too many or too few.
const BOUND_FIT: &str = "the file leaves extents open, and others may fit than those that were bound";
const BOUND_SIZE: &str = "this may follow from the extents that were bound: bind others";

/// Adapts a hint for a file with open extents.
fn hint_for_bound(hint: &'static str) -> &'static str {
    match hint {
        MALFORMED => BOUND_FIT,
        LIMIT | EMPTY => BOUND_SIZE,
        hint => hint,
    }
}

impl From<Excess> for Problem {
    fn from(excess: Excess) -> Self {
        let hint = "fold the constants of the model before (onnxsim does), so that the file holds what it needs";
        Self { excess: Some(excess), ..Self::new(excess.to_string(), hint) }
    }
}
