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
        let by_birth = ByBirth::new(buffers);
        let mut lists: Vec<Vec<Forbidden>> = vec![Vec::new(); buffers.len()];
        let mut equal_allowed: Vec<(usize, usize)> = in_place.iter().map(|&(a, b)| sorted(a, b)).collect();
        equal_allowed.sort_unstable();
        if overlapping_pairs(buffers, &by_birth.order) > MAX_PAIRS {
            return Err(StopReason::TooManyTensors);
        }
        let mut compared = 0;
        let mut next_look = PIECES_UNSTOPPED;
        for (a, b) in by_birth.alive_together() {
            let overlaps = overlaps(&by_birth.pieces[a], &by_birth.pieces[b]);
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
        Ok(Self { lists, few: compared <= PIECES_UNSTOPPED })
    }

    /// Returns [`few`](Self::few) without computing any interval. Counts no further than that.
    pub(super) fn are_few(buffers: &[Buffer]) -> bool {
        let by_birth = ByBirth::new(buffers);
        let mut compared = 0;
        by_birth.alive_together().all(|(a, b)| {
            compared += overlapping(&by_birth.pieces[a], &by_birth.pieces[b]).count() + 1;
            compared <= PIECES_UNSTOPPED
        })
    }
}

/// The pieces of buffers, and the buffers that have any, in the order of their birth.
struct ByBirth<'a> {
    buffers: &'a [Buffer],
    pieces: Vec<Vec<Piece>>,
    order: Vec<usize>,
}

impl<'a> ByBirth<'a> {
    fn new(buffers: &'a [Buffer]) -> Self {
        let pieces: Vec<Vec<Piece>> = buffers.iter().map(pieces).collect();
        let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| !pieces[i].is_empty()).collect();
        order.sort_by_key(|&i| buffers[i].live.start);
        Self { buffers, pieces, order }
    }

    /// Returns the pairs of buffers that are alive together, the earlier one first.
    fn alive_together(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let live = |buffer: usize| &self.buffers[buffer].live;
        self.order.iter().enumerate().flat_map(move |(at, &a)| {
            let later = self.order[at + 1..].iter().take_while(move |&&b| live(b).start < live(a).end);
            later.map(move |&b| (a, b))
        })
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
    let interval =
        |(p, q): (&Piece, &Piece)| (difference(q.bytes.start, p.bytes.end), difference(q.bytes.end, p.bytes.start));
    overlapping(a, b).map(interval).collect()
}

/// Returns the pairs of pieces that overlap in time.
fn overlapping<'p>(a: &'p [Piece], b: &'p [Piece]) -> impl Iterator<Item = (&'p Piece, &'p Piece)> {
    a.iter().flat_map(move |p| {
        let first = b.partition_point(|q| q.steps.end <= p.steps.start);
        b[first..].iter().take_while(move |q| q.steps.start < p.steps.end).map(move |q| (p, q))
    })
}

/// Sorts the intervals and joins those that overlap.
fn merged(mut intervals: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    intervals.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (low, high) in intervals {
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
