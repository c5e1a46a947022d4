//! Assigns tensors to textures so that no step reads and writes the same texture and the sum of the textures' peaks is
//! small: late acceptance hill climbing, bounded by a count of moves.

use super::{
    live_profile::{LiveProfiles, TextureLoad},
    problem::{RowStep, RowUse},
};
use crate::plan::{
    assignment::{Assignment, Conflicts, LateAcceptance, assign, kempe_chain},
    control::{Progress, SearchControl},
    random::Random,
};

/// An assignment of tensors to textures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Assigned {
    /// The sum of the textures' peaks. No layout of this assignment is smaller.
    pub(super) bound: u64,
    pub(super) texture_of: Vec<usize>,
}

/// The records of a list of uses. There may be many uses of one record, one after another.
fn used(uses: &[RowUse]) -> impl Iterator<Item = usize> + Clone + '_ {
    let first = |&(i, one): &(usize, &RowUse)| i == 0 || uses[i - 1].record != one.record;
    uses.iter().enumerate().filter(first).map(|(_, one)| one.record)
}

/// The tensors that may not share a texture.
pub(super) fn conflicts(records: usize, steps: &[RowStep]) -> Conflicts {
    let mut conflicts = Conflicts::new(records);
    steps.iter().for_each(|step| conflicts.add(used(&step.reads), used(&step.writes)));
    conflicts.sorted()
}

/// Hill climbs for each number of textures: the first from a greedy assignment, the others from random ones. A guess.
const STARTS: u64 = 5;

/// How much is done to find assignments.
pub(super) struct Effort {
    /// Moves of a tensor to another texture.
    pub(super) moves: u64,
    /// Assignments that are returned.
    pub(super) keep: usize,
}

/// Assignments to at most `textures` textures: the few with the least sum of peaks. None if there is no first
/// assignment, or none before the search is stopped.
pub(super) fn assignments(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    textures: usize,
    Effort { moves, keep }: Effort,
    control: &SearchControl<'_>,
) -> Vec<Assigned> {
    let mut search =
        TextureSearch { profiles, conflicts, textures, random: Random::new(), best: Vec::new(), keep, control };
    for start in 0..STARTS {
        let first = match start {
            _ if control.should_stop() => break,
            0 => greedy_assignment(profiles, conflicts, textures, control),
            _ => search.random_assignment(),
        };
        let Some(texture_of) = first else { continue };
        search.climb(TextureLoads::new(profiles, texture_of, textures), moves / STARTS);
    }
    search.best
}

/// The assignment that a search starts from, as it is. None if there is none, or none before the search is stopped.
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

/// Tensors by birth, each to the texture whose peak grows least, of those where nothing conflicts.
fn greedy_assignment(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    textures: usize,
    control: &SearchControl<'_>,
) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..profiles.of.len()).collect();
    order.sort_by_key(|&record| (profiles.of[record].from, record));
    let mut loads = vec![profiles.no_load(); textures];
    assign(conflicts, textures, order.into_iter(), |record, open, _| {
        if control.should_stop() {
            return None;
        }
        let growth = |&texture: &usize| (loads[texture].growth(&profiles.of[record]), texture);
        let texture = open.iter().copied().min_by_key(growth)?;
        loads[texture].add(&profiles.of[record]);
        Some(texture)
    })
}

/// An assignment, and the live texels of each texture.
struct TextureLoads<'a> {
    profiles: &'a LiveProfiles,
    loads: Vec<TextureLoad>,
    texture_of: Vec<usize>,
}

impl<'a> TextureLoads<'a> {
    fn new(profiles: &'a LiveProfiles, texture_of: Vec<usize>, textures: usize) -> Self {
        let mut loads = vec![profiles.no_load(); textures];
        for (record, &texture) in texture_of.iter().enumerate() {
            loads[texture].add(&profiles.of[record]);
        }
        Self { profiles, loads, texture_of }
    }
}

impl Assignment for TextureLoads<'_> {
    fn region_of(&self) -> &[usize] {
        &self.texture_of
    }

    fn cost(&self) -> u64 {
        self.profiles.sum_of_peaks(&self.loads)
    }

    fn move_tensor(&mut self, record: usize, to: usize) {
        let from = std::mem::replace(&mut self.texture_of[record], to);
        self.loads[from].remove(&self.profiles.of[record]);
        self.loads[to].add(&self.profiles.of[record]);
    }
}

struct TextureSearch<'a, 'c> {
    profiles: &'a LiveProfiles,
    conflicts: &'a Conflicts,
    textures: usize,
    random: Random,
    /// The best assignments so far, best first.
    best: Vec<Assigned>,
    keep: usize,
    control: &'a SearchControl<'c>,
}

/// The stage that is reported.
pub(super) const STAGE: &str = "placing rows";
/// Tensors that one move may change the texture of. Less than for banks, because a change takes longer here. A guess.
const MAX_CHAIN: usize = 16;
/// Moves between two looks at the control.
const MOVES_BETWEEN_CHECKS: u64 = 64;
/// Earlier costs that late acceptance compares with. Shorter than for banks, because there are fewer moves. A guess.
const HISTORY: usize = 500;

impl TextureSearch<'_, '_> {
    /// Each tensor to a random texture of those where nothing conflicts.
    fn random_assignment(&mut self) -> Option<Vec<usize>> {
        let order = 0..self.profiles.of.len();
        let random = &mut self.random;
        assign(self.conflicts, self.textures, order, |_, open, _| open.get(random.below(open.len())).copied())
    }

    fn keep_if_best(&mut self, loads: &TextureLoads<'_>) {
        let found = Assigned { bound: loads.cost(), texture_of: loads.texture_of.clone() };
        if let Err(at) = self.best.binary_search(&found) {
            self.best.insert(at, found);
            self.best.truncate(self.keep);
        }
    }

    fn climb(&mut self, mut loads: TextureLoads<'_>, moves: u64) {
        self.keep_if_best(&loads);
        if self.textures < 2 || self.profiles.of.is_empty() {
            return;
        }
        let mut acceptance = LateAcceptance::new(loads.cost(), HISTORY);
        for number in 0..moves {
            if number % MOVES_BETWEEN_CHECKS == 0 {
                self.control.report(Progress::new(STAGE, number, moves));
                if self.control.should_stop() {
                    return;
                }
            }
            let Some(chain) = self.propose(&loads.texture_of) else { continue };
            if let Some(cost) = acceptance.try_move(number, &mut loads, &chain)
                && (self.best.len() < self.keep || self.best.last().is_some_and(|worst| cost < worst.bound))
            {
                self.keep_if_best(&loads);
            }
        }
    }

    /// A random tensor to another texture, with the moves that conflicts make necessary.
    fn propose(&mut self, texture_of: &[usize]) -> Option<Vec<(usize, usize)>> {
        let first = self.random.below(self.profiles.of.len());
        let to = self.random.below(self.textures);
        if texture_of[first] == to {
            return None;
        }
        kempe_chain(self.conflicts, texture_of, first, to, MAX_CHAIN)
    }
}
