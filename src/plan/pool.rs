//! Several models over one pool: their plans share regions, because only one model runs at a time.

use super::{
    error::{InputError, LayoutError, PlanError},
    layout::Layout,
};

/// Regions for all, and each model's layout in them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pool {
    /// Size of each region, largest first.
    pub regions: Vec<u64>,
    /// The layouts in the order given, each over [`regions`](Self::regions).
    pub layouts: Vec<Layout>,
}

impl Pool {
    /// Sum of the regions.
    pub fn total(&self) -> u64 {
        self.regions.iter().sum()
    }
}

/// Lays the largest regions of all models on each other, then the next: no other way to share whole regions is smaller.
///
/// # Errors
/// [`PlanError::Layout`] if a layout names a region it does not have; [`PlanError::Input`] if the pool does not
/// fit in 64 bits.
///
/// ```
/// use texpool::plan::{Strategy, UsageRecord, overlay_pools};
///
/// let detector = Strategy::Naive.place(&[UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 2)])?;
/// let classifier = Strategy::Naive.place(&[UsageRecord::new(0, 1, 3), UsageRecord::new(1, 2, 5)])?;
/// let pool = overlay_pools(&[detector, classifier])?;
/// assert_eq!((pool.regions.as_slice(), pool.total()), (&[8, 3][..], 11));
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
pub fn overlay_pools(layouts: &[Layout]) -> Result<Pool, PlanError> {
    let mut regions: Vec<u64> = Vec::new();
    let mut shared = Vec::with_capacity(layouts.len());
    for layout in layouts {
        let mut order: Vec<usize> = (0..layout.regions.len()).collect();
        order.sort_by_key(|&region| std::cmp::Reverse(layout.regions[region]));
        let mut rank = vec![0; order.len()];
        for (at, &region) in order.iter().enumerate() {
            rank[region] = at;
            if regions.len() == at {
                regions.push(0);
            }
            regions[at] = regions[at].max(layout.regions[region]);
        }
        let mut moved = layout.clone();
        for (record, place) in moved.places.iter_mut().enumerate() {
            let (index, count) = (place.region, rank.len());
            place.region = *rank.get(index).ok_or(LayoutError::OutOfRange { record, what: "region", index, count })?;
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
