//! Divides nodes into sets that can run one after another. Only considers dependencies, and which nodes are taken.
//!
//! Both runtimes follow the same rule. Nodes that are ready and of one kind (taken or left) run as long as there are
//! any, then those of the other kind. The taken nodes of one turn form a set. No left node lies between two of them,
//! so no set depends on its own results. The runtimes differ in the kind that begins.

use std::{cmp::Reverse, collections::BinaryHeap};

/// The kind that has the first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstTurn {
    /// The kind of the first node that is ready.
    FirstNode,
    /// Nodes that are left.
    Left,
}

/// Returns the sets of taken nodes, each in ascending order. `waits` lists the nodes that must run before each node.
pub(super) fn sets(waits: &[Vec<usize>], is_taken: &[bool], first: FirstTurn) -> Vec<Vec<usize>> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    let mut missing: Vec<usize> = waits.iter().map(Vec::len).collect();
    for (node, before) in waits.iter().enumerate() {
        before.iter().for_each(|&producer| readers[producer].push(node));
    }
    // Nodes that are ready, by whether they are taken, in ascending order.
    let mut ready = [BinaryHeap::new(), BinaryHeap::new()];
    for node in (0..waits.len()).filter(|&node| missing[node] == 0) {
        ready[usize::from(is_taken[node])].push(Reverse(node));
    }
    let mut turn = match first {
        FirstTurn::Left => false,
        // In `Reverse` order, the larger element is the earlier node, and `None` is smaller than any.
        FirstTurn::FirstNode => ready[1].peek() > ready[0].peek(),
    };
    let mut sets = Vec::new();
    while ready.iter().any(|heap| !heap.is_empty()) {
        let mut set = Vec::new();
        while let Some(Reverse(node)) = ready[usize::from(turn)].pop() {
            set.push(node);
            for &reader in &readers[node] {
                missing[reader] -= 1;
                if missing[reader] == 0 {
                    ready[usize::from(is_taken[reader])].push(Reverse(reader));
                }
            }
        }
        if turn && !set.is_empty() {
            set.sort_unstable();
            sets.push(set);
        }
        turn = !turn;
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets_of(waits: &[&[usize]], is_taken: &[bool]) -> [Vec<Vec<usize>>; 2] {
        let waits: Vec<Vec<usize>> = waits.iter().map(|waits| waits.to_vec()).collect();
        [FirstTurn::FirstNode, FirstTurn::Left].map(|first| sets(&waits, is_taken, first))
    }

    #[test]
    fn nodes_left_in_the_middle_divide_a_partition() {
        // 0 -> 1 (left) -> 2, and 0 -> 2: the two taken nodes cannot form one set.
        assert_eq!(sets_of(&[&[], &[0], &[0, 1]], &[true, false, true]), [[[0], [2]], [[0], [2]]]);
        assert_eq!(sets_of(&[&[], &[0], &[0], &[1, 2]], &[true; 4]), [[[0, 1, 2, 3]], [[0, 1, 2, 3]]]);
        assert!(sets_of(&[&[], &[0]], &[false; 2]).iter().all(Vec::is_empty));
        // Two branches with a left node in each: two sets, not four.
        let branches: [&[usize]; 6] = [&[], &[], &[0], &[1], &[2], &[3]];
        assert_eq!(sets_of(&branches, &[true, true, false, false, true, true])[0], [[0, 1], [4, 5]]);
    }

    /// 1 is left and depends on nothing. If it runs first, all others form one set.
    #[test]
    fn the_first_turn_may_decide() {
        let [by_node, left_first] = sets_of(&[&[], &[], &[0, 1]], &[true, false, true]);
        assert_eq!(by_node, [[0], [2]]);
        assert_eq!(left_first, [[0, 2]]);
        assert_eq!(sets_of(&[&[], &[], &[0, 1]], &[false, true, true])[0], [[1, 2]]);
    }
}
