//! Device memory used by a session.

use crate::{
    arguments::{SizedStruct, write},
    error::{texpool_error, texpool_status},
    guard::answer,
    session::{texpool_session, used},
};
use texpool_rust::{Memory, MemoryParts};

/// Bytes of device memory, broken down by purpose. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_memory_parts {
    /// Sum of all parts.
    pub sum: u64,
    /// Textures that hold intermediate tensors.
    pub pool: u64,
    /// Textures of weights.
    pub weights: u64,
    /// Textures of inputs and outputs that lie outside the pool.
    pub io: u64,
    /// Buffers of parameters and tables.
    pub tables: u64,
    /// Staging buffers for transfers between host and device.
    pub transfer: u64,
    /// Everything else.
    pub other: u64,
}

impl From<MemoryParts> for texpool_memory_parts {
    fn from(parts: MemoryParts) -> Self {
        let MemoryParts { pool, weights, io, tables, transfer, other, .. } = parts;
        Self { sum: parts.sum(), pool, weights, io, tables, transfer, other }
    }
}

/// Device memory used by a session, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_memory {
    /// sizeof(texpool_memory), set by the caller.
    pub struct_size: usize,
    /// Bytes that the session currently requests from the device. The option "budget" limits the sum.
    pub planned: texpool_memory_parts,
    /// Bytes that the driver allocated for these requests, including alignment padding; zeros if the driver does not
    /// report it.
    pub allocated: texpool_memory_parts,
    /// Part of the planned pool and weights that is shared with other sessions.
    pub shared: u64,
    /// Size of the blocks that were allocated from the driver for the whole device, shared by all its sessions; 0 if
    /// the driver does not report it.
    pub reserved: u64,
    /// Maximum of allocated.sum since the session was created; 0 if the driver does not report it.
    pub peak_allocated: u64,
    /// Maximum of reserved since the session was created.
    pub peak_reserved: u64,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are valid numbers.
unsafe impl SizedStruct for texpool_memory {
    const NAME: &'static str = "texpool_memory";
}

impl texpool_memory {
    fn new(struct_size: usize, memory: &Memory) -> Self {
        let peak = memory.peak.unwrap_or_default();
        Self {
            struct_size,
            planned: memory.planned.into(),
            allocated: memory.allocated.unwrap_or_default().into(),
            shared: memory.shared,
            reserved: memory.reserved.unwrap_or_default(),
            peak_allocated: peak.allocated,
            peak_reserved: peak.reserved,
        }
    }
}

/// Writes the session's device memory usage to *memory, whose struct_size must be set. Waits for a run in progress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_memory(
    session: *const texpool_session,
    memory: *mut texpool_memory,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe {
        let session = used(session)?;
        write(memory, |size| session.with(|session| Ok(texpool_memory::new(size, &session.memory()))))
    })
}

/// Frees the session's device memory until the next run, which allocates it again. The values of inputs are lost,
/// except those of texpool_session_carry. Waits for a run in progress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_trim(
    session: *const texpool_session,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        let session = unsafe { used(session) }?;
        session.with(|session| {
            session.trim();
            Ok(())
        })
    })
}
