//! Sets of nodes whose work is too small to be worth a call of the device.

use crate::import::Refusal;

/// Default for the fewest elementary operations of a set of nodes that is handed to the device.
///
/// A call submits commands and waits for the results, which takes 50 to 100 microseconds on any GPU. A single core of
/// a CPU does 200,000 operations in that time. The limit is low on purpose: it rejects sets that no device can gain on,
/// and lets the user decide on all others. It holds for sets that copy nothing, and grows by itself with every
/// [`BYTES_OF_A_CALL`].
pub const MIN_OPERATIONS: u64 = 200_000;

/// Number of bytes whose copies to the device and back take as long as the rest of a call.
///
/// Measured on a software device: a call without copies takes 0.75 milliseconds, and each 128 KiB as long again. The
/// rule only uses this ratio. It fits hardware too: 128 KiB take 65 microseconds at two bytes per nanosecond.
pub const BYTES_OF_A_CALL: u64 = 128 << 10;

/// The work of a set of nodes in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Elementary operations.
    pub(super) operations: u64,
    /// Bytes of inputs and outputs, which are copied to the device and back.
    pub(super) copied: u64,
}

/// Returns the reason for leaving a set of nodes to the host: it has fewer operations than a call with its copies is
/// worth, of which `min_operations` are for a call without copies. A set that is the `whole` graph is taken whatever
/// its size, since the user asked for it.
pub(super) fn too_small(work: Work, whole: bool, min_operations: u64) -> Option<Refusal> {
    let Work { operations, copied } = work;
    let for_copies = u128::from(min_operations) * u128::from(copied) / u128::from(BYTES_OF_A_CALL);
    let needed = u128::from(min_operations) + for_copies;
    (u128::from(operations) < needed && !whole).then(|| Refusal {
        reason: format!(
            "its part of the graph has {operations} operations, less than a call of the device costs that copies \
             {copied} bytes"
        ),
        hint: format!("the option `min_operations` is {min_operations}; 0 takes every part"),
    })
}

#[cfg(test)]
mod tests {
    use super::{BYTES_OF_A_CALL, Work, too_small};

    fn work(operations: u64, copied: u64) -> Work {
        Work { operations, copied }
    }

    #[test]
    fn only_parts_of_a_graph_are_too_small() {
        let refusal = too_small(work(99, 8), false, 100).unwrap();
        assert!(refusal.reason.starts_with("its part of the graph has 99 operations"), "{}", refusal.reason);
        assert_eq!(too_small(work(99, 8), true, 100), None);
        assert_eq!(too_small(work(100, 8), false, 100), None);
        assert_eq!(too_small(work(0, u64::MAX), false, 0), None);
    }

    /// Every `BYTES_OF_A_CALL` that are copied ask for as many operations again.
    #[test]
    fn copies_count() {
        for (operations, calls, is_worth_it) in
            [(299, 2, false), (300, 2, true), (109, 0, true), (u64::MAX, 1 << 40, true)]
        {
            let reason = too_small(work(operations, calls * BYTES_OF_A_CALL), false, 100);
            assert_eq!(reason.is_none(), is_worth_it, "{reason:?}");
        }
        assert!(too_small(work(u64::MAX, u64::MAX), false, u64::MAX).is_some());
        assert!(too_small(work(1, u64::MAX), true, u64::MAX).is_none());
    }
}
