//! Constants: 16-bit floats, sparse values, and values stored after the tables.

use std::sync::Arc;

use texpool_model::import::{Array, FakeQuant, ImportError, ImportOptions, from_bytes_with};
use texpool_ops::{graph::ElementType, ops::reference};

use super::import;
use crate::support::{
    graphs::n,
    tflite::{F16, F32, Field, I8, I32, I64, Model, Options, Table, U8, conv, file, flags},
};

#[test]
fn dequantized_halves_stay_halves() {
    let mut m = Model::new();
    let half = m.constant("half", &[3], F16, vec![0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38]);
    let (x, w, y) = (m.floats("x", &[3]), m.floats("w", &[3]), m.floats("y", &[3]));
    m.op(6, &[half], w, None);
    m.op(0, &[x, w], y, flags(11, &[0]));
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    let constant = graph.tensors[graph.nodes[n(0)].inputs[1]].constant.as_ref().unwrap();
    assert_eq!(constant.dtype, ElementType::F16);
    assert_eq!(*constant.to_f32(), [1.0, -2.0, 0.5]);
}

/// One level: its extent if dense, else its segments and indices.
enum Level<'a> {
    Dense(i32),
    Csr(&'a [i32], &'a [i32]),
}

/// The union of index vectors: tag 1 is 32 bits, 2 is 16, 3 is 8.
fn indices(tag: i8, values: &[i32]) -> Field {
    let values = match tag {
        1 => Field::Ints(values.to_vec()),
        2 => Field::Shorts(values.iter().map(|&v| v as u16).collect()),
        _ => Field::Bytes(values.iter().map(|&v| v as u8).collect()),
    };
    Field::Table(Table(vec![(4, values)]))
}

/// Imports a sparse constant through DENSIFY, and returns its dense values.
fn dense(
    dims: &[i32],
    order: &[i32],
    blocks: &[i32],
    levels: &[Level<'_>],
    values: &[f32],
    tag: i8,
) -> Result<Vec<f32>, ImportError> {
    let mut m = Model::new();
    let sparse = m.constant("sparse", dims, F32, values.iter().flat_map(|v| v.to_le_bytes()).collect());
    let levels = levels.iter().map(|level| {
        Table(match level {
            Level::Dense(extent) => vec![(4, Field::I8(0)), (6, Field::I32(*extent))],
            Level::Csr(segments, listed) => vec![
                (4, Field::I8(1)),
                (8, Field::I8(tag)),
                (10, indices(tag, segments)),
                (12, Field::I8(tag)),
                (14, indices(tag, listed)),
            ],
        })
    });
    let sparsity =
        vec![(4, Field::Ints(order.to_vec())), (6, Field::Ints(blocks.to_vec())), (8, Field::Tables(levels.collect()))];
    m.tensors[sparse as usize].0.push((16, Field::Table(Table(sparsity))));
    let (x, w, y) = (m.floats("x", dims), m.floats("w", dims), m.floats("y", dims));
    m.op(124, &[sparse], w, None);
    m.op(0, &[x, w], y, flags(11, &[0]));
    let graph = import(m.bytes(&[x], &[y]))?;
    Ok(graph.tensors[graph.nodes[n(0)].inputs[1]]
        .constant
        .as_ref()
        .map(|c| c.to_f32().into_owned())
        .unwrap_or_default())
}

// The examples of Android NNAPI's DENSIFY specification (`densify_4`, `densify_5` and `densify_2`).
#[test]
fn sparse_values_unfold_as_published() {
    use Level::{Csr, Dense};
    for tag in [1, 2, 3] {
        let levels = [Csr(&[0, 2], &[0, 2]), Dense(2), Csr(&[0, 1, 3, 4, 5], &[0, 0, 1, 0, 1])];
        let values = dense(&[3, 2, 2], &[0, 1, 2], &[], &levels, &[6.0, 9.0, 8.0, 5.0, 7.0], tag).unwrap();
        assert_eq!(values, [6.0, 0.0, 9.0, 8.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 7.0]);

        let levels = [
            Csr(&[0, 2], &[0, 2]),
            Csr(&[0, 2, 5], &[0, 2, 0, 2, 3]),
            Csr(&[0, 2, 3, 4, 6, 8], &[0, 1, 1, 1, 0, 1, 0, 1]),
        ];
        let values =
            dense(&[3, 2, 4], &[0, 2, 1], &[], &levels, &[1.0, 7.0, 5.0, 2.0, 4.0, 8.0, 3.0, 9.0], tag).unwrap();
        let expected = [
            1.0, 0.0, 0.0, 0.0, 7.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 3.0, 2.0,
            0.0, 8.0, 9.0,
        ];
        assert_eq!(values, expected);
    }
    let levels = [Dense(2), Dense(2), Dense(2), Dense(2)];
    let stored = [1.0, 0.0, 0.0, 4.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 6.0];
    let values = dense(&[4, 4], &[0, 1, 2, 3], &[0, 1], &levels, &stored, 1).unwrap();
    assert_eq!(values, [1.0, 0.0, 2.0, 3.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 6.0]);
}

// Blocks of 1 by 2 under compressed columns, as in sparse weights of real models. The published example lacks this
// format.
#[test]
fn sparse_blocks_under_a_compressed_level() {
    let levels = [Level::Dense(3), Level::Csr(&[0, 1, 1, 3], &[1, 0, 1]), Level::Dense(2)];
    let values = dense(&[3, 4], &[0, 1, 2], &[1], &levels, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3).unwrap();
    assert_eq!(values, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn sparse_values_that_make_no_sense_are_refused() {
    use Level::{Csr, Dense};
    type Case<'a> = (&'a [i32], &'a [i32], &'a [i32], &'a [Level<'a>], usize);
    let cases: [Case<'_>; 13] = [
        (&[2, 2], &[0], &[], &[Dense(2)], 2),
        (&[2, 2], &[0, 0], &[], &[Dense(2), Dense(2)], 4),
        (&[2, 2], &[0, 5], &[], &[Dense(2), Dense(2)], 4),
        (&[2, 2], &[0, -1], &[], &[Dense(2), Dense(2)], 4),
        (&[2, 2], &[0, 1], &[], &[Dense(2), Dense(2)], 3),
        (&[2, 2], &[0, 1], &[], &[Dense(2), Csr(&[0, 1, 3], &[0, 1])], 2),
        (&[2, 2], &[0, 1], &[], &[Dense(2), Csr(&[0, 2, 1], &[0])], 1),
        (&[2, 2], &[0, 1], &[], &[Dense(2), Csr(&[0, 1, 2], &[0, 2])], 2),
        (&[2, 2], &[0, 1], &[], &[Dense(2), Csr(&[0, 2], &[0, 1])], 2),
        (&[2, 2], &[0, 1], &[], &[Dense(2), Csr(&[], &[])], 0),
        (&[4, 4], &[0, 1, 2], &[1], &[Dense(4), Dense(2), Dense(3)], 16),
        (&[4, 4], &[0, 1, 2], &[7], &[Dense(4), Dense(2), Dense(2)], 16),
        (&[4, 4], &[0, 1, 2, 3], &[1, 1], &[Dense(4), Dense(1), Dense(2), Dense(2)], 16),
    ];
    for (i, (dims, order, blocks, levels, stored)) in cases.into_iter().enumerate() {
        let result = dense(dims, order, blocks, levels, &vec![1.0; stored], 1);
        assert!(matches!(result, Err(ImportError::Unsupported(_))), "case {i}: {result:?}");
    }
}

#[test]
fn a_sparse_bomb_is_refused_before_it_unfolds() {
    let levels = [Level::Csr(&[0, 1], &[0]), Level::Csr(&[0, 1], &[0])];
    let error = dense(&[32768, 32768], &[0, 1], &[], &levels, &[1.0], 1).unwrap_err().to_string();
    assert!(error.contains("unfold to 4294967296 bytes: too large"), "{error}");
}

/// Buffers of models above 2 GiB, which lie outside the flatbuffer.
#[test]
fn values_behind_the_tables() {
    let mut m = Model::new();
    let (x, w, y) = (m.floats("x", &[2]), m.constant("w", &[2], F32, Vec::new()), m.floats("y", &[2]));
    m.op(0, &[x, w], y, flags(11, &[0]));
    let with = |m: &mut Model, offset: u64, size: u64| {
        m.buffers[1] = Table(vec![(6, Field::U64(offset)), (8, Field::U64(size))]);
        let mut bytes = file(&m.root(&[x], &[y]));
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes
    };
    let start = with(&mut m, 1 << 40, 8).len() as u64;
    let mut bytes = with(&mut m, start, 8);
    bytes.extend([1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()));
    let graph = import(bytes.clone()).unwrap();
    let constant = graph.tensors[graph.nodes[n(0)].inputs[1]].constant.as_ref().unwrap();
    assert_eq!(*constant.to_f32(), [1.5, -2.0]);

    bytes.pop();
    assert!(matches!(import(bytes), Err(ImportError::Malformed { .. })), "one byte short");
    for (offset, size) in [(u64::MAX, 8), (start, u64::MAX), (1 << 40, 8)] {
        assert!(matches!(import(with(&mut m, offset, size)), Err(ImportError::Malformed { .. })), "{offset} {size}");
    }
}

#[test]
fn constants_of_the_wrong_length_are_refused() {
    for (dims, bytes) in [(&[2][..], 7), (&[2], 12), (&[], 8), (&[1 << 30, 1], 8)] {
        let mut m = Model::new();
        let (x, w, y) = (m.floats("x", &[2]), m.constant("w", dims, F32, vec![0; bytes]), m.floats("y", &[2]));
        m.op(0, &[x, w], y, flags(11, &[0]));
        let error = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(error.contains("constant `w` has"), "{error}");
    }
}

#[test]
fn bytes_without_a_scale_are_refused_with_a_remedy() {
    let mut m = Model::new();
    let (x, q, w, y) =
        (m.floats("x", &[4]), m.constant("q", &[4], I8, vec![1; 4]), m.floats("w", &[4]), m.floats("y", &[4]));
    m.op(6, &[q], w, None);
    m.op(0, &[x, q], y, flags(11, &[0]));
    let Err(ImportError::Unsupported(refusals)) = import(m.bytes(&[x], &[y])) else { unreachable!("it was imported") };
    assert_eq!(refusals.len(), 2);
    for refusal in refusals {
        assert_eq!(refusal.reason, "tensor `q` is INT8 without a scale");
        assert!(refusal.hint.contains("quantisation parameters"));
    }
}

#[test]
fn an_8_bit_model_is_computed_as_the_reals_it_stands_for() {
    let mut m = Model::new();
    let x = m.tensor("x", &[1, 1, 1, 2], U8);
    let x = m.scaled(x, &[0.5], &[10], 0);
    // Two output channels with different scales: rows (2, -4) * 0.25 and (6, 8) * 2.
    let w = m.constant("w", &[2, 1, 1, 2], I8, [2i8, -4, 6, 8].map(|v| v as u8).to_vec());
    let w = m.scaled(w, &[0.25, 2.0], &[0, 0], 0);
    let b = m.ints("b", &[8, 1]);
    let b = m.scaled(b, &[0.125, 1.0], &[0, 0], 0);
    let y = m.tensor("y", &[1, 1, 1, 2], U8);
    let y = m.scaled(y, &[0.5], &[0], 0);
    m.op(3, &[x, w, b], y, conv(1, 1, 1, 0));
    let z = m.floats("z", &[1, 1, 1, 2]);
    m.op(6, &[y], z, None);
    let graph = import(m.bytes(&[x], &[z])).unwrap();
    let run = |x: [f32; 2]| {
        let values = reference::graph(&graph, &[x.to_vec()]).unwrap();
        values[graph.outputs[0]].clone().unwrap()
    };
    assert_eq!(run([2.0, 0.5]), [1.0 - 0.5 + 1.0, 24.0 + 8.0 + 1.0]);
    assert_eq!(run([-3.0, 20.0]), [0.0, 127.5], "what its 8 bits cannot say is cut off");
    assert_eq!(run([1.2, 0.8]), [0.5, 29.0], "inputs are rounded to what their 8 bits can say");
    assert_eq!(run([1.0, 0.0]), [1.5, 13.0]);
}

/// Activations of 16 bits with weights of 8, and biases of 64.
#[test]
fn a_16_bit_model_is_computed_as_the_reals_it_stands_for() {
    const I16: i8 = 7;
    let mut m = Model::new();
    let x = m.tensor("x", &[1, 1, 1, 2], I16);
    let x = m.scaled(x, &[0.0625], &[0], 0);
    let w = m.constant("w", &[1, 1, 1, 2], I8, [4i8, -8].map(|v| v as u8).to_vec());
    let w = m.scaled(w, &[0.25], &[0], 0);
    let b = m.constant("b", &[1], I64, 32i64.to_le_bytes().to_vec());
    let b = m.scaled(b, &[0.015625], &[0], 0);
    let y = m.tensor("y", &[1, 1, 1, 1], I16);
    let y = m.scaled(y, &[0.125], &[0], 0);
    m.op(3, &[x, w, b], y, conv(1, 1, 1, 0));
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    let types = [graph.inputs[0], graph.outputs[0]].map(|id| graph.tensors[id].element_type);
    assert_eq!(types, [ElementType::I16; 2]);
    let run = |x: [f32; 2]| reference::outputs(&graph, &[x.to_vec()]).unwrap().remove(0)[0];
    assert_eq!(run([3.0, 1.0]), 1.5);
    assert_eq!(run([0.0625, 0.0]), 0.625, "0.5625 is rounded to an eighth");
    assert_eq!(run([2000.0, -2047.0]), 4095.875, "32767 eighths are the most");
}

/// Weights of 4 bits, two in a byte, the first in its lower half.
#[test]
fn weights_of_4_bits_are_read() {
    const I4: i8 = 17;
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[3]), m.floats("y", &[3]));
    let w = m.constant("w", &[3], I4, vec![0x81, 0x07]);
    let w = m.scaled(w, &[0.5], &[0], 0);
    m.op(0, &[x, w], y, flags(11, &[0]));
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    assert_eq!(reference::outputs(&graph, &[vec![0.0; 3]]).unwrap(), [[0.5, -4.0, 3.5]]);
}

/// A convolution with an 8-bit result of scale 0.5, followed by an operator.
fn after_a_layer(act: i8, code: i32, scale: f32, options: Option<Options>) -> Model {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 1, 1, 2]);
    let w = m.constant("w", &[2, 1, 1, 2], F32, [1.0f32, 0.0, 0.0, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect());
    let b = m.constant("b", &[2], F32, vec![0; 8]);
    let y = m.tensor("y", &[1, 1, 1, 2], I8);
    let y = m.scaled(y, &[0.5], &[-3], 0);
    m.op(3, &[x, w, b], y, conv(1, 1, 1, act));
    let z = m.tensor("z", &[1, 1, 1, 2], I8);
    let z = m.scaled(z, &[scale], &[5], 0);
    m.op(code, &[y], z, options);
    m
}

fn after(m: &Model, fake_quant: FakeQuant, x: [f32; 2]) -> Vec<f32> {
    let options = ImportOptions { fake_quant, ..ImportOptions::default() };
    let graph = from_bytes_with(Arc::new(m.bytes(&[0], &[4])), &options).unwrap();
    reference::outputs(&graph, &[x.to_vec()]).unwrap().remove(0)
}

/// Values that a file stores in 8 bits are rounded wherever they are stored, including the activation, and again if
/// the scale changes. Values that are only moved are not rounded.
#[test]
fn results_of_8_bits_are_rounded_to_their_grid() {
    const RELU: i32 = 19;
    const LOGISTIC: i32 = 14;
    const QUANTIZE: i32 = 114;
    const RELU6: i8 = 3;
    let on = |act, code, scale, x| after(&after_a_layer(act, code, scale, None), FakeQuant::On, x);
    let off = |act, code, scale, x| after(&after_a_layer(act, code, scale, None), FakeQuant::Off, x);
    assert_eq!(on(0, RELU, 0.5, [1.3, -0.2]), [1.5, 0.0], "a function by itself");
    assert_eq!(on(0, RELU, 0.5, [1.25, -70.0]), [1.5, 0.0], "halves away from zero");
    assert_eq!(on(RELU6, QUANTIZE, 0.5, [7.0, -1.0]), [6.0, 0.0], "an activation within");
    assert_eq!(on(0, QUANTIZE, 2.0, [1.3, 3.2]), [2.0, 4.0], "once more, from 1.5 and 3");
    assert_eq!(on(0, LOGISTIC, 0.125, [0.1, 9.0]), [0.5, 1.0], "of what was rounded");
    assert_eq!(off(0, RELU, 0.5, [1.3, -0.2]), [1.3, 0.0]);
    assert_eq!(off(0, QUANTIZE, 0.5, [1.3, -100.0]), [1.3, -62.5], "held within both");
    assert_eq!(off(RELU6, QUANTIZE, 0.5, [7.0, -1.0]), [6.0, 0.0]);

    let graph = |m: &Model| import(m.bytes(&[0], &[4])).map(|graph| graph.nodes.len());
    // From 0.5 and -3 to 0.5 and 5 the grid moves, and a step rounds;
    assert_eq!(graph(&after_a_layer(0, QUANTIZE, 0.5, None)).unwrap(), 2);
}

/// Integers represent nothing with a scale of zero, or with a zero point out of range.
#[test]
fn grids_that_are_none_are_refused() {
    for (scale, zero) in [(0.0, 0), (-1.0, 0), (1.0, 128), (1.0, -129)] {
        let mut m = Model::new();
        let (x, y) = (m.floats("x", &[3]), m.tensor("y", &[3], I8));
        m.scaled(y, &[scale], &[zero], 0);
        m.op(19, &[x], y, None);
        let error = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(error.contains("`y` is INT8 of scale"), "{scale} {zero}: {error}");
    }
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    for (scale, zero, axis) in [(&[1.0, 2.0][..], &[0, 0][..], 0), (&[1.0; 3], &[0, 0], 0), (&[1.0; 3], &[0; 3], 7)] {
        let mut m = Model::new();
        let (x, y) = (m.floats("x", &[3]), m.floats("y", &[3]));
        let w = m.constant("w", &[3], I8, vec![1; 3]);
        let w = m.scaled(w, scale, zero, axis);
        m.op(0, &[x, w], y, flags(11, &[0]));
        let error = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(error.contains("scales or zero points that do not fit it"), "{error}");
    }
}

/// An input that the caller turns into a constant decides on import.
#[test]
fn inputs_become_constants() {
    let mut m = Model::new();
    let (x, shape, y) = (m.floats("x", &[2, 3]), m.tensor("shape", &[2], I32), m.floats("y", &[3, 2]));
    let factor = m.floats("factor", &[2, 3]);
    let scaled = m.floats("scaled", &[2, 3]);
    m.op(18, &[x, factor], scaled, None);
    m.op(22, &[scaled, shape], y, None);
    let file = Arc::new(m.bytes(&[x, shape, factor], &[y]));
    let import = |constants: &[(&str, Array)]| {
        let constants = constants.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
        from_bytes_with(file.clone(), &ImportOptions { constants, ..ImportOptions::default() })
    };
    let shape = ("shape", Array::ints(&[2], &[3, 2]).unwrap());
    let half = ("factor", Array::floats(&[], &[0.5]).unwrap());
    let graph = import(&[shape.clone(), half]).unwrap();
    assert_eq!((graph.inputs.len(), &graph.tensors[graph.outputs[0]].dims[..]), (1, &[3, 2][..]));
    let outputs = reference::outputs(&graph, &[vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]).unwrap();
    assert_eq!(outputs, [[0.5, 1.0, 1.5, 2.0, 2.5, 3.0]]);
    let error = |constants: &[(&str, Array)]| import(constants).unwrap_err().to_string();
    assert!(error(&[("z", Array::floats(&[], &[0.5]).unwrap())]).contains("no input called z"));
    let few = ("factor", Array::floats(&[2], &[0.5, 1.0]).unwrap());
    assert!(error(&[shape.clone(), few]).contains("2 numbers are bound to it, and it has 6"));
    let part = ("shape", Array::floats(&[2], &[1.5, 4.0]).unwrap());
    assert!(error(&[part]).contains("whole numbers of 32 bits"));
}
