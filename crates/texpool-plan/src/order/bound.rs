//! A lower bound on the peak of every order of a region.

use super::region::{Region, set};

/// Upper limit on the words of sets that the full bound visits; a region of a thousand operations and tensors takes a
/// tenth of it. Above it, only the tensors that an operation touches count.
const MAX_WORDS: usize = 1 << 28;

/// Returns the largest sum of tensors that are alive at an operation in every order. A tensor is, if the operation
/// touches it, or if one of its users must run before the operation and another one after it.
pub(super) fn always_alive(region: &Region) -> u64 {
    let Region { length, words, .. } = *region;
    let tensors = region.tensors().count();
    if length.saturating_mul(tensors).saturating_mul(words) > MAX_WORDS {
        return touched_at_once(region);
    }
    let ancestors = ancestors(region);
    let descendants = transposed(&ancestors, length, words);
    let meets = |users: &[u64], others: &[u64]| users.iter().zip(others).any(|(a, b)| a & b != 0);
    let alive_at = |operation: usize| {
        let before = &ancestors[operation * words..][..words];
        let behind = &descendants[operation * words..][..words];
        let alive = |&(_, users, begins, ends): &(u64, &[u64], bool, bool)| {
            (!begins || meets(users, before)) && (!ends || meets(users, behind))
        };
        region.tensors().filter(alive).map(|(size, ..)| size).sum::<u64>()
    };
    let most = (0..length).map(alive_at).max().unwrap_or(0);
    (region.untouched() + most).max(region.live)
}

/// Returns the largest sum of tensors that one operation touches.
fn touched_at_once(region: &Region) -> u64 {
    let mut sums = vec![0; region.length];
    for (size, users, ..) in region.tensors() {
        super::region::members(users).for_each(|operation| sums[operation] += size);
    }
    (region.untouched() + sums.into_iter().max().unwrap_or(0)).max(region.live)
}

/// Returns, for each operation, the set of operations that must run before it, and itself.
fn ancestors(region: &Region) -> Vec<u64> {
    let words = region.words;
    let mut ancestors = vec![0; region.length * words];
    for operation in 0..region.length {
        let (earlier, rest) = ancestors.split_at_mut(operation * words);
        for before in super::region::members(region.before(operation)) {
            rest[..words].iter_mut().zip(&earlier[before * words..]).for_each(|(to, from)| *to |= from);
        }
        set(rest, operation);
    }
    ancestors
}

/// Returns the inverse relation.
fn transposed(relation: &[u64], length: usize, words: usize) -> Vec<u64> {
    let mut inverse = vec![0; length * words];
    for (from, row) in relation.chunks(words).enumerate() {
        super::region::members(row).for_each(|to| set(&mut inverse[to * words..], from));
    }
    inverse
}
