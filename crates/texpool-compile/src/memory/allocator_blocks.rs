//! Estimates how much memory wgpu's allocator takes from the driver. It takes whole blocks, which are seldom full, so
//! this is more than the session allocates.

/// Size of an allocator block, in bytes. This is the smallest that wgpu 30 supports (`gpu-allocator` 0.28,
/// `AllocationSizes`), and devices opened by the library request it. A larger allocation gets a dedicated block of
/// exactly its size.
pub(crate) const BLOCK: u64 = 4 << 20;

/// Padding that a driver adds to a texture larger than a block. Measured on lavapipe: up to 2 KiB; doubled here for
/// safety.
const ALIGNMENT: u64 = 4 << 10;

/// Returns the total size of the blocks that hold all of these allocations at once, packed first-fit in order of
/// decreasing size. Assumes that the device has only one kind of memory, as software devices and most integrated ones
/// do.
pub(crate) fn block_bytes(allocations: impl IntoIterator<Item = u64>) -> u64 {
    let (mut alone, mut shared) = (0, Vec::new());
    for bytes in allocations {
        match bytes > BLOCK {
            true => alone += bytes + ALIGNMENT,
            false => shared.push(bytes),
        }
    }
    shared.sort_unstable_by(|a, b| b.cmp(a));
    let mut room: Vec<u64> = Vec::new();
    for bytes in shared {
        match room.iter_mut().find(|room| **room >= bytes) {
            Some(room) => *room -= bytes,
            None => room.push(BLOCK - bytes),
        }
    }
    alone + BLOCK * room.len() as u64
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, BLOCK, block_bytes};

    #[test]
    fn blocks_hold_what_fits_and_large_ones_stand_alone() {
        const MIB: u64 = 1 << 20;
        for (allocations, expected) in [
            (&[][..], 0),
            (&[1], BLOCK),
            (&[BLOCK], BLOCK),
            (&[BLOCK + 1], BLOCK + 1 + ALIGNMENT),
            (&[MIB, 3 * MIB], BLOCK),
            (&[MIB, 3 * MIB, 1], 2 * BLOCK),
            // Three allocations of more than half a block each need three blocks, in any order.
            (&[3 * MIB, MIB, 3 * MIB, MIB, 3 * MIB], 3 * BLOCK),
            (&[9 * MIB, MIB], 9 * MIB + ALIGNMENT + BLOCK),
        ] {
            assert_eq!(block_bytes(allocations.iter().copied()), expected, "{allocations:?}");
        }
    }
}
