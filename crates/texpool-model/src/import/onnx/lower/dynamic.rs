//! Lowers quantisation with a scale and a zero point that a run computes.

use super::basic::two;
use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::LikeOperand, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, DynamicQuantize, ElementType, Graph, Node, Op, Shape, StridedSlice, TensorId};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[OnnxOpEntry::new(
    "DynamicQuantizeLinear",
    11,
    Floats,
    "dynamic_quantize, dynamic_scale, extremes",
    LikeOperand,
    |c| {
        let x = c.computed(0)?;
        let dynamic = Dynamic::of(c, &x)?;
        let results = [dynamic.integers(c, false)?, dynamic.scale(c)?, dynamic.zero(c)?];
        results.into_iter().enumerate().for_each(|(i, result)| c.give(i, Value::Computed(result)));
        Ok(())
    },
)
.fold(known)];

/// Quantises a value that is known.
fn known(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.known(0, "input")?;
    ctx.budget_for(x.dims(), 2 * size_of::<i64>(), 4)?;
    let values = x.to_f32();
    let [least, greatest] = [f32::min, f32::max].map(|end| values.iter().copied().fold(0.0, end));
    let width = greatest - least;
    let scale = if width == 0.0 { 1.0 } else { width / STEPS };
    let zero = (-(least / scale)).clamp(0.0, STEPS).round_ties_even();
    let integer = |&value: &f32| ((value / scale).round_ties_even() + zero).clamp(0.0, STEPS) as i64;
    let integers = values.iter().map(integer).collect();
    ctx.give(0, Value::Known(Array::of_ints(x.dims().to_vec(), ElementType::U8, integers)));
    ctx.give(1, Value::Known(Array::of_floats(Vec::new(), ElementType::F32, &[scale])));
    ctx.give(2, Value::Known(Array::of_ints(Vec::new(), ElementType::U8, vec![zero as i64])));
    Ok(())
}

/// Number of steps from the least integer to the greatest.
const STEPS: f32 = 255.0;

/// Least number of slices for which a separate step finds the extremes of each pixel first. A guess.
const MANY_SLICES: usize = 8;

/// Least number of texels for which that step is added. The single workgroup that finds the range reads this many in 32
/// rounds. A guess.
const MANY_TEXELS: usize = 1 << 11;

/// A tensor to be represented as integers from 0 to 255, and the tensor with its scale and zero point.
pub(super) struct Dynamic {
    x: Computed,
    by: TensorId,
}

impl Dynamic {
    /// Computes the scale and the zero point of a tensor from the range of its values, extended to zero.
    pub(super) fn of(ctx: &mut NodeLowering<'_>, x: &Computed) -> Result<Self, Problem> {
        let shape = x.layout.shape();
        let is_large = shape.slices() >= MANY_SLICES && shape.rows() * shape.row_texels() >= MANY_TEXELS;
        let ranged = match is_large {
            true => ctx.emit(Op::Extremes, &[x.tensor], Shape { c: 2, ..shape })?,
            false => x.tensor,
        };
        let by = ctx.emit(Op::DynamicScale, &[ranged], Shape::new(1, 1, 1, 2))?;
        Ok(Self { x: x.clone(), by })
    }

    /// Returns the integers, if wanted minus their zero point.
    pub(super) fn integers(&self, ctx: &mut NodeLowering<'_>, from_zero: bool) -> Result<Computed, Problem> {
        let op = Op::DynamicQuantize(DynamicQuantize { from_zero });
        let tensor = ctx.emit(op, &[self.x.tensor, self.by], self.x.layout.shape())?;
        let elem = if from_zero { ElementType::F32 } else { ElementType::U8 };
        Ok(Computed { tensor, elem, ..self.x.clone() })
    }

    pub(super) fn scale(&self, ctx: &mut NodeLowering<'_>) -> Result<Computed, Problem> {
        self.channel(ctx, SCALE, ElementType::F32)
    }

    fn zero(&self, ctx: &mut NodeLowering<'_>) -> Result<Computed, Problem> {
        self.channel(ctx, ZERO, ElementType::U8)
    }

    fn channel(&self, ctx: &mut NodeLowering<'_>, slice: StridedSlice, elem: ElementType) -> Result<Computed, Problem> {
        let tensor = ctx.emit(Op::StridedSlice(slice), &[self.by], Shape::new(1, 1, 1, 1))?;
        Ok(Computed { tensor, dims: Vec::new(), layout: AtomLayout::natural(&[]), elem })
    }

    /// Returns the reals that the integers represent.
    pub(super) fn reals(&self, ctx: &mut NodeLowering<'_>) -> Result<Computed, Problem> {
        let [integers, scale] = [self.integers(ctx, true)?, self.scale(ctx)?].map(Value::Computed);
        two(ctx, Binary::Mul, &integers, &scale, ElementType::F32)
    }
}

/// The channels of scale and zero point.
const SCALE: StridedSlice = StridedSlice { begin: [0; 4], stride: [1; 4] };
const ZERO: StridedSlice = StridedSlice { begin: [0, 0, 0, 1], stride: [1; 4] };

/// Returns integers minus their zero point if both are results of one `DynamicQuantizeLinear`. They are then quantised
/// from zero, without a subtraction.
pub(super) fn from_zero(ctx: &mut NodeLowering<'_>, integers: &Value, zero: &Value) -> Result<Option<Value>, Problem> {
    let Some(of) = quantised_from(ctx, integers, zero) else { return Ok(None) };
    let Value::Computed(integers) = integers else { return Ok(None) };
    let op = Op::DynamicQuantize(DynamicQuantize { from_zero: true });
    let tensor = ctx.emit(op, &of, integers.layout.shape())?;
    Ok(Some(Value::Computed(Computed { tensor, elem: ElementType::F32, ..integers.clone() })))
}

/// Returns whether integers are those of a DynamicQuantizeLinear with this zero point. They hold the zero point behind
/// an extent that a run gives or finds, since the floats are zero there.
pub(in crate::import::onnx) fn are_zero_behind(ctx: &NodeLowering<'_>, integers: &Value, zero: &Value) -> bool {
    quantised_from(ctx, integers, zero).is_some()
}

/// Returns the floats that integers were quantised from by a scale of the run, and that scale with the zero point.
/// `None` for integers from elsewhere.
fn quantised_from(ctx: &NodeLowering<'_>, integers: &Value, zero: &Value) -> Option<[TensorId; 2]> {
    let (Value::Computed(integers), Value::Computed(zero)) = (integers, zero) else { return None };
    let graph = &ctx.lowering.graph;
    let by = producer(graph, zero.tensor).filter(|node| node.op == Op::StridedSlice(ZERO)).map(|node| node.inputs[0]);
    let quantised = producer(graph, integers.tensor);
    match quantised.map(|node| (&node.op, node.inputs.as_slice())) {
        Some((Op::DynamicQuantize(DynamicQuantize { from_zero: false }), &[x, its])) if Some(its) == by => {
            Some([x, its])
        }
        _ => None,
    }
}

/// Returns the node that computes a tensor. The newest nodes come first, because operands are mostly new.
fn producer(graph: &Graph, tensor: TensorId) -> Option<&Node> {
    graph.nodes.iter().rev().find(|node| node.output == tensor)
}
