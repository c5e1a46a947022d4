//! Tensors to textures: an assignment in which no step reads and writes the same texture, least in the sum of the
//! textures' peaks. Late acceptance hill climbing, bounded by a count of moves.

use super::{
    live_profile::{LiveProfiles, Load},
    problem::{RowStep, RowUse},
};
use crate::plan::{
    assignment::{Assignment, Conflicts, LateAcceptance, assign, kempe_chain},
    control::{Progress, SearchControl},
    random::Random,
};

/// An assignment of the tensors to textures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Assigned {
    /// Sum of the textures' peaks: no layout of it is smaller.
    pub(super) bound: u64,
    pub(super) texture_of: Vec<usize>,
}

/// The records that are used; runs of one record follow each other, and there may be many.
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

/// Starts of a search: the greedy one, then random ones.
const STARTS: u64 = 5;

/// How far assignments are searched for.
pub(super) struct Climbing {
    /// Moves of a tensor to another texture.
    pub(super) moves: u64,
    /// Assignments that are kept.
    pub(super) keep: usize,
}

/// Assignments to at most `textures` textures, the best few of all that were seen; none where a first one is not found,
/// or not before the search is stopped.
pub(super) fn assignments(
    profiles: &LiveProfiles,
    conflicts: &Conflicts,
    textures: usize,
    Climbing { moves, keep }: Climbing,
    control: &SearchControl<'_>,
) -> Vec<Assigned> {
    let mut search = Search { profiles, conflicts, textures, random: Random::new(), best: Vec::new(), keep, control };
    for start in 0..STARTS {
        let first = match start {
            _ if control.should_stop() => break,
            0 => search.first(),
            _ => search.any(),
        };
        let Some(texture_of) = first else { continue };
        search.climb(Loads::new(profiles, texture_of, textures), moves / STARTS);
    }
    search.best
}

/// The tensors in textures, and the live texels of each texture.
struct Loads<'a> {
    profiles: &'a LiveProfiles,
    of: Vec<Load>,
    texture_of: Vec<usize>,
}

impl<'a> Loads<'a> {
    fn new(profiles: &'a LiveProfiles, texture_of: Vec<usize>, textures: usize) -> Self {
        let mut of = vec![profiles.empty(); textures];
        for (record, &texture) in texture_of.iter().enumerate() {
            of[texture].add(&profiles.of[record]);
        }
        Self { profiles, of, texture_of }
    }
}

impl Assignment for Loads<'_> {
    fn region_of(&self) -> &[usize] {
        &self.texture_of
    }

    fn cost(&self) -> u64 {
        self.profiles.texels(&self.of)
    }

    fn shift(&mut self, record: usize, to: usize) {
        let from = std::mem::replace(&mut self.texture_of[record], to);
        self.of[from].remove(&self.profiles.of[record]);
        self.of[to].add(&self.profiles.of[record]);
    }
}

struct Search<'a, 'c> {
    profiles: &'a LiveProfiles,
    conflicts: &'a Conflicts,
    textures: usize,
    random: Random,
    /// The best assignments seen, best first.
    best: Vec<Assigned>,
    keep: usize,
    control: &'a SearchControl<'c>,
}

/// Tensors that one move may carry along before it is given up.
const LONGEST_CHAIN: usize = 16;
/// What is being done, for whoever watches.
pub(super) const PLACING: &str = "placing rows";
/// Moves between two looks at whether the search goes on.
const STRIDE: u64 = 64;
/// Costs that a move is compared with: a longer history climbs further and slower.
const HISTORY: usize = 500;

impl Search<'_, '_> {
    /// Tensors by birth, each to the texture whose peak grows least among those it may enter.
    fn first(&self) -> Option<Vec<usize>> {
        let profiles = self.profiles;
        let mut order: Vec<usize> = (0..profiles.of.len()).collect();
        order.sort_by_key(|&record| (profiles.of[record].from, record));
        let mut loads = vec![profiles.empty(); self.textures];
        assign(self.conflicts, self.textures, order.into_iter(), |record, open, _| {
            if self.control.should_stop() {
                return None;
            }
            let growth = |&texture: &usize| (loads[texture].growth(&profiles.of[record]), texture);
            let texture = open.iter().copied().min_by_key(growth)?;
            loads[texture].add(&profiles.of[record]);
            Some(texture)
        })
    }

    /// Each tensor to any texture that it may enter.
    fn any(&mut self) -> Option<Vec<usize>> {
        let order = 0..self.profiles.of.len();
        let random = &mut self.random;
        assign(self.conflicts, self.textures, order, |_, open, _| open.get(random.below(open.len())).copied())
    }

    fn note(&mut self, loads: &Loads<'_>) {
        let found = Assigned { bound: loads.cost(), texture_of: loads.texture_of.clone() };
        if let Err(at) = self.best.binary_search(&found) {
            self.best.insert(at, found);
            self.best.truncate(self.keep);
        }
    }

    fn climb(&mut self, mut loads: Loads<'_>, moves: u64) {
        self.note(&loads);
        if self.textures < 2 || self.profiles.of.is_empty() {
            return;
        }
        let mut acceptance = LateAcceptance::new(loads.cost(), HISTORY);
        for count in 0..moves {
            if count % STRIDE == 0 {
                self.control.report(Progress::new(PLACING, count, moves));
                if self.control.should_stop() {
                    return;
                }
            }
            let Some(chain) = self.propose(&loads.texture_of) else { continue };
            if let Some(cost) = acceptance.try_move(count, &mut loads, &chain)
                && (self.best.len() < self.keep || self.best.last().is_some_and(|worst| cost < worst.bound))
            {
                self.note(&loads);
            }
        }
    }

    /// Any tensor to any other texture, with those that go along.
    fn propose(&mut self, texture_of: &[usize]) -> Option<Vec<(usize, usize)>> {
        let first = self.random.below(self.profiles.of.len());
        let to = self.random.below(self.textures);
        if texture_of[first] == to {
            return None;
        }
        kempe_chain(self.conflicts, texture_of, first, to, LONGEST_CHAIN)
    }
}
