//! Tensors to textures: a colouring in which no step reads and writes one colour, least in the sum of the textures'
//! fullest points. Late acceptance hill climbing, bounded by a count of moves.

use super::{
    RowStep, RowUse,
    curves::{Curves, Load},
};
use crate::plan::{Progress, SearchControl, random::Random};

/// A split of the tensors into textures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Split {
    /// Sum of the textures' fullest points.
    pub(super) bound: u64,
    pub(super) texture_of: Vec<usize>,
}

/// The records that are used; runs of one record follow each other, and there may be many.
fn used(uses: &[RowUse]) -> impl Iterator<Item = usize> + '_ {
    let first = |&(i, one): &(usize, &RowUse)| i == 0 || uses[i - 1].record != one.record;
    uses.iter().enumerate().filter(first).map(|(_, one)| one.record)
}

/// For each tensor, those that some step reads while it writes the tensor, or writes while it reads it.
pub(super) fn apart(records: usize, steps: &[RowStep]) -> Vec<Vec<usize>> {
    let mut apart = vec![Vec::new(); records];
    for step in steps {
        for write in used(&step.writes) {
            for read in used(&step.reads).filter(|&read| read != write) {
                apart[write].push(read);
                apart[read].push(write);
            }
        }
    }
    for list in &mut apart {
        list.sort_unstable();
        list.dedup();
    }
    apart
}

/// Starts of a search: the greedy one, then by chance.
const STARTS: u64 = 5;

/// How far a split into textures is searched for.
pub(super) struct Climbing {
    /// Moves of a tensor to another texture.
    pub(super) moves: u64,
    /// Splits that are kept.
    pub(super) keep: usize,
}

/// Splits into at most `textures` textures, the best few of all that were seen; none where a first one is not found, or
/// not before the search is stopped.
pub(super) fn splits(
    curves: &Curves,
    apart: &[Vec<usize>],
    textures: usize,
    Climbing { moves, keep }: Climbing,
    control: &SearchControl<'_>,
) -> Vec<Split> {
    let mut random = Random::new();
    let mut best = Vec::new();
    for start in 0..STARTS {
        let first = match start {
            _ if control.should_stop() => break,
            0 => first_split(curves, apart, textures, control),
            _ => chance_split(apart, textures, &mut random),
        };
        let Some(texture_of) = first else { continue };
        let loads = vec![curves.empty(); textures];
        let mut climb = Climb { curves, apart, loads, texture_of, random, best, keep, control };
        for (record, &texture) in climb.texture_of.iter().enumerate() {
            climb.loads[texture].add(&curves.of[record]);
        }
        climb.note();
        climb.run(moves / STARTS);
        (random, best) = (climb.random, climb.best);
    }
    best
}

/// Each tensor into any texture that it may enter.
fn chance_split(apart: &[Vec<usize>], textures: usize, random: &mut Random) -> Option<Vec<usize>> {
    let mut texture_of: Vec<Option<usize>> = vec![None; apart.len()];
    for record in 0..apart.len() {
        let open = |texture: &usize| apart[record].iter().all(|&other| texture_of[other] != Some(*texture));
        let open: Vec<usize> = (0..textures).filter(open).collect();
        texture_of[record] = Some(*open.get(random.below(open.len()))?);
    }
    texture_of.into_iter().collect()
}

/// Tensors by birth, each into the texture whose peak grows least among those it may enter.
fn first_split(
    curves: &Curves,
    apart: &[Vec<usize>],
    textures: usize,
    control: &SearchControl<'_>,
) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..curves.of.len()).collect();
    order.sort_by_key(|&record| (curves.of[record].from, record));
    let mut loads = vec![curves.empty(); textures];
    let mut texture_of: Vec<Option<usize>> = vec![None; curves.of.len()];
    for record in order {
        if control.should_stop() {
            return None;
        }
        let grown = |texture: usize| loads[texture].growth(&curves.of[record]);
        let open = |&texture: &usize| apart[record].iter().all(|&other| texture_of[other] != Some(texture));
        let texture = (0..textures).filter(open).min_by_key(|&texture| (grown(texture), texture))?;
        loads[texture].add(&curves.of[record]);
        texture_of[record] = Some(texture);
    }
    texture_of.into_iter().collect()
}

struct Climb<'a, 'c> {
    curves: &'a Curves,
    apart: &'a [Vec<usize>],
    loads: Vec<Load>,
    texture_of: Vec<usize>,
    random: Random,
    /// The best splits seen, best first.
    best: Vec<Split>,
    keep: usize,
    control: &'a SearchControl<'c>,
}

/// Tensors that one move may carry along before it is given up.
const CHAIN: usize = 16;
/// What is being done, for whoever watches.
pub(super) const PLACING: &str = "placing rows";
/// Moves between two looks at whether the search goes on.
const STRIDE: u64 = 64;
/// Costs that a move is compared with: a longer history climbs further and slower.
const HISTORY: usize = 500;

impl Climb<'_, '_> {
    fn cost(&self) -> u64 {
        self.curves.texels(&self.loads)
    }

    fn note(&mut self) {
        let split = Split { bound: self.cost(), texture_of: self.texture_of.clone() };
        if let Err(at) = self.best.binary_search(&split) {
            self.best.insert(at, split);
            self.best.truncate(self.keep);
        }
    }

    fn shift(&mut self, record: usize, to: usize) {
        let from = std::mem::replace(&mut self.texture_of[record], to);
        self.loads[from].remove(&self.curves.of[record]);
        self.loads[to].add(&self.curves.of[record]);
    }

    fn run(&mut self, moves: u64) {
        if self.loads.len() < 2 || self.curves.of.is_empty() {
            return;
        }
        let mut history = [self.cost(); HISTORY];
        for spent in 0..moves {
            if spent % STRIDE == 0 {
                self.control.report(Progress::new(PLACING, spent, moves));
                if self.control.should_stop() {
                    return;
                }
            }
            let before = self.cost();
            let Some(chain) = self.propose() else { continue };
            let back: Vec<(usize, usize)> =
                chain.iter().map(|&(record, _)| (record, self.texture_of[record])).collect();
            chain.into_iter().for_each(|(record, to)| self.shift(record, to));
            let cost = self.cost();
            let slot = (spent % HISTORY as u64) as usize;
            if cost <= before || cost <= history[slot] {
                if self.best.len() < self.keep || self.best.last().is_some_and(|worst| cost < worst.bound) {
                    self.note();
                }
            } else {
                back.into_iter().for_each(|(record, to)| self.shift(record, to));
            }
            history[slot] = self.cost().min(history[slot]);
        }
    }

    /// Tensors and the textures they go to: one tensor, and along with it those it may not meet, the other way.
    fn propose(&mut self) -> Option<Vec<(usize, usize)>> {
        let first = self.random.below(self.curves.of.len());
        let (from, to) = (self.texture_of[first], self.random.below(self.loads.len()));
        if from == to {
            return None;
        }
        let mut chain = vec![(first, to)];
        let mut next = 0;
        while next < chain.len() {
            let (record, target) = chain[next];
            next += 1;
            for &other in &self.apart[record] {
                if self.texture_of[other] == target && !chain.iter().any(|&(moved, _)| moved == other) {
                    if chain.len() == CHAIN {
                        return None;
                    }
                    chain.push((other, if target == to { from } else { to }));
                }
            }
        }
        Some(chain)
    }
}
