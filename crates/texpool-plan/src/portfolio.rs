//! A portfolio of strategies: tries all of them, keeps the smallest layout, and lists the skipped ones with the
//! reason.
//!
//! With a deadline, each strategy gets a share of the time. The fastest come first, so that even a very large set
//! gets an answer. The order does not affect the choice of the layout.

use std::cmp::Ordering;

use super::{
    control::{Progress, SearchControl, StopReason},
    error::{PlanError, UnsupportedError},
    layout::{Layout, LayoutKind},
    record::UsageRecord,
    shared::naive,
    strategy::Strategy,
};

/// The result of one strategy or search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// Name of the strategy, or `optimum`, or `banks`.
    pub name: String,
    /// The problem it solves.
    pub problem: LayoutKind,
    /// Its cost in the records' unit.
    pub total: u64,
    /// Number of regions that it uses.
    pub regions: usize,
}

impl Candidate {
    pub(super) fn new(name: &str, layout: &Layout) -> Self {
        let (problem, total, regions) = (layout.problem, layout.total(), layout.regions.len());
        Self { name: name.to_owned(), problem, total, regions }
    }
}

/// A strategy or search that was skipped or not completed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NotTried {
    /// Name of the strategy, or `optimum`, or `banks`, or `offsets_smallest`.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl NotTried {
    pub(super) fn new(name: &str, why: impl ToString) -> Self {
        Self { name: name.to_owned(), why: why.to_string() }
    }
}

/// Returns the layout of a strategy, or the reason why it has none.
///
/// # Errors
/// The errors of [`Strategy::place`], except for too many records, which is a reason.
pub fn try_strategy(
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
        _ => "did not end in its share of the time".to_owned(),
    };
    Ok(Err(NotTried::new(strategy.name(), why)))
}

/// The chosen layout, with its rank among ties.
pub(super) struct Chosen {
    pub(super) layout: Layout,
    pub(super) name: &'static str,
    rank: usize,
}

/// The candidates already found, and the best of them.
pub(super) struct Candidates<'a> {
    records: &'a [UsageRecord],
    candidates: Vec<(usize, Candidate)>,
    pub(super) not_tried: Vec<NotTried>,
    /// Reason why a strategy or search was not completed, if any was not.
    pub(super) stopped: Option<StopReason>,
    pub(super) chosen: Option<Chosen>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(records: &'a [UsageRecord]) -> Self {
        Self { records, candidates: Vec::new(), not_tried: Vec::new(), stopped: None, chosen: None }
    }

    /// Adds a candidate, and chooses it if it is better: smaller, then with fewer regions, then with the shorter
    /// reuse distance, then with the lower rank.
    pub(super) fn offer(&mut self, rank: usize, name: &'static str, layout: Layout) {
        let key = |layout: &Layout| (layout.total(), layout.regions.len());
        let better = |chosen: &Chosen| match key(&layout).cmp(&key(&chosen.layout)) {
            Ordering::Less => true,
            Ordering::Equal => {
                // Computed only for ties, because it takes longer than some strategies.
                let tie_key = |layout, rank| (reuse_distance(self.records, layout), rank);
                tie_key(&layout, rank) < tie_key(&chosen.layout, chosen.rank)
            }
            Ordering::Greater => false,
        };
        if self.chosen.as_ref().is_none_or(better) {
            self.choose(rank, name, layout);
        } else {
            self.candidates.push((rank, Candidate::new(name, &layout)));
        }
    }

    /// Adds a candidate, and chooses it regardless of its total.
    pub(super) fn choose(&mut self, rank: usize, name: &'static str, layout: Layout) {
        self.candidates.push((rank, Candidate::new(name, &layout)));
        self.chosen = Some(Chosen { layout, name, rank });
    }

    /// Records that a search was not completed, if `stopped` has a reason.
    pub(super) fn note_stopped(&mut self, name: &str, stopped: Option<StopReason>) {
        if let Some(reason) = stopped {
            self.not_tried.push(NotTried::new(name, format!("not searched to its end: {reason}")));
            self.stopped = self.stopped.or(stopped);
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.chosen.as_ref().map_or(u64::MAX, |chosen| chosen.layout.total())
    }

    /// Returns the candidates by rank.
    pub(super) fn into_list(mut self) -> Vec<Candidate> {
        self.candidates.sort_by_key(|&(rank, _)| rank);
        self.candidates.into_iter().map(|(_, candidate)| candidate).collect()
    }
}

/// Strategies of the portfolio that take `O(n log n)` on any records. They are never stopped.
const N_LOG_N: [Strategy; 3] = [Strategy::Naive, Strategy::GreedyInOrder, Strategy::Equality];

/// Strategies of the portfolio that are faster than the others when tensors have long live ranges.
const FASTER: [Strategy; 2] = [Strategy::GreedyBySizeFirst, Strategy::GreedyBySize];

/// Above this number of records no strategy runs just to break a tie, because each takes seconds. A guess.
const MAX_RECORDS_FOR_TIES: usize = 10_000;

/// Returns a reason to skip a strategy if the records are many and the known plan of `total` reaches the lower bound.
pub(super) fn skip_if_optimal(strategy: Strategy, records: &[UsageRecord], total: u64, bound: u64) -> Option<NotTried> {
    let why = || NotTried::new(strategy.name(), format!("a plan of {bound} was found, and none is smaller"));
    (records.len() > MAX_RECORDS_FOR_TIES && total == bound).then(why)
}

/// Runs the portfolio without `except`, and adds its layouts to the candidates. Returns the smallest layout as a
/// start for the exact search; ties go to the fewest regions, then to the first strategy. `bound` is a lower bound on
/// the total of every plan.
pub(super) fn run(
    records: &[UsageRecord],
    except: Option<Strategy>,
    bound: u64,
    table: &mut Candidates<'_>,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let rank = |strategy: &Strategy| Strategy::PORTFOLIO.iter().position(|other| other == strategy).unwrap_or(0);
    let mut order: Vec<Strategy> = Strategy::PORTFOLIO.iter().copied().filter(|&other| except != Some(other)).collect();
    // Fast strategies first, so that a plan exists before a deadline. If one of them reaches the bound early, the
    // slow ones can be skipped.
    order.sort_by_key(|strategy| (!N_LOG_N.contains(strategy), !FASTER.contains(strategy)));
    let mut start = naive(records)?;
    let mut start_rank = None;
    let count = order.len() as u32;
    for (done, strategy) in (0u32..).zip(order) {
        let best = Some(start.total());
        control.report(Progress { stage: "greedy strategies", done: done.into(), total: count.into(), best });
        let result = match strategy {
            fast if N_LOG_N.contains(&fast) => Ok(fast.place(records)?),
            _ => match skip_if_optimal(strategy, records, start.total(), bound) {
                Some(not_tried) => Err(not_tried),
                None => {
                    // Half of the remaining time. Time that a strategy does not use is left for the next ones.
                    let control = control.share(1, 2);
                    let result = try_strategy(strategy, records, &control)?;
                    table.stopped = table.stopped.or(control.stopped());
                    result
                }
            },
        };
        match result {
            Ok(layout) => {
                let rank = rank(&strategy);
                let key = |layout: &Layout, rank| (layout.total(), layout.regions.len(), rank);
                // `None` is less than every rank, so the initial `naive` layout stays unless a better one is found.
                if key(&layout, Some(rank)) < key(&start, start_rank) {
                    (start, start_rank) = (layout.clone(), Some(rank));
                }
                table.offer(rank, strategy.name(), layout);
            }
            Err(not_tried) => table.not_tried.push(not_tried),
        }
    }
    Ok(start)
}

/// Returns the number of steps between the last use of a tensor and the first use of the next one in the same region,
/// summed over all tensors. The shorter it is, the more likely the region is still in a cache.
fn reuse_distance(records: &[UsageRecord], layout: &Layout) -> u128 {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (layout.places[i].region, records[i].first));
    let mut sum = 0u128;
    let mut previous: Option<(usize, usize)> = None;
    for i in order {
        let (region, r) = (layout.places[i].region, &records[i]);
        previous = match previous {
            Some((same, until)) if same == region => {
                sum += r.first.saturating_sub(until) as u128;
                Some((region, until.max(r.last)))
            }
            _ => Some((region, r.last)),
        };
    }
    sum
}
