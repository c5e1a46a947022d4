//! Lowers conversions between reals and integers of 8 or 16 bits. The integers are held in floats.

use super::basic::{one, two};
use crate::import::{
    FakeQuant,
    common::{axes::axis, extents},
    error::Problem,
    onnx::{
        array::{Array, count},
        element_type::element_type,
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::LikeOperand, OF_RUNTIME, OnnxOpEntry},
        value::Value,
    },
    op_registry::Quantised,
};
use texpool_ops::graph::{Binary, Constant, ElementType, QuantParams, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("DequantizeLinear", 10, Quantised, "binary", LikeOperand, dequantize)
        .limits("8, 16 or 32 bits, or 4 of constants; scales of blocks must be known")
        .fold(dequantize),
    OnnxOpEntry::new("QuantizeLinear", 10, Quantised, "binary, unary", LikeOperand, quantize)
        .limits("8 or 16 bits; scales of blocks must be known")
        .fold(quantize),
    OnnxOpEntry::new("DequantizeLinear", 1, Quantised, "binary", LikeOperand, dequantize)
        .domain(OF_RUNTIME)
        .limits("8, 16 or 32 bits; scales of blocks must be known")
        .fold(dequantize),
    OnnxOpEntry::new("QuantizeLinear", 1, Quantised, "binary, unary", LikeOperand, quantize)
        .domain(OF_RUNTIME)
        .limits("8 or 16 bits; scales of blocks must be known")
        .fold(quantize),
];

/// Scales and zero points of integers that represent reals.
#[derive(Clone, Debug)]
pub(super) struct Scales {
    pub(super) scale: Value,
    pub(super) zero: Option<Value>,
    /// Axis along which scales lie if there are several.
    axis: i64,
    /// Number of places along the axis that share a scale. 0 if each has its own.
    block: usize,
}

impl Scales {
    /// Takes scales from an operand, and zero points from the one behind it.
    pub(super) fn at(ctx: &NodeLowering<'_>, position: usize, axis: i64) -> Result<Self, Problem> {
        Ok(Self { scale: ctx.operand(position)?, zero: ctx.optional(position + 1), axis, block: 0 })
    }

    /// Takes them as `QuantizeLinear` and `DequantizeLinear` state them.
    fn stated(ctx: &NodeLowering<'_>) -> Result<Self, Problem> {
        let scales = Self::at(ctx, 1, ctx.int("axis")?.unwrap_or(1))?;
        Ok(Self { block: ctx.size("block_size", 0)?, ..scales })
    }

    /// Returns the function of one value that quantises to integers within bounds, counted from the zero point, and the
    /// zero point. `None` unless scale and zero point are a single known number each, and the bounds have 16 bits.
    fn one_step(&self, bounds: [f32; 2]) -> Option<(Unary, f32)> {
        let number = |value: &Value| match value {
            Value::Known(array) if array.len() == 1 => array.to_f32().first().copied(),
            _ => None,
        };
        let scale = number(&self.scale).filter(|scale| scale.is_normal() && *scale > 0.0)?;
        let zero = self.zero.as_ref().map_or(Some(0.0), number)?;
        let [least, most] = bounds.map(|bound| bound - zero);
        let fits = |bound: f32| bound == f32::from(bound as i16);
        let unary = Unary::QuantizeEven { scale, least: least as i16, most: most as i16 };
        (self.block == 0 && fits(least) && fits(most)).then_some((unary, zero))
    }

    /// Returns scale and zero point in shapes that broadcast along their axis to a tensor of these extents.
    fn along(&self, ctx: &mut NodeLowering<'_>, extents: &[usize]) -> Result<(Value, Option<Value>), Problem> {
        let rank = extents.len();
        let shaped = |ctx: &mut NodeLowering<'_>, value: &Value| -> Result<Value, Problem> {
            if self.block > 0 {
                return by_block(ctx, value, extents, axis(self.axis, rank)?, self.block);
            }
            // A single value applies to all elements. In that case the stated or default axis need not exist.
            if value.len() == 1 {
                return super::shapes::reshaped(ctx.lowering, value, &[]);
            }
            let mut dims = vec![1; rank];
            dims[axis(self.axis, rank)?] = value.len();
            super::shapes::reshaped(ctx.lowering, value, &dims)
        };
        let zero = self.zero.as_ref().map(|zero| shaped(ctx, zero)).transpose()?;
        Ok((shaped(ctx, &self.scale)?, zero))
    }
}

/// Returns a function from an element's index to the index of its block's value.
fn place_of_block(
    array: &Array,
    extents: &[usize],
    axis: usize,
    block: usize,
) -> Result<impl Fn(usize) -> usize + use<>, Problem> {
    let mut blocks = extents.to_vec();
    blocks[axis] = extents[axis].div_ceil(block);
    if array.dims() != blocks {
        return Err(Problem::malformed(format!("{:?} are no blocks of {block} of {extents:?}", array.dims())));
    }
    let inner: usize = extents[axis + 1..].iter().product();
    let (whole, count) = (extents[axis] * inner, blocks[axis]);
    Ok(move |i: usize| (i / whole * count + i % whole / inner / block) * inner + i % inner)
}

/// Expands values per block along an axis to one per element.
fn by_block(
    ctx: &mut NodeLowering<'_>,
    value: &Value,
    extents: &[usize],
    axis: usize,
    block: usize,
) -> Result<Value, Problem> {
    let Value::Known(array) = value else {
        return Err(Problem::unsupported(
            "it scales block by block, and the scales or zero points are computed at run time",
        ));
    };
    let place = place_of_block(array, extents, axis, block)?;
    array.widen(ctx.meter())?;
    Ok(Value::Known(array.gathered(extents.to_vec(), (0..count(extents)?).map(place), ctx.meter())?))
}

/// Applies a binary function. The result is known if both operands are.
pub(super) fn apply(ctx: &mut NodeLowering<'_>, binary: Binary, a: &Value, b: &Value) -> Result<Value, Problem> {
    match (a, b) {
        (Value::Known(a), Value::Known(b)) => {
            let float = |array: &Array| Array::of_floats(array.dims().to_vec(), ElementType::F32, &array.to_f32());
            // For both operands as floats, and for the result as floats and bytes.
            ctx.budget_for(&extents::broadcast(&[a.dims(), b.dims()])?, 6 * size_of::<f32>(), 2)?;
            math::two(&float(a), &float(b), binary, ctx.meter()).map(Value::Known)
        }
        _ => two(ctx, binary, a, b, ElementType::F32).map(Value::Computed),
    }
}

fn dequantize(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, scales) = (ctx.operand(0)?, Scales::stated(ctx)?);
    let reals = dequantized(ctx, &x, &scales)?;
    ctx.give(0, reals);
    Ok(())
}

/// Returns the reals that integers represent.
pub(super) fn dequantized(ctx: &mut NodeLowering<'_>, x: &Value, scales: &Scales) -> Result<Value, Problem> {
    if let Some(array) = known_dequantized(ctx, x, scales)? {
        return Ok(Value::Known(array));
    }
    let (scale, zero) = scales.along(ctx, x.dims())?;
    match &zero {
        Some(zero) => {
            let shifted = apply(ctx, Binary::Sub, x, zero)?;
            apply(ctx, Binary::Mul, &shifted, &scale)
        }
        None => apply(ctx, Binary::Mul, x, &scale),
    }
}

/// Dequantises known integers. 8-bit integers keep their bytes in the file and get the scales attached. For other
/// integers, and for scales per block, the floats are computed. `None` if an operand is not known.
fn known_dequantized(ctx: &mut NodeLowering<'_>, x: &Value, by: &Scales) -> Result<Option<Array>, Problem> {
    let (Value::Known(x), Value::Known(scale)) = (x, &by.scale) else { return Ok(None) };
    let zero = match &by.zero {
        None => None,
        Some(Value::Known(zero)) => Some(zero),
        Some(Value::Computed(_)) => return Ok(None),
    };
    let scales = scale.to_f32();
    let fits = zero.as_ref().is_none_or(|zero| zero.dims() == scale.dims() || zero.len() == scale.len());
    if x.element_type().is_float() || x.is_empty() || scales.is_empty() || !fits {
        return Ok(None);
    }
    let (block, rank) = (by.block, x.dims().len());
    // A single value applies to all elements. In that case the stated or default axis need not exist.
    let axis = if scales.len() > 1 || block > 0 { Some(axis(by.axis, rank)?) } else { None };
    ctx.meter().memory(scales.len().saturating_mul(size_of::<f32>() + size_of::<i64>()))?;
    let zeros: Vec<i64> = match &zero {
        None => vec![0; scales.len()],
        Some(zero) => match zero.to_i64() {
            Some(zeros) => zeros.to_vec(),
            None => return Ok(None),
        },
    };
    if block == 0 && scales.iter().all(|scale| scale.is_finite()) {
        let zeros: Option<Vec<i32>> = zeros.iter().map(|&zero| i32::try_from(zero).ok()).collect();
        let params = match (zeros, axis) {
            (Some(zeros), Some(axis)) => QuantParams::along(scales.to_vec(), zeros, x.dims(), axis),
            (Some(zeros), None) => Some(QuantParams { scale: scales.to_vec(), zero: zeros, inner: 1 }),
            (None, _) => None,
        };
        if let Some(params) = params
            && let Some(array) = x.dequantized(params, ctx.meter())?
        {
            return Ok(Some(array));
        }
    }
    let place: Box<dyn Fn(usize) -> usize> = match axis {
        None => Box::new(|_| 0),
        Some(axis) if block > 0 => Box::new(place_of_block(scale, x.dims(), axis, block)?),
        Some(axis) if x.dims()[axis] == scales.len() => {
            let (inner, extent) = (x.dims()[axis + 1..].iter().product::<usize>(), scales.len());
            Box::new(move |i| i / inner % extent)
        }
        Some(_) => return Ok(None),
    };
    x.widen(ctx.meter())?;
    let Some(integers) = x.to_i64() else { return Ok(None) };
    let mut bytes = ctx.meter().list(integers.len().saturating_mul(size_of::<f32>()))?;
    for (i, &q) in integers.iter().enumerate() {
        let at = place(i);
        bytes.extend_from_slice(&((q.wrapping_sub(zeros[at])) as f32 * scales[at]).to_le_bytes());
    }
    Ok(Some(Array::of_constant(x.dims().to_vec(), Constant::new(ElementType::F32, bytes.into()))))
}

/// Returns the range of a type with 8 or 16 bits.
fn range(elem: ElementType) -> Result<(f32, f32), Problem> {
    match elem {
        ElementType::I8 => Ok((-128.0, 127.0)),
        ElementType::U8 => Ok((0.0, 255.0)),
        ElementType::I16 => Ok((-32768.0, 32767.0)),
        ElementType::U16 => Ok((0.0, 65535.0)),
        other => Err(Problem::unsupported(format!("it gives integers of type {other:?}"))),
    }
}

fn quantize(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, scales) = (ctx.operand(0)?, Scales::stated(ctx)?);
    // The attribute's default is 0, which means that no type is given.
    let elem = match (&scales.zero, ctx.int("output_dtype")?.filter(|&code| code != 0)) {
        (Some(zero), _) => zero.type_of_results()?,
        (None, Some(code)) => element_type(code)?,
        (None, None) => ElementType::U8,
    };
    let integers = quantized(ctx, &x, &scales, elem)?;
    ctx.give(0, integers);
    Ok(())
}

/// Returns the integers of a type that represent reals.
pub(super) fn quantized(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    scales: &Scales,
    elem: ElementType,
) -> Result<Value, Problem> {
    let (min, max) = range(elem)?;
    let rounds = ctx.lowering.fake_quant != FakeQuant::Off;
    if let (true, Value::Computed(x), Some((unary, zero))) = (rounds, x, scales.one_step([min, max])) {
        let quanta = one(ctx, unary, x, elem)?;
        // Operators on quanta recognise the zero point by this node.
        let integers = match zero {
            0.0 => quanta,
            zero => two(ctx, Binary::Add, &Value::Computed(quanta), &math::scalar(zero), elem)?,
        };
        return Ok(Value::Computed(integers));
    }
    let (scale, zero) = scales.along(ctx, x.dims())?;
    let scaled = apply(ctx, Binary::Div, x, &scale)?;
    let round = |value: Value, ctx: &mut NodeLowering<'_>| -> Result<Value, Problem> {
        Ok(match value {
            // Always rounded, whatever the options say, because these values become integers.
            Value::Known(array) => {
                let values: Vec<f32> = array.to_f32().iter().map(|&v| Unary::Round.of(v)).collect();
                Value::Known(Array::of_floats(array.dims().to_vec(), ElementType::F32, &values))
            }
            Value::Computed(x) if rounds => Value::Computed(one(ctx, Unary::Round, &x, ElementType::F32)?),
            computed => computed,
        })
    };
    let mut value = round(scaled, ctx)?;
    if let Some(zero) = &zero {
        value = apply(ctx, Binary::Add, &value, zero)?;
    }
    Ok(match value {
        Value::Known(array) => {
            let bounds = Unary::Clip { min, max };
            let values = array.to_f32().iter().map(|&v| bounds.of(v) as i64).collect();
            Value::Known(Array::of_ints(array.dims().to_vec(), elem, values))
        }
        Value::Computed(x) => Value::Computed(one(ctx, Unary::Clip { min, max }, &x, elem)?),
    })
}
