//! Memory of a network as its authors count it: parameters, and a buffer for each channel.

use super::{Bands, DataflowError, Network, Phasing, convert, least_buffers};

/// Elements of a network's parameters and least buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Weights and biases.
    pub parameters: u64,
    /// Buffers if each layer runs at once.
    pub whole: u64,
    /// Buffers if each layer runs row by row, loops included.
    pub phased: u64,
}

/// The footprint of a network, all of its buffers found by execution.
///
/// # Errors
/// As [`convert`](fn@convert) and [`least_buffers`].
pub fn footprint(network: &Network) -> Result<Footprint, DataflowError> {
    let buffers = |bands| -> Result<u64, DataflowError> {
        let csdf = convert(network, &Phasing { bands, ..Phasing::default() })?;
        Ok(least_buffers(&csdf)?.capacities.iter().fold(0, |sum: u64, &size| sum.saturating_add(size)))
    };
    let (whole, phased) = (buffers(Bands::AtMost(1))?, buffers(Bands::Rows)?);
    Ok(Footprint { parameters: network.parameters(), whole, phased })
}
