//! Cores: few tensors that may be enough to prove a bound for all.
//!
//! A plan of all tensors contains a plan of each subset, so a lower bound for a subset holds for the whole set. On
//! networks few steps decide the optimum: those at which as many tensors of at least some size are alive as at any
//! other. A core holds the tensors alive at some of these steps. [The guide](crate::guide) has measurements.

use crate::{
    control::SearchControl,
    record::UsageRecord,
    sections::{live_sections, section_starts},
};

/// Upper limit on sections times distinct sizes: for each size, the tensors alive are counted at every section.
/// Above it no core is looked for. A guess.
const MAX_COUNTS: usize = 1 << 26;

/// Returns the records, by index, that are alive at up to `steps` of the busiest steps of each size. At these, as many
/// records of at least that size are alive as at any step. Steps that are busiest for many sizes are preferred.
/// Returns `None` if the records are too many, or if `control` stops it.
pub(super) fn core(records: &[UsageRecord], steps: usize, control: &SearchControl<'_>) -> Option<Vec<usize>> {
    let starts = section_starts(records);
    let counts = SizeCounts::new(records, &starts)?;
    let mut sizes_at = vec![0usize; starts.len()];
    counts.each(control, |busiest| busiest.iter().for_each(|&section| sizes_at[section] += 1))?;
    let mut chosen = vec![false; starts.len()];
    counts.each(control, |busiest| {
        busiest.sort_by_key(|&section| (std::cmp::Reverse(sizes_at[section]), section));
        busiest.iter().take(steps).for_each(|&section| chosen[section] = true);
    })?;
    // The number of chosen sections before each section.
    let before: Vec<usize> = std::iter::once(0)
        .chain(chosen.iter().scan(0, |sum, &chosen| {
            *sum += usize::from(chosen);
            Some(*sum)
        }))
        .collect();
    let alive = |r: &UsageRecord| {
        let (from, to) = live_sections(&starts, r);
        r.size > 0 && before[from] < before[to]
    };
    Some((0..records.len()).filter(|&i| alive(&records[i])).collect())
}

/// The records in groups of equal size, the largest first, with their live sections.
struct SizeCounts {
    sections: usize,
    groups: Vec<Vec<(usize, usize)>>,
}

impl SizeCounts {
    fn new(records: &[UsageRecord], starts: &[usize]) -> Option<Self> {
        let mut order: Vec<&UsageRecord> = records.iter().filter(|r| r.size > 0).collect();
        order.sort_by_key(|r| std::cmp::Reverse(r.size));
        let live = |group: &[&UsageRecord]| group.iter().map(|r| live_sections(starts, r)).collect();
        let groups: Vec<Vec<_>> = order.chunk_by(|a, b| a.size == b.size).map(live).collect();
        (groups.len().saturating_mul(starts.len()) <= MAX_COUNTS).then_some(Self { sections: starts.len(), groups })
    }

    /// Calls `visit` for each size, with the sections at which the most records of at least this size are alive.
    fn each(&self, control: &SearchControl<'_>, mut visit: impl FnMut(&mut Vec<usize>)) -> Option<()> {
        // The number alive at a section is the sum of the changes up to it.
        let mut changes = vec![0isize; self.sections + 1];
        let mut busiest = Vec::new();
        for group in &self.groups {
            for &(from, to) in group {
                changes[from] += 1;
                changes[to] -= 1;
            }
            let (mut alive, mut most) = (0, 0);
            busiest.clear();
            for (section, change) in changes[..self.sections].iter().enumerate() {
                alive += change;
                if alive > most {
                    most = alive;
                    busiest.clear();
                }
                if alive == most {
                    busiest.push(section);
                }
            }
            if control.should_stop() {
                return None;
            }
            visit(&mut busiest);
        }
        Some(())
    }
}
