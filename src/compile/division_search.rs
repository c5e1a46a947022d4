//! Divisions into segments, and textures of records, searched together: for models whose weights are uploaded in every
//! run.
//!
//! Weights lie beside few rows late in a network, rows beside few weights early. So what the peaks of the textures add
//! up to is far above what is alive at once, and differs between divisions that keep as much alive: a division can only
//! be judged along with textures. Each starts from the textures of the one that it is a mutation of, which are good
//! already, and their peaks are all that it is judged by: rows can nearly always be packed into them. Only the best are
//! packed.

use super::{
    division::{Chain, Division, Effort},
    error::CompileError,
    mutator::Mutator,
    parallel::parallel_map,
    variant::{PlacedCandidate, Variant, steps_and_rows},
};
use crate::{
    plan::{LateAcceptance, SearchControl},
    schedule::phases::Segment,
};

// The effort below is chosen, not tuned figure by figure: with it MobileNet v2 takes 3 s on two cores.

/// Numbers of textures that are tried.
const TEXTURES: [usize; 2] = [3, 4];
/// Mutations that are tried from each first division with each number of textures.
const MUTATIONS: u64 = 1_000;
/// Moves of records between textures: of the first division, and of each mutation.
const FIRST_MOVES: u64 = 40_000;
const MOVES: u64 = 1_000;
/// Earlier peaks that a mutation's are compared with, as in late acceptance hill climbing.
const HISTORY: usize = 100;
/// Steps, and rows that they read, of all mutations of a chain.
const MAX_ROWS: u64 = 10_000_000;
/// Divisions of a chain whose rows are packed, and packings of each: the one with the least peaks does not always pack
/// best.
const PACKED: usize = 6;
const PACKINGS: u64 = 200;

/// The smallest pools that are found from each of several divisions on; none where the search is stopped.
pub(super) fn search(
    variant: &Variant<'_>,
    finest: u32,
    starts: &[Vec<Segment>],
    control: &SearchControl<'_>,
) -> Result<Vec<PlacedCandidate>, CompileError> {
    let starts = starts.iter().flat_map(|start| TEXTURES.map(|textures| (start, textures)));
    let chains: Vec<(u64, (&Vec<Segment>, usize))> = (0..).zip(starts).collect();
    let found = parallel_map(&chains, |&(number, (start, textures))| {
        Chain { variant, textures, number, control }.smallest(start, finest)
    });
    found.into_iter().filter_map(Result::transpose).collect()
}

impl Chain<'_, '_> {
    /// The smallest pool of the best divisions.
    fn smallest(&self, start: &[Segment], finest: u32) -> Result<Option<PlacedCandidate>, CompileError> {
        let mut smallest: Option<PlacedCandidate> = None;
        for Division { segments, texels, texture_of, .. } in self.best(start, finest)? {
            let bytes = texels * self.variant.options.format.texel_bytes();
            // They come in the order of their peaks, and no pool is smaller than those.
            if smallest.as_ref().is_some_and(|smallest| smallest.bytes <= bytes) || self.control.should_stop() {
                break;
            }
            let placed = self.variant.placed_in(segments, &texture_of, PACKINGS, self.control)?;
            smallest = match (placed, smallest) {
                (Some(placed), Some(smallest)) if placed.running_bytes >= smallest.running_bytes => Some(smallest),
                (placed, smallest) => placed.or(smallest),
            };
        }
        Ok(smallest)
    }

    /// The divisions with the least peaks, best first.
    fn best(&self, start: &[Segment], finest: u32) -> Result<Vec<Division>, CompileError> {
        let Some(mut last) = self.first(start)? else { return Ok(Vec::new()) };
        let operators = self.variant.model.operators.len();
        let mut mutator = Mutator::new(finest, self.number);
        let mut acceptance = LateAcceptance::new(last.texels, HISTORY);
        let mut best = vec![last.clone()];
        let mut rows = 0;
        for mutation in 0..MUTATIONS {
            if rows >= MAX_ROWS || self.control.should_stop() {
                break;
            }
            let segments = mutator.mutate_once_or_twice(&last.segments, operators);
            let Some(schedule) = self.variant.schedule(&segments) else {
                // To see that it is too much takes time, too.
                rows += MAX_ROWS / 10;
                continue;
            };
            rows += steps_and_rows(&schedule);
            let most = acceptance.most(mutation, last.texels);
            let effort = Effort { moves: MOVES, most, enough: 0 };
            let mutated = self.assigned(segments, &schedule, Some(&last), mutation, effort)?;
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

    fn first(&self, start: &[Segment]) -> Result<Option<Division>, CompileError> {
        let Some(schedule) = self.variant.schedule(start) else { return Ok(None) };
        let effort = Effort { moves: FIRST_MOVES, most: u64::MAX, enough: 0 };
        self.assigned(start.to_vec(), &schedule, None, MUTATIONS, effort)
    }
}
