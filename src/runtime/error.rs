//! Errors of reading, compiling and running a model, in the caller's terms.

use super::{CarryProblem, WantedTensor};
use texpool_compile::{CompileError, SavedPlanError};
use texpool_gpu::{GpuError, TensorRole};
use texpool_model::{import::ImportError, tensor::ConvertError};
use texpool_ops::{
    graph::{CheckError, ExtentError},
    kernels::KernelError,
};
use texpool_plan::printable;

/// Error of reading, compiling or running a model.
///
/// ```
/// use texpool::{Error, Model, graph::{GraphBuilder, Unary}};
///
/// let mut b = GraphBuilder::new("relu");
/// let x = b.input("image", &[1, 4, 4, 3])?;
/// let y = b.unary("y", Unary::Relu, x)?;
/// let model = Model::from_graph(b.finish(&[y])?)?;
/// let error = model.input("picture").unwrap_err();
/// assert!(matches!(error, Error::NoSuchTensor { .. }));
/// assert_eq!(error.to_string(), "the model has no input `picture`; its input is `image`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not a model that texpool can run.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The graph is inconsistent.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// An operator is unsupported, or too large for the indices of kernels.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No valid plan was found for the model.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The bytes are not a plan of the model.
    #[error(transparent)]
    SavedPlan(#[from] SavedPlanError),
    /// An error of the device: out of memory, lost, timed out, or an operation was refused. Also textures that do not
    /// fit, and sessions whose memory was released.
    #[error(transparent)]
    Gpu(GpuError),
    /// The model does not have an input or output of that name or index.
    #[error("the model has no {role} {key}; {}", those(*.role, known))]
    NoSuchTensor {
        /// Input or output.
        role: TensorRole,
        /// The name or index.
        key: WantedTensor,
        /// The names that exist.
        known: Vec<String>,
    },
    /// Several inputs or outputs have the name.
    #[error("the model has {} {role}s called `{}`; name one by its index: {indices:?}", indices.len(), printable(name))]
    AmbiguousName {
        /// Input or output.
        role: TensorRole,
        /// The name.
        name: String,
        /// Their indices.
        indices: Vec<usize>,
    },
    /// Inputs have no values.
    #[error(
        "{} {} no values: pass them to `run`, write them, or bind a texture",
        listed(names),
        if names.len() == 1 { "has" } else { "have" }
    )]
    MissingInputs {
        /// Their names.
        names: Vec<String>,
    },
    /// An input was given twice.
    #[error("input `{}` is given twice", printable(name))]
    InputTwice {
        /// Its name.
        name: String,
    },
    /// Two destinations were given for one output.
    #[error("there is room for output `{}` twice", printable(name))]
    OutputTwice {
        /// Its name.
        name: String,
    },
    /// Values were given for an input that is bound to a texture, or an output was requested whose bound texture cannot
    /// be copied.
    #[error("{role} `{}` is bound to a texture: {reason}", printable(name))]
    Bound {
        /// Input or output.
        role: TensorRole,
        /// Its name.
        name: String,
        /// Explanation and remedy.
        reason: &'static str,
    },
    /// Values do not match an input, or results cannot be converted to an output's type.
    #[error("{role} `{}`: {source}", printable(name))]
    Tensor {
        /// Input or output.
        role: TensorRole,
        /// Its name.
        name: String,
        /// The defect.
        source: ConvertError,
    },
    /// Inputs were given extents that a run cannot have: beyond a [bound](crate::TensorInfo::bounded_axes), or others
    /// than an input has that shares the extent. Or a run computed an extent beyond its
    /// [limit](crate::import::ImportOptions::bounds), so that its outputs are incomplete.
    #[error(transparent)]
    Extent(#[from] ExtentError),
    /// The values of an output cannot become those of an input.
    #[error("output `{}` cannot be carried to input `{}`: {problem}", printable(output), printable(input))]
    Carry {
        /// The output's name.
        output: String,
        /// The input's name.
        input: String,
        /// The reason.
        problem: CarryProblem,
    },
    /// A session was used without entering its pool, or with another pool.
    #[error("the session belongs to another pool, or another session has entered it since")]
    OtherPool,
    /// A model was compiled by another context, or for another texel format.
    #[error("the models of a pool must be compiled by its context, for texels of one format")]
    OtherContext,
    /// The thread for planning could not be started, or ended without a result.
    #[error("no thread to compile the model on: {reason}")]
    NoThread {
        /// Error from the operating system.
        reason: String,
    },
}

impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::Extent(error) => Self::Extent(error),
            error => Self::Gpu(error),
        }
    }
}

impl Error {
    /// Returns true if the device is lost. All objects on it are lost too, and another device must be opened.
    ///
    /// ```
    /// use texpool::{Error, GpuError};
    ///
    /// let error = Error::Gpu(GpuError::Lost { reason: None, message: "the driver was updated".to_owned() });
    /// assert!(error.is_lost());
    /// assert_eq!(error.to_string(), "the device was lost: the driver was updated");
    /// ```
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Lost { .. }))
    }

    /// Returns true if the device exceeded the timeout. It may still be busy, and the next call waits for it first.
    ///
    /// ```
    /// use texpool::{Error, GpuError};
    ///
    /// let error = Error::Gpu(GpuError::OutOfMemory { doing: "creating textures".to_owned(), bytes: None });
    /// assert!(!error.is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Timeout { .. }))
    }

    /// Returns true if a blocking wait was [interrupted](crate::Interrupt). The device may still be busy, and the
    /// next call waits for it first.
    ///
    /// ```
    /// use texpool::{Error, GpuError};
    ///
    /// let error = Error::Gpu(GpuError::Interrupted { what: "the run".to_owned() });
    /// assert!(error.is_interrupted() && !error.is_lost()); // the session can be used again
    /// ```
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Interrupted { .. }))
    }

    /// Returns true if the device belongs to the process that this one was forked from. A device and a session that
    /// are created in this process work.
    ///
    /// ```
    /// use texpool::{Error, GpuError};
    ///
    /// let error = Error::Gpu(GpuError::Forked);
    /// assert!(error.is_forked() && error.uncomputable().is_none()); // the model is not the cause
    /// ```
    pub fn is_forked(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Forked))
    }

    /// Returns true if the device is out of memory.
    ///
    /// ```
    /// use texpool::{Error, GpuError};
    ///
    /// let error = Error::Gpu(GpuError::OutOfMemory { doing: "creating textures".to_owned(), bytes: None });
    /// assert!(error.is_out_of_memory());
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::OutOfMemory { .. }))
    }
}

/// Part of a model that the device cannot compute.
///
/// ```
/// use texpool::{CompileError, Error, Uncomputable};
///
/// let (op, tensor) = ("GATHER", "tokens".to_owned());
/// let error = Error::Compile(CompileError::Indices { node: 7, op, tensor, places: 30_000 });
/// assert_eq!(error.uncomputable(), Some(Uncomputable::Node(7))); // the others may still run here
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncomputable {
    /// A node, by its index in the model file.
    Node(usize),
    /// More than one node, or a node that the error does not identify.
    Model,
}

impl Error {
    /// Returns the part of the model that the device cannot compute under any plan, or the whole model if the device
    /// is [out of memory](Self::is_out_of_memory). A program with another backend can compute that part there and
    /// compile the rest. Returns `None` for other errors caused by the device's state, and for those caused by a budget
    /// or by misuse of the library.
    ///
    /// ```
    /// use texpool::{Error, GpuError, Uncomputable};
    ///
    /// let limit = "maxTextureDimension2D";
    /// let what = "the weights of operator 3 (CONV_2D)".to_owned();
    /// let error = Error::Gpu(GpuError::Limit { what, node: Some(3), limit, needed: 40_000, allowed: 8192 });
    /// assert_eq!(error.uncomputable(), Some(Uncomputable::Node(3)));
    /// let error = Error::Gpu(GpuError::OutOfMemory { doing: "creating textures".to_owned(), bytes: None });
    /// assert_eq!(error.uncomputable(), Some(Uncomputable::Model));
    /// ```
    pub fn uncomputable(&self) -> Option<Uncomputable> {
        match self {
            Self::Kernel(error) | Self::Gpu(GpuError::Kernel(error)) => Some(of_kernel(error)),
            Self::Compile(error) | Self::Gpu(GpuError::Compile(error)) => of_compiler(error),
            Self::Gpu(GpuError::Limit { node, .. }) => Some(node.map_or(Uncomputable::Model, Uncomputable::Node)),
            Self::Gpu(GpuError::Refused { .. } | GpuError::OutOfMemory { .. } | GpuError::Graph(_))
            | Self::Graph(_) => Some(Uncomputable::Model),
            _ => None,
        }
    }
}

fn of_kernel(error: &KernelError) -> Uncomputable {
    error.op_index().map_or(Uncomputable::Model, Uncomputable::Node)
}

fn of_compiler(error: &CompileError) -> Option<Uncomputable> {
    match error {
        CompileError::Indices { node, .. }
        | CompileError::ManyIndices { node, .. }
        | CompileError::Integers { node, .. } => Some(Uncomputable::Node(*node)),
        CompileError::Budget { .. } | CompileError::BelowFloor { .. } | CompileError::DeviceBudget { .. } => None,
        _ => Some(Uncomputable::Model),
    }
}

/// Returns the names in quotes, separated by commas.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", printable(name))).collect();
    quoted.join(", ")
}

/// Describes the names that exist.
fn those(role: TensorRole, names: &[String]) -> String {
    match names {
        [] => format!("it has no {role}s"),
        [one] => format!("its {role} is {}", listed(std::slice::from_ref(one))),
        _ => format!("its {role}s are {}", listed(names)),
    }
}
