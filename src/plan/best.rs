//! The choice: strategies, the proven optimum and banks are tried, the smallest plan that textures can hold is kept,
//! and the reason is recorded.

use std::{cmp::Ordering, fmt, str::FromStr};

use super::{
    Bounds, Certificate, Layout, Optimum, PlanError, Problem, Progress, StepUse, Strategy, UsageRecord, banks, bounds,
    check_layout, exact::positional_certificate, optimum, uses::records_exist,
};

/// How far to search beyond the portfolio. Counted in steps of the algorithms, never in time, so that the same input
/// gives the same plan on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Budget {
    /// Linear relaxations the exact solver may solve; 0 leaves it out.
    pub nodes: u64,
    /// Moves the search for banks may make; 0 leaves it out.
    pub moves: u64,
}

impl Budget {
    /// Greedy strategies only: well under a millisecond on a network.
    pub const PORTFOLIO: Self = Self { nodes: 0, moves: 0 };
}

impl Default for Budget {
    /// Enough to prove every network tried, in a fraction of a second.
    fn default() -> Self {
        Self { nodes: 100, moves: 200_000 }
    }
}

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The smallest of all.
    #[default]
    Best,
    /// The Shared Objects optimum.
    Optimum,
    /// Banks, searched from the optimum.
    Banks,
    /// One strategy, whatever it comes to.
    Strategy(Strategy),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Best => "best",
            Self::Optimum => "optimum",
            Self::Banks => "banks",
            Self::Strategy(strategy) => strategy.name(),
        })
    }
}

impl FromStr for Choice {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        match name {
            "best" => Ok(Self::Best),
            "optimum" => Ok(Self::Optimum),
            "banks" => Ok(Self::Banks),
            _ => name.parse().map(Self::Strategy),
        }
    }
}

/// What one way to plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// Name of the strategy, or `optimum`, or `banks`.
    pub name: String,
    /// The problem it solves.
    pub problem: Problem,
    /// Its cost in the records' unit.
    pub total: u64,
    /// Regions it uses.
    pub regions: usize,
}

/// The chosen layout, with what it was chosen from and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Best {
    /// The chosen layout: Shared Objects or banks, never one arena.
    pub layout: Layout,
    /// Name of what found it.
    pub strategy: String,
    /// Why it was chosen, in a sentence.
    pub reason: String,
    /// Naïve total and lower bounds.
    pub bounds: Bounds,
    /// The best proven lower bound of Shared Objects; the positional one where the exact solver did not run.
    pub certificate: Certificate,
    /// Everything that was tried.
    pub candidates: Vec<Candidate>,
}

/// The smallest layout that textures can hold; ties go to fewer regions, then to the shorter reuse distance, then to
/// what was tried first.
///
/// Records are planned in a canonical order, so their order in the list changes no total.
///
/// # Errors
/// [`PlanError::ReversedInterval`], [`PlanError::Overflow`], or what the checker finds wrong with `uses`.
pub fn best(records: &[UsageRecord], uses: &[StepUse], budget: Budget) -> Result<Best, PlanError> {
    choose(records, uses, Choice::Best, budget)
}

/// As [`best`], or exactly what is asked for; the candidates then say what else was tried on the way.
///
/// # Errors
/// As [`best`], and [`PlanError::NotForTextures`] if the strategy answers one arena.
pub fn choose(records: &[UsageRecord], uses: &[StepUse], choice: Choice, budget: Budget) -> Result<Best, PlanError> {
    Ok(search(records, uses, choice, budget, &mut |_| {})?.0)
}

/// As [`choose`], with the exact solver's answer where it was asked.
pub(super) fn search(
    records: &[UsageRecord],
    uses: &[StepUse],
    choice: Choice,
    budget: Budget,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Best, Option<Optimum>), PlanError> {
    let bounds = bounds(records)?;
    records_exist(records, uses)?;
    let order = Order::canonical(records);
    let sorted: Vec<UsageRecord> = order.0.iter().map(|&i| records[i]).collect();
    let mut table = Table { records: &sorted, candidates: Vec::new(), chosen: None };
    for &strategy in Strategy::PORTFOLIO.iter().filter(|&&strategy| choice != Choice::Strategy(strategy)) {
        table.add(strategy.name(), strategy.place(&sorted)?);
    }
    let mut exact = None;
    if let Choice::Strategy(strategy) = choice {
        if strategy.problem() == Problem::Offsets {
            return Err(PlanError::NotForTextures { strategy: strategy.name() });
        }
        // Named strategies see the records as they are given.
        table.insist(strategy.name(), order.sort(strategy.place(records)?));
    } else {
        let open = table.total() > bounds.shared_objects || choice != Choice::Best;
        if open && budget.nodes > 0 {
            let found = exact.insert(optimum(&sorted, budget.nodes, progress)?);
            match choice {
                Choice::Best => table.add("optimum", found.layout.clone()),
                _ => table.insist("optimum", found.layout.clone()),
            }
        }
        let open = table.total() > bounds.offsets || choice == Choice::Banks;
        let seed = table.chosen.as_ref().filter(|_| open && budget.moves > 0 && choice != Choice::Optimum);
        if let Some(seed) = seed {
            let found = banks(&sorted, &order.sort_uses(uses), &seed.layout, budget.moves)?;
            match choice {
                Choice::Best => table.add("banks", found),
                _ => table.insist("banks", found),
            }
        }
    }
    let Table { candidates, chosen, .. } = table;
    let Some(Chosen { layout, name }) = chosen else {
        return Err(PlanError::Count { what: "candidates", expected: 1, found: 0 });
    };
    let layout = order.restore(layout);
    check_layout(records, uses, &layout)?;
    if let Some(exact) = &mut exact {
        exact.certificate.proof.renumber(&order.0);
        exact.layout = order.restore(exact.layout.clone());
    }
    let certificate = match &exact {
        Some(exact) => exact.certificate.clone(),
        None => positional_certificate(records, bounds.shared_objects),
    };
    let reason = reason(choice, name, layout.total(), &bounds, certificate.bound, candidates.len());
    Ok((Best { layout, strategy: name.to_owned(), reason, bounds, certificate, candidates }, exact))
}

fn reason(choice: Choice, name: &str, total: u64, bounds: &Bounds, proven: u64, candidates: usize) -> String {
    let versus = match total.cmp(&proven) {
        Ordering::Less => format!("{} less than any Shared Objects plan can be ({proven})", proven - total),
        Ordering::Equal => format!("the proven Shared Objects optimum ({proven})"),
        Ordering::Greater => format!("{} above the Shared Objects bound ({proven})", total - proven),
    };
    if choice != Choice::Best {
        format!("{name} was asked for: {total}, {versus}")
    } else if total == bounds.offsets {
        format!("{name} reaches the widest step ({total}), which no plan of any kind can go below")
    } else {
        format!("{name} is the smallest of {candidates} candidates: {total}, {versus}")
    }
}

struct Chosen {
    layout: Layout,
    name: &'static str,
}

/// What was tried, and the best of it, in the canonical order of records.
struct Table<'a> {
    records: &'a [UsageRecord],
    candidates: Vec<Candidate>,
    chosen: Option<Chosen>,
}

impl Table<'_> {
    /// Notes a candidate, and keeps it if it is better than what is kept.
    fn add(&mut self, name: &'static str, layout: Layout) {
        let key = |layout: &Layout| (layout.total(), layout.regions.len());
        let better = |chosen: &Chosen| match key(&layout).cmp(&key(&chosen.layout)) {
            Ordering::Less => true,
            Ordering::Equal => reuse_distance(self.records, &layout) < reuse_distance(self.records, &chosen.layout),
            Ordering::Greater => false,
        };
        if self.chosen.as_ref().is_none_or(better) {
            self.insist(name, layout);
        } else {
            self.note(name, &layout);
        }
    }

    /// Notes a candidate, and keeps it whatever it comes to.
    fn insist(&mut self, name: &'static str, layout: Layout) {
        self.note(name, &layout);
        self.chosen = Some(Chosen { layout, name });
    }

    fn note(&mut self, name: &str, layout: &Layout) {
        let (problem, total, regions) = (layout.problem, layout.total(), layout.regions.len());
        self.candidates.push(Candidate { name: name.to_owned(), problem, total, regions });
    }

    fn total(&self) -> u64 {
        self.chosen.as_ref().map_or(u64::MAX, |chosen| chosen.layout.total())
    }
}

/// Records in an order that does not depend on their order in the list: for each place, the record that takes it.
struct Order(Vec<usize>);

impl Order {
    fn canonical(records: &[UsageRecord]) -> Self {
        let mut order: Vec<usize> = (0..records.len()).collect();
        order.sort_by_key(|&i| (records[i].first, records[i].last, records[i].size, i));
        Self(order)
    }

    fn sort(&self, mut layout: Layout) -> Layout {
        layout.places = self.0.iter().map(|&i| layout.places[i]).collect();
        layout
    }

    fn sort_uses(&self, uses: &[StepUse]) -> Vec<StepUse> {
        let mut place = vec![0; self.0.len()];
        self.0.iter().enumerate().for_each(|(at, &i)| place[i] = at);
        let map = |list: &Vec<usize>| list.iter().map(|&i| place[i]).collect();
        uses.iter().map(|step| StepUse { reads: map(&step.reads), writes: map(&step.writes) }).collect()
    }

    fn restore(&self, mut layout: Layout) -> Layout {
        let sorted = layout.places.clone();
        self.0.iter().zip(sorted).for_each(|(&i, place)| layout.places[i] = place);
        layout
    }
}

/// Steps that regions lie idle between one tensor and the next, summed: the shorter, the warmer the cache.
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
