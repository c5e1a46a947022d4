//! Lowers CausalConvWithState, a convolution of each channel over what came before, of which the end is kept for the next
//! run.

use super::{
    basic::one,
    concat::joined,
    conv::{fit, layer},
    slice::take,
    windows::{Along, Window},
};
use crate::import::{
    common::axes::AxisRange,
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::ChannelsSecond, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{ElementType, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[OnnxOpEntry::new(
    "CausalConvWithState",
    27,
    Floats,
    "concat, depthwise, rearrange, unary",
    ChannelsSecond,
    causal,
)
.limits("weights and biases must be known")];

/// Returns the values in front of the input: those of the run before, or zeros.
fn before(ctx: &mut NodeLowering<'_>, dims: &[usize]) -> Result<Value, Problem> {
    match ctx.optional(3) {
        Some(state) if state.dims() == dims => Ok(state),
        Some(state) => Err(Problem::malformed(format!("its past_state is {:?}, not {dims:?}", state.dims()))),
        None => {
            let zero = Array::of_floats(vec![1], ElementType::F32, &[0.0]);
            Ok(Value::Known(zero.repeat(dims.to_vec(), ctx.meter())?))
        }
    }
}

fn causal(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, weights) = (ctx.computed(0)?, ctx.known(1, "weights")?);
    let (&[batch, channels, length], &[_, 1, extent]) = (x.dims.as_slice(), weights.dims()) else {
        return Err(Problem::malformed(format!("weights of {:?} for an input of {:?}", weights.dims(), x.dims)));
    };
    let activation = match ctx.text("activation", "none")?.as_str() {
        "none" => None,
        "silu" | "swish" => Some(Unary::Silu),
        other => return Err(Problem::malformed(format!("its activation is `{other}`"))),
    };
    fit(weights.dims(), channels, &x)?;
    let window = Window::of(&[Along { extent, ..Along::SINGLE }])?;
    let kept = extent - 1;
    let elem = x.elem;
    let mut all = Value::Computed(x);
    if kept > 0 {
        let front = before(ctx, &[batch, channels, kept])?;
        all = joined(ctx, &[front, all], 2)?;
    }
    let end = take(ctx, &all, &[(2, AxisRange::run(length, kept))])?;
    ctx.give(1, end);
    let all = ctx.compute(&all)?;
    let mut result = layer(ctx, &all, &weights, &window, channels, Some(2))?;
    if let Some(activation) = activation {
        result = one(ctx, activation, &result, elem)?;
    }
    result.elem = elem;
    ctx.give(0, Value::Computed(result));
    Ok(())
}
