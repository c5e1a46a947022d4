//! Device memory that a session uses.

/// Device memory of a session in bytes, by purpose: as planned, and as allocated by the driver.
///
/// Counts everything that this session created, even if others use the same device, and everything that it shares:
/// the weights of a model that several sessions run, and the textures of a `Pool`. Textures that the
/// caller bound are not counted.
///
/// ```no_run
/// # fn example(memory: texpool::Memory) {
/// println!("{} bytes, of which others use {} as well", memory.planned.sum(), memory.shared);
/// if let Some(allocated) = memory.allocated {
///     println!("{} by the driver's count, {} of them weights", allocated.sum(), allocated.weights);
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Bytes requested from the device, currently in use.
    pub planned: MemoryParts,
    /// Bytes as allocated by the driver, including padding for alignment; `None` if the driver does not report it.
    /// [`other`](MemoryParts::other) also includes wgpu's internal allocations on this device: half a MiB of zeros,
    /// and temporary staging buffers. wgpu does not report which session they belong to.
    pub allocated: Option<MemoryParts>,
    /// Part of the planned pool and weights that other sessions use as well.
    pub shared: u64,
    /// Blocks that wgpu's allocator currently holds from the driver for the whole device; `None` if not reported.
    /// Sessions on the same device share these blocks, so the number belongs to this session only if it is alone on
    /// its device.
    pub reserved: Option<u64>,
    /// Peak since the session was created; `None` if the driver does not report it.
    pub peak: Option<MemoryPeak>,
}

/// Bytes of device memory by purpose.
///
/// ```
/// use texpool::MemoryParts;
///
/// let mut parts = MemoryParts::default();
/// (parts.pool, parts.weights, parts.io) = (2 << 20, 3 << 20, 1 << 20);
/// assert_eq!(parts.sum(), 6 << 20);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryParts {
    /// Textures that hold intermediate tensors.
    pub pool: u64,
    /// Textures that hold weights.
    pub weights: u64,
    /// Textures of inputs and outputs outside the pool.
    pub io: u64,
    /// Buffers for the dispatches' parameters and row tables.
    pub tables: u64,
    /// Transfer buffers between host and device, for inputs, outputs, and weights during loading.
    pub transfer: u64,
    /// Everything else: a texture of one texel for unused bindings, and timestamp buffers during measurements.
    pub other: u64,
}

impl MemoryParts {
    /// Returns the sum of all parts, in bytes.
    pub const fn sum(&self) -> u64 {
        let &Self { pool, weights, io, tables, transfer, other } = self;
        pool + weights + io + tables + transfer + other
    }
}

/// Peak memory while loading and running, in bytes.
///
/// The session queries the driver each time after it has allocated something: each texture and buffer of weights
/// during loading, textures and tables of the model, and, in the first run, the textures of inputs and outputs and
/// the transfer buffers. Between two queries, memory is only released, so the peak is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPeak {
    /// Peak of the sum of [`Memory::allocated`].
    pub allocated: u64,
    /// Peak of [`Memory::reserved`], possibly at another moment.
    pub reserved: u64,
}
