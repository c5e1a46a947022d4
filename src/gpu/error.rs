//! What can go wrong on the device.

use std::time::Duration;

use super::{TensorRole, TextureProblem};
use crate::{
    compile::CompileError,
    graph::CheckError,
    kernels::KernelError,
    ops::reference::ReferenceError,
    plan::{TextureSpec, printable},
};

/// Why the device could not do what was asked.
// Hidden are what sessions cannot answer: errors of the executor's other users, which are the command and the tests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter was found.
    #[error("no GPU adapter was found ({reason})")]
    NoAdapter {
        /// What the search for adapters said.
        reason: String,
    },
    /// The adapter gave no device.
    #[error("adapter {adapter} gave no device: {reason}")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        reason: String,
    },
    /// A limit of the device is exceeded.
    #[error("{what} needs {needed}, but the device's limit {limit} is {allowed}")]
    Limit {
        /// What was to be made.
        what: String,
        /// Index in the model file of the node that needs it, where a single node does.
        node: Option<usize>,
        /// Name of the limit, as WebGPU writes it.
        limit: &'static str,
        /// What is needed.
        needed: u64,
        /// What the device allows.
        allowed: u64,
    },
    /// The device's memory is used up.
    #[error("the device is out of memory while {doing}{}", asked(*.bytes))]
    OutOfMemory {
        /// What was being made.
        doing: String,
        /// How many bytes were asked for at once, where that is known.
        bytes: Option<u64>,
    },
    /// The device refused; a defect of texpool or of the driver.
    #[error("the device refused {doing}: {reason}")]
    Refused {
        /// What was being made.
        doing: String,
        /// What the device said.
        reason: String,
    },
    /// The device is gone.
    #[error("the device was lost{}", lost(*.reason, message))]
    Lost {
        /// Whether it was destroyed, or for reasons of its own. `None` for a device of the caller's that was not
        /// [said](crate::Context::device_lost) to be lost: wgpu has told the caller, and nobody else.
        reason: Option<wgpu::DeviceLostReason>,
        /// What the driver said, or how the loss showed; nothing for a device that was destroyed.
        message: String,
    },
    /// The device took too long. It may still be at it.
    #[error("the device has not finished {what} within {:.1} seconds", waited.as_secs_f64())]
    Timeout {
        /// What was waited for.
        what: String,
        /// For how long.
        waited: Duration,
    },
    /// A blocking wait was ended by who was [asked](crate::Interrupt). The device may still be at work.
    #[error("waiting for {what} was interrupted")]
    Interrupted {
        /// What was waited for.
        what: String,
    },
    /// The device belongs to the process that this one was forked from.
    #[error(
        "the device was opened before this process was forked, and works in the parent alone; open one, and make \
         sessions, in the process that runs them"
    )]
    Forked,
    /// The command encoder that something was read with was dropped, or finished and never submitted.
    #[error("the commands for {what} were never submitted")]
    NotSubmitted {
        /// What was waited for.
        what: String,
    },
    /// The memory was given back, and taking it again may take long.
    #[error("the session has given its memory back; restore it first")]
    Trimmed,
    /// A run of a model in the middle of which weights, inputs or outputs cross between host and device is several
    /// submissions, the host's work between them, and was asked for as one.
    #[error(
        "the model's weights, inputs or outputs are streamed, so a run is no single submission: use `run`, or compile the \
         model without streaming"
    )]
    Streamed,
    /// An input or output that goes through the pool in the middle of a run has no texture.
    #[error(
        "{role} {index} (`{}`) goes through the pool row by row and has no texture: {role}s go by value, through `run`, \
         or compile the model without streaming {role}s",
        printable(name)
    )]
    TensorStreamed {
        /// Whether it is an input or an output.
        role: TensorRole,
        /// Which of them.
        index: usize,
        /// Its name.
        name: String,
    },
    /// A pool was made for models with smaller pools, or with another texel format.
    #[error("the pool has no room for the model; make one that names it")]
    PoolTooSmall,
    /// The graph is not whole.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// A texture of the caller's is not as the input or output that it is for.
    #[error("the texture for {role} {index} (`{}`) must be {}, but {problem}", printable(name), described(*.expected))]
    ExternalTexture {
        /// Whether it is for an input or an output.
        role: TensorRole,
        /// Which of them.
        index: usize,
        /// Its name.
        name: String,
        /// What the texture must be.
        expected: TextureSpec,
        /// What differs.
        problem: TextureProblem,
    },
    /// The model has no input or output of that index.
    #[doc(hidden)]
    #[error("the model has no {role} {index}; it has {}", counted(*.count, *.role))]
    NoSuchTensor {
        /// Whether an input or an output was meant.
        role: TensorRole,
        /// Which of them.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A dispatch was made for another texture than the one of that number in its set.
    #[doc(hidden)]
    #[error("texture {texture} of the set was to be {}, but {reason}", described(*.expected))]
    Texture {
        /// Which.
        texture: usize,
        /// As planned.
        expected: TextureSpec,
        /// What differs.
        reason: String,
    },
    /// Values were given for another number of inputs, or room for another number of outputs, than go by value.
    #[doc(hidden)]
    #[error("{}", miscounted(*.role, by_value, in_textures, *.found))]
    TensorCount {
        /// Whether inputs or outputs were counted.
        role: TensorRole,
        /// Names of those that go by value, in order.
        by_value: Vec<String>,
        /// Names of those that lie in textures of the caller's.
        in_textures: Vec<String>,
        /// How many were given.
        found: usize,
    },
    /// Values or room were given for another number of elements than an input or output has.
    #[doc(hidden)]
    #[error("{role} {index} (`{}`) has {expected} elements, but {found} were given", printable(name))]
    TensorLength {
        /// Whether it is an input or an output.
        role: TensorRole,
        /// Which of them.
        index: usize,
        /// Its name.
        name: String,
        /// How many elements it has.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A step's result has no place.
    #[doc(hidden)]
    #[error("operator {op_index} ({op}) has no single result with a place")]
    NotPlaced {
        /// Index in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
    },
    /// A progress callback answered that it is enough.
    #[doc(hidden)]
    #[error("{doing} was cancelled")]
    Cancelled {
        /// What was being done.
        doing: &'static str,
    },
    /// The model has no plan.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A step has no kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A reference has no answer to compare with.
    #[doc(hidden)]
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

/// The bytes asked for, in words.
fn asked(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", which takes {bytes} bytes"))
}

/// How a device was lost, behind the words that it was.
fn lost(reason: Option<wgpu::DeviceLostReason>, message: &str) -> String {
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason:?})"));
    if message.is_empty() { reason } else { format!("{reason}: {message}") }
}

/// What a texture must be.
fn described(TextureSpec { width, height, format }: TextureSpec) -> String {
    format!("{width}x{height} texels of {format:?}")
}

/// A number of inputs or outputs.
fn counted(count: usize, role: TensorRole) -> String {
    match count {
        0 => format!("no {role}"),
        1 => format!("one {role}"),
        _ => format!("{count} {role}s"),
    }
}

/// How many inputs or outputs go by value, which ones, where the others are, and how many were given.
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

impl GpuError {
    /// Notes in an error of memory how many bytes were asked for.
    pub(super) fn for_bytes(self, asked: u64) -> Self {
        match self {
            Self::OutOfMemory { doing, .. } => Self::OutOfMemory { doing, bytes: Some(asked) },
            other => other,
        }
    }
}
