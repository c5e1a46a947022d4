//! Divides a problem at operations that are comparable with all others, as SERENITY does (Ahn et al. 2020).

use std::ops::Range;

/// Returns ranges of operations that follow each other in every order. An operation that depends on all before it, and
/// that all behind it depend on, is a range of its own. Takes linear time: all earlier operations are ancestors of an
/// operation if none of them has its first successor behind it.
pub(super) fn segments(after: &[Vec<usize>]) -> Vec<Range<usize>> {
    let length = after.len();
    let mut first_successor = vec![length; length];
    for (operation, earlier) in after.iter().enumerate() {
        for &other in earlier {
            first_successor[other] = first_successor[other].min(operation);
        }
    }
    // The smallest last dependency of the operations behind each; none at all counts as before the first.
    let mut least_behind = vec![length; length + 1];
    for operation in (0..length).rev() {
        let last = after[operation].last().map_or(0, |&last| last + 1);
        least_behind[operation] = least_behind[operation + 1].min(last);
    }
    let (mut segments, mut begin, mut reach) = (Vec::new(), 0, 0);
    for operation in 0..length {
        if reach <= operation && least_behind[operation + 1] > operation {
            if begin < operation {
                segments.push(begin..operation);
            }
            segments.push(operation..operation + 1);
            begin = operation + 1;
        }
        reach = reach.max(first_successor[operation]);
    }
    if begin < length {
        segments.push(begin..length);
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn a_chain_is_cut_everywhere_and_branches_nowhere() {
        assert_eq!(segments(&[vec![], vec![0], vec![1]]), [0..1, 1..2, 2..3]);
        // A diamond with a tail.
        let diamond = [vec![], vec![0], vec![0], vec![1, 2], vec![3]];
        assert_eq!(segments(&diamond), [0..1, 1..3, 3..4, 4..5]);
        // Two chains side by side.
        assert_eq!(segments(&[vec![], vec![], vec![0], vec![1]]), std::slice::from_ref(&(0..4)));
        assert!(segments(&[]).is_empty());
    }
}
