//! The search behind [`fit`](super::fit()): depth first, a layout is built from the floor up, and a branch is cut as
//! soon as no layout can follow. It is that of minimalloc (Moffitt 2023), with more cuts.
//!
//! Of all layouts within a capacity, take one with the smallest sum of offsets. None of its tensors can be moved down,
//! so each rests on another or on the floor. Listed by offset (by rank where offsets are equal), each tensor rests on
//! tensors listed before it. It is therefore enough to search these sequences and to try each tensor at one offset
//! only, the end of the highest tensor placed so far that overlaps it in time. [`Pruning`] lists the cuts that follow.

mod bits;
mod instance;
mod partial_layout;
mod preordering;
mod pruning;

use instance::{Instance, independent_groups};
use partial_layout::{PartialLayout, Partition, SequenceKey};
use preordering::Preordering;
use pruning::Pruning;

use super::layout::one_arena;
use crate::{
    control::{Progress, SearchControl},
    layout::Layout,
    record::UsageRecord,
};

/// The answer of [`fit`](super::fit()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit<T = Layout> {
    /// A layout within the capacity.
    Fits(T),
    /// No layout is within the capacity: some step is wider, or the search has ruled out every layout.
    Infeasible,
    /// The search ran out of nodes or memory, or was stopped.
    BudgetExhausted,
}

/// Tensors of one group above which no search is begun. The sets of overlapping tensors take the square of their number
/// in bits, twice: 64 MiB here, a gigabyte at four times as many.
const MAX_TENSORS: usize = 1 << 14;

/// Tensors of one group up to which a node costs no more than the effort is meant to buy; larger groups get fewer nodes.
const TENSORS_AT_FULL_EFFORT: u64 = 1 << 12;

/// Returns whether the search takes these records: no more than [`MAX_TENSORS`] of them are connected by overlaps in
/// time.
pub(crate) fn takes(records: &[UsageRecord]) -> bool {
    independent_groups(records).iter().all(|group| group.len() <= MAX_TENSORS)
}

/// Searches for a layout within `capacity`, placing at most `nodes` tensors in all. Groups of tensors that are never
/// alive at the same time are searched one after another.
pub(super) fn search(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Fit {
    let groups = independent_groups(records);
    if groups.iter().any(|group| group.len() > MAX_TENSORS) {
        return Fit::BudgetExhausted;
    }
    let mut offsets = vec![None; records.len()];
    let mut used = 0;
    for group in groups {
        let Some(instance) = Instance::new(records, group, control) else { return Fit::BudgetExhausted };
        match search_group(&instance, capacity, nodes, &mut used, control) {
            Fit::Fits(found) => {
                for (&record, offset) in instance.records.iter().zip(found) {
                    offsets[record] = Some(offset);
                }
            }
            Fit::Infeasible => return Fit::Infeasible,
            Fit::BudgetExhausted => return Fit::BudgetExhausted,
        }
    }
    Fit::Fits(one_arena(records, &offsets))
}

/// The offsets of one group. Preorderings take turns, and the limit of nodes doubles from round to round, so that none
/// costs more than four times what the best of them needs, times their number.
fn search_group(
    instance: &Instance,
    capacity: u64,
    nodes: u64,
    used: &mut u64,
    control: &SearchControl<'_>,
) -> Fit<Vec<u64>> {
    let tensors = instance.tensors.len() as u64;
    let nodes = nodes.saturating_mul(TENSORS_AT_FULL_EFFORT) / tensors.max(TENSORS_AT_FULL_EFFORT);
    let mut limit = FIRST_NODES_PER_TENSOR * tensors;
    while *used < nodes {
        for preordering in Preordering::ROUND_ROBIN {
            let limit = limit.min(nodes - *used);
            let mut search = Search::new(instance, capacity, preordering, Pruning::ALL, limit);
            let found = search.run(control, &Progress::new("arena search", *used, nodes));
            *used += search.used;
            match found {
                Fit::Fits(()) => return Fit::Fits(search.layout.offsets),
                Fit::Infeasible => return Fit::Infeasible,
                Fit::BudgetExhausted if control.stopped().is_some() => return Fit::BudgetExhausted,
                Fit::BudgetExhausted => {}
            }
        }
        limit *= 2;
    }
    Fit::BudgetExhausted
}

/// Nodes for each tensor in the first round. minimalloc's instances A to K take 1.45 million nodes in all with 16, 1.55
/// with 8 and 1.36 with 32 (counted in `search_group` while `cargo bench -p texpool-plan --bench arena` ran); the
/// easiest of them, J, takes one and a half for each tensor.
const FIRST_NODES_PER_TENSOR: u64 = 16;

/// Nodes times tensors of the instance between two looks at the control: some hundred microseconds, so that neither the
/// clock nor a callback costs anything that can be measured.
const WORK_BETWEEN_CHECKS: u64 = 1 << 13;

/// What remains to be done at one level of the search. The stack of frames takes the place of recursion, for there may
/// be a level for each tensor.
enum Frame {
    /// One of the tensors of a partition is placed next.
    Choice {
        partition: Partition,
        /// Tensors before this position have been tried, or were skipped at a level below.
        resume_at: SequenceKey,
        /// The lowest end that an unplaced tensor would have at its minimum offset.
        min_height: u64,
        /// The length of the log before the first tensor was tried.
        mark: usize,
    },
    /// Partitions to be searched one after another, in [`Search::partitions`] from `start` on.
    Partitions { start: usize, next: usize, floor: u64 },
}

struct Search<'a> {
    layout: PartialLayout<'a>,
    preordering: Preordering,
    pruning: Pruning,
    frames: Vec<Frame>,
    partitions: Vec<Partition>,
    limit: u64,
    used: u64,
}

impl<'a> Search<'a> {
    fn new(instance: &'a Instance, capacity: u64, preordering: Preordering, pruning: Pruning, limit: u64) -> Self {
        let layout = PartialLayout::new(instance, capacity, pruning);
        Self { layout, preordering, pruning, frames: Vec::new(), partitions: Vec::new(), limit, used: 0 }
    }

    /// Whether there is a layout; where there is, it is in `self.layout`.
    fn run(&mut self, control: &SearchControl<'_>, progress: &Progress) -> Fit<()> {
        if !self.layout.sections_fit() {
            return Fit::Infeasible;
        }
        let between_checks = WORK_BETWEEN_CHECKS / self.layout.instance.tensors.len().max(1) as u64 + 1;
        self.push_partitions(self.layout.whole(), 0);
        // Whether the frame that was last on top has a layout; `None` while the one on top is not searched yet.
        let mut feasible = None;
        loop {
            match self.frames.last_mut() {
                None => return if feasible == Some(true) { Fit::Fits(()) } else { Fit::Infeasible },
                Some(Frame::Partitions { start, next, floor }) => match self.partitions.get(*next) {
                    Some(&partition) if feasible != Some(false) => {
                        *next += 1;
                        let resume_at = SequenceKey { offset: *floor, rank: 0 };
                        self.layout.rank(partition, self.preordering);
                        feasible = self.push_choice(partition, resume_at);
                    }
                    _ => {
                        // Every partition has a layout, or one of them has none.
                        let start = *start;
                        self.partitions.truncate(start);
                        self.frames.pop();
                        feasible = Some(feasible != Some(false));
                    }
                },
                Some(Frame::Choice { .. }) if feasible == Some(true) => {
                    self.frames.pop();
                }
                Some(&mut Frame::Choice { partition, resume_at, min_height, mark }) => {
                    self.layout.undo(mark);
                    let Some((key, tensor)) = self.next_tensor(partition, resume_at, min_height) else {
                        self.frames.pop();
                        feasible = Some(false);
                        continue;
                    };
                    if self.used == self.limit || self.layout.log_is_full() {
                        return Fit::BudgetExhausted;
                    }
                    self.used += 1;
                    if self.used.is_multiple_of(between_checks) {
                        control.report(Progress { done: progress.done + self.used, ..*progress });
                        if control.should_stop() {
                            return Fit::BudgetExhausted;
                        }
                    }
                    self.resume_after(key);
                    feasible = match self.layout.place(tensor, partition) {
                        None => Some(false),
                        Some(divided) if divided && self.pruning.dynamic_decomposition => {
                            self.push_partitions(partition, key.offset);
                            None
                        }
                        Some(_) => self.push_choice(partition, key),
                    };
                }
            }
        }
    }

    /// Notes in the frame on top which tensor was tried last.
    fn resume_after(&mut self, key: SequenceKey) {
        if let Some(Frame::Choice { resume_at, .. }) = self.frames.last_mut() {
            *resume_at = SequenceKey { rank: key.rank + 1, ..key };
        }
    }

    fn push_partitions(&mut self, partition: Partition, floor: u64) {
        let start = self.partitions.len();
        self.layout.decompose(partition, &mut self.partitions);
        self.frames.push(Frame::Partitions { start, next: start, floor });
    }

    /// Begins a level; where no tensor is left to be placed, there is none and the partition has its layout.
    fn push_choice(&mut self, partition: Partition, resume_at: SequenceKey) -> Option<bool> {
        let PartialLayout { min_offsets, instance, .. } = &self.layout;
        let ends = self.layout.unplaced_in(partition).map(|t| min_offsets[t] + instance.tensors[t].size);
        let Some(min_height) = ends.min() else { return Some(true) };
        self.frames.push(Frame::Choice { partition, resume_at, min_height, mark: self.layout.mark() });
        None
    }

    /// The tensor to try next: the first in the sequence at or after `resume_at`.
    fn next_tensor(
        &self,
        partition: Partition,
        resume_at: SequenceKey,
        min_height: u64,
    ) -> Option<(SequenceKey, usize)> {
        let PartialLayout { min_offsets, offset_bounds, ranks, instance, unplaced, .. } = &self.layout;
        let Pruning { check_dominance, identical_tensors, .. } = self.pruning;
        let mut best: Option<(SequenceKey, usize)> = None;
        for tensor in self.layout.unplaced_in(partition) {
            let key = SequenceKey { offset: min_offsets[tensor], rank: ranks[tensor] };
            let eligible = key.offset == offset_bounds[tensor]
                && (key.offset < min_height || !check_dominance)
                && key >= resume_at;
            if eligible
                && best.is_none_or(|(least, _)| key < least)
                && !(identical_tensors && instance.tensors[tensor].identical.is_some_and(|i| bits::has(unplaced, i)))
            {
                best = Some((key, tensor));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{io::from_csv, random::Random};

    /// Every cut switched off alone, then all of them.
    fn variants() -> [(&'static str, Pruning); 7] {
        let all = Pruning::ALL;
        let none = Pruning {
            check_dominance: false,
            identical_tensors: false,
            bound_skipped: false,
            unallocated_floor: false,
            dynamic_decomposition: false,
        };
        [
            ("all cuts", all),
            ("without check_dominance", Pruning { check_dominance: false, ..all }),
            ("without identical_tensors", Pruning { identical_tensors: false, ..all }),
            ("without bound_skipped", Pruning { bound_skipped: false, ..all }),
            ("without unallocated_floor", Pruning { unallocated_floor: false, ..all }),
            ("without dynamic_decomposition", Pruning { dynamic_decomposition: false, ..all }),
            ("without any", none),
        ]
    }

    /// Tensors that fill every step of a capacity, so that some sets fit into it and others do not.
    fn full_steps(capacity: usize, steps: usize, random: &mut Random) -> Vec<UsageRecord> {
        let (mut records, mut alive, mut free) = (Vec::new(), Vec::new(), capacity);
        for step in 0..steps {
            while free > 0 {
                let size = 1 + random.below(free);
                alive.push((step, size));
                free -= size;
            }
            for _ in 0..1 + random.below(2) {
                let (first, size) = alive.swap_remove(random.below(alive.len()));
                records.push(UsageRecord::new(first, step, size as u64));
                free += size;
                if alive.is_empty() {
                    break;
                }
            }
        }
        records.extend(alive.into_iter().map(|(first, size)| UsageRecord::new(first, steps - 1, size as u64)));
        records
    }

    #[test]
    fn no_cut_changes_an_answer() {
        let mut random = Random::new();
        let (mut feasible, mut infeasible, mut undecided) = (0, 0, 0);
        for _ in 0..1000 {
            let capacity = 8 + random.below(7);
            let records = full_steps(capacity, 8, &mut random);
            for group in independent_groups(&records) {
                let control = SearchControl::new();
                let instance = Instance::new(&records, group, &control).expect("nothing stops it");
                for preordering in Preordering::ROUND_ROBIN {
                    let answers = variants().map(|(name, pruning)| {
                        let mut search = Search::new(&instance, capacity as u64, preordering, pruning, 100_000);
                        (name, search.run(&control, &Progress::new("", 0, 0)))
                    });
                    match answers[0].1 {
                        Fit::Fits(()) => feasible += 1,
                        Fit::Infeasible => infeasible += 1,
                        Fit::BudgetExhausted => panic!("{preordering:?}: {records:?}"),
                    }
                    for (name, answer) in &answers {
                        // Without cuts some of these small sets take millions of nodes.
                        if *answer == Fit::BudgetExhausted {
                            undecided += 1;
                        } else {
                            assert_eq!(answer, &answers[0].1, "{name}, {preordering:?}: {records:?}");
                        }
                    }
                }
            }
        }
        assert!(feasible > 1000 && infeasible > 25, "{feasible} feasible, {infeasible} not");
        assert!(undecided < 2000, "{undecided} answers undecided");
    }

    /// Guards that no cut costs nodes. Prints how many each saves; the table in `pruning.rs` has more instances, with a
    /// limit of 65,536 nodes.
    #[test]
    fn each_cut_saves_nodes() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/minimalloc");
        let limit = 1 << 12;
        for name in ["B", "J"] {
            let text = std::fs::read_to_string(format!("{folder}/{name}.1048576.csv")).expect("a file of the tests");
            let records = from_csv(&text).expect("records").records;
            let control = SearchControl::new();
            let mut with_all = None;
            for (cuts, pruning) in variants() {
                let mut nodes = 0;
                for group in independent_groups(&records) {
                    let instance = Instance::new(&records, group, &control).expect("nothing stops it");
                    let fewest = Preordering::ROUND_ROBIN.map(|preordering| {
                        let mut search = Search::new(&instance, 1_048_576, preordering, pruning, limit);
                        let found = search.run(&control, &Progress::new("", 0, 0));
                        if found == Fit::Fits(()) { search.used } else { limit }
                    });
                    nodes += fewest.into_iter().min().unwrap_or(0);
                }
                println!("{name} {cuts}: {nodes}{}", if nodes >= limit { " or more" } else { "" });
                assert!(*with_all.get_or_insert(nodes) <= nodes, "{name} {cuts}: {nodes}, with all {with_all:?}");
            }
        }
    }
}
