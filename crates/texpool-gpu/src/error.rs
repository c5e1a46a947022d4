//! Errors of operations on the device.

use std::time::Duration;

use super::{TensorRole, TextureProblem};
use texpool_compile::CompileError;
use texpool_ops::{
    graph::{CheckError, ExtentError},
    kernels::KernelError,
    ops::reference::ReferenceError,
};
use texpool_plan::{TextureSpec, printable};

/// Error of an operation on the device.
///
/// ```
/// use texpool::GpuError;
///
/// let (what, limit) = ("the weights of operator 3 (CONV_2D)".to_owned(), "maxTextureDimension2D");
/// let error = GpuError::Limit { what, node: Some(3), limit, needed: 40_000, allowed: 8192 };
/// let text = "the weights of operator 3 (CONV_2D) needs 40000 texels along an axis, but the device's limit \
///     maxTextureDimension2D is 8192";
/// assert_eq!(error.to_string(), text);
/// ```
// Variants that sessions never return are hidden. They belong to the executor's other users: the command line tool
// and the tests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter was found.
    #[error("no GPU adapter was found ({reason})")]
    NoAdapter {
        /// Message of the adapter search.
        reason: String,
    },
    /// The adapter could not open a device.
    #[error("adapter {adapter} gave no device: {reason}")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// Message of the driver.
        reason: String,
    },
    /// An object exceeds a limit of the device.
    #[error("{what} needs {needed}{}, but the device's limit {limit} is {allowed}{}", unit(limit), remedy(limit))]
    Limit {
        /// The object that was to be created.
        what: String,
        /// Index in the model file of the node that needs the object, if it belongs to a single node.
        node: Option<usize>,
        /// Name of the limit, as WebGPU writes it.
        limit: &'static str,
        /// The required value.
        needed: u64,
        /// The value that the device allows.
        allowed: u64,
    },
    /// The device's memory is exhausted.
    #[error("the device is out of memory while {doing}{}", asked(*.bytes))]
    OutOfMemory {
        /// The operation that failed.
        doing: String,
        /// Size of the failed request in bytes, if known.
        bytes: Option<u64>,
    },
    /// The device refused an operation, because of a bug in texpool or in the driver.
    #[error("the device refused {doing}: {reason}")]
    Refused {
        /// The operation that failed.
        doing: String,
        /// Message of the device.
        reason: String,
    },
    /// The device was lost.
    #[error("the device was lost{}", lost(*.reason, message))]
    Lost {
        /// Tells a destroyed device from a device that failed. `None` for a device supplied by the caller, unless the
        /// caller reported (`Context::device_lost`) the loss: wgpu gives the reason to the caller's callback
        /// only.
        reason: Option<wgpu::DeviceLostReason>,
        /// The driver's message, or the symptom that revealed the loss; empty for a device that was destroyed.
        message: String,
    },
    /// The device took too long. It may still be working.
    #[error("the device has not finished {what} within {:.1} seconds", waited.as_secs_f64())]
    Timeout {
        /// The operation that was waited for.
        what: String,
        /// Length of the wait.
        waited: Duration,
    },
    /// A blocking wait was ended by its [`Interrupt`](crate::Interrupt). The device may still be working.
    #[error("waiting for {what} was interrupted")]
    Interrupted {
        /// The operation that was waited for.
        what: String,
    },
    /// The device was opened by the process that this one was forked from.
    #[error(
        "the device was opened before this process was forked, and works in the parent alone; open one, and make \
         sessions, in the process that runs them"
    )]
    Forked,
    /// The command encoder that a read was encoded into was dropped, or finished and never submitted.
    #[error("the commands for {what} were never submitted")]
    NotSubmitted {
        /// The operation that was waited for.
        what: String,
    },
    /// The session's memory was given back, and allocating it again may take long.
    #[error("the session has given its memory back; restore it first")]
    Trimmed,
    /// The model streams weights, inputs or outputs between host and device in the middle of a run. Such a run takes
    /// several submissions with host work between them, so it cannot be encoded as one.
    #[error(
        "the model's weights, inputs or outputs are streamed, so a run is no single submission: use `run`, or compile the \
         model without streaming"
    )]
    Streamed,
    /// A streamed input or output passes through the pool in the middle of a run and has no texture.
    #[error(
        "{role} {index} (`{}`) goes through the pool row by row and has no texture: {role}s go by value, through `run`, \
         or compile the model without streaming {role}s",
        printable(name)
    )]
    TensorStreamed {
        /// Input or output.
        role: TensorRole,
        /// Its index.
        index: usize,
        /// Its name.
        name: String,
    },
    /// A pool was created for models with smaller pools, or with another texel format.
    #[error("the pool has no room for the model; make one that names it")]
    PoolTooSmall,
    /// The graph is invalid.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// A texture that the caller bound does not match its input or output.
    #[error("the texture for {role} {index} (`{}`) must be {}, but {problem}", printable(name), described(*.expected))]
    ExternalTexture {
        /// Input or output.
        role: TensorRole,
        /// Its index.
        index: usize,
        /// Its name.
        name: String,
        /// The required texture.
        expected: TextureSpec,
        /// The mismatch.
        problem: TextureProblem,
    },
    /// The model has no input or output with that index.
    #[error("the model has no {role} {index}; it has {}", counted(*.count, *.role))]
    NoSuchTensor {
        /// Input or output.
        role: TensorRole,
        /// The index that was passed.
        index: usize,
        /// Number of inputs or outputs in the model.
        count: usize,
    },
    /// A dispatch was built for a texture that differs from the one at that index of its set.
    #[error("texture {texture} of the set was to be {}, but {reason}", described(*.expected))]
    Texture {
        /// Index of the texture in the set.
        texture: usize,
        /// The planned texture.
        expected: TextureSpec,
        /// The mismatch.
        reason: String,
    },
    /// The caller passed values for the wrong number of inputs, or buffers for the wrong number of outputs.
    #[error("{}", miscounted(*.role, by_value, in_textures, *.found))]
    TensorCount {
        /// Inputs or outputs.
        role: TensorRole,
        /// Names of the tensors that are passed by value, in order.
        by_value: Vec<String>,
        /// Names of the tensors bound to textures of the caller.
        in_textures: Vec<String>,
        /// The number that was passed.
        found: usize,
    },
    /// The caller passed a slice whose length differs from the element count of the input or output.
    #[error("{role} {index} (`{}`) has {expected} elements, but {found} were given", printable(name))]
    TensorLength {
        /// Input or output.
        role: TensorRole,
        /// Its index.
        index: usize,
        /// Its name.
        name: String,
        /// Its number of elements.
        expected: usize,
        /// The number of elements that were passed.
        found: usize,
    },
    /// Inputs whose extents differ between runs were given extents that the run cannot have, or a run computed an extent
    /// beyond its limit.
    #[error(transparent)]
    Extent(#[from] ExtentError),
    /// A step does not have exactly one result with a place in the pool.
    #[error("operator {op_index} ({op}) has no single result with a place")]
    NotPlaced {
        /// Index of the operator in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
    },
    /// A progress callback requested a stop.
    #[error("{doing} was cancelled")]
    Cancelled {
        /// The operation that was cancelled.
        doing: &'static str,
    },
    /// No plan exists for the model.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A step has no kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The CPU reference cannot compute a result to compare with.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

/// Formats the requested bytes as a clause for an error text.
fn asked(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", which takes {bytes} bytes"))
}

/// Formats reason and message of a device loss, to follow "the device was lost".
fn lost(reason: Option<wgpu::DeviceLostReason>, message: &str) -> String {
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason:?})"));
    if message.is_empty() { reason } else { format!("{reason}: {message}") }
}

/// Formats a texture's required size and format.
fn described(TextureSpec { width, height, format }: TextureSpec) -> String {
    format!("{width}x{height} texels of {format:?}")
}

/// Formats a number of inputs or outputs.
fn counted(count: usize, role: TensorRole) -> String {
    match count {
        0 => format!("no {role}"),
        1 => format!("one {role}"),
        _ => format!("{count} {role}s"),
    }
}

/// Formats how many inputs or outputs are passed by value and which, where the others are bound, and how many were
/// given.
fn miscounted(role: TensorRole, by_value: &[String], in_textures: &[String], found: usize) -> String {
    let names = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{}`", printable(name))).collect();
        names.join(", ")
    };
    let verb = if by_value.len() > 1 { "go" } else { "goes" };
    let which = if by_value.is_empty() { String::new() } else { format!(" ({})", names(by_value)) };
    let others = match in_textures {
        [] => String::new(),
        [_] => format!("; {} lies in a texture of the caller's", names(in_textures)),
        _ => format!("; {} lie in textures of the caller's", names(in_textures)),
    };
    let given = if found == 1 { "1 was".to_owned() } else { format!("{found} were") };
    format!("{}{which} {verb} by value, but {given} given{others}", counted(by_value.len(), role))
}

/// Limit of llvmpipe on the loops of an invocation, by the name of the constant in Mesa.
pub(super) const LOOP_LIMIT: &str = "LP_MAX_TGSI_LOOP_ITERATIONS";

/// Unit of a limit, for the error text; empty for plain counts.
fn unit(limit: &str) -> &'static str {
    match limit {
        LOOP_LIMIT => " rounds of its loops",
        "maxTextureDimension2D" => " texels along an axis",
        "maxBufferSize" | "maxStorageBufferBindingSize" | "maxComputeWorkgroupStorageSize" => " bytes",
        _ => "",
    }
}

/// Reason of a limit and a remedy, for the error text; empty for limits of the hardware.
fn remedy(limit: &str) -> &'static str {
    match limit {
        LOOP_LIMIT => "; this software driver ends longer loops without an error: split the axis, or take a GPU",
        _ => "",
    }
}

impl GpuError {
    /// Adds the number of requested bytes to an out-of-memory error.
    pub(super) fn for_bytes(self, asked: u64) -> Self {
        match self {
            Self::OutOfMemory { doing, .. } => Self::OutOfMemory { doing, bytes: Some(asked) },
            other => other,
        }
    }
}
