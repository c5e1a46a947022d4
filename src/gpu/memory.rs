//! What a session takes of the device's memory.

/// What a session takes of the device's memory, in bytes, by what it is for: as planned, and as the driver allocated it.
///
/// Counted is what this session made, also where its device holds much else, and what it shares with others: the
/// weights of a model that several sessions run, and the textures of a [`Pool`](crate::Pool). Textures that the caller
/// bound are the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// What was asked of the device, now.
    pub planned: MemoryParts,
    /// The same as the driver allocated it, what it leaves out for alignment included; `None` where the driver does not
    /// say. [`other`](MemoryParts::other) holds what wgpu made for itself on this device, too: half a MiB of zeros, and
    /// staging buffers of its own while they are there. wgpu does not say for whom it made them.
    pub allocated: Option<MemoryParts>,
    /// Of the planned pool and weights, what other sessions use as well.
    pub shared: u64,
    /// Blocks that wgpu's allocator has taken from the driver for the whole device, now; `None` where it does not say.
    /// Sessions of one device lie in the same blocks, so those cannot be told apart: they are this session's where it is
    /// alone on its device.
    pub reserved: Option<u64>,
    /// The most since the session was made; `None` where the driver does not say.
    pub peak: Option<MemoryPeak>,
}

/// Bytes of the device's memory by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryParts {
    /// Textures that hold intermediate tensors.
    pub pool: u64,
    /// Textures of weights.
    pub weights: u64,
    /// Textures of inputs and outputs that lie beside the pool.
    pub io: u64,
    /// Buffers of the dispatches' parameters and row tables.
    pub tables: u64,
    /// Buffers that values go through between host and device: those of inputs and outputs, and of weights while they are
    /// loaded.
    pub transfer: u64,
    /// All else: a texture of one texel for what dispatches leave open, and buffers of timestamps while they are measured.
    pub other: u64,
}

impl MemoryParts {
    /// All parts together, in bytes.
    pub const fn sum(&self) -> u64 {
        let &Self { pool, weights, io, tables, transfer, other } = self;
        pool + weights + io + tables + transfer + other
    }
}

/// The most memory that there was at any moment of loading and running, in bytes.
///
/// The driver is asked each time after the session made something: each texture and buffer of weights while they are
/// loaded, textures and tables of the model, and, with the first run, the textures of inputs and outputs and the buffers
/// that values go through. Between two such moments memory is given back, and none is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPeak {
    /// The greatest sum of [`Memory::allocated`].
    pub allocated: u64,
    /// The greatest [`Memory::reserved`], at perhaps another moment.
    pub reserved: u64,
}
