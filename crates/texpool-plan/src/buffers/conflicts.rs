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
use crate::control::{SearchControl, StopReason};

/// Forbidden offsets of a buffer: those strictly between `low` and `high`, relative to the offset of `other`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forbidden {
    pub(super) other: usize,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// Upper limit on pairs of buffers with overlapping live ranges: their intervals would take 200 MB.
const MAX_PAIRS: usize = 1 << 22;
/// Upper limit on pairs of pieces with overlapping steps. Comparing them takes some seconds.
const MAX_PIECES: usize = 1 << 24;
/// Pairs of pieces that are compared before the first look at the control, and between one look and the next. They
/// take about a millisecond.
const PIECES_UNSTOPPED: usize = 1 << 14;

/// The intervals that buffers forbid each other. Sizes must be below 2^63.
pub(super) struct Conflicts {
    /// For each buffer, the intervals that the others forbid.
    pub(super) lists: Vec<Vec<Forbidden>>,
    /// Set if there are so few that a search without time still compares all of them.
    pub(super) few: bool,
}

impl Conflicts {
    /// Compares the buffers that are alive together. Returns the reason if there are too many of them, or if
    /// `control` stops the comparison.
    pub(super) fn new(
        buffers: &[Buffer],
        in_place: &[(usize, usize)],
        control: &SearchControl<'_>,
    ) -> Result<Self, StopReason> {
        let pieces: Vec<Vec<Piece>> = buffers.iter().map(pieces).collect();
        let mut lists: Vec<Vec<Forbidden>> = vec![Vec::new(); buffers.len()];
        let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| !pieces[i].is_empty()).collect();
        order.sort_by_key(|&i| buffers[i].live.start);
        let mut equal_allowed: Vec<(usize, usize)> = in_place.iter().map(|&(a, b)| sorted(a, b)).collect();
        equal_allowed.sort_unstable();
        if overlapping_pairs(buffers, &order) > MAX_PAIRS {
            return Err(StopReason::TooManyTensors);
        }
        let mut compared = 0;
        let mut next_look = PIECES_UNSTOPPED;
        for (at, &a) in order.iter().enumerate() {
            let later = order[at + 1..].iter().take_while(|&&b| buffers[b].live.start < buffers[a].live.end);
            for &b in later {
                let overlaps = overlaps(&pieces[a], &pieces[b]);
                compared += overlaps.len() + 1;
                if compared > MAX_PIECES {
                    return Err(StopReason::TooManyTensors);
                }
                if compared > next_look {
                    next_look = compared + PIECES_UNSTOPPED;
                    if control.should_stop() {
                        return Err(control.stopped().unwrap_or(StopReason::Deadline));
                    }
                }
                let mut intervals = merged(overlaps);
                if equal_allowed.binary_search(&sorted(a, b)).is_ok() {
                    allow_equal(&mut intervals);
                }
                for (low, high) in intervals {
                    lists[a].push(Forbidden { other: b, low, high });
                    lists[b].push(Forbidden { other: a, low: -high, high: -low });
                }
            }
        }
        Ok(Self { lists, few: compared <= PIECES_UNSTOPPED })
    }
}

/// Counts the pairs of buffers that are alive together. `order` is sorted by birth.
fn overlapping_pairs(buffers: &[Buffer], order: &[usize]) -> usize {
    let born_before = |step: usize| order.partition_point(|&other| buffers[other].live.start < step);
    order.iter().enumerate().map(|(at, &buffer)| born_before(buffers[buffer].live.end) - at - 1).sum()
}

fn sorted(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

/// Returns the open intervals that the offset of `a` minus that of `b` must avoid, one for each pair of pieces that
/// overlap in time.
fn overlaps(a: &[Piece], b: &[Piece]) -> Vec<(i64, i64)> {
    let difference = |x: u64, y: u64| x as i64 - y as i64;
    let mut found: Vec<(i64, i64)> = Vec::new();
    for p in a {
        let first = b.partition_point(|q| q.steps.end <= p.steps.start);
        let together = b[first..].iter().take_while(|q| q.steps.start < p.steps.end);
        found
            .extend(together.map(|q| (difference(q.bytes.start, p.bytes.end), difference(q.bytes.end, p.bytes.start))));
    }
    found
}

/// Sorts the intervals and joins those that overlap.
fn merged(mut found: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
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
