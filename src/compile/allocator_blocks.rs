//! What wgpu's allocator takes from the driver for what a session allocates: blocks, which are seldom full.

/// Bytes of a block, the fewest that wgpu 30 can be asked for (`gpu-allocator` 0.28, `AllocationSizes`), as devices that the
/// library opens do. What is larger has a block of its own, of its own size.
pub(super) const BLOCK: u64 = 4 << 20;

/// What a driver adds to a texture that is larger than a block. Measured on lavapipe: up to 2 KiB, doubled.
const ALIGNMENT: u64 = 4 << 10;

/// Bytes of the blocks that hold all of these at once, the largest first, each in the first block with room: on a device
/// whose memory is of one kind, as software devices and most integrated ones have it.
pub(super) fn block_bytes(allocations: impl IntoIterator<Item = u64>) -> u64 {
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
            // Three of more than half a block share none, whatever their order.
            (&[3 * MIB, MIB, 3 * MIB, MIB, 3 * MIB], 3 * BLOCK),
            (&[9 * MIB, MIB], 9 * MIB + ALIGNMENT + BLOCK),
        ] {
            assert_eq!(block_bytes(allocations.iter().copied()), expected, "{allocations:?}");
        }
    }
}
