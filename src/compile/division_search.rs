//! Divisions into segments, and textures of records, searched together: for models whose weights are uploaded in every
//! run.
//!
//! Weights lie beside few rows late in a network, rows beside few weights early. So what the peaks of the textures add
//! up to is far above what is alive at once, and differs between divisions that keep as much alive: a division can only
//! be judged along with textures. Each starts from the textures of the one that it is a mutation of, which are good
//! already, and their peaks are all that it is judged by: rows can nearly always be packed into them. Only the best are
//! packed.

use std::collections::HashMap;

use super::{
    error::CompileError,
    mutator::Mutator,
    parallel::parallel_map,
    variant::{PlacedCandidate, Rows, Variant, rows_read},
};
use crate::{
    plan::{AssignmentSearch, SearchControl, assign_rows},
    schedule::{Contents, Schedule, StorageKind, phases::Segment},
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

/// What a record holds, and how many records before it hold the same: the tiles of a node's weights are several. It is
/// the same record in every division.
type RecordName = (Contents, usize);

/// A division with textures of its records.
#[derive(Clone, PartialEq, Eq)]
struct Division {
    segments: Vec<Segment>,
    /// What the peaks of the textures add up to.
    texels: u64,
    names: Vec<RecordName>,
    /// The texture of each record.
    texture_of: Vec<usize>,
}

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

/// One of several searches side by side, each with random numbers of its own.
struct Chain<'a, 'c> {
    variant: &'a Variant<'a>,
    /// How many textures there are.
    textures: usize,
    number: u64,
    control: &'a SearchControl<'c>,
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
                (Some(placed), Some(smallest)) if placed.device_bytes >= smallest.device_bytes => Some(smallest),
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
        let mut history = [last.texels; HISTORY];
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
            rows += schedule.steps.len() as u64 + rows_read(&schedule);
            let before = &mut history[mutation as usize % HISTORY];
            let most = last.texels.max(*before);
            let textures = last.names.iter().copied().zip(last.texture_of.iter().copied()).collect();
            let mutated = self.assigned(segments, &schedule, &textures, (MOVES, mutation), most)?;
            if let Some(mutated) = mutated.filter(|mutated| mutated.texels <= most) {
                last = mutated;
                let at = best.partition_point(|better| better.texels <= last.texels);
                if at < PACKED && !best.contains(&last) {
                    best.insert(at, last.clone());
                    best.truncate(PACKED);
                }
            }
            *before = last.texels.min(*before);
        }
        Ok(best)
    }

    fn first(&self, start: &[Segment]) -> Result<Option<Division>, CompileError> {
        let Some(schedule) = self.variant.schedule(start) else { return Ok(None) };
        self.assigned(start.to_vec(), &schedule, &HashMap::new(), (FIRST_MOVES, MUTATIONS), u64::MAX)
    }

    /// A division with the best textures that are found by so many moves, in the random order of a number; none where
    /// more than `most` texels are alive at once.
    fn assigned(
        &self,
        segments: Vec<Segment>,
        schedule: &Schedule,
        textures: &HashMap<RecordName, usize>,
        (moves, number): (u64, u64),
        most: u64,
    ) -> Result<Option<Division>, CompileError> {
        let rows = Rows::new(self.variant.graph, schedule);
        let names = names(schedule);
        let from: Vec<Option<usize>> = names.iter().map(|name| textures.get(name).copied()).collect();
        let sequence = self.number << 32 | number;
        let search = AssignmentSearch { textures: self.textures, from: &from, moves, sequence, most };
        let Some(assigned) = assign_rows(&rows.problem(), &search, self.control)? else { return Ok(None) };
        Ok(Some(Division { segments, texels: assigned.bound, names, texture_of: assigned.texture_of }))
    }
}

/// The name of each record of a schedule.
fn names(schedule: &Schedule) -> Vec<RecordName> {
    let mut before: HashMap<Contents, usize> = HashMap::new();
    let records = schedule.storages.iter().filter(|storage| matches!(storage.kind, StorageKind::Intermediate(_)));
    let name = |contents: Contents| {
        let count = before.entry(contents).or_default();
        *count += 1;
        (contents, *count - 1)
    };
    records.map(|storage| storage.contents).map(name).collect()
}
