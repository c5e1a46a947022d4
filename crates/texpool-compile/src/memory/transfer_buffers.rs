//! The buffers for transfers of weights, inputs and outputs in the middle of a run.

use crate::options::WeightStorage;

/// Buffer size in bytes: `BYTES` without streamed weights, and between `BYTES` and `MOST` with them. Each full buffer
/// costs another submission: 14 MiB through buffers of 64 KiB take 4.7 ms on lavapipe, of 256 KiB 0.8 ms, of 1 MiB
/// 1.2 ms (copies alone). The sizes are smaller than the fastest ones, because all device memory counts.
const BYTES: u64 = 128 << 10;
const MOST: u64 = 512 << 10;

/// Tile size in bytes up to which a single buffer of [`BYTES`] is used. With two buffers of half the size, the host
/// could fill one while the device reads the other, but they need twice as many submissions, which cost more than the
/// host's waiting. MobileNet v2 in 1.5 MiB takes 67 ms of processor time through one buffer of 128 KiB and 73 through
/// two of 64, MobileNet v1 in 2 MiB 67 and 73, and 9 % less wall-clock time (lavapipe, two cores). One buffer of 256
/// KiB is as fast as two of 128.
const ONE_BUFFER: u64 = 64 << 10;

/// Sizes of the buffers for uploads; downloads have an equal set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferBuffers {
    /// Maximum size of each buffer, in bytes.
    pub bytes: u64,
    /// Number of buffers, which are used in rotation.
    pub count: usize,
}

impl TransferBuffers {
    /// Chooses buffers about as large as a weight tile: callers that request small tiles are short of memory.
    pub fn new(weights: WeightStorage) -> Self {
        match weights {
            WeightStorage::Streamed { tile_bytes, .. } if tile_bytes <= ONE_BUFFER => Self { bytes: BYTES, count: 1 },
            WeightStorage::Streamed { tile_bytes, .. } => Self { bytes: tile_bytes.clamp(BYTES, MOST), count: 2 },
            WeightStorage::Resident => Self { bytes: BYTES, count: 2 },
        }
    }

    /// Returns the number of submissions of a run that transfers `bytes` bytes in one direction.
    pub const fn submissions(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes)
    }

    /// Returns the sizes of the buffers that a run creates for these transfers, each of which consists of whole
    /// texels. A run starts a new submission when a buffer is full. Buffers of a rotation slot are created when its
    /// first submission needs them.
    pub(crate) fn sizes(self, transfers: &[(Way, u64)], texel_bytes: u64) -> Vec<u64> {
        let all = |way: Way| transfers.iter().filter(|(other, _)| *other == way).map(|(_, bytes)| bytes).sum::<u64>();
        let room = [Way::Upload, Way::Download].map(|way| all(way).min(self.bytes));
        let (mut used, mut turn) = ([0, 0], 0);
        let mut exists = vec![[false; 2]; self.count];
        for &(way, bytes) in transfers {
            let (way, mut remaining) = (way as usize, bytes);
            while remaining > 0 {
                let length = remaining.min((room[way] - used[way]) / texel_bytes * texel_bytes);
                if length == 0 && used == [0, 0] {
                    break;
                }
                if length == 0 {
                    (used, turn) = ([0, 0], (turn + 1) % self.count);
                    continue;
                }
                used[way] += length;
                remaining -= length;
                exists[turn][way] = true;
            }
        }
        let bytes =
            |exists: [bool; 2]| exists.into_iter().zip(room).filter(|(exists, _)| *exists).map(|(_, bytes)| bytes);
        exists.into_iter().flat_map(bytes).collect()
    }
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Upload,
    Download,
}

#[cfg(test)]
mod tests {
    use super::{
        TransferBuffers,
        Way::{Download, Upload},
    };

    #[test]
    fn buffers_are_made_for_the_turns_that_need_them() {
        let two = TransferBuffers { bytes: 64, count: 2 };
        let one = TransferBuffers { count: 1, ..two };
        for (buffers, transfers, sizes) in [
            (two, &[][..], &[][..]),
            // If everything fits in one buffer, it needs no second and no larger one.
            (two, &[(Upload, 32), (Upload, 16)], &[48]),
            (two, &[(Upload, 32), (Upload, 48)], &[64, 64]),
            (one, &[(Upload, 32), (Upload, 48)], &[64]),
            // A download that continues in the next slot gets a buffer there, too.
            (two, &[(Download, 16), (Upload, 96), (Download, 16)], &[64, 32, 64, 32]),
            (two, &[(Upload, 96), (Download, 32)], &[64, 64, 32]),
        ] {
            assert_eq!(buffers.sizes(transfers, 16), sizes, "{transfers:?}");
        }
    }
}
