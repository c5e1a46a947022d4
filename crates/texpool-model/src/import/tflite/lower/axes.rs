//! Maps the axes of a tensor of any rank to the four axes used for computing.

use crate::import::error::Problem;

/// Four extents that represent a tensor, and the mapping from its axes to those four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axes {
    pub(super) extents: [usize; 4],
    pub(super) of: Vec<usize>,
}

/// Folds `dims` to four extents: lower ranks get leading ones, higher ranks have neighbouring axes merged.
///
/// Neighbouring axes can be merged if they have the same `role`, which must mean that the operator treats both as one
/// long axis. Axes of extent one can be merged with any other axis if `spare` returns that the operator does not use
/// them.
pub(super) fn fold<R: PartialEq>(
    dims: &[usize],
    role: impl Fn(usize) -> R,
    spare: impl Fn(usize) -> bool,
) -> Result<Axes, Problem> {
    let mut extents = [1; 4];
    if let Some(front) = 4usize.checked_sub(dims.len()) {
        extents[front..].copy_from_slice(dims);
        return Ok(Axes { extents, of: (front..4).collect() });
    }
    // Merges only the outer axes if possible, because such a tensor is computed with in that shape anyway.
    let outer = dims.len() - 3;
    let mut leaders = (0..outer).filter(|&axis| dims[axis] != 1 || !spare(axis));
    let leader = leaders.next();
    if leaders.all(|axis| leader.is_none_or(|leader| role(leader) == role(axis))) {
        extents = [dims[..outer].iter().product(), dims[outer], dims[outer + 1], dims[outer + 2]];
        return Ok(Axes { extents, of: (0..dims.len()).map(|axis| (axis + 1).saturating_sub(outer)).collect() });
    }
    let mut groups: Vec<(usize, Option<usize>)> = Vec::new();
    let mut of = Vec::with_capacity(dims.len());
    for (axis, &extent) in dims.iter().enumerate() {
        let free = extent == 1 && spare(axis);
        match groups.last_mut() {
            Some((merged, leader)) if free || leader.is_none_or(|l| role(l) == role(axis)) => {
                *merged *= extent;
                // A run of spare axes has no role until it is merged with an axis that has one.
                if leader.is_none() && !free {
                    *leader = Some(axis);
                }
            }
            _ => groups.push((extent, (!free).then_some(axis))),
        }
        of.push(groups.len() - 1);
    }
    let Some(front) = 4usize.checked_sub(groups.len()) else {
        return Err(Problem::unsupported(format!("it treats more than four axes of {dims:?} differently")));
    };
    for (slot, (extent, _)) in extents[front..].iter_mut().zip(&groups) {
        *slot = *extent;
    }
    of.iter_mut().for_each(|group| *group += front);
    Ok(Axes { extents, of })
}
