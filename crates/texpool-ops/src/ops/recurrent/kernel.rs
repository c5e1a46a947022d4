//! Kernel of recurrent cells: a workgroup takes all steps of a batch and direction.

use std::ops::Range;

use super::{Cell, CellFunction, Recurrent, TERMS, TEXELS};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection, common, functions,
        grid::LANES,
        loops::loops,
        pack,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

/// Rounds of a sum that the shader names one by one in a loop.
const ROUNDS_AT_ONCE: usize = 4;

impl Kernels for Recurrent {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Recurrent {
    category!(undivided_weights);

    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // A row is a whole sequence of one batch and direction.
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // Each hidden value of a step is the sum of a product with all hidden values, once per gate.
        let out = graph.shape(node.output);
        let steps = node.inputs.first().map_or(1, |&x| graph.shape(x).w).div_ceil(out.w.max(1));
        Work::new(graph, node, CostClass::Rows, 2 * self.cell.gates() * Self::terms(out.c) * steps, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        pack::whole_operand(graph, node, 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        dispatches(step, self)
    }
}

pub(crate) const SHADER: Shader =
    Shader::new("recurrent", texpool_shaders::RECURRENT).constants(&[CELLS]).params::<Params>().loops(loops![
        own,
        step [
            value,
            grid,
            owned [own_gate [quad, term]],
            settled,
            gate [quad, term],
            reset,
            candidate [quad, term],
            own
        ],
        own
    ]);

shared_constants! {
    /// Sizes and kinds of cells of `recurrent.wgsl`.
    CELLS:
    RECURRENT_TEXELS = TEXELS as u32,
    CELL_PLAIN = 0,
    CELL_GRU = 1,
    CELL_GRU_RESET_AFTER = 2,
    CELL_LSTM = 3,
    CELL_LSTM_COUPLED = 4,
}

shader_params! {
    struct Params {
        alphas: [f32; 3],
        clip: f32,
        cell_clip: f32,
        betas: [u32; 3],
        inner: [f32; 3],
        scale: [f32; 3],
        offset: [f32; 3],
        reverse: [u32; 2],
    }
}

/// Returns the override constant that names a cell.
const fn code(cell: Cell) -> u32 {
    match cell {
        Cell::Plain => CELL_PLAIN,
        Cell::Gru { reset_after: false } => CELL_GRU,
        Cell::Gru { reset_after: true } => CELL_GRU_RESET_AFTER,
        Cell::Lstm { coupled: false, .. } => CELL_LSTM,
        Cell::Lstm { coupled: true, .. } => CELL_LSTM_COUPLED,
    }
}

/// Returns the code of a function in `activate` of `texel.wgsl`, and its parameters.
fn function(step: &StepContext<'_>, function: CellFunction) -> Result<(u32, f32, u32), KernelError> {
    match function.function {
        None => Ok((functions::ACT_NONE, 0.0, 0)),
        Some(unary) => {
            functions::in_epilogue(unary).ok_or_else(|| step.unsupported(format!("no cell can hold {}", unary.name())))
        }
    }
}

/// Computes all steps of a batch and direction per workgroup.
pub(crate) fn dispatches(step: &StepContext<'_>, cell: &Recurrent) -> Result<Vec<Dispatch>, KernelError> {
    common::constant(step, 1)?;
    let x = common::placed(step, 0)?;
    let state = if cell.initial || cell.lengths { Some(common::placed(step, 2)?) } else { None };
    if state.is_some() {
        common::no_added_tensor(step)?;
    }
    let [a, b, c] = cell.functions;
    let functions = [function(step, a)?, function(step, b)?, function(step, c)?];
    let epilogue = EpilogueParams::new(step);
    let items = step.rows.len() as u32 * LANES;
    let params = Params {
        alphas: functions.map(|(_, alpha, _)| alpha),
        clip: cell.clip.unwrap_or_default(),
        cell_clip: cell.cell_clip.unwrap_or_default(),
        betas: functions.map(|(_, _, beta)| beta),
        inner: cell.functions.map(|function| function.inner),
        scale: cell.functions.map(|function| function.scale),
        offset: cell.functions.map(|function| function.offset),
        reverse: cell.reverse.map(u32::from),
    };
    let mut params = KernelParams::new(step, &epilogue, items).input(x).params(&params);
    if let Some(state) = state {
        params = params.second(state);
    }
    let (hidden, steps, lanes) = (step.output.shape.c, x.shape.w, LANES as usize);
    let slices = step.output.shape.slices();
    let rounds = Recurrent::terms(hidden) / TERMS;
    // The candidate of a GRU that resets before the product waits for the other gates.
    let waits = cell.cell == Cell::Gru { reset_after: false };
    let gates = cell.cell.gates() - usize::from(waits);
    let owned = hidden > cell.cell.most_with_gates();
    let own = slices.div_ceil(lanes);
    let of_owned = if owned { own } else { 0 };
    let after = if waits { own } else { 0 };
    let rounded = matches!(cell.cell, Cell::Lstm { rounded: true, .. });
    let extents = [
        ("own", own.max(rounds * 4 / lanes + 1)),
        ("step", steps),
        ("value", if rounded { rounds } else { 0 }),
        ("grid", if rounded { own } else { 0 }),
        ("owned", of_owned),
        ("own_gate", gates),
        ("settled", of_owned),
        ("gate", if owned { 0 } else { (gates * slices).div_ceil(lanes) }),
        ("quad", rounds / ROUNDS_AT_ONCE),
        ("term", rounds % ROUNDS_AT_ONCE),
        ("reset", after),
        ("candidate", after),
    ];
    let constants = vec![
        ("CELL", f64::from(code(cell.cell))),
        ("STEPS", steps as f64),
        ("HIDDEN_SLICES", slices as f64),
        ("ROUNDS", rounds as f64),
        ("GATE_FUNCTION", f64::from(functions[0].0)),
        ("CANDIDATE_FUNCTION", f64::from(functions[1].0)),
        ("CELL_FUNCTION", f64::from(functions[2].0)),
        ("ROUNDED", common::flag(rounded)),
        ("OWNED", common::flag(owned)),
        ("CLIPPED", common::flag(cell.clip.is_some())),
        ("CELL_CLIPPED", common::flag(cell.cell_clip.is_some())),
        ("INITIAL", common::flag(cell.initial)),
        ("LENGTHS", common::flag(cell.lengths)),
        ("SEQUENCE", common::flag(cell.sequence)),
        ("FINALS", common::flag(cell.finals)),
    ];
    let dispatch = common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents);
    let dispatch = dispatch.reading(x).reading_weights(step);
    Ok(vec![match state {
        Some(state) => dispatch.reading_second(state),
        None => dispatch,
    }])
}
