//! Lowers CenterCropPad, which crops axes at both ends, or adds zeros there.

use super::image::{Border, with_borders};
use crate::import::{
    common::axes::named_axes,
    error::Problem,
    onnx::{
        node_lowering::NodeLowering,
        op_registry::{InputLayout::LikeOperand, OnnxOpEntry},
    },
    op_registry::All,
};
use texpool_ops::graph::{MAX_ELEMENTS, PadMode};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("CenterCropPad", 18, All, "rearrange", LikeOperand, center)
        .limits("extents must be known")
        .fold(center)];

fn center(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let rank = x.dims().len();
    let extents = ctx.integers(1, "extents")?;
    let axes = match ctx.ints("axes") {
        Some(named) => named_axes(&named, rank)?,
        None => (0..rank).collect(),
    };
    if extents.len() != axes.len() {
        return Err(Problem::malformed(format!("{} extents for {} axes", extents.len(), axes.len())));
    }
    let mut all = Vec::new();
    for (&axis, &extent) in axes.iter().zip(&extents) {
        let own = x.dims()[axis] as i64;
        match extent {
            ..0 => return Err(Problem::malformed(format!("its extents are {extents:?}"))),
            extent if extent > MAX_ELEMENTS as i64 => {
                return Err(Problem::limit(format!("an extent of {extent}: it is at most {MAX_ELEMENTS}")));
            }
            extent if extent == own => {}
            // Both halves are rounded towards zero in front.
            extent => {
                let before = (extent - own) / 2;
                all.push(Border { axis, before, after: extent - own - before });
            }
        }
    }
    let result = with_borders(ctx, &x, &all, PadMode::Constant(0.0))?;
    ctx.give(0, result);
    Ok(())
}
