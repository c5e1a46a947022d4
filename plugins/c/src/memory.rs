//! What a session takes of the device's memory.

use crate::{
    arguments::{SizedStruct, write},
    error::{texpool_error, texpool_status},
    guard::answer,
    session::{texpool_session, used},
};
use texpool_rust::{Memory, MemoryParts};

/// Bytes of the device's memory by what they are for. This struct does not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_memory_parts {
    /// All parts together.
    pub sum: u64,
    /// Textures that hold intermediate tensors.
    pub pool: u64,
    /// Textures of weights.
    pub weights: u64,
    /// Textures of inputs and outputs that lie beside the pool.
    pub io: u64,
    /// Buffers of parameters and tables.
    pub tables: u64,
    /// Buffers that values go through between host and device.
    pub transfer: u64,
    /// All else.
    pub other: u64,
}

impl From<MemoryParts> for texpool_memory_parts {
    fn from(parts: MemoryParts) -> Self {
        let MemoryParts { pool, weights, io, tables, transfer, other, .. } = parts;
        Self { sum: parts.sum(), pool, weights, io, tables, transfer, other }
    }
}

/// What a session takes of the device's memory, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_memory {
    /// sizeof(texpool_memory), set by the caller.
    pub struct_size: usize,
    /// What was asked of the device, now. The option "budget" is a promise about its sum.
    pub planned: texpool_memory_parts,
    /// The same as the driver allocated it, what it leaves out for alignment included; zeros where the driver does not say.
    pub allocated: texpool_memory_parts,
    /// Of the planned pool and weights, what other sessions use as well.
    pub shared: u64,
    /// Blocks that were taken from the driver for the whole device, in which all its sessions lie; 0 where the driver does
    /// not say.
    pub reserved: u64,
    /// The greatest sum of allocated since the session was created; 0 where the driver does not say.
    pub peak_allocated: u64,
    /// The greatest reserved since then.
    pub peak_reserved: u64,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are numbers.
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

/// Fills in what a session takes of the device's memory. Its struct_size must be set. Waits for a run that is under way.
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

/// Gives the device's memory back until the next run, which takes it again. What lay in inputs is lost. Waits for a run
/// that is under way.
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
