//! Computes the banks of filters that turn spectra into the scale of mel.

use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Numbers,
};
use texpool_ops::graph::ElementType;

pub(super) const OPERATORS: &[OnnxOpEntry] = &[OnnxOpEntry::new("MelWeightMatrix", 17, Numbers, "none", Any, filters)
    .limits("operands must be known")
    .fold(filters)];

/// Returns a whole number above zero from an operand that must be known.
fn positive(ctx: &NodeLowering<'_>, position: usize, role: &str) -> Result<usize, Problem> {
    match ctx.integer(position, role)? {
        number if number > 0 => usize::try_from(number).map_err(|_| Problem::limit(format!("its {role} is {number}"))),
        other => Err(Problem::malformed(format!("its {role} is {other}, not a whole number above 0"))),
    }
}

/// Returns a frequency on the scale of mel.
fn mel(hertz: f64) -> f64 {
    2595.0 * (1.0 + hertz / 700.0).log10()
}

/// Each filter rises from the centre of the one before, and falls to that of the next one.
fn filters(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let count = positive(ctx, 0, "number of filters")?;
    let length = positive(ctx, 1, "length of transforms")?;
    let rate = positive(ctx, 2, "rate of samples")?;
    let edge = |position: usize, role: &str| -> Result<f64, Problem> {
        let hertz = ctx.scalar(position, role)?.filter(|hertz| *hertz >= 0.0 && hertz.is_finite());
        hertz.map(f64::from).ok_or_else(|| Problem::malformed(format!("its {role} is no frequency")))
    };
    let [low, high] = [edge(3, "lower edge")?, edge(4, "upper edge")?].map(mel);
    let elem = ctx.stated_type("output_datatype")?.unwrap_or(ElementType::F32);
    let spectrum = length / 2 + 1;
    let dims = vec![spectrum, count];
    let elements = ctx.budget_for(&dims, 4 * size_of::<f64>(), 4)?;
    let step = (high - low) / (count as f64 + 2.0);
    let bin = |number: usize| {
        let hertz = 700.0 * (10f64.powf((number as f64 * step + low) / 2595.0) - 1.0);
        ((length as f64 + 1.0) * hertz / rate as f64).floor() as usize
    };
    let mut weights = vec![0.0f64; elements];
    for filter in 0..count {
        let [lower, centre, upper] = [bin(filter), bin(filter + 1), bin(filter + 2)];
        if upper > spectrum || lower > centre || centre > upper {
            return Err(Problem::malformed("its upper edge lies beyond the spectrum, or below its lower edge"));
        }
        let rising = (lower..=centre).map(|at| match centre - lower {
            0 => (at, 1.0),
            width => (at, (at - lower) as f64 / width as f64),
        });
        let falling = (centre..upper).map(|at| (at, (upper - at) as f64 / (upper - centre) as f64));
        for (at, weight) in rising.chain(falling) {
            if let Some(place) = weights.get_mut(at * count + filter) {
                *place = weight;
            }
        }
    }
    let array = match elem.is_float() {
        true => Array::of_floats(dims, elem, &weights.iter().map(|&weight| weight as f32).collect::<Vec<_>>()),
        false => Array::of_ints(dims, elem, weights.iter().map(|&weight| weight as i64).collect()),
    };
    ctx.give(0, Value::Known(array));
    Ok(())
}
