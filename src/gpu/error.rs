//! What can go wrong on the device.

use std::time::Duration;

use crate::{
    compile::CompileError, graph::CheckError, kernels::KernelError, ops::reference::ReferenceError, plan::TextureSpec,
};

/// Why the device could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// No adapter was found.
    #[error(
        "no GPU adapter was found ({reason}); on Debian or Ubuntu `apt-get install mesa-vulkan-drivers libvulkan1` \
         installs a software one"
    )]
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
    #[error("the device was lost ({reason:?}){}", if message.is_empty() { String::new() } else { format!(": {message}") })]
    Lost {
        /// Whether it was destroyed, or for reasons of its own.
        reason: wgpu::DeviceLostReason,
        /// What the driver said; nothing for a device that was destroyed.
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
    /// The graph is not whole.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// A texture of the caller's is not as planned.
    #[error("texture {texture} was to be {expected:?}, but {reason}")]
    Texture {
        /// Which.
        texture: usize,
        /// As planned.
        expected: TextureSpec,
        /// What differs.
        reason: String,
    },
    /// The caller brought values that the model does not take.
    #[error("{what}: expected {expected}, found {found}")]
    Input {
        /// What was counted.
        what: String,
        /// How many there must be.
        expected: usize,
        /// How many there were.
        found: usize,
    },
    /// A step's result has no place.
    #[error("operator {op_index} ({op}) has no single result with a place")]
    NotPlaced {
        /// Index in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
    },
    /// A progress callback answered that it is enough.
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
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

/// The bytes asked for, in words.
fn asked(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", which takes {bytes} bytes"))
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
