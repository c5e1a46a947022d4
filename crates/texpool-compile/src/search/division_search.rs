//! Searches divisions into cascades and texture assignments of records together. Used for models whose weights are
//! uploaded in every run.
//!
//! Early in a network there are many rows and few weights; late, few rows and many weights. So the sum of the
//! textures' peaks is far above the live size, and it differs between divisions with equal live size: a division can
//! only be judged together with its textures. Each division starts from the texture assignment of the division that
//! it mutates, which is already good. It is judged by the sum of its peaks alone, because rows can nearly always be
//! packed into them; only the best divisions are packed.

use super::{
    division::{Chain, Division, Effort},
    mutator::Mutator,
    variant::{PlacedCandidate, Variant, steps_and_rows},
};
use crate::{error::CompileError, parallel::parallel_map, schedule::tiling::Cascade};
use texpool_plan::{SearchControl, internal::LateAcceptance};

// The effort below is a choice and not tuned value by value. With it, MobileNet v2 takes 3 s on two cores.

/// Numbers of textures to try.
const TEXTURES: [usize; 2] = [3, 4];
/// Number of mutations to try, per starting division and per number of textures, and upper limit per operator of the
/// model: a model of few operators has few divisions.
const MUTATIONS: u64 = 1_000;
const MUTATIONS_PER_OPERATOR: u64 = 25;
/// Number of moves of records between textures, for the first division and for each mutation.
const FIRST_MOVES: u64 = 40_000;
const MOVES: u64 = 1_000;
/// History length of late acceptance hill climbing: a mutation's peaks are compared with those of this many mutations
/// ago.
const HISTORY: usize = 100;
/// Upper limit on the work of a chain: steps, plus rows that they read, of all mutations.
const MAX_ROWS: u64 = 10_000_000;
/// Number of divisions per chain whose rows are packed, and packings of each. Several are packed because the division
/// with the least peaks does not always pack best.
const PACKED: usize = 6;
const PACKINGS: u64 = 200;

/// Returns the smallest pool found from each start. The list is empty if the search is stopped early.
pub(super) fn search(
    variant: &Variant<'_>,
    finest: u32,
    starts: &[Vec<Cascade>],
    control: &SearchControl<'_>,
) -> Result<Vec<PlacedCandidate>, CompileError> {
    let starts = starts.iter().flat_map(|start| TEXTURES.map(|textures| (start, textures)));
    let chains: Vec<(u64, (&Vec<Cascade>, usize))> = (0..).zip(starts).collect();
    let smallest = parallel_map(&chains, |&(number, (start, textures))| {
        Chain { variant, textures, number, control }.smallest(start, finest)
    });
    smallest.into_iter().filter_map(Result::transpose).collect()
}

impl Chain<'_, '_> {
    /// Packs the best divisions and returns the one with the smallest pool.
    fn smallest(&self, start: &[Cascade], finest: u32) -> Result<Option<PlacedCandidate>, CompileError> {
        let mut smallest: Option<PlacedCandidate> = None;
        for Division { cascades, texels, texture_of, .. } in self.best(start, finest)? {
            let bytes = texels * self.variant.options.format.texel_bytes();
            // Divisions are sorted by their peaks, and a pool is never smaller than its peaks, so the rest cannot be
            // better.
            if smallest.as_ref().is_some_and(|smallest| smallest.bytes <= bytes) || self.control.should_stop() {
                break;
            }
            let placed = self.variant.placed_in(cascades, &texture_of, PACKINGS, self.control)?;
            smallest = match (placed, smallest) {
                (Some(placed), Some(smallest)) if placed.running_bytes >= smallest.running_bytes => Some(smallest),
                (placed, smallest) => placed.or(smallest),
            };
        }
        Ok(smallest)
    }

    /// Returns the divisions with the least peaks, best first.
    fn best(&self, start: &[Cascade], finest: u32) -> Result<Vec<Division>, CompileError> {
        let Some(mut last) = self.first(start)? else { return Ok(Vec::new()) };
        let operators = self.variant.model.operators.len();
        let mut mutator = Mutator::new(finest, self.number);
        let mut acceptance = LateAcceptance::new(last.texels, HISTORY);
        let mut best = vec![last.clone()];
        let mut rows = 0;
        for mutation in 0..MUTATIONS.min(MUTATIONS_PER_OPERATOR * operators as u64) {
            if rows >= MAX_ROWS || self.control.should_stop() {
                break;
            }
            let cascades = mutator.mutate_once_or_twice(&last.cascades, operators);
            let Some(schedule) = self.variant.schedule(&cascades) else {
                // Finding out that a schedule is too large takes time, too.
                rows += MAX_ROWS / 10;
                continue;
            };
            rows += steps_and_rows(&schedule);
            let most = acceptance.most(mutation, last.texels);
            let effort = Effort { moves: MOVES, most, enough: 0 };
            let mutated = self.assigned(cascades, &schedule, Some(&last), mutation, effort)?;
            if let Some(mutated) = mutated.filter(|mutated| mutated.texels <= most) {
                last = mutated;
                let at = best.partition_point(|better| better.texels <= last.texels);
                if at < PACKED && !best.contains(&last) {
                    best.insert(at, last.clone());
                    best.truncate(PACKED);
                }
            }
            acceptance.note(mutation, last.texels);
        }
        Ok(best)
    }

    fn first(&self, start: &[Cascade]) -> Result<Option<Division>, CompileError> {
        let Some(schedule) = self.variant.schedule(start) else { return Ok(None) };
        let effort = Effort { moves: FIRST_MOVES, most: u64::MAX, enough: 0 };
        self.assigned(start.to_vec(), &schedule, None, MUTATIONS, effort)
    }
}
