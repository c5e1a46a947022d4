//! One pool for several models that never run at the same time.

use super::placement::{Plan, TextureSpec};
use super::{
    error::{InputError, LayoutError, PlanError},
    layout::Layout,
};

/// Returns the rank of each region; the largest has rank 0. Regions of the same rank share memory. No other
/// assignment of whole regions to each other needs less memory.
fn ranks(sizes: impl Iterator<Item = u64>) -> Vec<usize> {
    let sizes: Vec<u64> = sizes.collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&region| std::cmp::Reverse(sizes[region]));
    let mut ranks = vec![0; order.len()];
    for (rank, region) in order.into_iter().enumerate() {
        ranks[region] = rank;
    }
    ranks
}

/// Returns the index of each texture of a plan in a pool of [`overlay_textures`]. The indices are distinct, so
/// textures that the plan separates stay separate.
pub fn texture_ranks(plan: &Plan) -> Vec<usize> {
    ranks(plan.textures.iter().map(TextureSpec::texels))
}

/// Returns the textures of a pool that is large enough for each of several plans alone, the largest first. All plans
/// must have the same texel format.
pub fn overlay_textures<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<TextureSpec> {
    let mut pool: Vec<TextureSpec> = Vec::new();
    for plan in plans {
        for (&spec, rank) in plan.textures.iter().zip(texture_ranks(plan)) {
            if rank >= pool.len() {
                // No earlier plan had a texture of this rank, and possibly none of some ranks below it.
                pool.resize(rank + 1, spec);
            }
            if pool[rank].texels() < spec.texels() {
                pool[rank] = spec;
            }
        }
    }
    pool
}

/// Regions shared by all models, and the layout of each model in them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pool {
    /// Size of each region, largest first.
    pub regions: Vec<u64>,
    /// The layouts in the given order, each over [`regions`](Self::regions).
    pub layouts: Vec<Layout>,
}

impl Pool {
    /// Returns the sum of the regions.
    pub fn total(&self) -> u64 {
        self.regions.iter().sum()
    }
}

/// Overlays the pools of models that never run at the same time. The largest regions of all models share memory, then
/// the second largest, and so on. No other assignment of whole regions to each other is smaller.
///
/// # Errors
/// [`PlanError::Layout`] if a layout refers to a region that it does not have; [`PlanError::Input`] if the size of
/// the pool does not fit into 64 bits.
///
/// ```
/// use texpool_plan::{
///     Planner, Pool, SearchBudget, SearchControl, UsageRecord, Uses, check_layout, overlay_pools, solve,
/// };
///
/// let detector = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 2)];
/// let classifier = [UsageRecord::new(0, 1, 3), UsageRecord::new(1, 2, 5)];
/// let plan = |records: &[UsageRecord]| {
///     solve(records, Uses::FirstAndLast, Planner::Best, SearchBudget::default(), &SearchControl::new())
/// };
/// let layouts = [plan(&detector)?.layout, plan(&classifier)?.layout];
/// assert_eq!((layouts[0].total(), layouts[1].total()), (10, 8));
///
/// let pool: Pool = overlay_pools(&layouts)?;
/// assert_eq!((pool.regions.as_slice(), pool.total()), (&[8, 3][..], 11));
/// // Each model has a separate layout over the regions of the pool.
/// check_layout(&detector, Uses::FirstAndLast, &pool.layouts[0])?;
/// check_layout(&classifier, Uses::FirstAndLast, &pool.layouts[1])?;
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn overlay_pools(layouts: &[Layout]) -> Result<Pool, PlanError> {
    let mut regions: Vec<u64> = Vec::new();
    let mut shared = Vec::with_capacity(layouts.len());
    for layout in layouts {
        let pool_region = ranks(layout.regions.iter().copied());
        regions.resize(regions.len().max(pool_region.len()), 0);
        for (&rank, &size) in pool_region.iter().zip(&layout.regions) {
            regions[rank] = regions[rank].max(size);
        }
        let mut moved = layout.clone();
        for (record, place) in moved.places.iter_mut().enumerate() {
            let (index, count) = (place.region, pool_region.len());
            place.region =
                *pool_region.get(index).ok_or(LayoutError::OutOfRange { record, what: "region", index, count })?;
        }
        shared.push(moved);
    }
    if let Err(record) = regions.iter().enumerate().try_fold(0u64, |sum, (i, &size)| sum.checked_add(size).ok_or(i)) {
        return Err(InputError::Overflow { record }.into());
    }
    for layout in &mut shared {
        layout.regions.clone_from(&regions);
    }
    Ok(Pool { regions, layouts: shared })
}
