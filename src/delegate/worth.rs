//! Sets of nodes whose work is too small to be worth a call of the device.

use crate::import::Refusal;

/// Default for the fewest elementary operations of a set of nodes that is handed to the device.
///
/// A call submits commands and waits for the results, which takes 50 to 100 microseconds on any GPU, and copies inputs and
/// outputs. A single core of a CPU does 200,000 operations in that time. The limit is low on purpose: it rejects sets that
/// no device can gain on, and lets the user decide on all others.
pub const MIN_OPERATIONS: u64 = 200_000;

/// Returns the reason for leaving a set of nodes to the host: it needs fewer than `min_operations`. A set that is the
/// `whole` graph is taken whatever its size, since the user asked for it.
pub fn too_small(operations: u64, whole: bool, min_operations: u64) -> Option<Refusal> {
    (operations < min_operations && !whole).then(|| Refusal {
        reason: format!("its part of the graph has {operations} operations, less than a call of the device costs"),
        hint: format!("the option `min_operations` is {min_operations}; 0 takes every part"),
    })
}

#[cfg(test)]
mod tests {
    use super::too_small;

    #[test]
    fn only_parts_of_a_graph_are_too_small() {
        assert!(too_small(99, false, 100).unwrap().reason.starts_with("its part of the graph has 99 operations"));
        assert_eq!(too_small(99, true, 100), None);
        assert_eq!(too_small(100, false, 100), None);
        assert_eq!(too_small(0, false, 0), None);
    }
}
