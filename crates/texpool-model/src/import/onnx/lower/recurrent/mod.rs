//! Lowers recurrent networks: one matrix product for the inputs of all steps, and a cell that walks along them.

mod functions;
mod weights;

use self::{functions::functions, weights::FileWeights};
use super::{align::placed_as, basic::two, dynamic::Dynamic, shapes::reshaped};
use crate::import::{
    common::recurrent::{Sizes, check_hidden},
    error::Problem,
    onnx::{
        array::Array,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OF_RUNTIME, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, Cell, Concat, ElementType, MatMul, Op, Recurrent, Shape, StridedSlice, TensorId};

/// Limitations of all recurrent operators.
const LIMITS: &str =
    "weights must be known; the same activations in both directions, none of Softsign and ThresholdedRelu";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("RNN", 7, Floats, "matmul, recurrent", Any, |c| {
        let weights = weights(c, None)?;
        lower(c, Cell::Plain, &weights)
    })
    .limits(LIMITS),
    OnnxOpEntry::new("GRU", 7, Floats, "matmul, recurrent", Any, |c| {
        let weights = weights(c, None)?;
        let reset_after = c.flag("linear_before_reset", false)?;
        lower(c, Cell::Gru { reset_after }, &weights)
    })
    .limits(LIMITS),
    OnnxOpEntry::new("LSTM", 7, Floats, "matmul, recurrent", Any, |c| {
        let weights = weights(c, Some(7))?;
        let coupled = c.flag("input_forget", false)?;
        lower(c, Cell::Lstm { coupled, rounded: false }, &weights)
    })
    .limits(LIMITS),
    OnnxOpEntry::new("DynamicQuantizeLSTM", 1, Floats, "matmul, recurrent", Any, |c| {
        let weights = quantised(c)?;
        let coupled = c.flag("input_forget", false)?;
        lower(c, Cell::Lstm { coupled, rounded: true }, &weights)
    })
    .domain(OF_RUNTIME)
    .limits("like LSTM; products are of rounded floats; each batch rounds its hidden values with its own scale"),
];

/// Returns the weights of an operator; those of peepholes are operand `peepholes`.
fn weights(ctx: &NodeLowering<'_>, peepholes: Option<usize>) -> Result<FileWeights, Problem> {
    let optional = |position: usize, role: &str| -> Result<Option<Array>, Problem> {
        ctx.optional(position).map(|_| ctx.known(position, role)).transpose()
    };
    Ok(FileWeights {
        input: ctx.known(1, "input weights")?,
        recurrent: ctx.known(2, "recurrent weights")?,
        bias: optional(3, "biases")?,
        peepholes: match peepholes {
            Some(position) => optional(position, "peepholes")?,
            None => None,
        },
    })
}

/// Returns the weights of an LSTM whose weights are 8-bit integers, transposed.
fn quantised(ctx: &mut NodeLowering<'_>) -> Result<FileWeights, Problem> {
    let weights = weights(ctx, Some(7))?;
    let mut floats = |array: &Array, position: usize| -> Result<Array, Problem> {
        let [scale, zero] = [ctx.known(position, "scales")?, ctx.known(position + 1, "zero points")?];
        let &[directions, inputs, rows] = array.dims() else {
            return Err(Problem::malformed(format!("its weights have the extents {:?}", array.dims())));
        };
        // One scale for each direction, or for each of its columns.
        let each = if scale.len() == directions { 1 } else { rows };
        if scale.len() != directions * each || zero.len() != scale.len() {
            return Err(Problem::malformed(format!("its scales have the extents {:?}", scale.dims())));
        }
        let dims = [directions, rows, inputs];
        ctx.budget_for(&dims, 3 * size_of::<f32>(), 2)?;
        let (values, scale, zero) = (array.to_f32(), scale.to_f32(), zero.to_f32());
        let value = |i: usize| {
            let (direction, row, input) = (i / (rows * inputs), i / inputs % rows, i % inputs);
            let of = direction * each + row % each;
            (values[(direction * inputs + input) * rows + row] - zero[of]) * scale[of]
        };
        let values: Vec<f32> = (0..array.len()).map(value).collect();
        Ok(Array::of_floats(dims.to_vec(), ElementType::F32, &values))
    };
    let (input, recurrent) = (floats(&weights.input, 8)?, floats(&weights.recurrent, 10)?);
    Ok(FileWeights { input, recurrent, ..weights })
}

/// Extents of a sequence.
struct Extents {
    steps: usize,
    batches: usize,
    /// True if batches come before steps in the file.
    batch_first: bool,
}

fn lower(ctx: &mut NodeLowering<'_>, cell: Cell, weights: &FileWeights) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let batch_first = ctx.flag("layout", false)?;
    let (&[first, second, inputs], &[_, _, hidden]) = (x.dims(), weights.recurrent.dims()) else {
        return Err(Problem::malformed(format!("{:?} is no sequence of vectors in batches", x.dims())));
    };
    let (steps, batches) = if batch_first { (second, first) } else { (first, second) };
    let extents = Extents { steps, batches, batch_first };
    let reverse = match ctx.text("direction", "forward")?.as_str() {
        "forward" => vec![false],
        "reverse" => vec![true],
        "bidirectional" => vec![false, true],
        other => return Err(Problem::malformed(format!("its direction is {other}"))),
    };
    let sizes = Sizes { directions: reverse.len(), gates: cell.gates(), hidden, inputs };
    if ctx.has("hidden_size") && ctx.size("hidden_size", 0)? != hidden {
        return Err(Problem::malformed("its hidden_size and the extents of its recurrent weights differ"));
    }
    check_hidden(cell, hidden)?;
    if [steps, batches, inputs, hidden].contains(&0) {
        return Err(Problem::empty("it has no steps, batches, inputs or hidden values"));
    }
    weights.check(sizes)?;
    let functions = match cell {
        Cell::Plain => functions(ctx, sizes.directions, ["Tanh"]).map(|[f]| [f; 3])?,
        Cell::Gru { .. } => functions(ctx, sizes.directions, ["Sigmoid", "Tanh"]).map(|[f, g]| [f, g, g])?,
        Cell::Lstm { .. } => functions(ctx, sizes.directions, ["Sigmoid", "Tanh", "Tanh"])?,
    };
    let clip = if ctx.has("clip") { Some(ctx.float("clip", 0.0)?) } else { None };
    let packed = weights.pack(ctx, cell, sizes)?;
    let x = ctx.compute(&x)?;
    let elem = x.elem;
    let x = match cell {
        // The whole sequence has one scale.
        Cell::Lstm { rounded: true, .. } => Dynamic::of(ctx, &x)?.reals(ctx)?,
        _ => x,
    };
    let products = products(ctx, &x, packed.input, &extents)?;
    let (state, initial, lengths) = state(ctx, cell, sizes, &extents)?;
    let finals = ctx.wants(1) || ctx.wants(2);
    let op = Recurrent {
        cell,
        reverse: [reverse[0], reverse.get(1).copied().unwrap_or(false)],
        functions,
        clip,
        cell_clip: None,
        initial,
        lengths,
        sequence: ctx.wants(0) || !finals,
        finals,
    };
    let constant = constant(ctx, packed.recurrent)?;
    let operands: Vec<TensorId> = [products, constant].into_iter().chain(state).collect();
    let shape = Shape::new(batches, sizes.directions, op.result_pixels(steps), hidden);
    let tensor = ctx.emit(Op::Recurrent(op), &operands, shape)?;
    give(ctx, tensor, op.sequence, &extents, elem)
}

/// Adds weights as a constant.
fn constant(ctx: &mut NodeLowering<'_>, (shape, values): (Shape, Vec<f32>)) -> Result<TensorId, Problem> {
    ctx.lowering.constant(&Array::of_floats(shape.dims().to_vec(), ElementType::F32, &values), shape)
}

/// Multiplies the inputs of all steps, `[batches, 1, steps, inputs]`, with the weights of each direction.
fn products(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    weights: (Shape, Vec<f32>),
    extents: &Extents,
) -> Result<TensorId, Problem> {
    let (batch, step) = if extents.batch_first { (0, 1) } else { (1, 0) };
    let layout = AtomLayout::of(&x.dims, &[vec![batch], vec![], vec![step], vec![2]]);
    let x = placed_as(ctx.lowering, &Value::Computed(x.clone()), &layout)?;
    let shape = Shape { b: extents.batches, w: extents.steps, ..weights.0 };
    let weights = constant(ctx, weights)?;
    ctx.emit(Op::MatMul(MatMul { transpose_b: false }), &[x, weights], shape)
}

/// Returns the state before the first step and the numbers of steps as one tensor, and whether it holds each of them.
fn state(
    ctx: &mut NodeLowering<'_>,
    cell: Cell,
    sizes: Sizes,
    extents: &Extents,
) -> Result<(Option<TensorId>, bool, bool), Problem> {
    let (directions, hidden, batches) = (sizes.directions, sizes.hidden, extents.batches);
    let dims = if extents.batch_first { [batches, directions, hidden] } else { [directions, batches, hidden] };
    let axes = if extents.batch_first { [0, 1] } else { [1, 0] };
    let layout = AtomLayout::of(&dims, &[vec![axes[0]], vec![axes[1]], vec![], vec![2]]);
    let zeros = |dims: &[usize]| Array::of_floats(dims.to_vec(), ElementType::F32, &vec![0.0; dims.iter().product()]);
    ctx.budget_for(&dims, 4 * size_of::<f32>(), 2)?;
    let is_zero = |value: &Value| value.known().is_some_and(|array| array.to_f32().iter().all(|&x| x == 0.0));
    let mut parts = Vec::new();
    let states: Vec<Option<Value>> =
        (0..cell.states()).map(|i| ctx.optional(5 + i).filter(|value| !is_zero(value))).collect();
    let initial = states.iter().any(Option::is_some);
    if initial {
        for value in states {
            let value = value.unwrap_or_else(|| Value::Known(zeros(&dims)));
            if value.dims() != dims {
                let reason = format!("its initial state has the extents {:?}, not {dims:?}", value.dims());
                return Err(Problem::malformed(reason));
            }
            parts.push(placed_as(ctx.lowering, &value, &layout)?);
        }
    }
    let all = |value: &Value| match value.known().and_then(|array| array.to_i64().map(<[i64]>::to_vec)) {
        Some(lengths) => lengths.iter().all(|&n| n == extents.steps as i64),
        None => false,
    };
    let lengths = ctx.optional(4).filter(|value| !all(value));
    if let Some(value) = &lengths {
        if value.dims() != [batches] {
            return Err(Problem::malformed(format!("its numbers of steps have the extents {:?}", value.dims())));
        }
        let mut column = [1; 3];
        column[axes[0]] = batches;
        let column = reshaped(ctx.lowering, value, &column)?;
        let repeated = match column {
            Value::Known(array) => {
                array.widen(ctx.meter())?;
                Value::Known(array.broadcast(&dims, ctx.meter())?)
            }
            column => Value::Computed(two(ctx, Binary::Add, &column, &Value::Known(zeros(&dims)), ElementType::F32)?),
        };
        parts.push(placed_as(ctx.lowering, &repeated, &layout)?);
    }
    let shape = Shape::new(batches, directions, parts.len(), hidden);
    let tensor = match parts.as_slice() {
        [] => None,
        &[one] if !ctx.lowering.graph.is_constant(one) => Some(one),
        parts => Some(ctx.emit(Op::Concat(Concat { axis: 2 }), parts, shape)?),
    };
    Ok((tensor, initial, lengths.is_some()))
}

/// Divides the result of a cell into the hidden values of all steps and the final states.
fn give(
    ctx: &mut NodeLowering<'_>,
    tensor: TensorId,
    sequence: bool,
    extents: &Extents,
    elem: ElementType,
) -> Result<(), Problem> {
    let Extents { steps, batches, batch_first } = *extents;
    let shape = ctx.lowering.graph.shape(tensor);
    let part = |ctx: &mut NodeLowering<'_>, begin: usize, w: usize| -> Result<TensorId, Problem> {
        if w == shape.w {
            return Ok(tensor);
        }
        let slice = StridedSlice { begin: [0, 0, begin, 0], stride: [1; 4] };
        ctx.emit(Op::StridedSlice(slice), &[tensor], Shape { w, ..shape })
    };
    let mut behind = 0;
    if sequence {
        behind = steps;
        let tensor = part(ctx, 0, steps)?;
        let (dims, [batch, direction, step]) = match batch_first {
            true => (vec![batches, steps, shape.h, shape.c], [0, 2, 1]),
            false => (vec![steps, shape.h, batches, shape.c], [2, 1, 0]),
        };
        let layout = AtomLayout::of(&dims, &[vec![batch], vec![direction], vec![step], vec![3]]);
        ctx.give(0, Value::Computed(Computed { tensor, dims, layout, elem }));
    }
    for result in 1..3 {
        if ctx.wants(result) {
            let tensor = part(ctx, behind + result - 1, 1)?;
            let (dims, [batch, direction]) = match batch_first {
                true => (vec![batches, shape.h, shape.c], [0, 1]),
                false => (vec![shape.h, batches, shape.c], [1, 0]),
            };
            let layout = AtomLayout::of(&dims, &[vec![batch], vec![direction], vec![], vec![2]]);
            ctx.give(result, Value::Computed(Computed { tensor, dims, layout, elem }));
        }
    }
    Ok(())
}
