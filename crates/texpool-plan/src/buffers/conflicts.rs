//! Forbidden differences between the offsets of two buffers.
//!
//! Two pieces that are needed at the same step overlap if the difference of their buffers' offsets lies strictly
//! between two numbers. So, except for alignment, the constraint between two buffers is a set of open intervals that
//! the difference must avoid. Buffers without gaps have one interval, and buffers that never need bytes at the same
//! step have no interval. Two buffers that may be computed in place may also differ by 0, which splits an interval in
//! two.

use super::{
    buffer::Buffer,
    pieces::{Piece, pieces},
};
use crate::error::{PlanError, UnsupportedError};

/// Forbidden offsets of a buffer: those strictly between `low` and `high`, relative to the offset of `other`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forbidden {
    pub(super) other: usize,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// Upper limit on pairs of buffers with overlapping live ranges: their intervals would take 200 MB. Above it planning
/// fails.
const MAX_PAIRS: usize = 1 << 22;

/// For each buffer, the intervals that the others forbid. Sizes must be below 2^63.
pub(super) struct Conflicts(pub(super) Vec<Vec<Forbidden>>);

impl Conflicts {
    pub(super) fn new(buffers: &[Buffer], in_place: &[(usize, usize)]) -> Result<Self, PlanError> {
        let pieces: Vec<Vec<Piece>> = buffers.iter().map(pieces).collect();
        let mut lists: Vec<Vec<Forbidden>> = vec![Vec::new(); buffers.len()];
        let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| !pieces[i].is_empty()).collect();
        order.sort_by_key(|&i| buffers[i].live.start);
        let mut equal_allowed: Vec<(usize, usize)> = in_place.iter().map(|&(a, b)| sorted(a, b)).collect();
        equal_allowed.sort_unstable();
        let mut pairs = 0;
        for (at, &a) in order.iter().enumerate() {
            let later = order[at + 1..].iter().take_while(|&&b| buffers[b].live.start < buffers[a].live.end);
            for &b in later {
                pairs += 1;
                if pairs > MAX_PAIRS {
                    let buffers = buffers.len();
                    return Err(UnsupportedError::TooManyConflicts { buffers, limit: MAX_PAIRS }.into());
                }
                let mut intervals = intervals(&pieces[a], &pieces[b]);
                if equal_allowed.binary_search(&sorted(a, b)).is_ok() {
                    allow_equal(&mut intervals);
                }
                for (low, high) in intervals {
                    lists[a].push(Forbidden { other: b, low, high });
                    lists[b].push(Forbidden { other: a, low: -high, high: -low });
                }
            }
        }
        Ok(Self(lists))
    }
}

fn sorted(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

/// Returns the open intervals that the offset of `a` minus that of `b` must avoid, in ascending order.
fn intervals(a: &[Piece], b: &[Piece]) -> Vec<(i64, i64)> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    for p in a {
        for q in b.iter().filter(|q| q.steps.start < p.steps.end && p.steps.start < q.steps.end) {
            let difference = |x: u64, y: u64| x as i64 - y as i64;
            found.push((difference(q.bytes.start, p.bytes.end), difference(q.bytes.end, p.bytes.start)));
        }
    }
    found.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (low, high) in found {
        match merged.last_mut() {
            // If one interval ends where the next begins, the number between them is allowed.
            Some(last) if low < last.1 => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

/// Removes 0 from the intervals.
fn allow_equal(intervals: &mut Vec<(i64, i64)>) {
    if let Some(at) = intervals.iter().position(|&(low, high)| low < 0 && 0 < high) {
        let (low, high) = intervals[at];
        intervals.splice(at..=at, [(low, 0), (0, high)]);
    }
}
