//! Divisions with as few steps as a pool has room for: higher bands, and larger tiles of weights, where others than the
//! peaks would be lower. A dispatch of one row takes hardly less than one of several.
//!
//! For models whose weights are uploaded in every run. What is alive at once says little of their pools (see
//! [`division_search`](super::division_search)), so divisions are judged along with textures here, too.

mod climb;

use climb::{Climb, Counted};

use super::{
    allocator_blocks::BLOCK,
    division::Chain,
    error::CompileError,
    memory_limit::MemoryLimit,
    mutator::TileScales,
    parallel::parallel_map,
    variant::{PlacedCandidate, Variant},
};
use crate::{
    plan::{Progress, SearchControl},
    schedule::phases::SegmentCosts,
};

// The effort below is chosen.

/// Searches side by side, each with random numbers of its own. Fixed, whatever the number of cores: another number would
/// give other plans.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chains {
    /// Short ones, for one of several plans.
    Few,
    /// For an answer in hardly more room than the smallest takes.
    Many,
    /// For an answer in the room of a budget. Tiles are of any size here. Where room is as tight as the tightest, they
    /// double: VGG-19's smallest, which is searched for from what this comes to, takes 3 % more with tiles of any size.
    Budget,
}

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// With the plan that is to have fewer steps.
    Known,
    /// With a larger one, which has fewer steps and takes too much.
    Larger,
    /// With the division of the fewest dispatches that keeps no more alive at once than a part of the room, for textures
    /// are not full at every step.
    AliveWithin { percent: u64 },
}

/// Percent of the room that may be alive at a start for which there is no plan.
const NO_PLAN: u64 = 100;

impl Chains {
    /// In the room of a budget that is little, divisions by what is alive at once lead to the fewest dispatches (MobileNet v2
    /// in 1536 KiB: 335, and about 500 from the known plan), where it is more, known plans. What a search comes to is much
    /// of chance, so there are many.
    const fn starts(self) -> &'static [Start] {
        match self {
            Self::Few => &[Start::Known, Start::Larger],
            Self::Many => &[
                Start::Known,
                Start::Known,
                Start::Known,
                Start::Known,
                Start::Larger,
                Start::Larger,
                Start::AliveWithin { percent: NO_PLAN },
                Start::AliveWithin { percent: NO_PLAN },
            ],
            Self::Budget => &[
                Start::Known,
                Start::Larger,
                Start::AliveWithin { percent: 93 },
                Start::AliveWithin { percent: 91 },
                Start::AliveWithin { percent: 88 },
                Start::AliveWithin { percent: 89 },
                Start::AliveWithin { percent: 90 },
                Start::AliveWithin { percent: 87 },
            ],
        }
    }

    const fn tile_scales(self) -> TileScales {
        match self {
            Self::Few | Self::Many => TileScales::Doubled,
            Self::Budget => TileScales::Any,
        }
    }

    /// Mutations that are tried in each.
    const fn mutations(self) -> u64 {
        match self {
            Self::Few => 500,
            Self::Many | Self::Budget => 2_000,
        }
    }
}

/// Every other search leaves this part of the room, because some textures cannot be packed into their peaks.
const SPARE: u64 = 64;

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
        MemoryLimit::Blocks(bytes) => {
            // As many blocks more as the limit allows, all of them full.
            let more = bytes.saturating_sub(from.block_bytes) / BLOCK * BLOCK;
            let pool = from.bytes + (from.block_bytes + more).saturating_sub(from.device_bytes);
            (pool, from.tables / 4)
        }
    };
    let known = Counted::of(variant, from);
    let larger = larger.and_then(|larger| Counted::of(variant, larger));
    let starts: Vec<(u64, &Start)> = (0..).zip(chains.starts()).collect();
    let found = parallel_map(&starts, |&(number, start)| {
        let (plan, percent) = match *start {
            Start::Known => (&known, NO_PLAN),
            Start::Larger => (&larger, NO_PLAN),
            Start::AliveWithin { percent } => (&None, percent),
        };
        let textures = plan.as_ref().map_or(from.plan.textures.len(), |plan| plan.division.textures());
        let control = control.stage(Progress::new("searching for fewer steps", number, starts.len() as u64));
        let chain = Chain { variant, textures, number, control: &control };
        let room = (pool - if number % 2 == 0 { 0 } else { spare }) / variant.options.format.texel_bytes();
        let first = match plan {
            Some(plan) => Some(plan.clone()),
            // Its textures are drawn in the sequence after those of the mutations.
            None => Counted::alive_within(&chain, costs, room * percent / 100, chains.mutations())?,
        };
        let Some(first) = first else { return Ok(None) };
        let climb = Climb::new(chain, first, room, costs.finest(), chains.tile_scales(), chains.mutations());
        climb.fewest(from.steps, limit)
    });
    let found: Vec<PlacedCandidate> = found.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
    // Where there is no more room than the smallest takes, the smallest counts.
    let smallest = limit == MemoryLimit::Device(from.device_bytes);
    Ok(found.into_iter().min_by_key(|placed| (if smallest { placed.device_bytes } else { 0 }, placed.steps)))
}
