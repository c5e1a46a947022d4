//! Assigns tensors to textures so that no step reads and writes the same texture and the sum of the textures' peaks
//! is small. Uses late acceptance hill climbing, bounded by a number of moves.

use super::{
    live_profile::{LiveProfile, LiveProfiles, TextureLoad, exchange_fits},
    problem::{RowStep, RowUse},
};
use crate::{
    assignment::{Assignment, Conflicts, assign, kempe_chain, try_move},
    control::{Progress, SearchControl},
    internal::LateAcceptance,
    random::Random,
};

/// An assignment of tensors to textures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assigned {
    /// The sum of the textures' peaks, a lower bound on any layout of this assignment.
    pub bound: u64,
    /// Texture of each record.
    pub texture_of: Vec<usize>,
}

/// Starting point and limits of a search for the textures of records.
pub struct AssignmentSearch<'a> {
    /// Number of textures.
    pub textures: usize,
    /// Texture of each record, if it has one already.
    pub from: &'a [Option<usize>],
    /// Upper limit on moves of a record to another texture.
    pub moves: u64,
    /// Number of the sequence of random numbers to use.
    pub sequence: u64,
    /// Upper limit on live texels: schedules with more are skipped.
    pub most: u64,
    /// The search ends once the textures' peaks add up to no more than this.
    pub enough: u64,
}

/// Returns the records of a list of uses. The list may contain many uses of one record, one after another.
fn used(uses: &[RowUse]) -> impl Iterator<Item = usize> + Clone + '_ {
    let first = |&(i, one): &(usize, &RowUse)| i == 0 || uses[i - 1].record != one.record;
    uses.iter().enumerate().filter(first).map(|(_, one)| one.record)
}

/// Returns the pairs of tensors that must not share a texture.
pub(super) fn conflicts(records: usize, steps: &[RowStep]) -> Conflicts {
    let mut conflicts = Conflicts::new(records);
    steps.iter().for_each(|step| conflicts.add(used(&step.reads), used(&step.writes)));
    conflicts.sorted()
}

/// Number of hill climbs for each number of textures: the first starts from a greedy assignment, the others from
/// random ones. A guess.
const STARTS: u64 = 5;

/// Effort to spend on finding assignments.
pub(super) struct Effort {
    /// Upper limit on moves of a tensor to another texture.
    pub(super) moves: u64,
    /// Number of assignments to return.
    pub(super) keep: usize,
}

/// Returns the assignments to at most `textures` textures with the least sums of peaks. Returns an empty list if the
/// first assignment fails, or if the search is stopped before it.
pub(super) fn assignments(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    textures: usize,
    Effort { moves, keep }: Effort,
    control: &SearchControl<'_>,
) -> Vec<Assigned> {
    let mut search = TextureSearch {
        profiles,
        conflicts,
        textures,
        random: Random::new(),
        best: Vec::new(),
        keep,
        enough: 0,
        alive: Vec::new(),
        control,
    };
    for start in 0..STARTS {
        let first = match start {
            _ if control.should_stop() => break,
            0 => greedy_assignment(profiles, conflicts, textures, control),
            _ => search.random_assignment(),
        };
        let Some(texture_of) = first else { continue };
        search.climb(TextureLoads::new(profiles, texture_of, textures), moves / STARTS, HISTORY);
    }
    search.best
}

/// Returns an assignment to at most `search.textures` textures that is at least as good as the one it starts from.
/// Returns `None` if a record without a texture cannot get one.
pub(super) fn improved(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    search: &AssignmentSearch<'_>,
    control: &SearchControl<'_>,
) -> Option<Assigned> {
    let &AssignmentSearch { textures, from, moves, sequence, enough, .. } = search;
    let mut order = order_of_assignment(profiles, conflicts);
    // The sort is stable, so both the records with a texture and the others stay in that order.
    order.sort_by_key(|&record| from[record].is_none());
    let mut loads = TextureLoads::new(profiles, Vec::new(), textures);
    let texture_of = assign(conflicts, textures, order.into_iter(), |record, open, _| {
        let had = from[record].filter(|texture| open.contains(texture));
        had.or_else(|| loads.least_growth(record, open)).inspect(|&texture| loads.add(record, texture))
    })?;
    let random = Random::sequence(sequence);
    let (best, alive) = (Vec::new(), Vec::new());
    let mut search = TextureSearch { profiles, conflicts, textures, random, best, keep: 1, enough, alive, control };
    search.climb(TextureLoads::new(profiles, texture_of, textures), moves, SHORT_HISTORY);
    search.best.pop()
}

/// Returns the unimproved greedy assignment from which a search starts. Returns `None` if no such assignment exists,
/// or if the search is stopped before it is complete.
pub(super) fn first_assignment(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    textures: usize,
    control: &SearchControl<'_>,
) -> Option<Assigned> {
    let texture_of = greedy_assignment(profiles, conflicts, textures, control)?;
    let bound = TextureLoads::new(profiles, texture_of.clone(), textures).cost();
    Some(Assigned { bound, texture_of })
}

/// Returns the tensors by birth. Tensors with at most one conflict, such as weights, come last: with two textures or
/// more they can always be assigned, and if they came first they might block others.
fn order_of_assignment(profiles: &LiveProfiles, conflicts: &Conflicts) -> Vec<usize> {
    let mut order: Vec<usize> = (0..profiles.of.len()).collect();
    order.sort_by_key(|&record| (conflicts.of(record).len() < 2, profiles.of[record].from, record));
    order
}

/// Assigns tensors in that order, each to the conflict-free texture whose peak grows least.
fn greedy_assignment(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    textures: usize,
    control: &SearchControl<'_>,
) -> Option<Vec<usize>> {
    let order = order_of_assignment(profiles, conflicts);
    let mut loads = TextureLoads::new(profiles, Vec::new(), textures);
    assign(conflicts, textures, order.into_iter(), |record, open, _| {
        if control.should_stop() {
            return None;
        }
        loads.least_growth(record, open).inspect(|&texture| loads.add(record, texture))
    })
}

/// An assignment, with the live texels of each texture.
struct TextureLoads<'a> {
    profiles: &'a LiveProfiles,
    loads: Vec<TextureLoad>,
    texture_of: Vec<usize>,
    /// The sum of the profiles that move, kept for its memory.
    change: LiveProfile,
}

impl<'a> TextureLoads<'a> {
    fn new(profiles: &'a LiveProfiles, texture_of: Vec<usize>, textures: usize) -> Self {
        let mut loads = vec![profiles.no_load(); textures];
        for (record, &texture) in texture_of.iter().enumerate() {
            loads[texture].add(&profiles.of[record]);
        }
        Self { profiles, loads, texture_of, change: LiveProfile::default() }
    }

    /// Returns the texture, among the open ones, whose peak grows least when the tensor is added.
    fn least_growth(&self, record: usize, open: &[usize]) -> Option<usize> {
        let growth = |&texture: &usize| (self.loads[texture].growth(&self.profiles.of[record]), texture);
        open.iter().copied().min_by_key(growth)
    }

    /// Adds a tensor to the load of a texture.
    fn add(&mut self, record: usize, texture: usize) {
        self.loads[texture].add(&self.profiles.of[record]);
    }
}

impl Assignment for TextureLoads<'_> {
    fn region_of(&self) -> &[usize] {
        &self.texture_of
    }

    fn cost(&self) -> u64 {
        self.profiles.sum_of_peaks(&self.loads)
    }

    fn make_moves(&mut self, chain: &[(usize, usize)], most: u64) -> Option<u64> {
        // All tensors of a chain move between the same two textures.
        let &(first, to) = chain.first()?;
        let from = self.texture_of[first];
        let change = match chain {
            [_] => &self.profiles.of[first],
            _ => {
                let moves = chain.iter().map(|&(record, texture)| (&self.profiles.of[record], texture == to));
                self.change.set_to_sum(moves);
                &self.change
            }
        };
        let before = self.cost();
        let [source, target] = self.loads.get_disjoint_mut([from, to]).ok()?;
        let others = before - self.profiles.texels(source.peak + target.peak);
        let room = self.profiles.units(most.checked_sub(others)?);
        if !exchange_fits(source, target, change, room) {
            return None;
        }
        source.remove(change);
        target.add(change);
        chain.iter().for_each(|&(record, texture)| self.texture_of[record] = texture);
        Some(self.cost())
    }
}

struct TextureSearch<'a, 'c> {
    profiles: &'a LiveProfiles,
    conflicts: &'a Conflicts,
    textures: usize,
    random: Random,
    /// The best assignments found, best first.
    best: Vec<Assigned>,
    keep: usize,
    /// A climb ends once the textures' peaks add up to no more than this.
    enough: u64,
    /// The tensors alive at a peak, kept for its memory.
    alive: Vec<usize>,
    control: &'a SearchControl<'c>,
}

/// Name of the stage in progress reports.
pub(super) const STAGE: &str = "placing rows";
/// Largest number of tensors that one move may reassign. Lower than for banks, because a change takes longer here. A
/// guess.
const MAX_CHAIN: usize = 16;
/// Number of moves between two checks of the control.
const MOVES_BETWEEN_CHECKS: u64 = 64;
/// Number of earlier costs that late acceptance compares with. Lower than for banks, because fewer moves are made. A
/// guess.
const HISTORY: usize = 500;
/// Number of earlier costs to compare with when a search continues from an assignment that is already good. A guess.
const SHORT_HISTORY: usize = 50;
/// One in this many moves starts from any tensor. The others start from one alive at the peak of its texture, because
/// only those lower it. A guess.
const PEAK_MOVES: usize = 4;

impl TextureSearch<'_, '_> {
    /// Assigns each tensor to a random conflict-free texture.
    fn random_assignment(&mut self) -> Option<Vec<usize>> {
        let order = 0..self.profiles.of.len();
        let random = &mut self.random;
        assign(self.conflicts, self.textures, order, |_, open, _| open.get(random.below(open.len())).copied())
    }

    fn keep_if_best(&mut self, loads: &TextureLoads<'_>) {
        let assigned = Assigned { bound: loads.cost(), texture_of: loads.texture_of.clone() };
        if let Err(at) = self.best.binary_search(&assigned) {
            self.best.insert(at, assigned);
            self.best.truncate(self.keep);
        }
    }

    fn climb(&mut self, mut loads: TextureLoads<'_>, moves: u64, history: usize) {
        self.keep_if_best(&loads);
        if self.textures < 2 || self.profiles.of.is_empty() || loads.cost() <= self.enough {
            return;
        }
        let mut acceptance = LateAcceptance::new(loads.cost(), history);
        let mut chain = Vec::new();
        for number in 0..moves {
            if number % MOVES_BETWEEN_CHECKS == 0 {
                self.control.report(Progress::new(STAGE, number, moves));
                if self.control.should_stop() {
                    return;
                }
            }
            if self.propose(&loads, &mut chain)
                && let Some(cost) = try_move(&mut acceptance, number, &mut loads, &chain)
                && (self.best.len() < self.keep || self.best.last().is_some_and(|worst| cost < worst.bound))
            {
                self.keep_if_best(&loads);
                if cost <= self.enough {
                    return;
                }
            }
        }
    }

    /// Returns a tensor that is alive at the peak of a texture.
    fn alive_at_a_peak(&mut self, loads: &TextureLoads<'_>) -> Option<usize> {
        let texture = self.random.below(self.textures);
        let section = loads.loads[texture].peak_section();
        let alive =
            |&record: &usize| loads.texture_of[record] == texture && self.profiles.of[record].live_in(section) > 0;
        self.alive.clear();
        self.alive.extend((0..self.profiles.of.len()).filter(alive));
        (!self.alive.is_empty()).then(|| self.alive[self.random.below(self.alive.len())])
    }

    /// Sets `chain` to a random move of a tensor to another texture, with all moves that conflicts require. Returns
    /// false if there is no such move.
    fn propose(&mut self, loads: &TextureLoads<'_>, chain: &mut Vec<(usize, usize)>) -> bool {
        let texture_of = &loads.texture_of;
        let first = match self.random.below(PEAK_MOVES) {
            0 => Some(self.random.below(self.profiles.of.len())),
            _ => self.alive_at_a_peak(loads),
        };
        let Some(first) = first else { return false };
        let to = self.random.below(self.textures);
        texture_of[first] != to && kempe_chain(self.conflicts, texture_of, (first, to), MAX_CHAIN, chain)
    }
}
