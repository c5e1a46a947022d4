//! Recurrent cells of every kind, with states, lengths, limits and functions.

use texpool_ops::graph::{Cell, CellFunction, Op, Recurrent, Unary};

use super::{Source, case, constant, harness::Harness, placed};

const CELLS: [Cell; 6] = [
    Cell::Plain,
    Cell::Gru { reset_after: false },
    Cell::Gru { reset_after: true },
    Cell::Lstm { coupled: false, rounded: false },
    Cell::Lstm { coupled: true, rounded: false },
    Cell::Lstm { coupled: false, rounded: true },
];

/// A cell in both directions that gives the values of all steps and the final ones.
pub(super) fn plain(cell: Cell) -> Recurrent {
    let [gate, line] = [Unary::Logistic, Unary::Tanh].map(CellFunction::plain);
    Recurrent {
        cell,
        reverse: [false, true],
        functions: [gate, line, line],
        clip: None,
        cell_clip: None,
        initial: false,
        lengths: false,
        sequence: true,
        finals: true,
    }
}

/// Weights of a cell, small enough that rounding errors do not grow from step to step.
pub(super) fn weights(directions: usize, hidden: usize, gates: usize) -> Source {
    let mut weights = constant([1, directions, 2 + Recurrent::terms(hidden), gates]);
    if let Source::Constant(_, values) = &mut weights {
        values.iter_mut().for_each(|value| *value /= (hidden as f32).sqrt());
    }
    weights
}

/// Checks a cell over `[batches, directions, steps, hidden]`.
fn check(harness: &mut Harness, op: Recurrent, [b, d, steps, hidden]: [usize; 4]) {
    let gates = op.cell.gates() * Recurrent::padded(hidden);
    let mut operands = vec![placed([b, d, steps, gates]), weights(d, hidden, gates)];
    let states = op.cell.states();
    let rows = if op.initial { states } else { 0 } + usize::from(op.lengths);
    if rows > 0 {
        operands.push(placed([b, d, rows, hidden]));
    }
    let w = if op.sequence { steps } else { 0 } + if op.finals { states } else { 0 };
    case(harness, Op::Recurrent(op), &operands, [b, d, w, hidden]);
}

/// Hidden values that fill no slice, one slice, and more slices than a workgroup has lanes.
#[test]
fn cells_of_any_size() {
    let mut harness = Harness::new();
    for cell in CELLS {
        for dims in [[2, 2, 3, 5], [1, 1, 1, 1], [3, 1, 4, 16], [1, 2, 2, 67], [1, 1, 2, 270]] {
            check(&mut harness, plain(cell), dims);
        }
    }
}

/// Hidden values whose gates do not fit in the memory of a workgroup, so that a lane computes whole slices.
#[test]
fn cells_that_are_too_large_for_their_gates() {
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 8.0).round() / 8.0);
    for (cell, hidden, states) in [
        (Cell::Gru { reset_after: true }, 1028, false),
        (Cell::Lstm { coupled: false, rounded: false }, 675, true),
        (Cell::Lstm { coupled: false, rounded: true }, 676, false),
    ] {
        let op = Recurrent { initial: states, lengths: states, cell_clip: states.then_some(0.5), ..plain(cell) };
        check(&mut harness, op, [1, 1, 2, hidden]);
    }
}

/// States before the first step, numbers of steps beyond and below the extent, and parts of the result.
#[test]
fn cells_with_states_and_lengths() {
    let mut harness = Harness::new();
    for cell in CELLS {
        // Every pair of operands with every pair of results would take twice as many pipelines, most of this test's time.
        for (initial, lengths, sequence, finals) in
            [(true, false, true, false), (false, true, false, true), (true, true, true, true)]
        {
            // The numbers of steps are between -8 and 8.
            harness.inputs(if lengths { |x| (x * 8.0).round() } else { |x| x });
            let op = Recurrent { initial, lengths, sequence, finals, ..plain(cell) };
            check(&mut harness, op, [3, 2, 5, 6]);
        }
    }
}

/// Limits of arguments, and functions with factors.
#[test]
fn cells_with_limits_and_other_functions() {
    let mut harness = Harness::new();
    harness.inputs(|x| x * 3.0);
    let scaled = CellFunction { inner: 0.5, scale: 1.5, ..CellFunction::plain(Unary::Tanh) };
    let affine = CellFunction { function: None, inner: 1.0, scale: 0.25, offset: 0.125 };
    let hard = CellFunction::plain(Unary::HardSigmoid { alpha: 0.2, beta: 0.5 });
    for cell in CELLS {
        for (functions, clip) in [([hard, scaled, affine], None), ([hard, affine, scaled], Some(0.75))] {
            let cell_clip = clip.map(|clip| clip / 4.0);
            check(&mut harness, Recurrent { clip, cell_clip, functions, ..plain(cell) }, [2, 2, 3, 6]);
        }
    }
}

/// NaN reaches the steps after it in its own batch and direction, and no other.
#[test]
fn no_number_stays_in_its_sequence() {
    let mut harness = Harness::new();
    harness.inputs(|x| if (x * 8192.0) as i32 % 151 == 0 { f32::NAN } else { x });
    for cell in CELLS {
        check(&mut harness, Recurrent { clip: Some(2.0), initial: true, ..plain(cell) }, [4, 2, 3, 5]);
    }
}
