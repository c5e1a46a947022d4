//! Reduces the number of steps of a plan within the available memory, with higher stripes and larger weight tiles where
//! the pool is not at its peak. A dispatch of one row takes almost as long as one of several rows.
//!
//! Used for models whose weights are uploaded in every run. The live size of a division says little about its pool
//! size (see [`division_search`](super::division_search)), so divisions are judged together with their textures here,
//! too.

mod climb;

use climb::{Climb, Counted};

use super::{
    division::Chain,
    memory_limit::MemoryLimit,
    mutator::TileScales,
    variant::{PlacedCandidate, Variant},
};
use crate::{
    error::CompileError, memory::allocator_blocks::BLOCK, parallel::parallel_map, schedule::tiling::CascadeCosts,
};
use texpool_plan::{Progress, SearchControl};

// The values below are a choice.

/// Sets of parallel searches, each with a separate random sequence. The number is fixed, independent of the number of
/// cores, because a different number would give different plans.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chains {
    /// Short searches, for improving each of several plans.
    Few,
    /// Used when the limit is only slightly above the smallest plan.
    Many,
    /// Used for a memory budget. Weight tiles may have any multiple of the base size here. In the other sets tile
    /// sizes double, which suits a limit near the smallest plan: the smallest VGG-19 plan, whose search starts from a
    /// result of this module, takes 3 % more with tiles of any size.
    Budget,
}

/// Starting point of a search.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// The plan whose steps are to be reduced.
    Base,
    /// A larger plan with fewer steps, which is over the limit.
    Larger,
    /// The division with the fewest dispatches whose live size is at most this percentage of the available memory. It
    /// is below 100 % because textures are not full at every step.
    AliveWithin { percent: u64 },
}

/// Percentage of the available memory that may be live in a start without a plan.
const NO_PLAN: u64 = 100;

impl Chains {
    /// For tight budgets, starting from the live size leads to the fewest dispatches (MobileNet v2 in 1536 KiB: 335,
    /// and about 500 from the known plan); for larger budgets, known plans are better starts. Results vary a lot with
    /// the random sequence, so there are many starts.
    const fn starts(self) -> &'static [Start] {
        match self {
            Self::Few => &[Start::Base, Start::Larger],
            Self::Many => &[
                Start::Base,
                Start::Base,
                Start::Base,
                Start::Base,
                Start::Larger,
                Start::Larger,
                Start::AliveWithin { percent: NO_PLAN },
                Start::AliveWithin { percent: NO_PLAN },
            ],
            Self::Budget => &[
                Start::Base,
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

    /// Upper limit on the number of mutations to try in each search.
    const fn mutations(self) -> u64 {
        match self {
            Self::Few => 500,
            Self::Many | Self::Budget => 2_000,
        }
    }
}

/// Upper limit on the number of mutations per operator of the model: a model of few operators has few divisions.
const MUTATIONS_PER_OPERATOR: u64 = 50;

/// Every other search leaves this fraction of the memory free, because some texture assignments cannot be packed into
/// their peaks.
const SPARE: u64 = 64;

/// Returns a plan with fewer steps than the first of the two plans, or `None` if none is found or the search is
/// stopped.
pub(crate) fn search(
    variant: &Variant<'_>,
    costs: &CascadeCosts,
    (from, larger): (&PlacedCandidate, Option<&PlacedCandidate>),
    limit: MemoryLimit,
    chains: Chains,
    control: &SearchControl<'_>,
) -> Result<Option<PlacedCandidate>, CompileError> {
    let (pool, spare) = match limit {
        MemoryLimit::Pool(bytes) => (bytes, bytes / SPARE),
        MemoryLimit::Device(bytes) => {
            // Fewer steps need smaller tables, so the pool may grow.
            let pool = from.bytes + bytes.saturating_sub(from.device_bytes) + from.tables / 4;
            (pool, from.tables / 4)
        }
        MemoryLimit::Blocks(bytes) => {
            // Assumes that the limit allows this many more blocks and that all blocks are full.
            let more = bytes.saturating_sub(from.block_bytes) / BLOCK * BLOCK;
            let pool = from.bytes + (from.block_bytes + more).saturating_sub(from.device_bytes);
            (pool, from.tables / 4)
        }
    };
    let base = Counted::of(variant, from);
    let larger = larger.and_then(|larger| Counted::of(variant, larger));
    let starts: Vec<(u64, &Start)> = (0..).zip(chains.starts()).collect();
    let plans = parallel_map(&starts, |&(number, start)| {
        let (plan, percent) = match *start {
            Start::Base => (&base, NO_PLAN),
            Start::Larger => (&larger, NO_PLAN),
            Start::AliveWithin { percent } => (&None, percent),
        };
        let textures = plan.as_ref().map_or(from.plan.textures.len(), |plan| plan.division.textures());
        let control = control.stage(Progress::new("searching for fewer steps", number, starts.len() as u64));
        let chain = Chain { variant, textures, number, control: &control };
        let room = (pool - if number % 2 == 0 { 0 } else { spare }) / variant.options.format.texel_bytes();
        let first = match plan {
            Some(plan) => Some(plan.clone()),
            // The texture assignment uses the random sequence after those of the mutations.
            None => Counted::alive_within(&chain, costs, room * percent / 100, chains.mutations())?,
        };
        let Some(first) = first else { return Ok(None) };
        let mutations = chains.mutations().min(MUTATIONS_PER_OPERATOR * variant.model.operators.len() as u64);
        let climb = Climb::new(chain, first, room, costs.finest(), chains.tile_scales(), mutations);
        climb.fewest(from.steps, limit)
    });
    let plans: Vec<PlacedCandidate> = plans.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
    // If the limit leaves no more memory than the smallest plan takes, the result with the least memory wins.
    let smallest = limit == MemoryLimit::Device(from.device_bytes);
    Ok(plans.into_iter().min_by_key(|placed| (if smallest { placed.device_bytes } else { 0 }, placed.steps)))
}
