//! A small model of many operators, committed as `tests/data/tiny.tflite`.

use crate::support::tflite::{F16, F32, Field, I32, Model, Table, conv, flags, numbers};

/// Returns the file's bytes as the writer produces them.
pub(crate) fn tiny() -> Vec<u8> {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 9, 9, 3]);

    let (w, b) = (m.weights("conv/w", &[4, 3, 3, 3]), m.weights("conv/b", &[4]));
    let y = m.floats("conv", &[1, 5, 5, 4]);
    m.op(3, &[x, w, b], y, conv(0, 2, 1, 3));

    let half = m.constant("dw/w16", &[1, 3, 3, 8], F16, [0x00, 0x3c].repeat(72));
    let w = m.floats("dw/w", &[1, 3, 3, 8]);
    m.op(6, &[half], w, None);
    let (b, dw) = (m.weights("dw/b", &[8]), m.floats("dw", &[1, 5, 5, 8]));
    let mut options = conv(0, 1, 1, 1).map(|(_, table)| table).unwrap_or_default();
    // DEPTHWISE_CONV_2D has its multiplier where CONV_2D has its activation.
    options.0.retain(|(slot, _)| *slot < 10);
    options.0.extend([(10, Field::I32(2)), (12, Field::I8(1))]);
    m.op(4, &[y, w, b], dw, Some((2, options)));

    let paddings =
        m.constant("pad/by", &[4, 2], I32, [0i32, 0, 0, 1, 1, 0, 0, 0].iter().flat_map(|v| v.to_le_bytes()).collect());
    let padded = m.floats("pad", &[1, 6, 6, 8]);
    m.op(34, &[dw, paddings], padded, None);
    let pooled = m.floats("pool", &[1, 3, 3, 8]);
    let mut pool = Table(vec![(4, Field::I8(1))]);
    pool.0.extend([6, 8, 10, 12].map(|slot| (slot, Field::I32(2))));
    m.op(17, &[padded], pooled, Some((5, pool)));

    let scale = m.weights("mul/by", &[8]);
    let scaled = m.floats("mul", &[1, 3, 3, 8]);
    m.op(18, &[pooled, scale], scaled, flags(21, &[0]));
    let joined = m.floats("join", &[1, 3, 3, 16]);
    m.op(2, &[pooled, scaled], joined, numbers(10, &[-1]));

    let axes = m.ints("mean/over", &[1, 2]);
    let mean = m.floats("mean", &[1, 16]);
    m.op(40, &[joined, axes], mean, flags(27, &[0]));
    let (w, scores) = (m.weights("fc/w", &[5, 16]), m.tensor("scores", &[1, 5], F32));
    m.op(9, &[mean, w, -1], scores, flags(8, &[0, 0]));
    let out = m.floats("probabilities", &[1, 5]);
    m.op(25, &[scores], out, Some((9, Table(vec![(4, Field::F32(1.0))]))));
    m.bytes(&[x], &[out, joined])
}

const COMMITTED: &[u8] = include_bytes!("../../data/tiny.tflite");

#[test]
fn the_committed_file_is_what_the_writer_makes() {
    if tiny() != COMMITTED {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/tiny.tflite");
        std::fs::write(path, tiny()).unwrap();
        panic!("tests/data/tiny.tflite differs from {path}, as written just now");
    }
}

#[test]
fn it_imports_operator_by_operator() {
    let graph = super::import(tiny()).unwrap();
    let operators: Vec<&str> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert_eq!(
        operators,
        [
            "CONV_2D",
            "DEPTHWISE_CONV_2D",
            "PAD",
            "MAX_POOL_2D",
            "MUL",
            "CONCATENATION",
            "MEAN",
            "FULLY_CONNECTED",
            "SOFTMAX"
        ]
    );
    let origins: Vec<usize> = graph.nodes.iter().map(|node| node.op_index).collect();
    assert_eq!(origins, [0, 2, 3, 4, 5, 6, 7, 8, 9], "the folded DEQUANTIZE is the file's operator 1");
    assert_eq!(graph.name, "main");
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [1, 5]);
    assert!(graph.tensors.iter().all(|t| t.name != "dw/w16" && t.name != "pad/by"), "only what nodes name is kept");
}

#[test]
fn it_opens_from_a_file_and_is_named_after_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.tflite");
    assert_eq!(texpool_model::import::open(path).unwrap().name, "tiny");
}
