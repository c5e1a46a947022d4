//! Recurrent cells over whole sequences, with values that LiteRT 2.3 gives.

use std::sync::Arc;

use texpool_model::import::{IMAGES, ImportOptions, OutlineSource, Verdict};
use texpool_ops::ops::reference;

use super::{import, one::near};
use crate::support::tflite::{F32, Field, I8, Model, Options, Table};

const BATCHES: i32 = 2;
const STEPS: i32 = 3;
const INPUTS: i32 = 3;
const HIDDEN: i32 = 2;

/// Order of the axes, and the number of results of two directions.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) time_major: bool,
    pub(super) merged: bool,
}

/// An operator under construction.
struct Operator {
    model: Model,
    operands: Vec<i32>,
    /// True if matrices have 8 bits with a scale.
    quantised: bool,
}

impl Operator {
    fn new(form: Form) -> Self {
        let mut model = Model::new();
        let x = model.floats("x", &form.extents(INPUTS));
        Self { model, operands: vec![x], quantised: false }
    }

    /// Adds weights: whole numbers below `range / 2` in magnitude, divided by `by`.
    fn weights(&mut self, dims: &[i32], factor: i32, range: i32, by: f32) {
        let count: i32 = dims.iter().product();
        let values = (0..count).map(|i| i * factor % range - range / 2);
        if self.quantised && dims.len() == 2 {
            let weights = self.model.constant("w", dims, I8, values.map(|value| value as u8).collect());
            self.operands.push(self.model.scaled(weights, &[1.0 / by], &[0], 0));
            return;
        }
        let bytes = values.flat_map(|value| (value as f32 / by).to_le_bytes()).collect();
        self.operands.push(self.model.constant("w", dims, F32, bytes));
    }

    fn variable(&mut self) {
        let id = self.model.floats("state", &[BATCHES, HIDDEN]);
        self.model.tensors[id as usize].0.push((14, Field::Bool(true)));
        self.operands.push(id);
    }

    fn absent(&mut self, count: usize) {
        self.operands.extend(vec![-1; count]);
    }

    /// Weights, recurrent weights, biases and state of a plain cell.
    fn plain(&mut self, more: i32) {
        self.weights(&[HIDDEN, INPUTS], 7 + more, 23, 20.0);
        self.weights(&[HIDDEN, HIDDEN], 5 + more, 19, 15.0);
        self.weights(&[HIDDEN], 3 + more, 11, 20.0);
        self.variable();
    }

    /// Weights of the four gates, without those of the input gate if it is coupled.
    fn gates(&mut self, more: i32, coupled: bool, peepholes: bool) {
        let matrices: [(&[i32], [i32; 2], f32, i32); 4] = [
            (&[HIDDEN, INPUTS], [7, 23], 20.0, 4),
            (&[HIDDEN, HIDDEN], [5, 19], 15.0, 4),
            (&[HIDDEN], [3, 11], 20.0, 3),
            (&[HIDDEN], [2, 7], 10.0, 4),
        ];
        for (dims, [factor, range], by, count) in matrices {
            for gate in 0..count {
                match coupled && gate == 0 || count == 3 && !peepholes {
                    true => self.absent(1),
                    false => self.weights(dims, factor + more + gate, range, by),
                }
            }
        }
        self.absent(2);
    }

    /// Returns the file, with `results` tensors of results.
    fn file(mut self, code: i32, options: Table, tag: i8, form: Form, [directions, results]: [i32; 2]) -> Vec<u8> {
        let last = if results == 1 { directions * HIDDEN } else { HIDDEN };
        let results: Vec<i32> = (0..results).map(|_| self.model.floats("y", &form.extents(last))).collect();
        let options: Options = (tag, options);
        self.model.op_of_many(code, &self.operands, &results, Some(options));
        self.model.bytes(&[self.operands[0]], &results)
    }
}

impl Form {
    fn extents(self, last: i32) -> [i32; 3] {
        if self.time_major { [STEPS, BATCHES, last] } else { [BATCHES, STEPS, last] }
    }

    const fn results(self) -> i32 {
        if self.merged { 1 } else { 2 }
    }
}

fn run(file: Vec<u8>) -> Vec<f32> {
    let graph = import(file).unwrap();
    let x: Vec<f32> = (0..BATCHES * STEPS * INPUTS).map(|i| i as f32 / 8.0 - 1.0).collect();
    reference::outputs(&graph, &[x]).unwrap().concat()
}

pub(super) fn rnn(code: i32, form: Form) -> Vec<f32> {
    let mut op = Operator::new(form);
    op.plain(0);
    let options = Table(vec![(4, Field::Bool(form.time_major)), (6, Field::I8(4))]);
    run(op.file(code, options, 31, form, [1, 1]))
}

pub(super) fn rnn_both_ways(code: i32, form: Form) -> Vec<f32> {
    let mut op = Operator::new(form);
    op.plain(0);
    op.plain(4);
    op.absent(3);
    let options = [(4, Field::Bool(form.time_major)), (6, Field::I8(1)), (8, Field::Bool(form.merged))];
    run(op.file(code, Table(options.to_vec()), 70, form, [2, form.results()]))
}

/// Returns the file of an LSTM with a limit on its cell.
fn lstm_file(code: i32, form: Form, coupled: bool, peepholes: bool, clip: f32) -> Vec<u8> {
    let mut op = Operator::new(form);
    op.gates(0, coupled, peepholes);
    op.variable();
    op.variable();
    op.absent(4);
    let options = vec![(4, Field::I8(4)), (6, Field::F32(clip)), (10, Field::Bool(form.time_major))];
    op.file(code, Table(options), 71, form, [1, 1])
}

pub(super) fn lstm(code: i32, form: Form) -> Vec<f32> {
    run(lstm_file(code, form, false, false, 0.0))
}

pub(super) fn lstm_both_ways(code: i32, form: Form) -> Vec<f32> {
    let mut op = Operator::new(form);
    op.gates(0, false, false);
    op.gates(4, false, false);
    (0..4).for_each(|_| op.variable());
    op.absent(9);
    let options = [(4, Field::I8(4)), (10, Field::Bool(form.merged)), (12, Field::Bool(form.time_major))];
    run(op.file(code, Table(options.to_vec()), 69, form, [2, form.results()]))
}

pub(super) const BY_STEP: Form = Form { time_major: true, merged: false };
const BY_BATCH: Form = Form { time_major: false, merged: false };
pub(super) const MERGED: Form = Form { time_major: true, merged: true };

const UNIDIRECTIONAL_RNN: i32 = 35;
const BIDIRECTIONAL_RNN: i32 = 46;
const UNIDIRECTIONAL_LSTM: i32 = 44;
const BIDIRECTIONAL_LSTM: i32 = 52;

pub(super) const RNN_BY_STEP: &[f32] = &[
    0.347_414, -0.358_357, 0.136_64, -0.274_062, -0.197_747, -0.298_327, -0.310_773, -0.191_858, -0.326_851,
    -0.131_744, -0.481_453, -0.003_711,
];
pub(super) const RNN_MERGED: &[f32] = &[
    0.362_5, 0.0, 0.0, 0.0, 0.137_5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.029_167, 0.0, 0.0, 0.0, 0.151_667, 0.0, 0.0, 0.0,
    0.312_5, 0.0, 0.093_75, 0.0, 0.443_75,
];
pub(super) const LSTM_BY_STEP: &[f32] = &[
    0.021_13, -0.012_181, -0.009_291, 0.015_461, -0.024_725, 0.040_576, -0.050_134, 0.074_845, -0.063_283, 0.105_931,
    -0.073_267, 0.134_85,
];
pub(super) const LSTM_BOTH_WAYS: &[f32] = &[
    0.021_13, -0.012_181, -0.009_291, 0.015_461, -0.024_725, 0.040_576, -0.050_134, 0.074_845, -0.063_283, 0.105_931,
    -0.073_267, 0.134_85, 0.055_509, -0.124_603, -0.045_506, -0.064_615, -0.092_544, -0.037_36, -0.131_145, 0.021_409,
    -0.098_757, 0.018_192, -0.098_074, 0.057_547,
];

/// The cases of all operators have steps before batches.
#[test]
fn batches_may_come_before_steps() {
    let plain = [
        0.347_414, -0.358_357, 0.024_608, -0.381_174, -0.000_619, -0.325_985, -0.302_71, -0.093_476, -0.319_371,
        -0.057_508, -0.504_662, 0.049_415,
    ];
    near(&rnn(UNIDIRECTIONAL_RNN, BY_BATCH), &plain);
    let both = [
        0.362_5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.093_75, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.0,
        0.162_389, 0.0, 0.282_917, 0.0, 0.443_75,
    ];
    near(&rnn_both_ways(BIDIRECTIONAL_RNN, BY_BATCH), &both);
    let merged = [
        0.021_13, -0.012_181, 0.117_691, -0.166_863, -0.001_619, 0.012_051, 0.014_897, -0.113_322, -0.032_739,
        0.047_985, -0.036_125, -0.057_388, -0.046_908, 0.070_22, -0.136_574, 0.024_678, -0.071_114, 0.114_886,
        -0.134_819, 0.058_892, -0.080_405, 0.147_879, -0.098_074, 0.057_547,
    ];
    near(&lstm_both_ways(BIDIRECTIONAL_LSTM, Form { merged: true, ..BY_BATCH }), &merged);
}

#[test]
fn an_lstm_has_peepholes_a_coupled_gate_and_a_limit_on_its_cell() {
    let with_peepholes = [
        0.021_013, -0.012_181, -0.001_596, 0.012_059, -0.033_06, 0.047_941, -0.047_592, 0.070_22, -0.073_95, 0.114_183,
        -0.085_348, 0.146_055,
    ];
    near(&run(lstm_file(UNIDIRECTIONAL_LSTM, BY_BATCH, false, true, 0.0)), &with_peepholes);
    let coupled = [
        0.016_46, -0.012_272, -0.008_811, 0.015_736, -0.031_972, 0.041_555, -0.069_888, 0.076_963, -0.105_868,
        0.107_97, -0.142_552, 0.135_883,
    ];
    near(&run(lstm_file(UNIDIRECTIONAL_LSTM, BY_STEP, true, true, 0.0)), &coupled);
    let limited = [
        0.021_13, -0.012_181, -0.001_619, 0.012_051, -0.023_034, 0.027_574, -0.022_335, 0.026_461, -0.021_785,
        0.025_073, -0.021_094, 0.023_911,
    ];
    near(&run(lstm_file(UNIDIRECTIONAL_LSTM, BY_BATCH, false, false, 0.05)), &limited);
}

/// Weights of 8 bits beside inputs of floats are the reals that they represent.
#[test]
fn weights_of_8_bits_are_read_as_reals() {
    let mut op = Operator { quantised: true, ..Operator::new(BY_STEP) };
    op.gates(0, false, false);
    op.variable();
    op.variable();
    op.absent(4);
    let options = Table(vec![(4, Field::I8(4)), (10, Field::Bool(true))]);
    near(&run(op.file(UNIDIRECTIONAL_LSTM, options, 71, BY_STEP, [1, 1])), LSTM_BY_STEP);
}

/// A delegate would start from zeros in each run.
#[test]
fn a_runtime_keeps_operators_with_variables() {
    let file = lstm_file(UNIDIRECTIONAL_LSTM, BY_STEP, false, false, 0.0);
    let outline = OutlineSource::from_bytes(Arc::new(file), &ImportOptions::default()).outline(IMAGES[0]).unwrap();
    let Verdict::Refused(refusal) = &outline.graphs[0].nodes[0].verdict else { panic!("{outline:?}") };
    assert!(refusal.reason.contains("from run to run"), "{refusal:?}");
}

/// Projections are refused, and so is a state that is no variable.
#[test]
fn other_forms_of_cells_are_refused() {
    let refused = |change: fn(&mut Operator), expected: &str| {
        let mut op = Operator::new(BY_STEP);
        op.gates(0, false, false);
        op.variable();
        op.variable();
        op.absent(4);
        change(&mut op);
        let options = Table(vec![(4, Field::I8(4)), (10, Field::Bool(true))]);
        let error = import(op.file(UNIDIRECTIONAL_LSTM, options, 71, BY_STEP, [1, 1])).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(|op| op.operands[16] = op.operands[5], "it has a projection");
    refused(|op| op.operands[20] = op.operands[13], "it has layer normalisation");
    refused(|op| op.operands[19] = op.operands[0], "its state (operand 19) is no variable");
    refused(|op| op.operands[2] = op.operands[5], "are 4 numbers, not [2, 3]");
}
