//! Evaluates batch normalisations of known values: exporters standardise the weights of convolutions by them.

use crate::import::{
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering, value::Value},
};
use texpool_ops::graph::ElementType;

/// The operands of a batch normalisation that have one number for each channel.
#[derive(Debug)]
pub(in crate::import::onnx) struct BatchNorm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    mean: Vec<f32>,
    variance: Vec<f32>,
    epsilon: f32,
}

impl BatchNorm {
    /// Reads the operands of a node whose input has these extents.
    pub(in crate::import::onnx) fn of(ctx: &mut NodeLowering<'_>, dims: &[usize]) -> Result<Self, Problem> {
        let epsilon = ctx.float("epsilon", 1e-5)?;
        let channels = dims.get(1).copied().unwrap_or(1);
        let mut list = |position: usize, name: &str| {
            let list = ctx.known(position, name)?;
            if list.len() != channels {
                let reason = format!("its {name} has {} values for {channels} channels", list.len());
                return Err(Problem::malformed(reason));
            }
            ctx.budget_for(&[channels], 6 * size_of::<f32>(), 4)?;
            Ok(list.to_f32().into_owned())
        };
        let (scale, bias) = (list(1, "scale")?, list(2, "bias")?);
        Ok(Self { scale, bias, mean: list(3, "mean")?, variance: list(4, "variance")?, epsilon })
    }

    /// Merges the numbers of each channel into a factor and a shift.
    pub(in crate::import::onnx) fn merged(&self) -> [Vec<f32>; 2] {
        let factor: Vec<f32> =
            self.scale.iter().zip(&self.variance).map(|(s, v)| s / (v + self.epsilon).sqrt()).collect();
        let shift = (0..factor.len()).map(|i| self.bias[i] - self.mean[i] * factor[i]).collect();
        [factor, shift]
    }

    /// Normalises values whose channel changes every `inner` ones.
    fn apply(&self, values: &[f32], inner: usize) -> Vec<f32> {
        let ([factor, _], channels) = (self.merged(), self.scale.len());
        let one = |(i, value): (usize, &f32)| {
            let channel = i / inner % channels;
            (value - self.mean[channel]) * factor[channel] + self.bias[channel]
        };
        values.iter().enumerate().map(one).collect()
    }
}

/// Refuses a normalisation by the statistics of the values that it normalises.
pub(in crate::import::onnx) fn in_training() -> Problem {
    Problem::new("it is in training mode", "export the model for inference")
}

/// Returns the mean and the variance of each channel. The channel changes every `inner` values.
fn statistics(values: &[f32], channels: usize, inner: usize) -> [Vec<f32>; 2] {
    let count = values.len() as f64 / channels as f64;
    let channel = |i: usize| i / inner % channels;
    let mut mean = vec![0.0; channels];
    values.iter().enumerate().for_each(|(i, &value)| mean[channel(i)] += f64::from(value) / count);
    let mut variance = vec![0.0; channels];
    for (i, &value) in values.iter().enumerate() {
        variance[channel(i)] += (f64::from(value) - mean[channel(i)]).powi(2) / count;
    }
    [mean, variance].map(|list| list.into_iter().map(|number| number as f32).collect())
}

/// Evaluates a batch normalisation. In training mode the statistics are those of the values, and further results are
/// the stated statistics moved towards these.
pub(in crate::import::onnx) fn batch(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let trains = ctx.flag("training_mode", false)?;
    let has_moved = ctx.opset >= 14 && trains;
    if (1..5).any(|result| ctx.wants(result) && !(has_moved && result < 3)) {
        return Err(in_training());
    }
    let x = ctx.known(0, "input")?;
    let dims = x.dims().to_vec();
    let mut norm = BatchNorm::of(ctx, &dims)?;
    // For the values as floats, the result, and the bytes that it becomes.
    ctx.budget_for(&dims, 3 * size_of::<f32>(), 8)?;
    let (values, inner) = (x.to_f32(), dims.iter().skip(2).product());
    if trains {
        let own = statistics(&values, norm.scale.len(), inner);
        let momentum = ctx.float("momentum", 0.9)?;
        for (position, (stated, own)) in [&mut norm.mean, &mut norm.variance].into_iter().zip(own).enumerate() {
            let moved = stated.iter().zip(&own).map(|(stated, own)| stated * momentum + own * (1.0 - momentum));
            let moved = Array::of_floats(vec![own.len()], ElementType::F32, &moved.collect::<Vec<_>>());
            ctx.give(position + 1, Value::Known(moved));
            *stated = own;
        }
    }
    let result = Array::of_floats(dims, x.element_type(), &norm.apply(&values, inner));
    ctx.give(0, Value::Known(result));
    Ok(())
}
