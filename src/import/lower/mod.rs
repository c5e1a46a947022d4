//! From the operators of TensorFlow Lite to the graph's: one function an operator, one file a family, which also states
//! what is known of the operators that ONNX does not have. Names no other operator than its own.

mod activation;
mod axes;
mod conv;
mod layout;
mod line;
mod lookup;
mod padding;
mod pointwise;
mod slice;
mod space;

pub(super) use {conv::*, layout::*, line::*, lookup::*, pointwise::*, slice::*};

use super::{
    context::Context,
    error::Problem,
    facts::{self, Fact},
};

/// The operators of TensorFlow Lite alone, group by group.
pub(super) static FACTS: [&[Fact]; 4] = [pointwise::FACTS, line::FACTS, layout::FACTS, space::FACTS];

/// Adds the nodes that compute the operator's result, or makes the result a constant.
pub(super) fn lower(ctx: &mut Context<'_, '_>, operator: &str) -> Result<(), Problem> {
    let operator = facts::tflite(operator).ok_or_else(|| Problem::unsupported("the operator is not supported"))?;
    if !operator.many {
        ctx.results(1)?;
    }
    (operator.lower)(ctx)
}

/// A number of the options that must be above zero.
fn positive(what: &str, value: i32) -> Result<usize, Problem> {
    match usize::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Problem::malformed(format!("its {what} is {value}"))),
    }
}
