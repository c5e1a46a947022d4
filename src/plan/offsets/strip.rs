//! Strip packing best fit (Sekiyama et al. 2018, after Burke et al. 2004): fill the lowest stretch of the skyline with
//! the longest-lived tensor that fits between its walls.

use std::cmp::Reverse;

use crate::plan::{Layout, Place, PlanError, Problem, UsageRecord, naive_total};

/// Which of equally long-lived tensors is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Longest {
    /// The largest.
    Largest,
    /// The lowest index.
    LowestIndex,
}

/// A stretch of points of the timeline over which the skyline is equally high.
#[derive(Clone, Copy)]
struct Segment {
    from: usize,
    to: usize,
    height: u64,
}

/// Fills the skyline from below. `O(n^2)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn strip_packing(records: &[UsageRecord], ties: Longest) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut points: Vec<usize> = records.iter().flat_map(|r| [r.first, r.last]).collect();
    points.sort_unstable();
    points.dedup();
    let point = |step: usize| points.partition_point(|&p| p < step);
    let spans: Vec<(usize, usize)> = records.iter().map(|r| (point(r.first), point(r.last) + 1)).collect();
    // Longest-lived first; lifetimes in steps, walls in points.
    let mut waiting: Vec<usize> = (0..records.len()).collect();
    if ties == Longest::Largest {
        waiting.sort_by_key(|&i| Reverse(records[i].size));
    }
    waiting.sort_by_key(|&i| Reverse(records[i].last - records[i].first));
    let mut offsets = vec![0u64; records.len()];
    let mut top = 0;
    let mut skyline = vec![Segment { from: 0, to: points.len(), height: 0 }];
    while !waiting.is_empty() {
        // The earliest of equals: which one makes no difference to the published totals.
        let Some(at) = (0..skyline.len()).min_by_key(|&i| skyline[i].height) else { break };
        let segment = skyline[at];
        let fits = |&i: &usize| segment.from <= spans[i].0 && spans[i].1 <= segment.to;
        match waiting.iter().position(fits) {
            Some(found) => {
                let record = waiting.remove(found);
                let (from, to) = spans[record];
                let height = segment.height + records[record].size;
                offsets[record] = segment.height;
                top = top.max(height);
                let parts =
                    [Segment { to: from, ..segment }, Segment { from, to, height }, Segment { from: to, ..segment }];
                skyline.splice(at..=at, parts.into_iter().filter(|s| s.from < s.to));
            }
            None => {
                // Nothing fits between the walls: level the stretch with the lower one.
                let left = at.checked_sub(1).map(|i| skyline[i].height);
                let right = skyline.get(at + 1).map(|s| s.height);
                let Some(wall) = left.into_iter().chain(right).min() else { break };
                skyline[at].height = wall;
            }
        }
        skyline.dedup_by(|b, a| {
            let same = a.height == b.height;
            if same {
                a.to = b.to;
            }
            same
        });
    }
    let places = offsets.into_iter().map(|offset| Place { region: 0, offset }).collect();
    let regions = if records.is_empty() { Vec::new() } else { vec![top] };
    Ok(Layout { problem: Problem::Offsets, regions, places })
}
