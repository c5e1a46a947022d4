//! One search for fewer steps: late acceptance hill climbing over divisions and their texture assignments.

use std::ops::Range;

use super::super::{
    division::{Chain, Division, Effort},
    memory_limit::MemoryLimit,
    mutator::{Mutator, TileScales},
    variant::{PlacedCandidate, Variant, steps_and_rows},
};
use crate::{
    error::CompileError,
    schedule::{
        Schedule,
        tiling::{Cascade, CascadeCosts},
    },
};
use texpool_plan::internal::LateAcceptance;

// The values below are a choice.

/// Upper limit on the work of a search: steps, plus rows that they read, of all divisions that it examines.
const ROWS: u64 = 20_000_000;
/// Upper limit on the work of a starting division; a larger one is not used as a start.
const START_ROWS: u64 = ROWS / 10;
/// Number of moves of records between textures for each mutation.
const MOVES: u64 = 500;
/// Number of moves of records for a division that has no texture assignment yet.
const FIRST_MOVES: u64 = 20_000;
/// History length of late acceptance hill climbing: a mutation's cost is compared with that of this many mutations
/// ago.
const HISTORY: usize = 50;
/// Work charged for a division with too many rows, because finding that out takes time, too.
const TOO_MANY: u64 = 1_000_000;
/// Upper limit on the number of divisions whose rows are packed, and packings of each.
const PACKED: usize = 10;
const PACKINGS: u64 = 1_000;
/// Number of times that a search continues with less memory if none of its divisions can be packed, and the divisor
/// of the effort for each retry. Packed rows of MobileNet v2 take 1 to 4 % more than their peaks.
const RETRIES: u64 = 3;
const RETRY: u64 = 4;

/// Numbers of stripes to try first for each cascade, in increasing order of steps.
const COARSE_STRIPES: [u32; 12] = [1, 2, 3, 4, 7, 10, 14, 20, 28, 38, 56, 112];

/// A division and its number of steps.
#[derive(Clone)]
pub(super) struct Counted {
    steps: usize,
    pub(super) division: Division,
}

impl Counted {
    /// Returns the division of a plan, or `None` if examining it would use a large part of the search's work limit.
    pub(super) fn of(variant: &Variant<'_>, placed: &PlacedCandidate) -> Option<Self> {
        let schedule = variant.schedule(&placed.cascades)?;
        let texels = placed.bytes / variant.options.format.texel_bytes();
        let few = steps_and_rows(&schedule) <= START_ROWS;
        few.then(|| Self { steps: schedule.steps.len(), division: Division::of(placed, &schedule, texels) })
    }

    /// Returns the division with the fewest dispatches of those whose live size is at most `texels`. `number` selects
    /// the random sequence for its texture assignment, as for mutations.
    pub(super) fn alive_within(
        chain: &Chain<'_, '_>,
        costs: &CascadeCosts,
        texels: u64,
        number: u64,
    ) -> Result<Option<Self>, CompileError> {
        let Some(cascades) = costs.within(texels) else { return Ok(None) };
        let Some(schedule) = chain.variant.schedule(&cascades) else { return Ok(None) };
        let effort = Effort { moves: FIRST_MOVES, most: u64::MAX, enough: texels };
        let division = chain.assigned(cascades, &schedule, None, number, effort)?;
        Ok(division.map(|division| Self { steps: schedule.steps.len(), division }))
    }
}

/// Cost to minimise: texels of the peaks above the available memory first, then steps.
type Cost = (u64, usize);

/// State of a search.
pub(super) struct Climb<'a, 'c> {
    chain: Chain<'a, 'c>,
    /// Upper limit on the sum of the textures' peaks, in texels.
    room: u64,
    /// Maximum number of stripes.
    finest: u32,
    tile_scales: TileScales,
    /// Number of mutations per round.
    mutations: u64,
    /// Remaining work, in steps and rows that they read.
    rows_left: u64,
    last: Counted,
    /// The divisions with the fewest steps, best first.
    best: Vec<Counted>,
}

/// Result of packing the rows of the best divisions.
enum Packed {
    Fits(Box<PlacedCandidate>),
    /// All packed divisions are over the limit, the best of them by this many bytes.
    TooLarge {
        bytes: u64,
    },
    /// No division could be packed.
    None,
}

impl<'a, 'c> Climb<'a, 'c> {
    /// Creates a search that starts from the division `first`, with at most `finest` stripes per cascade and
    /// `mutations` mutations per round.
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

    /// Returns the plan with the fewest steps, if it has fewer than `steps`. If no division can be packed within the
    /// limit, the search continues with less memory.
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

    /// Returns the best division with fewer than `steps` steps whose rows can be packed within the limit.
    fn packed(&self, steps: usize, limit: MemoryLimit) -> Result<Packed, CompileError> {
        let Chain { variant, control, .. } = self.chain;
        let mut least: Option<u64> = None;
        for Counted { division, .. } in self.best.iter().take_while(|counted| counted.steps < steps) {
            let cascades = division.cascades.clone();
            let Some(placed) = variant.placed_in(cascades, &division.texture_of, PACKINGS, control)? else { continue };
            if limit.holds(&placed) {
                return Ok(Packed::Fits(Box::new(placed)));
            }
            let bytes = limit.bytes_of(&placed) - limit.bytes();
            least = Some(least.map_or(bytes, |least| least.min(bytes)));
        }
        Ok(least.map_or(Packed::None, |bytes| Packed::TooLarge { bytes }))
    }

    fn cost(&self, counted: &Counted) -> Cost {
        (counted.division.texels.max(self.room), counted.steps)
    }

    /// Gives each cascade in turn the largest tiles and the fewest stripes that fit.
    fn coarsen(&mut self) -> Result<(), CompileError> {
        let scaled = |cascade, tile_scale| Cascade { tile_scale, ..cascade };
        let tiled = |cascade, stripes| Cascade { stripes, ..cascade };
        let tile_scales = self.tile_scales.coarse();
        // These changes keep the number and the order of cascades.
        let cascades = 0..self.last.division.cascades.len();
        self.first_that_fits(cascades.clone(), tile_scales, scaled)?;
        for at in cascades {
            self.first_that_fits(at..at + 1, tile_scales, scaled)?;
            self.first_that_fits(at..at + 1, &COARSE_STRIPES, tiled)?;
        }
        Ok(())
    }

    /// Replaces a parameter of the given cascades with the first value that fits. Values are sorted by increasing
    /// number of steps, and usually by decreasing memory, so this is a binary search.
    fn first_that_fits(
        &mut self,
        at: Range<usize>,
        values: &[u32],
        with: impl Fn(Cascade, u32) -> Cascade,
    ) -> Result<(), CompileError> {
        let (mut from, mut to) = (0, values.len());
        while from < to {
            let middle = from.midpoint(to);
            let mut cascades = self.last.division.cascades.clone();
            cascades[at.clone()].iter_mut().for_each(|cascade| *cascade = with(cascade.clone(), values[middle]));
            let Some(schedule) = self.schedule(&cascades) else { return Ok(()) };
            if schedule.steps.len() >= self.last.steps {
                to = middle;
                continue;
            }
            match self.assigned(cascades, &schedule, middle as u64, self.room)? {
                Some(counted) if counted.division.texels <= self.room => (self.last, to) = (counted, middle),
                _ => from = middle + 1,
            }
        }
        Ok(())
    }

    /// Applies random mutations with late acceptance: a mutation that costs more than an earlier state is dropped.
    fn mutate(&mut self) -> Result<(), CompileError> {
        let operators = self.chain.variant.model.operators.len();
        // Every round uses the same random numbers, but applies them to a different division.
        let mut mutator = Mutator::fine(self.finest, self.tile_scales, self.chain.number);
        let mut acceptance = LateAcceptance::new(self.cost(&self.last), HISTORY);
        for mutation in 0..self.mutations {
            if self.is_done() {
                break;
            }
            let cascades = mutator.mutate_once_or_twice(&self.last.division.cascades, operators);
            let Some(schedule) = self.schedule(&cascades) else { continue };
            let most = acceptance.most(mutation, self.cost(&self.last));
            if (self.room, schedule.steps.len()) <= most
                && let Some(counted) = self.assigned(cascades, &schedule, mutation, most.0)?
                && self.cost(&counted) <= most
            {
                self.last = counted;
            }
            acceptance.note(mutation, self.cost(&self.last));
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.rows_left == 0 || self.chain.control.should_stop()
    }

    /// Returns the steps of a division, or `None` if the work limit is reached or the search is stopped.
    fn schedule(&mut self, cascades: &[Cascade]) -> Option<Schedule> {
        if self.is_done() {
            return None;
        }
        let schedule = self.chain.variant.schedule(cascades);
        let looked_at = schedule.as_ref().map_or(TOO_MANY, steps_and_rows);
        self.rows_left = self.rows_left.saturating_sub(looked_at);
        schedule
    }

    /// Assigns textures to a division, starting from the last assignment. Returns `None` if more than `most` texels
    /// are alive at once.
    fn assigned(
        &mut self,
        cascades: Vec<Cascade>,
        schedule: &Schedule,
        number: u64,
        most: u64,
    ) -> Result<Option<Counted>, CompileError> {
        let effort = Effort { moves: MOVES, most, enough: self.room };
        let division = self.chain.assigned(cascades, schedule, Some(&self.last.division), number, effort)?;
        let counted = division.map(|division| Counted { steps: schedule.steps.len(), division });
        if let Some(counted) = counted.as_ref().filter(|counted| counted.division.texels <= self.room) {
            // Keeps one division per number of steps, because divisions with equal numbers of steps are mostly
            // similar.
            if let Err(at) = self.best.binary_search_by_key(&counted.steps, |other| other.steps) {
                self.best.insert(at, counted.clone());
                self.best.truncate(PACKED);
            }
        }
        Ok(counted)
    }
}
