//! The rules of baselines that reuse textures by their extents, for comparison only: no plan is made of them.
//!
//! A texture of extents is no number, so a tensor of the same volume may not fit. Linear texel addressing is what makes
//! these rules unnecessary; here they show what that is worth.

use super::{PlanError, shared::InUse};

/// A usage record whose size is `D` extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExtentRecord<const D: usize> {
    /// First step that touches the tensor.
    pub first: usize,
    /// Last step that touches it, inclusive.
    pub last: usize,
    /// Its extents.
    pub extents: [u64; D],
}

/// When a free texture may be taken again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Never: a texture a tensor, what the other rules are measured against.
    Naive,
    /// Only by a tensor of the same extents; the texture freed last is taken first.
    EqualLastFreed,
    /// Only by a tensor of the same extents; the texture created first is taken first.
    EqualFirstCreated,
    /// By a tensor that it covers in every extent; the texture that wastes least is taken.
    Covering,
    /// As covering; where nothing covers, the texture that grows least is enlarged, if that costs less than a new one.
    CoveringWithGrowth,
}

/// Textures of extents, and the one of each tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentLayout<const D: usize> {
    /// Extents of each texture.
    pub textures: Vec<[u64; D]>,
    /// Texture of each record.
    pub texture_of: Vec<usize>,
}

impl<const D: usize> ExtentLayout<D> {
    /// Sum of the volumes.
    pub fn total(&self) -> u64 {
        self.textures.iter().map(|extents| extents.iter().product::<u64>()).sum()
    }
}

/// Places tensors in order of birth by the rule. `O(n k)` for `k` textures.
///
/// # Errors
/// [`PlanError::ReversedInterval`], or [`PlanError::Overflow`] if a volume or the sum of volumes does not fit in 64
/// bits.
pub fn place_extents<const D: usize>(records: &[ExtentRecord<D>], rule: Rule) -> Result<ExtentLayout<D>, PlanError> {
    let mut total = 0u64;
    for (record, r) in records.iter().enumerate() {
        if r.first > r.last {
            return Err(PlanError::ReversedInterval { record, first: r.first, last: r.last });
        }
        let volume = r.extents.iter().try_fold(1u64, |volume, &extent| volume.checked_mul(extent));
        total = volume.and_then(|v| total.checked_add(v)).ok_or(PlanError::Overflow { record })?;
    }
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| records[i].first);
    let mut layout = ExtentLayout { textures: Vec::new(), texture_of: vec![0; records.len()] };
    let mut in_use = InUse::default();
    // In the order in which they were freed.
    let mut free: Vec<usize> = Vec::new();
    for record in order {
        let r = &records[record];
        while let Some(texture) = in_use.free_before(r.first) {
            free.push(texture);
        }
        let texture = match pick(&layout.textures, &free, &r.extents, rule) {
            Some((at, extents)) => {
                let texture = free.remove(at);
                layout.textures[texture] = extents;
                texture
            }
            None => {
                layout.textures.push(r.extents);
                layout.textures.len() - 1
            }
        };
        layout.texture_of[record] = texture;
        in_use.hold(texture, r.last);
    }
    Ok(layout)
}

/// Place in `free` of the texture to take, and the extents it then has.
fn pick<const D: usize>(
    textures: &[[u64; D]],
    free: &[usize],
    wanted: &[u64; D],
    rule: Rule,
) -> Option<(usize, [u64; D])> {
    let volume = |extents: &[u64; D]| extents.iter().map(|&e| u128::from(e)).product::<u128>();
    let equal = |at: &usize| textures[free[*at]] == *wanted;
    let grown = |at: usize| {
        let mut extents = textures[free[at]];
        extents.iter_mut().zip(wanted).for_each(|(have, want)| *have = (*want).max(*have));
        extents
    };
    let places = 0..free.len();
    match rule {
        Rule::Naive => None,
        Rule::EqualLastFreed => places.rev().find(equal).map(|at| (at, *wanted)),
        Rule::EqualFirstCreated => places.filter(equal).min_by_key(|&at| free[at]).map(|at| (at, *wanted)),
        Rule::Covering | Rule::CoveringWithGrowth => {
            let covering = places.clone().filter(|&at| grown(at) == textures[free[at]]);
            let least = covering.min_by_key(|&at| volume(&textures[free[at]]));
            let fits = |at: usize| (at, textures[free[at]]);
            if least.is_some() || rule == Rule::Covering {
                return least.map(fits);
            }
            let growth = |at: usize| volume(&grown(at)).saturating_sub(volume(&textures[free[at]]));
            let cheapest = places.min_by_key(|&at| growth(at))?;
            // A texture's volume must stay a 64-bit number.
            let worth = growth(cheapest) < volume(wanted) && volume(&grown(cheapest)) <= u128::from(u64::MAX);
            worth.then(|| (cheapest, grown(cheapest)))
        }
    }
}
