//! What a session takes of the device's memory.

/// Bytes of what a session has made, and of nothing else that its device holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Pool as planned.
    pub pool_planned: u64,
    /// Pool as the driver allocated it; `None` where the driver does not say.
    pub pool_driver: Option<u64>,
    /// Textures of inputs and outputs, as planned; those of the caller's do not count.
    pub io_planned: u64,
    /// Weight textures, as packed.
    pub weights: u64,
    /// Buffers of the dispatches' parameters and row tables.
    pub tables: u64,
    /// Buffers that values of inputs and outputs go through.
    pub staging: u64,
    /// Of the pool and the weights, what other sessions use as well.
    pub shared: u64,
    /// All of it as the driver allocated it; `None` where the driver does not say.
    pub driver: Option<u64>,
}

impl Memory {
    /// All that the session has made, as planned, but for a texture of one texel.
    pub fn planned(&self) -> u64 {
        self.pool_planned + self.io_planned + self.weights + self.tables + self.staging
    }
}
