//! The records that each step reads and writes. Banks and the checker need them, other problems do not.

use super::{
    error::{InputError, PlanError},
    record::UsageRecord,
};

/// Upper limit on steps in a list of steps, so that a large number in a file cannot exhaust the memory. No network
/// has as many steps.
pub const MAX_STEPS: usize = 1 << 22;

/// The records that one step reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepUse {
    /// Indices of the records it reads.
    pub reads: Vec<usize>,
    /// Indices of the records it writes.
    pub writes: Vec<usize>,
}

/// Information about the steps: the reads and writes of each step, or only the records.
#[derive(Clone, Copy, Debug)]
pub enum Uses<'a> {
    /// The reads and writes of each step, in order from step 0.
    Steps(&'a [StepUse]),
    /// Each tensor is written at its first step and read at its last. Equivalent to [`uses_from_records`], but
    /// without a list, so that memory does not depend on the number of steps.
    FirstAndLast,
}

impl<'a> From<&'a [StepUse]> for Uses<'a> {
    fn from(steps: &'a [StepUse]) -> Self {
        Self::Steps(steps)
    }
}

impl<'a> From<&'a Vec<StepUse>> for Uses<'a> {
    fn from(steps: &'a Vec<StepUse>) -> Self {
        Self::Steps(steps)
    }
}

impl<'a, const N: usize> From<&'a [StepUse; N]> for Uses<'a> {
    fn from(steps: &'a [StepUse; N]) -> Self {
        Self::Steps(steps)
    }
}

impl Uses<'_> {
    /// Calls `visit` with the number of each step and the records that it reads and writes, in the order of steps,
    /// until it returns an error. Steps that touch no record may be skipped.
    pub(super) fn each<E>(
        self,
        records: &[UsageRecord],
        mut visit: impl FnMut(usize, &[usize], &[usize]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Uses::Steps(steps) => {
                steps.iter().enumerate().try_for_each(|(step, touched)| visit(step, &touched.reads, &touched.writes))
            }
            Uses::FirstAndLast => {
                let mut births: Vec<usize> = (0..records.len()).collect();
                births.sort_by_key(|&i| records[i].first);
                // A tensor of a single step is only written.
                let mut deaths: Vec<usize> =
                    (0..records.len()).filter(|&i| records[i].last > records[i].first).collect();
                deaths.sort_by_key(|&i| records[i].last);
                let (mut born, mut dead) = (births.as_slice(), deaths.as_slice());
                loop {
                    let next = [born.first().map(|&i| records[i].first), dead.first().map(|&i| records[i].last)];
                    let Some(step) = next.into_iter().flatten().min() else { return Ok(()) };
                    let (writes, later) = born.split_at(born.partition_point(|&i| records[i].first == step));
                    let (reads, last) = dead.split_at(dead.partition_point(|&i| records[i].last == step));
                    visit(step, reads, writes)?;
                    (born, dead) = (later, last);
                }
            }
        }
    }

    /// Checks that every index is that of a record, so that searches need not check it. Everything else is left to
    /// the checker.
    pub(super) fn check_records(self, records: &[UsageRecord]) -> Result<(), PlanError> {
        let Uses::Steps(steps) = self else { return Ok(()) };
        for (step, touched) in steps.iter().enumerate() {
            if let Some(&record) = touched.reads.iter().chain(&touched.writes).find(|&&record| record >= records.len())
            {
                return Err(InputError::UseOutsideLife { step, record, first: 0, last: 0 }.into());
            }
        }
        Ok(())
    }
}

/// Derives the reads and writes of steps from records alone: a tensor is written at its first step and read at its
/// last. A tensor of a single step is written there and never read. [`Uses::FirstAndLast`] means the same without a
/// list.
///
/// ```
/// use texpool_plan::{MAX_STEPS, StepUse, UsageRecord, uses_from_records};
///
/// let uses = uses_from_records(&[UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4)])?;
/// assert_eq!(uses[1], StepUse { reads: vec![0], writes: vec![1] });
/// assert!(uses_from_records(&[UsageRecord::new(0, MAX_STEPS, 8)]).is_err());
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if a record ends at or above [`MAX_STEPS`].
pub fn uses_from_records(records: &[UsageRecord]) -> Result<Vec<StepUse>, PlanError> {
    let mut uses = Vec::new();
    for (record, r) in records.iter().enumerate() {
        if r.last >= MAX_STEPS || r.first > r.last {
            return Err(InputError::TooManySteps { record, last: r.last.max(r.first), limit: MAX_STEPS }.into());
        }
        if uses.len() <= r.last {
            uses.resize(r.last + 1, StepUse::default());
        }
        uses[r.first].writes.push(record);
        if r.last > r.first {
            uses[r.last].reads.push(record);
        }
    }
    Ok(uses)
}
