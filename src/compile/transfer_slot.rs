//! The buffers that weights, inputs and outputs go through in the middle of a run.

use super::options::WeightStorage;

/// Bytes of such a buffer where no weights are streamed, and at least and at most where some are. Each time that one is
/// full is a submission more: 14 MiB through buffers of 64 KiB take 4.7 ms on lavapipe, of 256 KiB 0.8 ms, of 1 MiB 1.2 ms
/// (copies alone). The first is chosen smaller than the fastest, since all of the device's memory counts.
const SLOT: u64 = 128 << 10;
const LEAST_SLOT: u64 = 64 << 10;
const MOST_SLOT: u64 = 512 << 10;

/// Bytes of each of the two buffers for uploads, and of each of the two for downloads, at most: those of a tile of weights,
/// since who asks for small ones is short of memory.
pub(super) fn transfer_slot(weights: WeightStorage) -> u64 {
    match weights {
        WeightStorage::Resident => SLOT,
        WeightStorage::Streamed { tile_bytes, .. } => tile_bytes.clamp(LEAST_SLOT, MOST_SLOT),
    }
}
