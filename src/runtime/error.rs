//! Errors between a model file and its results, in the caller's terms.

use super::WantedTensor;
use crate::{
    compile::{CompileError, SavedPlanError},
    gpu::{GpuError, TensorRole},
    graph::CheckError,
    import::ImportError,
    kernels::KernelError,
    plan::printable,
    tensor::ConvertError,
};

/// Why a model cannot be read, compiled or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not a model that texpool can run.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The graph is not whole.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// An operator is beyond what kernels can count with.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The model has no plan.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The bytes are not a plan of the model.
    #[error(transparent)]
    SavedPlan(#[from] SavedPlanError),
    /// An error of the device: out of memory, lost, timed out, or an operation was refused. Also textures that do not
    /// fit, and sessions whose memory was released.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The model does not have an input or output of that name or index.
    #[error("the model has no {role} {key}; {}", those(*.role, known))]
    NoSuchTensor {
        /// Input or output.
        role: TensorRole,
        /// The name or index.
        key: WantedTensor,
        /// The names of those that there are.
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
    /// Room was given for an output twice.
    #[error("there is room for output `{}` twice", printable(name))]
    OutputTwice {
        /// Its name.
        name: String,
    },
    /// Values were given for an input that lies in a texture of the caller's, or asked of such an output that cannot be
    /// copied.
    #[error("{role} `{}` is bound to a texture: {reason}", printable(name))]
    Bound {
        /// Input or output.
        role: TensorRole,
        /// Its name.
        name: String,
        /// The obstacle.
        reason: &'static str,
    },
    /// Values do not fit an input, or cannot be returned in an output's type.
    #[error("{role} `{}`: {source}", printable(name))]
    Tensor {
        /// Input or output.
        role: TensorRole,
        /// Its name.
        name: String,
        /// The defect.
        source: ConvertError,
    },
    /// A session was used without entering its pool, or with a pool that is not its own.
    #[error("the session belongs to another pool, or another session has entered it since")]
    OtherPool,
    /// A model was compiled by another context, or for texels of another format.
    #[error("the models of a pool must be compiled by its context, for texels of one format")]
    OtherContext,
    /// No thread for planning could be started.
    #[error("no thread to compile the model on: {reason}")]
    NoThread {
        /// Error from the operating system.
        reason: String,
    },
}

impl Error {
    /// Returns true if the device is lost. All objects on it are lost too, and another device must be opened.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Lost { .. }))
    }

    /// Returns true if the device exceeded the timeout. It may still be busy, and the next call waits for it first.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Timeout { .. }))
    }

    /// Returns true if a blocking wait was [interrupted](crate::Interrupt). The device may still be busy, and the
    /// next call waits for it first.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Interrupted { .. }))
    }

    /// Returns true if the device belongs to the process that this one was forked from. A device and a session that
    /// are created in this process work.
    pub fn is_forked(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::Forked))
    }

    /// Returns true if the device is out of memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::OutOfMemory { .. }))
    }
}

/// The part of a model that no plan lets the device compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncomputable {
    /// A node, by its index in the model file.
    Node(usize),
    /// More than one node, or one that the error does not name.
    Model,
}

impl Error {
    /// The part of the model that cannot be computed on the device, whatever plan is chosen: a program that can compute it
    /// elsewhere does so and compiles the rest. Nothing where the error is of the device's state, of a budget or of how the
    /// library was called.
    ///
    /// ```
    /// use texpool::{Error, GpuError, Uncomputable};
    ///
    /// let limit = "maxTextureDimension2D";
    /// let what = "the weights of operator 3 (CONV_2D)".to_owned();
    /// let error = Error::Gpu(GpuError::Limit { what, node: Some(3), limit, needed: 40_000, allowed: 8192 });
    /// assert_eq!(error.uncomputable(), Some(Uncomputable::Node(3)));
    /// ```
    pub fn uncomputable(&self) -> Option<Uncomputable> {
        match self {
            Self::Kernel(error) | Self::Gpu(GpuError::Kernel(error)) => Some(of_kernel(error)),
            Self::Compile(error) | Self::Gpu(GpuError::Compile(error)) => of_compiler(error),
            Self::Gpu(GpuError::Limit { node, .. }) => Some(node.map_or(Uncomputable::Model, Uncomputable::Node)),
            Self::Gpu(GpuError::Refused { .. } | GpuError::Graph(_)) | Self::Graph(_) => Some(Uncomputable::Model),
            _ => None,
        }
    }
}

fn of_kernel(error: &KernelError) -> Uncomputable {
    match error {
        KernelError::Unsupported { op_index, .. } | KernelError::TooLarge { op_index, .. } => {
            Uncomputable::Node(*op_index)
        }
        KernelError::Misfit { .. } | KernelError::Graph(_) => Uncomputable::Model,
    }
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

/// Names in quotes.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", printable(name))).collect();
    quoted.join(", ")
}

/// The names that exist.
fn those(role: TensorRole, known: &[String]) -> String {
    match known {
        [] => format!("it has no {role}s"),
        [one] => format!("its {role} is {}", listed(std::slice::from_ref(one))),
        _ => format!("its {role}s are {}", listed(known)),
    }
}
