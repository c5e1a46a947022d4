//! Rules of ONNX Runtime's own operators along axes whose extent a run gives or finds.

use super::{
    bounded_axes::{rank, without_rule},
    bounded_operands::by_element,
    bounded_products::{gemm, product, rows},
    bounded_windows::windowed,
    node_lowering::NodeLowering,
    value::BoundedAxis,
};
use crate::import::error::Problem;

/// Returns the axes of the results. `None` if the node would read places behind an extent.
pub(super) fn of_runtime(ctx: &mut NodeLowering<'_>, first: &BoundedAxis) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    Ok(match ctx.node.op.as_str() {
        "BiasGelu" | "DequantizeLinear" | "FastGelu" | "Gelu" | "QLinearAdd" | "QLinearLeakyRelu" | "QLinearMul"
        | "QLinearSigmoid" | "QuantizeLinear" | "QuickGelu" => by_element(ctx),
        "FusedConv" => convolution(ctx)?,
        "FusedGemm" => gemm(ctx)?,
        "FusedMatMul" => {
            let transposed = [ctx.flag("transA", false)?, ctx.flag("transB", false)?];
            product(ctx, transposed)?
        }
        "MatMulNBits" => rows(ctx),
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => {
            let last = rank(ctx, 0).max(rank(ctx, 1)).saturating_sub(1);
            by_element(ctx).filter(|passed| passed.iter().all(|bounded| bounded.axis < last))
        }
        _ => return Err(without_rule(first)),
    })
}

/// A tensor that is added has the extents of the result.
fn convolution(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let addend = ctx.optional(3).map(|_| ctx.bounds[3].clone());
    if ctx.bounds[1..].iter().take(2).any(|bounds| !bounds.is_empty()) {
        return Ok(None);
    }
    let Some(passed) = windowed(ctx, "Conv")? else { return Ok(None) };
    Ok(addend.is_none_or(|added| BoundedAxis::are_alike(&added, &passed)).then_some(passed))
}
