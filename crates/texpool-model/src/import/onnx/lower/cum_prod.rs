//! Lowers CumProd, running products. Each step multiplies by the product of as many places before as are in it already.

use super::{
    basic::two,
    image::{Border, with_borders},
};
use crate::import::{
    common::axes::axis,
    error::Problem,
    onnx::{
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Numbers,
};
use texpool_ops::graph::{Binary, PadMode};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("CumProd", 26, Numbers, "binary, rearrange", Any, cum_prod).limits("axis must be known")];

fn cum_prod(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let mut x = Value::Computed(ctx.computed(0)?);
    let along = axis(ctx.integer(1, "axis")?, x.dims().len())?;
    let (exclusive, reverse) = (ctx.flag("exclusive", false)?, ctx.flag("reverse", false)?);
    let (extent, elem) = (x.dims()[along], x.element_type());
    let shifted = |ctx: &mut NodeLowering<'_>, x: &Value, places: usize| {
        let places = if reverse { -(places as i64) } else { places as i64 };
        let border = Border { axis: along, before: places, after: -places };
        with_borders(ctx, x, &[border], PadMode::Constant(1.0))
    };
    if exclusive {
        x = shifted(ctx, &x, 1)?;
    }
    let mut places = 1;
    while places < extent {
        let before = shifted(ctx, &x, places)?;
        x = Value::Computed(two(ctx, Binary::Mul, &before, &x, elem)?);
        places *= 2;
    }
    ctx.give(0, x);
    Ok(())
}
