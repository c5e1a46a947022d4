//! Dividing nodes into sets that can run one after another. Knows nodes alone: who waits for whom, and who takes part.
//!
//! Both runtimes' ways come to this: nodes that could run next and are of one kind (taken or left) run as long as there
//! are such, then those of the other kind. All that were taken in one turn are a set; nothing that is left lies between
//! two of them, so that no set waits for what itself computes. The runtimes differ in who has the first turn.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Who has the first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstTurn {
    /// The kind of the first node that could run.
    FirstNode,
    /// Nodes that are left.
    Left,
}

/// Sets of the nodes that are taken, each in ascending order. `waits` says of each node which ones must have run before.
pub(super) fn sets(waits: &[Vec<usize>], taken: &[bool], first: FirstTurn) -> Vec<Vec<usize>> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    let mut missing: Vec<usize> = waits.iter().map(Vec::len).collect();
    for (node, before) in waits.iter().enumerate() {
        before.iter().for_each(|&producer| readers[producer].push(node));
    }
    // Those that could run, by whether they are taken, first ones first.
    let mut ready = [BinaryHeap::new(), BinaryHeap::new()];
    for node in (0..waits.len()).filter(|&node| missing[node] == 0) {
        ready[usize::from(taken[node])].push(Reverse(node));
    }
    let mut turn = match first {
        FirstTurn::Left => false,
        // As `Reverse` has it, the greater is the earlier node; none is less than any.
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
                    ready[usize::from(taken[reader])].push(Reverse(reader));
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

    fn found(waits: &[&[usize]], taken: &[bool]) -> [Vec<Vec<usize>>; 2] {
        let waits: Vec<Vec<usize>> = waits.iter().map(|waits| waits.to_vec()).collect();
        [FirstTurn::FirstNode, FirstTurn::Left].map(|first| sets(&waits, taken, first))
    }

    #[test]
    fn what_is_left_in_the_middle_divides() {
        // 0 -> 1 (left) -> 2, and 0 -> 2: the two that are taken cannot be one.
        assert_eq!(found(&[&[], &[0], &[0, 1]], &[true, false, true]), [[[0], [2]], [[0], [2]]]);
        assert_eq!(found(&[&[], &[0], &[0], &[1, 2]], &[true; 4]), [[[0, 1, 2, 3]], [[0, 1, 2, 3]]]);
        assert!(found(&[&[], &[0]], &[false; 2]).iter().all(Vec::is_empty));
        // Two branches with a node in each that is left: two sets, not four.
        let branches: [&[usize]; 6] = [&[], &[], &[0], &[1], &[2], &[3]];
        assert_eq!(found(&branches, &[true, true, false, false, true, true])[0], [[0, 1], [4, 5]]);
    }

    /// 1 is left and waits for nothing: where it goes first, all others are one.
    #[test]
    fn the_first_turn_may_decide() {
        let [by_node, left_first] = found(&[&[], &[], &[0, 1]], &[true, false, true]);
        assert_eq!(by_node, [[0], [2]]);
        assert_eq!(left_first, [[0, 2]]);
        assert_eq!(found(&[&[], &[], &[0, 1]], &[false, true, true])[0], [[1, 2]]);
    }
}
