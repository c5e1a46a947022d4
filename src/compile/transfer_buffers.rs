//! The buffers that weights, inputs and outputs go through in the middle of a run.

use super::options::WeightStorage;

/// Bytes of each buffer where no weights are streamed, and at least and at most where some are. Each time that one is full
/// is a submission more: 14 MiB through buffers of 64 KiB take 4.7 ms on lavapipe, of 256 KiB 0.8 ms, of 1 MiB 1.2 ms
/// (copies alone). They are chosen smaller than the fastest, since all of the device's memory counts.
const BYTES: u64 = 128 << 10;
const MOST: u64 = 512 << 10;

/// Tiles of up to so many bytes go through one buffer, of [`BYTES`]: two of half as much, of which the host fills one while
/// the device reads the other, are twice as many submissions, and those cost more than the host's waiting. MobileNet v2 in
/// 1.5 MiB takes 67 ms of processor time through one of 128 KiB and 73 through two of 64, MobileNet v1 in 2 MiB 67 and 73,
/// and 9 % less from start to end (lavapipe, two cores). Through one of 256 KiB it takes what it takes through two of 128.
const ONE_BUFFER: u64 = 64 << 10;

/// The buffers for uploads, and as many for downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransferBuffers {
    /// Bytes of each, at most.
    pub(crate) bytes: u64,
    /// They are used in turns.
    pub(crate) count: usize,
}

impl TransferBuffers {
    /// As large as a tile of weights: who asks for small ones is short of memory.
    pub(crate) fn new(weights: WeightStorage) -> Self {
        match weights {
            WeightStorage::Streamed { tile_bytes, .. } if tile_bytes <= ONE_BUFFER => Self { bytes: BYTES, count: 1 },
            WeightStorage::Streamed { tile_bytes, .. } => Self { bytes: tile_bytes.clamp(BYTES, MOST), count: 2 },
            WeightStorage::Resident => Self { bytes: BYTES, count: 2 },
        }
    }

    /// The submissions of a run in which so many bytes go one way.
    pub(crate) const fn submissions(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes)
    }

    /// Bytes of each of those that go one way, where so many go through them in a run: what fits into one needs no second.
    pub(super) fn taken(self, bytes: u64) -> impl Iterator<Item = u64> {
        let (each, count) = if bytes > self.bytes { (self.bytes, self.count) } else { (bytes, 1) };
        std::iter::repeat_n(each, count)
    }
}
