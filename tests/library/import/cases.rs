//! A case for every TensorFlow Lite operator in the table of operators, each with a file of that operator.

use std::collections::{BTreeMap, BTreeSet};

use texpool_model::import::supported;
use texpool_ops::ops::reference;

use super::{
    boxes, branches, fourier, import, landmarks, loops,
    one::{BOOL, I, K, N, S, T, X, near, one, results},
    recurrent, variables,
};
use crate::support::tflite::{F16, F32, Field, I8, I32, Model, Options, Table, conv, flags, numbers};

/// A test of an operator, by its code, with the expected results in order.
type Case = (&'static str, fn(i32) -> Vec<f32>, &'static [f32]);

const SIX: &[f32] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const TWO: &[f32] = &[1.0, 2.0];
const EIGHT: [f32; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// Options of CONV_3D with strides along depth, width and height.
fn volumes(padding: i8, strides: [i32; 3]) -> Option<Options> {
    let strides = [6, 8, 10].into_iter().zip(strides).map(|(slot, stride)| (slot, Field::I32(stride)));
    Some((106, Table([(4, Field::I8(padding))].into_iter().chain(strides).collect())))
}

fn unary(code: i32) -> Vec<f32> {
    unary_with(code, None)
}

fn unary_with(code: i32, options: Option<Options>) -> Vec<f32> {
    one(code, &[X(&[4], &[-1.5, 0.5, 2.0, 2.5])], options, &[4])
}

fn of_positive(code: i32) -> Vec<f32> {
    one(code, &[X(&[4], &[0.25, 1.0, 4.0, 9.0])], None, &[4])
}

fn binary_with(code: i32, options: Option<Options>) -> Vec<f32> {
    one(code, &[X(&[2], &[-7.0, 7.0]), X(&[1], &[2.0])], options, &[2])
}

fn binary(code: i32) -> Vec<f32> {
    binary_with(code, None)
}

fn truth(code: i32) -> Vec<f32> {
    results(code, &[X(&[3], &SIX[1..4]), X(&[1], &[2.0])], None, &[(BOOL, &[3])]).unwrap().remove(0)
}

fn logic(code: i32) -> Vec<f32> {
    let (a, b) = (T(BOOL, &[3], &[1.0, 1.0, 0.0]), T(BOOL, &[3], &[1.0, 0.0, 0.0]));
    results(code, &[a, b], None, &[(BOOL, &[3])]).unwrap().remove(0)
}

fn reduce(code: i32) -> Vec<f32> {
    one(code, &[X(&[2, 3], SIX), N(&[1])], flags(27, &[0]), &[2])
}

fn reduce_truths(code: i32) -> Vec<f32> {
    let truths = T(BOOL, &[2, 2], &[1.0, 0.0, 1.0, 1.0]);
    results(code, &[truths, N(&[1])], flags(27, &[0]), &[(BOOL, &[2])]).unwrap().remove(0)
}

fn index_of(code: i32) -> Vec<f32> {
    results(code, &[X(&[2, 3], SIX), S(1)], None, &[(I32, &[2])]).unwrap().remove(0)
}

fn pool(code: i32) -> Vec<f32> {
    let strides_and_window = [6, 8, 10, 12].map(|slot| (slot, Field::I32(2)));
    let options = Table([vec![(4, Field::I8(1))], strides_and_window.to_vec()].concat());
    one(code, &[X(&[1, 2, 2, 1], &SIX[..4])], Some((5, options)), &[1, 1, 1, 1])
}

fn resize(code: i32, tag: i8) -> Vec<f32> {
    one(code, &[X(&[1, 1, 2, 1], TWO), N(&[1, 4])], flags(tag, &[]), &[1, 1, 4, 1])
}

fn select(code: i32) -> Vec<f32> {
    let condition = T(BOOL, &[2], &[0.0, 1.0]);
    one(code, &[condition, X(&[2], TWO), X(&[2], &SIX[4..])], None, &[2])
}

fn parts(code: i32, operands: &[super::one::Operand<'_>], options: Option<Options>) -> Vec<f32> {
    let dims: &[i32] = if options.as_ref().is_some_and(|(tag, _)| *tag == 64) { &[2] } else { &[2, 1] };
    results(code, operands, options, &[(F32, dims); 3]).unwrap().concat()
}

/// Runs a model with one input and returns its output.
fn computed(m: &Model, x: i32, y: i32, values: &[f32]) -> Vec<f32> {
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    reference::outputs(&graph, &[values.to_vec()]).unwrap().remove(0)
}

fn through_8_bits(_: i32) -> Vec<f32> {
    let mut m = Model::new();
    let (x, q, y) = (m.floats("x", &[2]), m.tensor("q", &[2], I8), m.floats("y", &[2]));
    m.scaled(q, &[0.5], &[0], 0);
    m.op(114, &[x], q, None);
    m.op(6, &[q], y, None);
    computed(&m, x, y, TWO)
}

/// Passes a constant through the operator and adds the result to the input.
fn constant_through(code: i32, dtype: i8, bytes: Vec<u8>) -> Vec<f32> {
    let mut m = Model::new();
    let (x, y, constant_input) = (m.floats("x", &[2]), m.floats("y", &[2]), m.constant("given", &[2], dtype, bytes));
    let constant = m.floats("constant", &[2]);
    m.op(code, &[constant_input], constant, None);
    m.op(0, &[x, constant], y, flags(11, &[0]));
    computed(&m, x, y, TWO)
}

fn transpose_bias(_: i32) -> Vec<f32> {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 1, 1, 1]);
    let (w, b, y) = (m.weights("w", &[1, 1, 2, 1]), m.weights("b", &[1]), m.floats("y", &[1, 1, 2, 1]));
    let options = [2i32, 2, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
    m.custom("Convolution2DTransposeBias", &[x, w, b], y, options);
    computed(&m, x, y, &[3.0])
}

const CASES: &[Case] = &[
    (
        "CUSTOM TFLite_Detection_PostProcess",
        |_| boxes::detected(&boxes::options(&[]), [&[1, 3, 4], &[1, 3], &[1, 3], &[1]]).unwrap(),
        &[0.0, 0.0, 2.0, 1.9, 5.0, 5.0, 7.0, 7.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.75, 0.25, 0.0, 2.0],
    ),
    ("CUSTOM Landmarks2TransformMatrix", |_| landmarks::plain_matrix(), landmarks::PLAIN),
    ("CUSTOM TransformLandmarks", |_| landmarks::moved(2), &[-2.5, 5.0, 0.5, -3.5]),
    (
        "CUSTOM TransformTensorBilinear",
        |_| landmarks::picture(landmarks::with_rows([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]), [3, 2]),
        &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0],
    ),
    ("ABS", unary, &[1.5, 0.5, 2.0, 2.5]),
    ("ADD", |c| binary_with(c, flags(11, &[0])), &[-5.0, 9.0]),
    ("ADD_N", |c| one(c, &[X(&[2], TWO), X(&[2], &SIX[3..5]), K(&[2], TWO)], None, &[2]), &[5.0, 8.0]),
    ("ARG_MAX", index_of, &[2.0, 2.0]),
    ("ARG_MIN", index_of, &[0.0, 0.0]),
    ("AVERAGE_POOL_2D", pool, &[1.5]),
    ("BATCH_MATMUL", |c| one(c, &[X(&[1, 2], TWO), X(&[2, 1], TWO)], flags(101, &[0, 0]), &[1, 1]), &[5.0]),
    ("BIDIRECTIONAL_SEQUENCE_LSTM", |c| recurrent::lstm_both_ways(c, recurrent::BY_STEP), recurrent::LSTM_BOTH_WAYS),
    ("BIDIRECTIONAL_SEQUENCE_RNN", |c| recurrent::rnn_both_ways(c, recurrent::MERGED), recurrent::RNN_MERGED),
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", |c| recurrent::lstm(c, recurrent::BY_STEP), recurrent::LSTM_BY_STEP),
    ("UNIDIRECTIONAL_SEQUENCE_RNN", |c| recurrent::rnn(c, recurrent::BY_STEP), recurrent::RNN_BY_STEP),
    ("BATCH_TO_SPACE_ND", |c| one(c, &[X(&[2, 1, 1], TWO), N(&[2]), N(&[0, 0])], None, &[1, 2, 1]), TWO),
    ("BROADCAST_TO", |c| one(c, &[X(&[2], TWO), N(&[2, 2])], None, &[2, 2]), &[1.0, 2.0, 1.0, 2.0]),
    ("CAST", |c| results(c, &[X(&[2], &[-1.5, 2.5])], None, &[(I32, &[2])]).unwrap().remove(0), &[-1.0, 2.0]),
    ("CEIL", unary, &[-1.0, 1.0, 2.0, 3.0]),
    ("COMPLEX_ABS", fourier::of_four, &[15.0, 6.708_204, 5.0]),
    ("CONCATENATION", |c| one(c, &[X(&[1], &[3.0]), X(&[2], TWO)], numbers(10, &[0]), &[3]), &[3.0, 1.0, 2.0]),
    ("CONV_2D", |c| one(c, &[X(&[1, 1, 1, 2], TWO), K(&[1, 1, 1, 2], &SIX[3..5])], conv(1, 1, 1, 0), &[1; 4]), &[11.0]),
    ("COS", unary, &[0.070_737, 0.877_583, -0.416_147, -0.801_144]),
    ("CUMSUM", |c| one(c, &[X(&[3], &SIX[1..4]), S(0)], flags(102, &[0, 0]), &[3]), &[1.0, 3.0, 6.0]),
    ("CUSTOM Convolution2DTransposeBias", transpose_bias, &[2.0, 3.5]),
    ("DENSIFY", |c| constant_through(c, F32, [0, 0, 64, 64, 0, 0, 128, 64].to_vec()), &[4.0, 6.0]),
    (
        "CONV_3D",
        |c| {
            // A window of two planes and two columns, of two channels each, in steps of one.
            let operands = [X(&[1, 3, 1, 2, 1], SIX), K(&[2, 1, 2, 1, 2], &EIGHT), K(&[2], TWO)];
            one(c, &operands, volumes(1, [1; 3]), &[1, 2, 1, 1, 2])
        },
        &[35.0, 42.0, 67.0, 82.0],
    ),
    (
        "CONV_3D_TRANSPOSE",
        |c| {
            let operands = [N(&[1, 4, 1, 2, 1]), K(&[2, 1, 1, 1, 2], &SIX[1..5]), X(&[1, 2, 1, 2, 2], &EIGHT)];
            one(c, &operands, volumes(1, [2, 1, 1]), &[1, 4, 1, 2, 1])
        },
        &[5.0, 11.0, 11.0, 25.0, 17.0, 23.0, 39.0, 53.0],
    ),
    (
        "DEPTHWISE_CONV_2D",
        |c| {
            let options =
                Table([vec![(4, Field::I8(1))], [6, 8, 10].map(|slot| (slot, Field::I32(1))).to_vec()].concat());
            one(c, &[X(&[1, 1, 1, 2], TWO), K(&[1, 1, 1, 2], &SIX[3..5])], Some((2, options)), &[1, 1, 1, 2])
        },
        &[3.0, 8.0],
    ),
    (
        "DEPTH_TO_SPACE",
        |c| one(c, &[X(&[1, 1, 1, 4], &SIX[..4])], numbers(94, &[2]), &[1, 2, 2, 1]),
        &[0.0, 1.0, 2.0, 3.0],
    ),
    ("DEQUANTIZE", |c| constant_through(c, F16, vec![0, 66, 0, 68]), &[4.0, 6.0]),
    ("DIV", |c| binary_with(c, flags(29, &[0])), &[-3.5, 3.5]),
    ("ELU", unary, &[-0.776_87, 0.5, 2.0, 2.5]),
    ("EMBEDDING_LOOKUP", |c| one(c, &[N(&[2, 0]), X(&[3, 2], SIX)], None, &[2, 2]), &[4.0, 5.0, 0.0, 1.0]),
    ("EQUAL", truth, &[0.0, 1.0, 0.0]),
    ("EXP", unary, &[0.223_13, 1.648_721, 7.389_056, 12.182_494]),
    ("EXPAND_DIMS", |c| one(c, &[X(&[2], TWO), S(0)], None, &[1, 2]), TWO),
    ("FILL", |c| one(c, &[N(&[2, 1]), X(&[], &[3.0])], None, &[2, 1]), &[3.0, 3.0]),
    ("FLOOR", unary, &[-2.0, 0.0, 2.0, 2.0]),
    ("FLOOR_DIV", binary, &[-4.0, 3.0]),
    ("FLOOR_MOD", binary, &[1.0, 1.0]),
    ("FULLY_CONNECTED", |c| one(c, &[X(&[1, 2], TWO), K(&[1, 2], &SIX[3..5])], flags(8, &[0, 0]), &[1, 1]), &[11.0]),
    ("GATHER_ND", |c| one(c, &[X(&[2, 3], SIX), I(&[2, 2], &[1, 2, 0, 1])], None, &[2]), &[5.0, 1.0]),
    ("MATRIX_DIAG", |c| one(c, &[X(&[2], TWO)], None, &[2, 2]), &[1.0, 0.0, 0.0, 2.0]),
    (
        "ONE_HOT",
        |c| one(c, &[T(I32, &[2], TWO), S(3), K(&[], &[5.0]), K(&[], &[2.0])], numbers(61, &[-1]), &[2, 3]),
        &[2.0, 5.0, 2.0, 2.0, 2.0, 5.0],
    ),
    ("SCATTER_ND", |c| one(c, &[I(&[3, 1], &[2, 0, 2]), X(&[3], &SIX[1..4]), N(&[3])], None, &[3]), &[2.0, 0.0, 4.0]),
    ("SEGMENT_SUM", |c| one(c, &[X(&[3, 2], SIX), N(&[0, 0, 2])], None, &[3, 2]), &[2.0, 4.0, 0.0, 0.0, 4.0, 5.0]),
    ("UNSORTED_SEGMENT_PROD", |c| one(c, &[X(&[3], &SIX[2..5]), N(&[2, 0, 2]), S(3)], None, &[3]), &[3.0, 1.0, 8.0]),
    ("UNSORTED_SEGMENT_SUM", |c| one(c, &[X(&[3], &SIX[2..5]), N(&[2, 0, 2]), S(3)], None, &[3]), &[3.0, 0.0, 6.0]),
    ("GATHER", |c| one(c, &[X(&[3], &SIX[..3]), N(&[2, 1])], numbers(23, &[0, 0]), &[2]), &[2.0, 1.0]),
    ("GELU", |c| unary_with(c, flags(116, &[0])), &[-0.100_211, 0.345_731, 1.954_5, 2.484_476]),
    ("GREATER", truth, &[0.0, 0.0, 1.0]),
    ("GREATER_EQUAL", truth, &[0.0, 1.0, 1.0]),
    ("HARD_SWISH", unary, &[-0.375, 0.291_667, 1.666_667, 2.291_667]),
    ("IMAG", fourier::of_four, &[0.0, 6.0, 0.0]),
    ("L2_NORMALIZATION", |c| one(c, &[X(&[1, 2], &SIX[3..5])], flags(12, &[0]), &[1, 2]), &[0.6, 0.8]),
    ("LEAKY_RELU", |c| unary_with(c, Some((75, Table(vec![(4, Field::F32(0.5))])))), &[-0.75, 0.5, 2.0, 2.5]),
    ("LESS", truth, &[1.0, 0.0, 0.0]),
    ("LESS_EQUAL", truth, &[1.0, 1.0, 0.0]),
    (
        "LOCAL_RESPONSE_NORMALIZATION",
        |c| {
            let floats = [8, 10].map(|slot| (slot, Field::F32(1.0)));
            let options = Table([vec![(4, Field::I32(0)), (6, Field::F32(0.0))], floats.to_vec()].concat());
            one(c, &[X(&[1, 1, 1, 2], TWO)], Some((13, options)), &[1, 1, 1, 2])
        },
        &[1.0, 0.5],
    ),
    ("LOG", of_positive, &[-1.386_294, 0.0, 1.386_294, 2.197_225]),
    ("LOGICAL_AND", logic, &[1.0, 0.0, 0.0]),
    (
        "LOGICAL_NOT",
        |c| results(c, &[T(BOOL, &[2], &[1.0, 0.0])], None, &[(BOOL, &[2])]).unwrap().remove(0),
        &[0.0, 1.0],
    ),
    ("LOGICAL_OR", logic, &[1.0, 1.0, 0.0]),
    ("LOGISTIC", unary, &[0.182_426, 0.622_459, 0.880_797, 0.924_142]),
    ("LOG_SOFTMAX", |c| one(c, &[X(&[1, 2], TWO)], None, &[1, 2]), &[-1.313_262, -0.313_262]),
    ("MAXIMUM", binary, &[2.0, 7.0]),
    ("MAX_POOL_2D", pool, &[3.0]),
    ("MEAN", reduce, &[1.0, 4.0]),
    ("MINIMUM", binary, &[-7.0, 2.0]),
    ("MIRROR_PAD", |c| one(c, &[X(&[2], TWO), N(&[1, 1])], flags(77, &[0]), &[4]), &[2.0, 1.0, 2.0, 1.0]),
    ("MUL", |c| binary_with(c, flags(21, &[0])), &[-14.0, 14.0]),
    ("NEG", unary, &[1.5, -0.5, -2.0, -2.5]),
    ("NOT_EQUAL", truth, &[1.0, 0.0, 1.0]),
    ("PACK", |c| one(c, &[X(&[2], TWO), X(&[2], &SIX[..2])], numbers(59, &[2, 1]), &[2, 2]), &[1.0, 0.0, 2.0, 1.0]),
    ("PAD", |c| one(c, &[X(&[2], TWO), N(&[1, 0])], None, &[3]), &[0.0, 1.0, 2.0]),
    ("PADV2", |c| one(c, &[X(&[2], TWO), N(&[1, 0]), K(&[1], &[9.0])], None, &[3]), &[9.0, 1.0, 2.0]),
    ("POW", binary, &[49.0, 49.0]),
    ("PRELU", |c| one(c, &[X(&[1, 2], &[-1.0, -2.0]), K(&[2], &SIX[3..5])], None, &[1, 2]), &[-3.0, -8.0]),
    ("QUANTIZE", through_8_bits, TWO),
    ("RANGE", |c| results(c, &[S(1), S(6), S(2)], None, &[(I32, &[3])]).unwrap().remove(0), &[1.0, 3.0, 5.0]),
    ("RANK", |c| results(c, &[X(&[2, 3], SIX)], None, &[(I32, &[])]).unwrap().remove(0), &[2.0]),
    ("REAL", fourier::of_four, &[15.0, -3.0, -5.0]),
    ("REDUCE_ALL", reduce_truths, &[0.0, 1.0]),
    ("REDUCE_ANY", reduce_truths, &[1.0, 1.0]),
    ("REDUCE_MAX", reduce, &[2.0, 5.0]),
    ("REDUCE_MIN", reduce, &[0.0, 3.0]),
    ("REDUCE_PROD", reduce, &[0.0, 60.0]),
    ("RELU", unary, &[0.0, 0.5, 2.0, 2.5]),
    ("RELU6", |c| one(c, &[X(&[2], &[-1.0, 7.0])], None, &[2]), &[0.0, 6.0]),
    ("RELU_0_TO_1", unary, &[0.0, 0.5, 1.0, 1.0]),
    ("RELU_N1_TO_1", unary, &[-1.0, 0.5, 1.0, 1.0]),
    ("RESHAPE", |c| one(c, &[X(&[2], TWO), N(&[2, 1])], None, &[2, 1]), TWO),
    ("RESIZE_BILINEAR", |c| resize(c, 15), &[1.0, 1.5, 2.0, 2.0]),
    ("RESIZE_NEAREST_NEIGHBOR", |c| resize(c, 74), &[1.0, 1.0, 2.0, 2.0]),
    ("REVERSE_V2", |c| one(c, &[X(&[3], &SIX[..3]), N(&[0])], None, &[3]), &[2.0, 1.0, 0.0]),
    ("RFFT2D", |_| fourier::of_four(135), &[15.0, 6.708_204, 5.0]),
    ("ROUND", unary, &[-2.0, 0.0, 2.0, 2.0]),
    ("RSQRT", of_positive, &[2.0, 1.0, 0.5, 0.333_333]),
    ("SELECT", select, &[4.0, 2.0]),
    ("SELECT_V2", select, &[4.0, 2.0]),
    ("SIGN", unary, &[-1.0, 1.0, 1.0, 1.0]),
    ("SIN", unary, &[-0.997_495, 0.479_426, 0.909_297, 0.598_472]),
    ("SHAPE", |c| results(c, &[X(&[2, 3], SIX)], None, &[(I32, &[2])]).unwrap().remove(0), &[2.0, 3.0]),
    ("IF", |_| branches::two_runs(), &[9.0, 25.0, 6.0, -10.0]),
    ("WHILE", |_| loops::two_runs(), &[27.0, 3.0, 10.0, 2.0, 0.0, 1.0]),
    ("SLICE", |c| one(c, &[X(&[2, 3], SIX), N(&[1, 1]), N(&[1, 2])], None, &[1, 2]), &[4.0, 5.0]),
    (
        "SOFTMAX",
        |c| one(c, &[X(&[1, 2], TWO)], Some((9, Table(vec![(4, Field::F32(1.0))]))), &[1, 2]),
        &[0.268_941, 0.731_059],
    ),
    ("SPACE_TO_BATCH_ND", |c| one(c, &[X(&[1, 2, 1], TWO), N(&[2]), N(&[0, 0])], None, &[2, 1, 1]), TWO),
    (
        "SPACE_TO_DEPTH",
        |c| one(c, &[X(&[1, 2, 2, 1], &SIX[..4])], numbers(19, &[2]), &[1, 1, 1, 4]),
        &[0.0, 1.0, 2.0, 3.0],
    ),
    ("SPLIT", |c| parts(c, &[S(1), X(&[2, 3], SIX)], numbers(35, &[3])), &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
    (
        "SPLIT_V",
        |c| parts(c, &[X(&[2, 3], SIX), N(&[1, 1, 1]), S(1)], numbers(79, &[3])),
        &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0],
    ),
    ("SQRT", of_positive, &[0.5, 1.0, 2.0, 3.0]),
    ("SQUARE", unary, &[2.25, 0.25, 4.0, 6.25]),
    ("SQUARED_DIFFERENCE", binary, &[81.0, 25.0]),
    ("SQUEEZE", |c| one(c, &[X(&[1, 2], TWO)], Some((30, Table(vec![(4, Field::Ints(vec![0]))]))), &[2]), TWO),
    (
        "STRIDED_SLICE",
        |c| one(c, &[X(&[6], SIX), N(&[1]), N(&[6]), N(&[2])], numbers(32, &[0; 5]), &[3]),
        &[1.0, 3.0, 5.0],
    ),
    ("SUB", |c| binary_with(c, flags(28, &[0])), &[-9.0, 5.0]),
    ("SUM", reduce, &[3.0, 12.0]),
    ("TANH", unary, &[-0.905_148, 0.462_117, 0.964_028, 0.986_614]),
    ("TILE", |c| one(c, &[X(&[2], TWO), N(&[2])], None, &[4]), &[1.0, 2.0, 1.0, 2.0]),
    (
        "TOPK_V2",
        |c| results(c, &[X(&[3], &SIX[..3]), S(2)], None, &[(F32, &[2]), (I32, &[2])]).unwrap().concat(),
        &[2.0, 1.0, 2.0, 1.0],
    ),
    ("NON_MAX_SUPPRESSION_V4", |c| boxes::suppressed(c, 2), &[1.0, 2.0, 2.0]),
    ("NON_MAX_SUPPRESSION_V5", |c| boxes::suppressed(c, 3), &[1.0, 2.0, 0.0, 0.75, 0.25, 0.0, 2.0]),
    ("TRANSPOSE", |c| one(c, &[X(&[2, 2], &SIX[..4]), N(&[1, 0])], None, &[2, 2]), &[0.0, 2.0, 1.0, 3.0]),
    (
        "TRANSPOSE_CONV",
        |c| {
            let strides = [6, 8].map(|slot| (slot, Field::I32(2)));
            let options = Table([vec![(4, Field::I8(1))], strides.to_vec()].concat());
            let operands = [N(&[1, 1, 2, 1]), K(&[1, 1, 2, 1], TWO), X(&[1; 4], &[3.0])];
            one(c, &operands, Some((49, options)), &[1, 1, 2, 1])
        },
        &[3.0, 6.0],
    ),
    ("UNPACK", |c| parts(c, &[X(&[2, 3], SIX)], numbers(64, &[3, 1])), &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
    ("ZEROS_LIKE", |c| one(c, &[X(&[2, 3], SIX)], None, &[2, 3]), &[0.0; 6]),
];

/// The operators of variables, which make sense together only.
const OF_VARIABLES: [&str; 4] = ["ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"];

#[test]
fn every_operator_has_a_case() {
    let operators: BTreeMap<&str, i32> = supported().into_iter().flat_map(|operator| operator.tflite).collect();
    let cases: BTreeSet<&str> = CASES.iter().map(|(name, ..)| *name).chain(OF_VARIABLES).collect();
    assert_eq!(cases.len(), CASES.len() + OF_VARIABLES.len(), "one case an operator");
    near(&variables::two_runs(), &[11.0, 22.0, 14.0, 26.0]);
    let without: Vec<&&str> = operators.keys().filter(|&name| !cases.contains(name)).collect();
    assert!(without.is_empty(), "operators without a case: {without:?}");
    for (name, run, expected) in CASES {
        let code = *operators.get(name).unwrap_or_else(|| panic!("{name} is not in the table of operators"));
        println!("{name}");
        near(&run(code), expected);
    }
}
