//! Extents of a run on operands that broadcast to one another.

use super::{
    node_lowering::NodeLowering,
    value::{BoundedAxis, Value},
};

/// Returns whether operands that broadcast to `rank` axes agree on the extent of one of them: all that do not repeat along
/// it have the same, and none of them has a number. `None` if they do not agree.
pub(super) fn agreed(
    operands: &[(Vec<usize>, Vec<BoundedAxis>)],
    rank: usize,
    axis: usize,
) -> Option<Option<BoundedAxis>> {
    let mut common: Option<BoundedAxis> = None;
    let mut has_number = false;
    for (dims, bounds) in operands {
        let Some(own) = (axis + dims.len()).checked_sub(rank) else { continue };
        match bounds.iter().find(|bounded| bounded.axis == own).map(|bounded| bounded.on(axis)) {
            Some(bounded) if common.as_ref().is_some_and(|common| !common.is_like(&bounded)) => return None,
            Some(bounded) => common = Some(bounded),
            None => has_number |= dims[own] != 1,
        }
    }
    (common.is_none() || !has_number).then_some(common)
}

/// Returns the extents of the operands, and those of them that a run gives or finds.
fn operands(ctx: &NodeLowering<'_>) -> Vec<(Vec<usize>, Vec<BoundedAxis>)> {
    let one =
        |(value, bounds): (&Option<Value>, &Vec<BoundedAxis>)| Some((value.as_ref()?.dims().to_vec(), bounds.clone()));
    ctx.operands.iter().zip(&ctx.bounds).filter_map(one).collect()
}

/// Operands broadcast from the last axis.
pub(super) fn by_element(ctx: &NodeLowering<'_>) -> Option<Vec<BoundedAxis>> {
    let operands = operands(ctx);
    let rank = operands.iter().map(|(dims, _)| dims.len()).max()?;
    let agreed: Option<Vec<_>> = (0..rank).map(|axis| agreed(&operands, rank, axis)).collect();
    Some(agreed?.into_iter().flatten().collect())
}
