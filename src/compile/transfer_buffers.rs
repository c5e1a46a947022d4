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

    /// Bytes of each buffer that a run makes in which so many bytes go through them one after another, in whole texels. A run
    /// begins a submission where a buffer is full; those of a turn are made when its first submission needs them.
    pub(super) fn made(self, transfers: &[(Way, u64)], texel_bytes: u64) -> Vec<u64> {
        let all = |way: Way| transfers.iter().filter(|(other, _)| *other == way).map(|(_, bytes)| bytes).sum::<u64>();
        let room = [Way::Upload, Way::Download].map(|way| all(way).min(self.bytes));
        let (mut used, mut turn) = ([0, 0], 0);
        let mut made = vec![[false; 2]; self.count];
        for &(way, bytes) in transfers {
            let (way, mut left) = (way as usize, bytes);
            while left > 0 {
                let length = left.min((room[way] - used[way]) / texel_bytes * texel_bytes);
                if length == 0 && used == [0, 0] {
                    break;
                }
                if length == 0 {
                    (used, turn) = ([0, 0], (turn + 1) % self.count);
                    continue;
                }
                used[way] += length;
                left -= length;
                made[turn][way] = true;
            }
        }
        let bytes = |made: [bool; 2]| made.into_iter().zip(room).filter(|(made, _)| *made).map(|(_, bytes)| bytes);
        made.into_iter().flat_map(bytes).collect()
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
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
        for (buffers, transfers, made) in [
            (two, &[][..], &[][..]),
            // What fits into one needs no second, and no larger one.
            (two, &[(Upload, 32), (Upload, 16)], &[48]),
            (two, &[(Upload, 32), (Upload, 48)], &[64, 64]),
            (one, &[(Upload, 32), (Upload, 48)], &[64]),
            // A download that goes on in the next turn has a buffer there, too.
            (two, &[(Download, 16), (Upload, 96), (Download, 16)], &[64, 32, 64, 32]),
            (two, &[(Upload, 96), (Download, 32)], &[64, 64, 32]),
        ] {
            assert_eq!(buffers.made(transfers, 16), made, "{transfers:?}");
        }
    }
}
