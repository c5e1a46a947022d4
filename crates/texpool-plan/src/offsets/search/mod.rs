//! The search behind [`fit`](super::fit()). It is depth first, builds a layout from the floor up, and cuts a branch
//! as soon as no layout can follow. It is the search of minimalloc (Moffitt 2023), with more cuts.
//!
//! If any layout fits a capacity, there is one with the smallest sum of offsets among all that fit. None of its
//! tensors can be moved down, so each rests on another tensor or on the floor. If tensors are listed by offset (and by
//! rank for equal offsets), each tensor rests on tensors listed before it. It is therefore enough to search these
//! sequences. Each tensor is tried at a single offset, the end of the highest placed tensor that overlaps it in time.
//! [`Pruning`] lists the cuts that this allows.
//!
//! Constraints do not change this. A tensor is tried at the next multiple of its alignment at which it leaves those with
//! fixed offsets their place. A tensor with a fixed offset has its place in the sequence, and no tensor after that place
//! is tried before it. In a gap a tensor overlaps no other. A tensor that needs a part of its bytes at some steps is
//! listed by the offset of a byte that it needs throughout, its anchor, so that again it rests on tensors listed before
//! it. Tensors that may be computed in place of each other are tried alone and as one tensor, a joint.

mod bits;
mod constraint;
mod instance;
mod partial_layout;
mod preordering;
mod pruning;

pub(crate) use constraint::{Constraint, Constraints, Joint, Piece, common_byte};
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

/// Result of [`fit`](super::fit()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit<T = Layout> {
    /// A layout within the capacity.
    Fits(T),
    /// No layout fits within the capacity: some step is wider, or the search has ruled out every layout.
    Infeasible,
    /// The search reached its limit of nodes or memory, or was stopped.
    BudgetExhausted,
}

/// Upper limit on the tensors of one group for a search. The sets of overlapping tensors take the square of that
/// number in bits, twice: 64 MiB at the limit, a gigabyte at four times as many.
const MAX_TENSORS: usize = 1 << 14;

/// Number of tensors of one group up to which the full number of nodes is spent. Larger groups get fewer nodes,
/// because each of their nodes takes longer.
const TENSORS_AT_FULL_EFFORT: u64 = 1 << 12;

/// Returns whether the search accepts these records: at most [`MAX_TENSORS`] of them are connected by overlaps in
/// time.
pub(crate) fn takes(records: &[UsageRecord]) -> bool {
    independent_groups(records).iter().all(|group| group.len() <= MAX_TENSORS)
}

/// Searches for a layout within `capacity`, placing at most `nodes` tensors in total. Groups of tensors that are
/// never alive at the same time are searched one after another.
pub(super) fn search(
    records: &[UsageRecord],
    constraints: &Constraints,
    capacity: u64,
    nodes: u64,
    control: &SearchControl<'_>,
) -> Fit {
    let groups = independent_groups(records);
    if groups.iter().any(|group| group.len() > MAX_TENSORS) {
        return Fit::BudgetExhausted;
    }
    let mut offsets = vec![None; records.len()];
    let mut used = 0;
    for group in groups {
        let Some(instance) = Instance::new(records, constraints, group, control) else { return Fit::BudgetExhausted };
        match search_group(&instance, capacity, nodes, &mut used, control) {
            Fit::Fits(placed) => {
                for (&record, offset) in instance.records.iter().zip(placed) {
                    offsets[record] = Some(offset);
                }
            }
            Fit::Infeasible => return Fit::Infeasible,
            Fit::BudgetExhausted => return Fit::BudgetExhausted,
        }
    }
    Fit::Fits(one_arena(records, &offsets))
}

/// Searches for the offsets of one group. Preorderings take turns, and the limit of nodes doubles from round to
/// round. So the total is at most four times the number of nodes that the best preordering needs, times the number of
/// preorderings.
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
            let fit = search.run(control, &Progress::new("arena search", *used, nodes));
            *used += search.used;
            match fit {
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

/// Number of nodes per tensor in the first round. minimalloc's instances A to K take 1.45 million nodes in all with
/// 16, 1.55 with 8 and 1.36 with 32 (counted in `search_group` while `cargo bench -p texpool-plan --bench
/// arena` ran). The easiest of them, J, takes one and a half nodes per tensor.
const FIRST_NODES_PER_TENSOR: u64 = 16;

/// Nodes times tensors of the instance between two checks of the control: some hundred microseconds, so that the
/// clock and the callback have no measurable cost.
const WORK_BETWEEN_CHECKS: u64 = 1 << 13;

/// The remaining work at one level of the search. A stack of frames replaces recursion, because each tensor may add a
/// level.
enum Frame {
    /// One of the tensors of a partition is placed next.
    Choice {
        partition: Partition,
        /// Tensors before this position were already tried, or were skipped at a level below.
        resume_at: SequenceKey,
        /// The lowest position that is above any unplaced tensor at its lowest position.
        min_height: u64,
        /// The length of the log before the first tensor was tried.
        mark: usize,
    },
    /// Partitions to search one after another, in [`Search::partitions`] from `start` on.
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

    /// Runs the search. If it finds a layout, that is in `self.layout`.
    fn run(&mut self, control: &SearchControl<'_>, progress: &Progress) -> Fit<()> {
        if !self.layout.sections_fit() {
            return Fit::Infeasible;
        }
        let between_checks = WORK_BETWEEN_CHECKS / self.layout.instance.tensors.len().max(1) as u64 + 1;
        self.push_partitions(self.layout.whole(), 0);
        // Result of the frame that was last on top; `None` while the current top frame is not searched yet.
        let mut feasible = None;
        loop {
            match self.frames.last_mut() {
                None => return if feasible == Some(true) { Fit::Fits(()) } else { Fit::Infeasible },
                Some(Frame::Partitions { start, next, floor }) => match self.partitions.get(*next) {
                    Some(&partition) if feasible != Some(false) => {
                        *next += 1;
                        let resume_at = SequenceKey { position: *floor, rank: 0 };
                        self.layout.rank(partition, self.preordering);
                        feasible = self.push_choice(partition, resume_at);
                    }
                    _ => {
                        // Either every partition has a layout, or one of them has none.
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
                            self.push_partitions(partition, key.position);
                            None
                        }
                        Some(_) => self.push_choice(partition, key),
                    };
                }
            }
        }
    }

    /// Records in the top frame the tensor that was tried last.
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

    /// Begins a level. If the partition has no unplaced tensor left, it is complete, and no level is needed.
    fn push_choice(&mut self, partition: Partition, resume_at: SequenceKey) -> Option<bool> {
        let PartialLayout { lowest, instance, .. } = &self.layout;
        let ends = self.layout.unplaced_in(partition).map(|t| lowest[t].saturating_add(instance.tensors[t].reach));
        let Some(min_height) = ends.min() else { return Some(true) };
        self.frames.push(Frame::Choice { partition, resume_at, min_height, mark: self.layout.mark() });
        None
    }

    /// Returns the tensor to try next: the first in the sequence at or after `resume_at`.
    fn next_tensor(
        &self,
        partition: Partition,
        resume_at: SequenceKey,
        min_height: u64,
    ) -> Option<(SequenceKey, usize)> {
        let PartialLayout { lowest, ranks, instance, unplaced, .. } = &self.layout;
        let Pruning { check_dominance, identical_tensors, .. } = self.pruning;
        let latest = self.layout.first_fixed(partition);
        let mut best: Option<(SequenceKey, usize)> = None;
        for tensor in self.layout.unplaced_in(partition) {
            let key = SequenceKey { position: lowest[tensor], rank: ranks[tensor] };
            let eligible = self.layout.is_open(tensor)
                && (key.position < min_height || !check_dominance)
                && key >= resume_at
                && latest.is_none_or(|latest| key <= latest);
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

    /// All cuts, then each cut disabled alone, then none.
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

    /// Generates tensors that fill every step of a capacity, so that some sets fit into it and others do not.
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
                let instance = Instance::new(&records, &Constraints::NONE, group, &control).expect("nothing stops it");
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

    /// Guards that no cut increases the number of nodes, and prints the savings of each. The table in `pruning.rs`
    /// has more instances, with a limit of 65,536 nodes.
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
                    let instance =
                        Instance::new(&records, &Constraints::NONE, group, &control).expect("nothing stops it");
                    let fewest = Preordering::ROUND_ROBIN.map(|preordering| {
                        let mut search = Search::new(&instance, 1_048_576, preordering, pruning, limit);
                        let fit = search.run(&control, &Progress::new("", 0, 0));
                        if fit == Fit::Fits(()) { search.used } else { limit }
                    });
                    nodes += fewest.into_iter().min().unwrap_or(0);
                }
                println!("{name} {cuts}: {nodes}{}", if nodes >= limit { " or more" } else { "" });
                assert!(*with_all.get_or_insert(nodes) <= nodes, "{name} {cuts}: {nodes}, with all {with_all:?}");
            }
        }
    }
}
