//! The integers of quantised layers, and how their sums become those of the result.

use crate::import::{
    common::graph::{NODE_BYTES, push_tensor},
    error::Problem,
    meter::Meter,
};
use texpool_ops::graph::{
    Act, Constant, ElementType, FixedPoint, Graph, Op, QuantParams, Requantization, Requantize, Shape, Tensor, TensorId,
};

/// Largest relative difference of the biases' scale from the product of the other two scales. TensorFlow Lite refuses
/// layers with a larger one.
const MAX_UNIT_ERROR: f32 = 1e-4;

/// Integers of a layer's weights and biases.
pub(in crate::import) struct LayerIntegers {
    /// The weights with a scale of one, in the shape that the layer has them.
    weights: (Constant, Shape),
    /// Scales of the weights per channel of the result, or one for all.
    scales: Vec<f32>,
    /// Addends and rests of the biases per channel.
    biases: Vec<[i32; 2]>,
}

/// Returns the axis of an operator's weights that corresponds to the channels of its result; `None` if it is no layer.
const fn channel_axis(op: &Op) -> Option<usize> {
    match op {
        Op::Conv2d(_) | Op::TransposeConv(_) => Some(0),
        Op::FullyConnected => Some(2),
        Op::DepthwiseConv2d(_) => Some(3),
        _ => None,
    }
}

impl LayerIntegers {
    /// Returns the integers of a layer whose input has a scale. `None` if its weights do not have 8 bits, or its biases
    /// are no integers of 32 bits whose scale is the product of the other two. Biases may be integers, or the
    /// reals that those represent.
    pub(in crate::import) fn new(
        graph: &Graph,
        op: &Op,
        inputs: &[TensorId],
        scale: f32,
        meter: &mut Meter,
    ) -> Result<Option<Self>, Problem> {
        let (Some(axis), &[_, weights, ..]) = (channel_axis(op), inputs) else { return Ok(None) };
        let Tensor { constant: Some(constant), shape, .. } = &graph.tensors[weights] else { return Ok(None) };
        let Some(params) = constant.scale.as_ref() else { return Ok(None) };
        let dims = shape.dims();
        let (channels, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
        let fits = params.scale.len() == 1 || params.scale.len() == channels && params.inner == inner;
        if !matches!(constant.dtype, ElementType::U8 | ElementType::I8) || !fits {
            return Ok(None);
        }
        meter.memory(channels.saturating_mul(size_of::<[i32; 2]>() + 2 * size_of::<f32>()))?;
        let scales = params.scale.clone();
        let biases = match inputs.get(2).map(|&id| graph.tensors[id].constant.as_ref()) {
            None => Some(vec![[0, 0]; channels]),
            Some(Some(biases)) if biases.len() == channels => {
                let unit = |c: usize| scale * scales[c % scales.len()];
                split_biases(biases, unit)
            }
            Some(_) => None,
        };
        let ones = QuantParams { scale: vec![1.0; scales.len()], ..params.clone() };
        let weights = (Constant { scale: Some(ones), ..constant.clone() }, *shape);
        Ok(biases.map(|biases| Self { weights, scales, biases }))
    }

    /// Returns whether all weights have the same scale.
    pub(in crate::import) fn has_one_scale(&self) -> bool {
        self.scales.len() == 1
    }

    /// Adds the constants to the graph, and returns the layer's operands with the integers `x`, and the requantisation of
    /// its sums. `scale` is that of the input.
    pub(in crate::import) fn operands(
        self,
        graph: &mut Graph,
        name: &str,
        (x, scale): (TensorId, f32),
        to: &QuantizedTo,
        meter: &mut Meter,
    ) -> Result<(Vec<TensorId>, Act), Problem> {
        let Self { weights: (weights, shape), scales, biases } = self;
        let mut add = |part: &str, shape: Shape, constant: Constant| -> Result<TensorId, Problem> {
            meter.memory(NODE_BYTES)?;
            Ok(push_tensor(graph, format!("{name}/{part}"), shape, Some(constant)))
        };
        let mut operands = vec![x, add("weights", shape, weights)?];
        if biases.iter().any(|&[_, rest]| rest != 0) {
            let rests: Vec<f32> = biases.iter().map(|&[_, rest]| rest as f32).collect();
            operands.push(add("biases", Shape::new(1, 1, 1, rests.len()), Constant::from_f32(&rests))?);
        }
        let addends: Vec<i32> = biases.iter().map(|&[addend, _]| addend).collect();
        let act = to.requantize(graph, name, &addends, |c| [scale, scales[c % scales.len()]], meter)?;
        Ok((operands, act))
    }
}

/// Splits biases of which each is a whole number times a unit. `None` if one is not.
fn split_biases(biases: &Constant, unit: impl Fn(usize) -> f32) -> Option<Vec<[i32; 2]>> {
    // Converters compute the scale of the biases in other orders, so that it may be off by its last digits.
    let is_unit = |(c, &scale): (usize, &f32)| (scale / unit(c) - 1.0).abs() < MAX_UNIT_ERROR;
    let has_unit = match &biases.scale {
        None => true,
        Some(params) if params.scale.len() == 1 => (0..biases.len()).all(|c| is_unit((c, &params.scale[0]))),
        Some(params) => params.scale.len() == biases.len() && params.scale.iter().enumerate().all(is_unit),
    };
    if biases.dtype == ElementType::I32 && has_unit {
        let integers = biases.to_i64()?;
        return integers.iter().map(|&bias| Some(Requantize::split_bias(i32::try_from(bias).ok()?))).collect();
    }
    let whole = |(c, &bias): (usize, &f32)| {
        let steps = f64::from(bias) / f64::from(unit(c));
        // Rounding to floats leaves small numbers of steps near whole ones. Of large ones it leaves no fraction.
        let tolerance = steps.abs() * f64::from(f32::EPSILON) * 2.0;
        let is_whole = (steps - steps.round()).abs() <= tolerance;
        (is_whole && steps.abs() <= f64::from(i32::MAX)).then(|| Requantize::split_bias(steps.round() as i32))
    };
    biases.to_f32().iter().enumerate().map(whole).collect()
}

/// The integers of a result: their scale, their bounds counted from the zero point, and the runtime's arithmetic.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct QuantizedTo {
    pub(in crate::import) scale: f32,
    pub(in crate::import) least: i16,
    pub(in crate::import) most: i16,
    pub(in crate::import) arithmetic: Requantization,
    /// True if fixed-point factors are made from products of scales in 32-bit floats, not in 64-bit ones.
    pub(in crate::import) rounds_products: bool,
}

impl QuantizedTo {
    /// Returns the requantisation of sums whose unit is the product of two scales per channel. There are as many channels
    /// as addends.
    pub(in crate::import) fn requantize(
        &self,
        graph: &mut Graph,
        name: &str,
        addends: &[i32],
        scales: impl Fn(usize) -> [f32; 2],
        meter: &mut Meter,
    ) -> Result<Act, Problem> {
        let channels = addends.iter().copied().enumerate();
        let constant = match self.arithmetic {
            Requantization::Fixed => {
                let factor = |c: usize| {
                    let [a, b] = scales(c);
                    let product = if self.rounds_products { f64::from(a * b) } else { f64::from(a) * f64::from(b) };
                    FixedPoint::new(product / f64::from(self.scale))
                };
                Requantize::fixed(&channels.map(|(c, addend)| (addend, factor(c))).collect::<Vec<_>>())
            }
            Requantization::Float => {
                let factor = |c: usize| {
                    let [a, b] = scales(c);
                    a * b / self.scale
                };
                Requantize::float(&channels.map(|(c, addend)| (addend, factor(c))).collect::<Vec<_>>())
            }
        };
        self.by(graph, name, constant, meter)
    }

    /// Returns the requantisation by a constant of factors.
    pub(in crate::import) fn by(
        &self,
        graph: &mut Graph,
        name: &str,
        constant: Constant,
        meter: &mut Meter,
    ) -> Result<Act, Problem> {
        meter.memory(NODE_BYTES.saturating_add(constant.bytes.len()))?;
        let shape = Shape::new(1, 1, Requantize::ROWS, constant.len() / Requantize::ROWS);
        let factors = push_tensor(graph, format!("{name}/factors"), shape, Some(constant));
        let Self { arithmetic, least, most, .. } = *self;
        Ok(Act::Requantize(Requantize { factors, arithmetic, least, most }))
    }
}
