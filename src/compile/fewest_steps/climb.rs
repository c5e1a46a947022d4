//! One search for fewer steps: late acceptance hill climbing over divisions, each with textures of its own.

use std::ops::Range;

use crate::{
    compile::{
        division::{Chain, Division, Effort},
        error::CompileError,
        memory_limit::MemoryLimit,
        mutator::{Mutator, TileScales},
        variant::{PlacedCandidate, Variant, steps_and_rows},
    },
    plan::LateAcceptance,
    schedule::{
        Schedule,
        phases::{Segment, SegmentCosts},
    },
};

// The effort below is chosen.

/// Steps, and rows that they read, of all divisions that a search looks at.
const ROWS: u64 = 20_000_000;
/// A division that takes more than this of them is no start.
const START_ROWS: u64 = ROWS / 10;
/// Moves of records between textures, of each mutation.
const MOVES: u64 = 500;
/// The same of a division that has no textures yet.
const FIRST_MOVES: u64 = 20_000;
/// Earlier costs that a mutation's is compared with, as in late acceptance hill climbing.
const HISTORY: usize = 50;
/// What it counts for that a division has too many rows to be looked at: to see that takes time, too.
const TOO_MANY: u64 = 1_000_000;
/// Divisions whose rows are packed at most, and packings of each.
const PACKED: usize = 10;
const PACKINGS: u64 = 1_000;
/// Times that a search goes on in less room where none of its divisions can be packed into what there is, and the part of
/// its effort that each takes. The rows of MobileNet v2 take 1 to 4 % more than their peaks.
const RETRIES: u64 = 3;
const RETRY: u64 = 4;

/// Numbers of phases that each segment is tried with first, those with the fewest steps first.
const COARSE_PHASES: [u32; 12] = [1, 2, 3, 4, 7, 10, 14, 20, 28, 38, 56, 112];

/// A division, and how many steps it has.
#[derive(Clone)]
pub(super) struct Counted {
    steps: usize,
    pub(super) division: Division,
}

impl Counted {
    /// The division of a plan; none where to look at it once takes a good part of all that may be looked at.
    pub(super) fn of(variant: &Variant<'_>, placed: &PlacedCandidate) -> Option<Self> {
        let schedule = variant.schedule(&placed.segments)?;
        let texels = placed.bytes / variant.options.format.texel_bytes();
        let few = steps_and_rows(&schedule) <= START_ROWS;
        few.then(|| Self { steps: schedule.steps.len(), division: Division::of(placed, &schedule, texels) })
    }

    /// The division with the fewest dispatches of those that keep no more texels alive at once. Its textures are drawn in
    /// the sequence of a number, as those of mutations are.
    pub(super) fn alive_within(
        chain: &Chain<'_, '_>,
        costs: &SegmentCosts,
        texels: u64,
        number: u64,
    ) -> Result<Option<Self>, CompileError> {
        let Some(segments) = costs.within(texels) else { return Ok(None) };
        let Some(schedule) = chain.variant.schedule(&segments) else { return Ok(None) };
        let effort = Effort { moves: FIRST_MOVES, most: u64::MAX, enough: texels };
        let division = chain.assigned(segments, &schedule, None, number, effort)?;
        Ok(division.map(|division| Self { steps: schedule.steps.len(), division }))
    }
}

/// Texels of the textures' peaks where they are too many, and steps: what is to become less, in this order.
type Cost = (u64, usize);

/// A search, and how far it came.
pub(super) struct Climb<'a, 'c> {
    chain: Chain<'a, 'c>,
    /// Texels that the peaks of the textures may add up to.
    room: u64,
    /// Numbers of phases go up to this.
    finest: u32,
    tile_scales: TileScales,
    /// Mutations at a time.
    mutations: u64,
    /// Steps and rows that may still be looked at.
    rows_left: u64,
    last: Counted,
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

impl<'a, 'c> Climb<'a, 'c> {
    /// A search from a division on, with numbers of phases up to the finest, and so many mutations.
    pub(super) fn new(
        chain: Chain<'a, 'c>,
        first: Counted,
        room: u64,
        finest: u32,
        tile_scales: TileScales,
        mutations: u64,
    ) -> Self {
        Self { chain, room, finest, tile_scales, mutations, rows_left: ROWS, last: first, best: Vec::new() }
    }

    /// The plan with the fewest steps that is found, if they are less than these. Where no division can be packed the search
    /// goes on in less room.
    pub(super) fn fewest(mut self, steps: usize, limit: MemoryLimit) -> Result<Option<PlacedCandidate>, CompileError> {
        if self.last.division.texels > self.room {
            self.mutate()?;
        }
        self.coarsen()?;
        self.mutate()?;
        self.mutations /= RETRY;
        for retry in 0..=RETRIES {
            match self.packed(steps, limit)? {
                Packed::Fits(placed) => return Ok(Some(*placed)),
                Packed::TooLarge { bytes } if retry < RETRIES => {
                    self.room = self.room.saturating_sub(bytes / self.chain.variant.options.format.texel_bytes());
                    (self.rows_left, self.best) = (ROWS / RETRY, Vec::new());
                    self.mutate()?;
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
    fn coarsen(&mut self) -> Result<(), CompileError> {
        let scaled = |segment, tile_scale| Segment { tile_scale, ..segment };
        let phased = |segment, phases| Segment { phases, ..segment };
        let tile_scales = self.tile_scales.coarse();
        // Segments stay as many as they are, and in their places.
        let segments = 0..self.last.division.segments.len();
        self.first_that_fits(segments.clone(), tile_scales, scaled)?;
        for at in segments {
            self.first_that_fits(at..at + 1, tile_scales, scaled)?;
            self.first_that_fits(at..at + 1, &COARSE_PHASES, phased)?;
        }
        Ok(())
    }

    /// Goes to the division with the first of several values that fits, in place of those of some of its segments. Those
    /// before have fewer steps and take more, as a rule: so half of them are left out by each that is looked at.
    fn first_that_fits(
        &mut self,
        at: Range<usize>,
        values: &[u32],
        with: impl Fn(Segment, u32) -> Segment,
    ) -> Result<(), CompileError> {
        let (mut from, mut to) = (0, values.len());
        while from < to {
            let middle = from.midpoint(to);
            let mut segments = self.last.division.segments.clone();
            segments[at.clone()].iter_mut().for_each(|segment| *segment = with(segment.clone(), values[middle]));
            let Some(schedule) = self.schedule(&segments) else { return Ok(()) };
            if schedule.steps.len() >= self.last.steps {
                to = middle;
                continue;
            }
            match self.assigned(segments, &schedule, middle as u64, self.room)? {
                Some(found) if found.division.texels <= self.room => (self.last, to) = (found, middle),
                _ => from = middle + 1,
            }
        }
        Ok(())
    }

    /// Random changes, of which those that cost more than some time ago are dropped.
    fn mutate(&mut self) -> Result<(), CompileError> {
        let operators = self.chain.variant.model.operators.len();
        // Each time from the same random numbers on: what they are applied to is another division.
        let mut mutator = Mutator::fine(self.finest, self.tile_scales, self.chain.number);
        let mut acceptance = LateAcceptance::new(self.cost(&self.last), HISTORY);
        for mutation in 0..self.mutations {
            if self.is_done() {
                break;
            }
            let segments = mutator.mutate_once_or_twice(&self.last.division.segments, operators);
            let Some(schedule) = self.schedule(&segments) else { continue };
            let most = acceptance.most(mutation, self.cost(&self.last));
            if (self.room, schedule.steps.len()) <= most
                && let Some(found) = self.assigned(segments, &schedule, mutation, most.0)?
                && self.cost(&found) <= most
            {
                self.last = found;
            }
            acceptance.note(mutation, self.cost(&self.last));
        }
        Ok(())
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

    /// A division with textures, from the last one on; none where more than `most` texels are alive at once.
    fn assigned(
        &mut self,
        segments: Vec<Segment>,
        schedule: &Schedule,
        number: u64,
        most: u64,
    ) -> Result<Option<Counted>, CompileError> {
        let effort = Effort { moves: MOVES, most, enough: self.room };
        let division = self.chain.assigned(segments, schedule, Some(&self.last.division), number, effort)?;
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
