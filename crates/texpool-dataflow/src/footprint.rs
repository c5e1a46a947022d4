//! Memory of a network by its authors' count: parameters, and one buffer per channel.

use super::{Bands, DataflowError, Network, Phasing, convert, least_buffers};

/// Elements of a network's parameters and least buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Weights and biases.
    pub parameters: u64,
    /// Buffers if each layer runs in one piece.
    pub whole: u64,
    /// Buffers if each layer runs row by row, including loops.
    pub phased: u64,
}

/// Returns the footprint of a network. All buffer sizes are determined by execution.
///
/// # Errors
/// Those of [`convert`](fn@convert) and [`least_buffers`].
pub fn footprint(network: &Network) -> Result<Footprint, DataflowError> {
    let buffers = |bands| -> Result<u64, DataflowError> {
        let csdf = convert(network, &Phasing { bands, ..Phasing::default() })?;
        Ok(least_buffers(&csdf)?.capacities.iter().fold(0, |sum: u64, &size| sum.saturating_add(size)))
    };
    let (whole, phased) = (buffers(Bands::AtMost(1))?, buffers(Bands::Rows)?);
    Ok(Footprint { parameters: network.parameters(), whole, phased })
}
