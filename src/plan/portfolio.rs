//! Strategies tried side by side: the smallest layout is kept, and what was not tried is told with the reason.
//!
//! Where there is a deadline each strategy has its part of the time, those that take least time first, so that a large
//! set has an answer whatever comes after. What is kept does not depend on that order.

use std::cmp::Ordering;

use super::{
    control::{Progress, SearchControl, StopReason},
    error::{PlanError, UnsupportedError},
    layout::{Layout, LayoutKind},
    record::UsageRecord,
    shared::{equality, greedy_in_order, naive},
    strategy::Strategy,
};

/// What one way to plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// Name of the strategy, or `optimum`, or `banks`.
    pub name: String,
    /// The problem it solves.
    pub problem: LayoutKind,
    /// Its cost in the records' unit.
    pub total: u64,
    /// Regions it uses.
    pub regions: usize,
}

impl Candidate {
    pub(super) fn new(name: &str, layout: &Layout) -> Self {
        let (problem, total, regions) = (layout.problem, layout.total(), layout.regions.len());
        Self { name: name.to_owned(), problem, total, regions }
    }
}

/// A way to plan that was left out, or not followed to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NotTried {
    /// Name of the strategy, or `optimum`, or `banks`, or `offsets_smallest`.
    pub name: String,
    /// Why.
    pub why: String,
}

impl NotTried {
    pub(super) fn new(name: &str, why: impl ToString) -> Self {
        Self { name: name.to_owned(), why: why.to_string() }
    }
}

/// What a strategy comes to, or why it has no answer.
pub(super) fn attempt(
    strategy: Strategy,
    records: &[UsageRecord],
    control: &SearchControl<'_>,
) -> Result<Result<Layout, NotTried>, PlanError> {
    if !control.should_stop() {
        match strategy.place_until(records, control) {
            Ok(layout) if control.stopped().is_none() => return Ok(Ok(layout)),
            Err(error @ PlanError::Unsupported(UnsupportedError::TooManyRecords { .. })) => {
                return Ok(Err(NotTried::new(strategy.name(), error)));
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    let why = match control.stopped() {
        Some(StopReason::Cancelled) => StopReason::Cancelled.to_string(),
        _ => "not ended in its part of the time".to_owned(),
    };
    Ok(Err(NotTried::new(strategy.name(), why)))
}

/// The layout that is kept, with its place among the ties.
pub(super) struct Chosen {
    pub(super) layout: Layout,
    pub(super) name: &'static str,
    rank: usize,
}

/// What was tried, and the best of it.
pub(super) struct Table<'a> {
    records: &'a [UsageRecord],
    candidates: Vec<(usize, Candidate)>,
    pub(super) not_tried: Vec<NotTried>,
    /// Why something was not followed to its end.
    pub(super) stopped: Option<StopReason>,
    pub(super) chosen: Option<Chosen>,
}

impl<'a> Table<'a> {
    pub(super) fn new(records: &'a [UsageRecord]) -> Self {
        Self { records, candidates: Vec::new(), not_tried: Vec::new(), stopped: None, chosen: None }
    }

    /// Notes a candidate, and keeps it if it is better than what is kept: smaller, then of fewer regions, then of the
    /// shorter reuse distance, then of the lower rank.
    pub(super) fn add(&mut self, rank: usize, name: &'static str, layout: Layout) {
        let key = |layout: &Layout| (layout.total(), layout.regions.len());
        let better = |chosen: &Chosen| match key(&layout).cmp(&key(&chosen.layout)) {
            Ordering::Less => true,
            Ordering::Equal => {
                let idle = |layout, rank| (reuse_distance(self.records, layout), rank);
                idle(&layout, rank) < idle(&chosen.layout, chosen.rank)
            }
            Ordering::Greater => false,
        };
        if self.chosen.as_ref().is_none_or(better) {
            self.force(rank, name, layout);
        } else {
            self.candidates.push((rank, Candidate::new(name, &layout)));
        }
    }

    /// Notes a candidate, and keeps it whatever it comes to.
    pub(super) fn force(&mut self, rank: usize, name: &'static str, layout: Layout) {
        self.candidates.push((rank, Candidate::new(name, &layout)));
        self.chosen = Some(Chosen { layout, name, rank });
    }

    /// Notes that a search was not followed to its end, where `stopped` says so.
    pub(super) fn note_stopped(&mut self, name: &str, stopped: Option<StopReason>) {
        if let Some(reason) = stopped {
            self.not_tried.push(NotTried::new(name, format!("not searched to its end: {reason}")));
            self.stopped = self.stopped.or(stopped);
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.chosen.as_ref().map_or(u64::MAX, |chosen| chosen.layout.total())
    }

    /// The candidates by rank.
    pub(super) fn into_candidates(mut self) -> Vec<Candidate> {
        self.candidates.sort_by_key(|&(rank, _)| rank);
        self.candidates.into_iter().map(|(_, candidate)| candidate).collect()
    }
}

/// The strategies of the portfolio that take `O(n log n)` on any records. They are never cut short.
const QUICK: [Strategy; 3] = [Strategy::Naive, Strategy::GreedyInOrder, Strategy::Equality];

/// The strategies of the portfolio that take less time than the rest, where lives are long.
const SOON: [Strategy; 2] = [Strategy::GreedyBySizeFirst, Strategy::GreedyBySize];

/// Of more records, no strategy is tried for the sake of ties alone.
const MANY: usize = 10_000;

/// Why a strategy need not be tried on records as many as these, where a plan of `total` is known and none is below
/// `bound`.
pub(super) fn pointless(strategy: Strategy, records: &[UsageRecord], total: u64, bound: u64) -> Option<NotTried> {
    let why = || NotTried::new(strategy.name(), format!("no plan is smaller than {bound}, which is found"));
    (records.len() > MANY && total == bound).then(why)
}

/// Runs the portfolio without `except`, and adds what it comes to; the smallest layout of it, the first of equals with
/// as many regions, `Naive` before all, is where the exact search begins. No plan is below `bound`.
pub(super) fn run(
    records: &[UsageRecord],
    except: Option<Strategy>,
    bound: u64,
    table: &mut Table<'_>,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let rank = |strategy: &Strategy| Strategy::PORTFOLIO.iter().position(|other| other == strategy).unwrap_or(0);
    let mut order: Vec<Strategy> = Strategy::PORTFOLIO.iter().copied().filter(|&other| except != Some(other)).collect();
    order.sort_by_key(|strategy| (!QUICK.contains(strategy), !SOON.contains(strategy)));
    let mut start = naive(records)?;
    let mut start_rank = None;
    let count = order.len() as u32;
    for (done, strategy) in (0u32..).zip(order) {
        let best = Some(start.total());
        control.report(Progress { stage: "greedy strategies", done: done.into(), total: count.into(), best });
        let found = match strategy {
            Strategy::Naive => Ok(naive(records)?),
            Strategy::GreedyInOrder => Ok(greedy_in_order(records)?),
            Strategy::Equality => Ok(equality(records)?),
            _ => match pointless(strategy, records, start.total(), bound) {
                Some(not_tried) => Err(not_tried),
                None => {
                    // Those that end leave the rest to those after them.
                    let control = control.share(1, 2);
                    let found = attempt(strategy, records, &control)?;
                    table.stopped = table.stopped.or(control.stopped());
                    found
                }
            },
        };
        match found {
            Ok(layout) => {
                let rank = rank(&strategy);
                let key = |layout: &Layout, rank| (layout.total(), layout.regions.len(), rank);
                // `None` comes before every rank.
                if key(&layout, Some(rank)) < key(&start, start_rank) {
                    (start, start_rank) = (layout.clone(), Some(rank));
                }
                table.add(rank, strategy.name(), layout);
            }
            Err(not_tried) => table.not_tried.push(not_tried),
        }
    }
    Ok(start)
}

/// Steps that regions lie idle between one tensor and the next, summed: the shorter, the more of it is still in a
/// cache.
fn reuse_distance(records: &[UsageRecord], layout: &Layout) -> u128 {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (layout.places[i].region, records[i].first));
    let mut idle = 0u128;
    let mut previous: Option<(usize, usize)> = None;
    for i in order {
        let (region, r) = (layout.places[i].region, &records[i]);
        previous = match previous {
            Some((same, until)) if same == region => {
                idle += r.first.saturating_sub(until) as u128;
                Some((region, until.max(r.last)))
            }
            _ => Some((region, r.last)),
        };
    }
    idle
}
