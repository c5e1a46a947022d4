//! Live ranges of rows, and the items that are placed as units.

use std::{collections::BTreeMap, ops::Range};

use super::problem::{LivePeak, LiveRange, RowProblem, RowStep, RowUse};
use crate::{
    error::{InputError, PlanError},
    realize::TensorRows,
    record::UsageRecord,
};

/// A unit of placement: a single row, or a whole tensor.
pub(super) struct Item {
    pub(super) record: usize,
    pub(super) rows: Range<u32>,
    pub(super) usage: UsageRecord,
}

/// Returns the live range of each row of each tensor; `None` for rows that no step writes. A row that is written in
/// parts is alive from the first part on.
///
/// ```
/// use texpool_plan::{LiveRange, RowStep, RowUse, TensorRows, row_live_ranges};
///
/// let rows = |rows| RowUse { record: 0, rows, texels: 0..8 };
/// let read = |row| RowStep { reads: vec![rows(row..row + 1)], writes: vec![] };
/// let steps = [RowStep { reads: vec![], writes: vec![rows(0..2)] }, read(0), read(1)];
/// let live = row_live_ranges(&[TensorRows { rows: 2, row_texels: 8 }], &steps)?;
/// assert_eq!(live[0], [Some(LiveRange { first: 0, last: 1 }), Some(LiveRange { first: 0, last: 2 })]);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if a step refers to a record or row that does not exist, writes texels again, or reads some
/// that were not written before.
pub fn row_live_ranges(tensors: &[TensorRows], steps: &[RowStep]) -> Result<Vec<Vec<Option<LiveRange>>>, PlanError> {
    let mut live_ranges: Vec<Vec<Option<LiveRange>>> = tensors.iter().map(|t| vec![None; t.rows as usize]).collect();
    let mut parts = Parts::default();
    for (step, touched) in steps.iter().enumerate() {
        for used in &touched.reads {
            let bad = |why| PlanError::Input(InputError::BadRowUse { step, record: used.record, why });
            for (row, life) in used.rows.clone().zip(used_rows(&mut live_ranges, used).map_err(bad)?) {
                match life {
                    Some(life) if parts.has(used, row) => life.last = step,
                    _ => return Err(bad("it reads a row that no step has written")),
                }
            }
        }
        for used in &touched.writes {
            let bad = |why| PlanError::Input(InputError::BadRowUse { step, record: used.record, why });
            let row_texels = tensors.get(used.record).map_or(0, |t| t.row_texels);
            let all = used.texels == (0..row_texels);
            for (row, life) in used.rows.clone().zip(used_rows(&mut live_ranges, used).map_err(bad)?) {
                match life {
                    None if all => *life = Some(LiveRange { first: step, last: step }),
                    None if parts.add(used, row) => *life = Some(LiveRange { first: step, last: step }),
                    Some(life) if !all && parts.add(used, row) => life.last = step,
                    _ => return Err(bad("it writes a row that has a value already")),
                }
            }
        }
    }
    Ok(live_ranges)
}

/// Returns the live ranges of the rows that a step uses.
fn used_rows<'a>(
    live_ranges: &'a mut [Vec<Option<LiveRange>>],
    used: &RowUse,
) -> Result<&'a mut [Option<LiveRange>], &'static str> {
    let rows = live_ranges.get_mut(used.record).ok_or("there is no such record")?;
    let range = used.rows.start as usize..used.rows.end as usize;
    rows.get_mut(range).ok_or("it touches rows that are not there")
}

/// For rows that are written in parts, the parts already written, by record and row.
#[derive(Default)]
struct Parts(BTreeMap<usize, BTreeMap<u32, Vec<Range<u32>>>>);

impl Parts {
    /// Returns whether all texels of a row that a step uses are written.
    fn has(&self, used: &RowUse, row: u32) -> bool {
        let Some(parts) = self.0.get(&used.record).and_then(|rows| rows.get(&row)) else { return true };
        let inside =
            parts.iter().map(|part| part.end.min(used.texels.end).saturating_sub(part.start.max(used.texels.start)));
        inside.sum::<u32>() == used.texels.len() as u32
    }

    /// Adds a part. Returns false if some of it was written already.
    fn add(&mut self, used: &RowUse, row: u32) -> bool {
        let parts = self.0.entry(used.record).or_default().entry(row).or_default();
        let new = parts.iter().all(|part| part.end <= used.texels.start || used.texels.end <= part.start);
        parts.push(used.texels.clone());
        new
    }
}

/// Returns the items to place, in the order of records and rows.
pub(super) fn items(problem: &RowProblem<'_>) -> Result<Vec<Item>, PlanError> {
    let RowProblem { tensors, whole, steps } = *problem;
    if whole.len() != tensors.len() {
        return Err(InputError::LengthMismatch {
            what: "marks of whole tensors",
            expected: tensors.len(),
            found: whole.len(),
        }
        .into());
    }
    let mut items = Vec::new();
    for (record, live_ranges) in row_live_ranges(tensors, steps)?.into_iter().enumerate() {
        let t = tensors[record];
        if whole[record] {
            let first = live_ranges.iter().flatten().map(|life| life.first).min();
            let last = live_ranges.iter().flatten().map(|life| life.last).max();
            if let (Some(first), Some(last)) = (first, last) {
                items.push(Item { record, rows: 0..t.rows, usage: UsageRecord::new(first, last, t.texels()) });
            }
            continue;
        }
        for (row, life) in (0..).zip(live_ranges) {
            let Some(LiveRange { first, last }) = life else { continue };
            let usage = UsageRecord::new(first, last, t.row_texels.into());
            items.push(Item { record, rows: row..row + 1, usage });
        }
    }
    Ok(items)
}

/// Returns the first step at which the most texels are alive, and their number. No placement of this schedule takes
/// less. [`place_rows`](super::place_rows) has an example.
///
/// # Errors
/// The errors of [`row_live_ranges`].
pub fn live_row_peak(problem: &RowProblem<'_>) -> Result<LivePeak, PlanError> {
    let mut change = vec![0i64; problem.steps.len() + 1];
    for item in items(problem)? {
        change[item.usage.first] += item.usage.size as i64;
        change[item.usage.last + 1] -= item.usage.size as i64;
    }
    let (mut live, mut peak) = (0i64, LivePeak::default());
    for (step, c) in change.into_iter().enumerate() {
        live += c;
        if live.unsigned_abs() > peak.texels {
            peak = LivePeak { step, texels: live.unsigned_abs() };
        }
    }
    Ok(peak)
}
