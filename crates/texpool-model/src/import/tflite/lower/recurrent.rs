//! Lowers recurrent networks over whole sequences: one matrix product for the inputs of all steps, and a cell that
//! walks along them.

use super::activation::activation;
use crate::import::{
    common::recurrent::{CellWeights, PackedWeights, Sizes, check_hidden},
    error::Problem,
    op_registry::{Floats, Support},
    tflite::{
        op_registry::{Described::Alone, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::{BidirectionalLstmOptions, BidirectionalRnnOptions, SequenceLstmOptions, SequenceRnnOptions},
    },
};
use texpool_ops::graph::{
    Act, Cell, CellFunction, MatMul, Op, Recurrent, Shape, StridedSlice, TensorId, Transpose, Unary,
};

const RNN: Support = Support::new(Floats, "matmul, recurrent")
    .limits("weights must be known; no second input; every run starts from zeros, delegates leave it");
const LSTM: Support = Support::new(Floats, "matmul, recurrent").limits(
    "weights must be known; no projection, normalisation or second input; every run starts from zeros, delegates leave it; \
     weights of 8 bits are read as reals, TensorFlow Lite rounds their inputs, too",
);

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("UNIDIRECTIONAL_SEQUENCE_RNN", Alone(RNN), |ctx| {
        ctx.operands(5, 5)?;
        let options = ctx.options::<SequenceRnnOptions<'static>>()?;
        let sequence = Sequence { time_major: options.time_major(), merged: true };
        rnn(ctx, sequence, options.activation(), &[1])
    }),
    TfLiteOpEntry::new("BIDIRECTIONAL_SEQUENCE_RNN", Alone(RNN), |ctx| {
        ctx.operands(9, 12)?;
        absent(ctx, 9..12, "a second input")?;
        let options = ctx.options::<BidirectionalRnnOptions<'static>>()?;
        let sequence = Sequence { time_major: options.time_major(), merged: options.merge_outputs() };
        rnn(ctx, sequence, options.activation(), &[1, 5])
    })
    .several_results(),
    TfLiteOpEntry::new("UNIDIRECTIONAL_SEQUENCE_LSTM", Alone(LSTM), |ctx| {
        ctx.operands(20, 24)?;
        absent(ctx, 20..24, "layer normalisation")?;
        let options = ctx.options::<SequenceLstmOptions<'static>>()?;
        if options.diagonal_recurrent_tensors() {
            return Err(Problem::unsupported("its recurrent weights are diagonals"));
        }
        let sequence = Sequence { time_major: options.time_major(), merged: true };
        lstm(ctx, sequence, options.activation(), options.cell_clip(), &[Positions { weights: 1, state: 18 }])
    }),
    TfLiteOpEntry::new("BIDIRECTIONAL_SEQUENCE_LSTM", Alone(LSTM), |ctx| {
        ctx.operands(39, 48)?;
        absent(ctx, 39..48, "a second input")?;
        let options = ctx.options::<BidirectionalLstmOptions<'static>>()?;
        let sequence = Sequence { time_major: options.time_major(), merged: options.merge_outputs() };
        let both = [Positions { weights: 1, state: 35 }, Positions { weights: 18, state: 37 }];
        lstm(ctx, sequence, options.activation(), options.cell_clip(), &both)
    })
    .several_results(),
];

/// Form of the input and the results.
#[derive(Clone, Copy)]
struct Sequence {
    /// True if steps come before batches in the file.
    time_major: bool,
    /// True if all directions have one result.
    merged: bool,
}

/// Positions of operands of a direction of an LSTM.
struct Positions {
    /// The first of seventeen: weights, peepholes, biases and a projection.
    weights: usize,
    /// The hidden values, followed by the cell.
    state: usize,
}

fn absent(ctx: &OperatorLowering<'_, '_>, mut positions: std::ops::Range<usize>, what: &str) -> Result<(), Problem> {
    match positions.any(|position| ctx.has(position)) {
        true => Err(Problem::unsupported(format!("it has {what}"))),
        false => Ok(()),
    }
}

/// Fails unless the state is a variable, which is zero at first.
fn starts_at_zero(ctx: &OperatorLowering<'_, '_>, position: usize) -> Result<(), Problem> {
    match ctx.is_variable(position)? {
        true => Ok(()),
        false => Err(Problem::unsupported(format!("its state (operand {position}) is no variable"))),
    }
}

/// Returns the values of a constant, which must be as many as the product of `dims`.
fn weights(
    ctx: &mut OperatorLowering<'_, '_>,
    position: usize,
    role: &str,
    dims: [usize; 2],
) -> Result<Vec<f32>, Problem> {
    let values = ctx.reals(position, role)?;
    if dims[0].checked_mul(dims[1]) == Some(values.len()) {
        return Ok(values);
    }
    Err(Problem::malformed(format!("its {role} (operand {position}) are {} numbers, not {dims:?}", values.len())))
}

/// Returns the input, and its last extent.
fn sequence(ctx: &mut OperatorLowering<'_, '_>) -> Result<(TensorId, [usize; 3]), Problem> {
    let x = ctx.operand(0)?;
    if !ctx.is_float(x) {
        return Err(Problem::new("its input has no 32-bit floats", "convert the model to compute in 32-bit floats"));
    }
    match *ctx.dims(x) {
        [first, second, inputs] => Ok((x, [first, second, inputs])),
        ref dims => Err(Problem::malformed(format!("{dims:?} is no sequence of vectors in batches"))),
    }
}

/// Returns the number of rows of a matrix.
fn rows(ctx: &mut OperatorLowering<'_, '_>, position: usize) -> Result<usize, Problem> {
    let id = ctx.measured(position)?;
    match *ctx.dims(id) {
        [rows, _] => Ok(rows),
        ref dims => Err(Problem::malformed(format!("its weights (operand {position}) have the extents {dims:?}"))),
    }
}

fn function(code: i8) -> Result<CellFunction, Problem> {
    match activation(code)? {
        Act::Unary(unary) => Ok(CellFunction::plain(unary)),
        _ => Ok(CellFunction { function: None, inner: 1.0, scale: 1.0, offset: 0.0 }),
    }
}

/// Lowers plain cells. Each direction has weights, recurrent weights, biases and a state.
fn rnn(
    ctx: &mut OperatorLowering<'_, '_>,
    form: Sequence,
    activation: i8,
    directions: &[usize],
) -> Result<(), Problem> {
    let (x, dims) = sequence(ctx)?;
    let hidden = rows(ctx, 1)?;
    let sizes = Sizes { directions: directions.len(), gates: 1, hidden, inputs: dims[2] };
    let [mut input, mut recurrent, mut bias] = [const { Vec::new() }; 3];
    for &first in directions {
        input.extend(weights(ctx, first, "input weights", [hidden, sizes.inputs])?);
        recurrent.extend(weights(ctx, first + 1, "recurrent weights", [hidden; 2])?);
        bias.extend(weights(ctx, first + 2, "biases", [hidden, 1])?);
        bias.resize(bias.len() + hidden, 0.0);
        starts_at_zero(ctx, first + 3)?;
    }
    check_hidden(Cell::Plain, hidden)?;
    let all = CellWeights { input: &input, recurrent: &recurrent, bias: Some(&bias), peepholes: None };
    let packed = all.pack(Cell::Plain, sizes, ctx.meter())?;
    let cell = recurrent_cell(Cell::Plain, [function(activation)?; 3], None);
    walk(ctx, x, dims, form, sizes, packed, cell)
}

const fn recurrent_cell(cell: Cell, functions: [CellFunction; 3], cell_clip: Option<f32>) -> Recurrent {
    Recurrent {
        cell,
        reverse: [false, true],
        functions,
        clip: None,
        cell_clip,
        initial: false,
        lengths: false,
        sequence: true,
        finals: false,
    }
}

/// Position of a gate of [`Cell::Lstm`] among the file's: input, forget, candidate, output.
const GATES: [usize; 4] = [0, 3, 1, 2];
/// Among the peepholes: input, forget, output.
const PEEPHOLES: [usize; 3] = [0, 2, 1];

/// Lowers an LSTM.
fn lstm(
    ctx: &mut OperatorLowering<'_, '_>,
    form: Sequence,
    activation: i8,
    cell_clip: f32,
    directions: &[Positions],
) -> Result<(), Problem> {
    let (x, dims) = sequence(ctx)?;
    let hidden = rows(ctx, 2)?;
    let sizes = Sizes { directions: directions.len(), gates: 4, hidden, inputs: dims[2] };
    // Without weights for the input gate, the gate is one minus the forget gate.
    let coupled = !ctx.has(1);
    let cell = Cell::Lstm { coupled, rounded: false };
    check_hidden(cell, hidden)?;
    let has_peepholes = directions.iter().any(|direction| ctx.has(direction.weights + 9));
    // The input gate of coupled gates is the logistic function of the negated sum of the forget gate. `first` is the
    // position of the weights of the first gate.
    let of_gate = |ctx: &mut OperatorLowering<'_, '_>, first: usize, gate: usize, role: &str, dims: [usize; 2]| {
        let (gate, sign) = if coupled && gate == 0 { (1, -1.0) } else { (gate, 1.0) };
        let mut values = weights(ctx, first + gate, role, dims)?;
        values.iter_mut().for_each(|value| *value *= sign);
        Ok::<_, Problem>(values)
    };
    let [mut input, mut recurrent, mut bias, mut peepholes] = [const { Vec::new() }; 4];
    for &Positions { weights: first, state } in directions {
        absent(ctx, first + 15..first + 17, "a projection")?;
        if ctx.has(first) == coupled {
            return Err(Problem::unsupported("one direction has weights for its input gate, the other has none"));
        }
        for gate in GATES {
            input.extend(of_gate(ctx, first, gate, "input weights", [hidden, sizes.inputs])?);
            recurrent.extend(of_gate(ctx, first + 4, gate, "recurrent weights", [hidden; 2])?);
            bias.extend(of_gate(ctx, first + 11, gate, "biases", [hidden, 1])?);
        }
        bias.resize(bias.len() + 4 * hidden, 0.0);
        if has_peepholes {
            for gate in PEEPHOLES {
                peepholes.extend(of_gate(ctx, first + 8, gate, "peepholes", [hidden, 1])?);
            }
        }
        starts_at_zero(ctx, state)?;
        starts_at_zero(ctx, state + 1)?;
    }
    let peepholes = has_peepholes.then_some(peepholes.as_slice());
    let all = CellWeights { input: &input, recurrent: &recurrent, bias: Some(&bias), peepholes };
    let packed = all.pack(cell, sizes, ctx.meter())?;
    let line = function(activation)?;
    let functions = [CellFunction::plain(Unary::Logistic), line, line];
    // Zero means no limit.
    let clip = (cell_clip > 0.0).then_some(cell_clip);
    walk(ctx, x, dims, form, sizes, packed, recurrent_cell(cell, functions, clip))
}

/// Adds the product, the cell and the results.
fn walk(
    ctx: &mut OperatorLowering<'_, '_>,
    x: TensorId,
    dims: [usize; 3],
    form: Sequence,
    sizes: Sizes,
    packed: PackedWeights,
    cell: Recurrent,
) -> Result<(), Problem> {
    let [first, second, inputs] = dims;
    let (batches, steps) = if form.time_major { (second, first) } else { (first, second) };
    let Sizes { directions, hidden, .. } = sizes;
    let results = if form.merged { 1 } else { directions };
    ctx.results(results)?;
    let by_batch = Shape::new(batches, 1, steps, inputs);
    // With one batch, the order of both axes is the same.
    let turned = form.time_major && batches > 1;
    let x = match turned {
        true => {
            let x = ctx.view(x, Shape::new(1, steps, batches, inputs))?;
            ctx.between(Op::Transpose(Transpose { perm: [2, 0, 1, 3] }), &[x], by_batch)?
        }
        false => ctx.view(x, by_batch)?,
    };
    let input = ctx.new_constant(packed.input.0, &packed.input.1)?;
    let weights = ctx.new_constant(packed.recurrent.0, &packed.recurrent.1)?;
    let shape = Shape { b: batches, w: steps, ..packed.input.0 };
    let products = ctx.between(Op::MatMul(MatMul { transpose_b: false }), &[x, input], shape)?;
    let shape = Shape::new(batches, directions, steps, hidden);
    let operands = [products, weights];
    let op = Op::Recurrent(cell);
    if !turned && directions == 1 {
        ctx.gives(&[first, second, hidden])?;
        return ctx.emit_as(op, &operands, Act::None, shape);
    }
    let all = ctx.between(op, &operands, shape)?;
    if form.merged {
        ctx.gives(&[first, second, directions * hidden])?;
        let (perm, shape) = match turned {
            true => ([2, 0, 1, 3], Shape::new(steps, batches, directions, hidden)),
            false => ([0, 2, 1, 3], Shape::new(batches, steps, directions, hidden)),
        };
        return ctx.emit_as(Op::Transpose(Transpose { perm }), &[all], Act::None, shape);
    }
    for direction in 0..directions {
        ctx.select(direction)?;
        ctx.gives(&[first, second, hidden])?;
        let slice = Op::StridedSlice(StridedSlice { begin: [0, direction, 0, 0], stride: [1; 4] });
        let own = Shape { h: 1, ..shape };
        match turned {
            true => {
                let part = ctx.between(slice, &[all], own)?;
                let shape = Shape::new(1, steps, batches, hidden);
                ctx.emit_as(Op::Transpose(Transpose { perm: [1, 2, 0, 3] }), &[part], Act::None, shape)?;
            }
            false => ctx.emit_as(slice, &[all], Act::None, own)?,
        }
    }
    Ok(())
}
