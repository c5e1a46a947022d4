//! Divisions with as few steps as a pool has room for: higher bands, and larger tiles of weights, where others than the
//! peaks would be lower. A dispatch of one row takes hardly less than one of several.
//!
//! For models whose weights are uploaded in every run. What is alive at once says little of their pools (see
//! [`division_search`](super::division_search)), so divisions are judged along with textures here, too.

use std::ops::Range;

use super::{
    division::{Chain, Division, Effort},
    error::CompileError,
    memory_limit::MemoryLimit,
    mutator::Mutator,
    parallel::parallel_map,
    variant::{PlacedCandidate, Variant, steps_and_rows},
};
use crate::{
    plan::{LateAcceptance, Progress, SearchControl},
    schedule::{
        Schedule,
        phases::{Segment, SegmentCosts},
    },
};

// The effort below is chosen.

/// Searches side by side, each with random numbers of its own. Fixed, whatever the number of cores: another number would
/// give other plans.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chains {
    /// Short ones, for one of several plans.
    Few,
    /// For an answer: MobileNet v2 in 1536 KiB has 380 dispatches with eight, 468 with four.
    Many,
}

impl Chains {
    const fn count(self) -> u64 {
        match self {
            Self::Few => 2,
            Self::Many => 8,
        }
    }

    /// Mutations that are tried in each.
    const fn mutations(self) -> u64 {
        match self {
            Self::Few => 500,
            Self::Many => 2_000,
        }
    }

    /// Steps, and rows that they read, of all divisions that are looked at in each.
    const fn rows(self) -> u64 {
        match self {
            Self::Few => 20_000_000,
            Self::Many => 20_000_000,
        }
    }
}

/// Moves of records between textures, of each mutation.
const MOVES: u64 = 500;
/// The same of a division that has no textures yet.
const FIRST_MOVES: u64 = 20_000;
/// Earlier costs that a mutation's is compared with, as in late acceptance hill climbing.
const HISTORY: usize = 50;
/// What it counts for that a division has too many rows to be looked at: to see that takes time, too.
const TOO_MANY: u64 = 1_000_000;
/// Divisions of a chain whose rows are packed at most, and packings of each.
const PACKED: usize = 10;
const PACKINGS: u64 = 1_000;
/// Every other chain leaves this part of the room, because some textures cannot be packed into their peaks.
const SPARE: u64 = 64;
/// Times that a chain goes on in less room where none of its divisions can be packed into what there is, and the part of
/// its effort that each takes. The rows of MobileNet v2 take 1 to 4 % more than their peaks.
const RETRIES: u64 = 3;
const RETRY: u64 = 4;

/// Numbers of phases and scales of tiles that each segment is tried with first, those with the fewest steps first.
const COARSE_PHASES: [u32; 12] = [1, 2, 3, 4, 7, 10, 14, 20, 28, 38, 56, 112];
const TILE_SCALES: [u32; 6] = [64, 32, 16, 8, 4, 2];

/// A plan with fewer steps than the first of these; none where none is found, or where the search is stopped.
pub(super) fn search(
    variant: &Variant<'_>,
    costs: &SegmentCosts,
    (from, larger): (&PlacedCandidate, Option<&PlacedCandidate>),
    limit: MemoryLimit,
    chains: Chains,
    control: &SearchControl<'_>,
) -> Result<Option<PlacedCandidate>, CompileError> {
    let (pool, spare) = match limit {
        MemoryLimit::Pool(bytes) => (bytes, bytes / SPARE),
        MemoryLimit::Device(bytes) => {
            // Fewer steps have fewer tables, for which the pool may be larger.
            let pool = from.bytes + bytes.saturating_sub(from.device_bytes) + from.tables / 4;
            (pool, from.tables / 4)
        }
    };
    let first = Counted::of(variant, from, chains);
    let larger = larger.and_then(|larger| Counted::of(variant, larger, chains));
    let count = chains.count();
    let numbers: Vec<u64> = (0..count).collect();
    let found = parallel_map(&numbers, |&number| {
        // Half of them start from what has few steps and takes too much: a plan that is known, or where as much is alive at
        // once as there is room for.
        let start = match 4 * number / count {
            0 | 1 => &first,
            2 => &larger,
            _ => &None,
        };
        let textures = start.as_ref().map_or(from.plan.textures.len(), |start| start.division.textures());
        let control = control.stage(Progress::new("searching for fewer steps", number, count));
        let chain = Chain { variant, textures, number, control: &control };
        let room = (pool - if number % 2 == 0 { 0 } else { spare }) / variant.options.format.texel_bytes();
        let (mutations, rows_left) = (chains.mutations(), chains.rows());
        let mut search = Search { chain, chains, room, finest: costs.finest(), mutations, rows_left, best: Vec::new() };
        let start = if start.is_some() { start.clone() } else { search.alive_within(costs)? };
        match start {
            Some(first) => search.fewest(first, from.steps, limit),
            None => Ok(None),
        }
    });
    let found: Vec<PlacedCandidate> = found.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
    // Where there is no more room than the smallest takes, the smallest counts.
    let smallest = limit == MemoryLimit::Device(from.device_bytes);
    Ok(found.into_iter().min_by_key(|placed| (if smallest { placed.device_bytes } else { 0 }, placed.steps)))
}

/// A division, and how many steps it has.
#[derive(Clone)]
struct Counted {
    steps: usize,
    division: Division,
}

impl Counted {
    /// The division of a plan; none where to look at it once takes a good part of all that may be looked at.
    fn of(variant: &Variant<'_>, placed: &PlacedCandidate, chains: Chains) -> Option<Self> {
        let schedule = variant.schedule(&placed.segments)?;
        let texels = placed.bytes / variant.options.format.texel_bytes();
        let few = steps_and_rows(&schedule) <= chains.rows() / 10;
        few.then(|| Self { steps: schedule.steps.len(), division: Division::of(placed, &schedule, texels) })
    }
}

struct Search<'a, 'c> {
    chain: Chain<'a, 'c>,
    chains: Chains,
    finest: u32,
    /// Texels that the peaks of the textures may add up to.
    room: u64,
    mutations: u64,
    /// Steps and rows that may still be looked at.
    rows_left: u64,
    /// The divisions with the fewest steps so far, best first.
    best: Vec<Counted>,
}

/// What packing the rows of the best divisions comes to.
enum Packed {
    Fits(Box<PlacedCandidate>),
    /// By at least so many bytes.
    TooLarge {
        bytes: u64,
    },
    /// There are none.
    None,
}

/// Texels of the textures' peaks where they are too many, and steps: what is to become less, in this order.
type Cost = (u64, usize);

impl Search<'_, '_> {
    /// The division with the fewest dispatches of those that keep no more texels alive at once than there is room for.
    fn alive_within(&mut self, costs: &SegmentCosts) -> Result<Option<Counted>, CompileError> {
        let Some(segments) = costs.within(self.room) else { return Ok(None) };
        let Some(schedule) = self.schedule(&segments) else { return Ok(None) };
        let effort = Effort { moves: FIRST_MOVES, most: u64::MAX, enough: self.room };
        let division = self.chain.assigned(segments, &schedule, None, self.mutations, effort)?;
        Ok(division.map(|division| Counted { steps: schedule.steps.len(), division }))
    }

    /// The plan with the fewest steps from a division on, if they are less than these.
    fn fewest(
        mut self,
        first: Counted,
        steps: usize,
        limit: MemoryLimit,
    ) -> Result<Option<PlacedCandidate>, CompileError> {
        let small = if first.division.texels > self.room { self.mutated(first)? } else { first };
        let coarse = self.coarser(small)?;
        let mut last = self.mutated(coarse)?;
        let rows = self.chains.rows() / RETRY;
        self.mutations /= RETRY;
        for retry in 0..=RETRIES {
            match self.packed(steps, limit)? {
                Packed::Fits(placed) => return Ok(Some(*placed)),
                Packed::TooLarge { bytes } if retry < RETRIES => {
                    self.room = self.room.saturating_sub(bytes / self.chain.variant.options.format.texel_bytes());
                    (self.rows_left, self.best) = (rows, Vec::new());
                    last = self.mutated(last)?;
                }
                Packed::TooLarge { .. } | Packed::None => break,
            }
        }
        Ok(None)
    }

    /// The best division with fewer than so many steps whose rows can be packed within the limit.
    fn packed(&self, steps: usize, limit: MemoryLimit) -> Result<Packed, CompileError> {
        let Chain { variant, control, .. } = self.chain;
        let mut least: Option<u64> = None;
        for Counted { division, .. } in self.best.iter().take_while(|found| found.steps < steps) {
            let segments = division.segments.clone();
            let Some(placed) = variant.placed_in(segments, &division.texture_of, PACKINGS, control)? else { continue };
            if limit.holds(&placed) {
                return Ok(Packed::Fits(Box::new(placed)));
            }
            let bytes = limit.taken(&placed) - limit.bytes();
            least = Some(least.map_or(bytes, |least| least.min(bytes)));
        }
        Ok(least.map_or(Packed::None, |bytes| Packed::TooLarge { bytes }))
    }

    fn cost(&self, found: &Counted) -> Cost {
        (found.division.texels.max(self.room), found.steps)
    }

    /// Each segment in turn with the fewest steps that there is room for.
    fn coarser(&mut self, mut last: Counted) -> Result<Counted, CompileError> {
        let scaled = |segment, tile_scale| Segment { tile_scale, ..segment };
        let phased = |segment, phases| Segment { phases, ..segment };
        // Segments stay as many as they are, and in their places.
        let segments = 0..last.division.segments.len();
        last = self.first_that_fits(last, segments.clone(), &TILE_SCALES, scaled)?;
        for at in segments {
            last = self.first_that_fits(last, at..at + 1, &TILE_SCALES, scaled)?;
            last = self.first_that_fits(last, at..at + 1, &COARSE_PHASES, phased)?;
        }
        Ok(last)
    }

    /// The division with the first of several values that fits, in place of those of some of its segments. Those before
    /// have fewer steps and take more, as a rule: so half of them are left out by each that is looked at.
    fn first_that_fits(
        &mut self,
        mut last: Counted,
        at: Range<usize>,
        values: &[u32],
        with: impl Fn(Segment, u32) -> Segment,
    ) -> Result<Counted, CompileError> {
        let (mut from, mut to) = (0, values.len());
        while from < to {
            let middle = from.midpoint(to);
            let mut segments = last.division.segments.clone();
            segments[at.clone()].iter_mut().for_each(|segment| *segment = with(segment.clone(), values[middle]));
            let Some(schedule) = self.schedule(&segments) else { return Ok(last) };
            if schedule.steps.len() >= last.steps {
                to = middle;
                continue;
            }
            match self.assigned(segments, &schedule, &last.division, middle as u64, self.room)? {
                Some(found) if found.division.texels <= self.room => (last, to) = (found, middle),
                _ => from = middle + 1,
            }
        }
        Ok(last)
    }

    /// Random changes, of which those that cost more than some time ago are dropped.
    fn mutated(&mut self, mut last: Counted) -> Result<Counted, CompileError> {
        let operators = self.chain.variant.model.operators.len();
        let mut mutator = Mutator::fine(self.finest, self.chain.number);
        let mut acceptance = LateAcceptance::new(self.cost(&last), HISTORY);
        for mutation in 0..self.mutations {
            if self.is_done() {
                break;
            }
            let segments = mutator.mutate_once_or_twice(&last.division.segments, operators);
            let Some(schedule) = self.schedule(&segments) else { continue };
            let most = acceptance.most(mutation, self.cost(&last));
            if (self.room, schedule.steps.len()) <= most
                && let Some(found) = self.assigned(segments, &schedule, &last.division, mutation, most.0)?
                && self.cost(&found) <= most
            {
                last = found;
            }
            acceptance.note(mutation, self.cost(&last));
        }
        Ok(last)
    }

    fn is_done(&self) -> bool {
        self.rows_left == 0 || self.chain.control.should_stop()
    }

    /// The steps of a division; none where enough was looked at, or the search is stopped.
    fn schedule(&mut self, segments: &[Segment]) -> Option<Schedule> {
        if self.is_done() {
            return None;
        }
        let schedule = self.chain.variant.schedule(segments);
        let looked_at = schedule.as_ref().map_or(TOO_MANY, steps_and_rows);
        self.rows_left = self.rows_left.saturating_sub(looked_at);
        schedule
    }

    /// A division with textures; none where more than `most` texels are alive at once.
    fn assigned(
        &mut self,
        segments: Vec<Segment>,
        schedule: &Schedule,
        from: &Division,
        number: u64,
        most: u64,
    ) -> Result<Option<Counted>, CompileError> {
        let effort = Effort { moves: MOVES, most, enough: self.room };
        let division = self.chain.assigned(segments, schedule, Some(from), number, effort)?;
        let found = division.map(|division| Counted { steps: schedule.steps.len(), division });
        if let Some(found) = found.as_ref().filter(|found| found.division.texels <= self.room) {
            // One for each number of steps: those of the same number are mostly alike.
            if let Err(at) = self.best.binary_search_by_key(&found.steps, |found| found.steps) {
                self.best.insert(at, found.clone());
                self.best.truncate(PACKED);
            }
        }
        Ok(found)
    }
}
