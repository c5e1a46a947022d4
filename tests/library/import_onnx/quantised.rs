//! Quantised weights stay as the file's bytes with their scales, which need little more memory than the bytes
//! themselves.

use allocation_counter::measure;
use texpool_ops::{
    graph::{Constant, ElementType, Graph},
    ops::reference,
};

use super::support::{
    bounded::bounded,
    import,
    onnx::{Attr, Model, bytes},
};

const INT8: i64 = 3;
const UINT8: i64 = 2;
const INT32: i64 = 6;

fn bytes_of(m: &mut Model, name: &str, kind: i64, dims: &[i64], values: impl Iterator<Item = u8>) {
    m.tensor(name, kind, dims, &bytes(9, &values.collect::<Vec<u8>>()));
}

/// A convolution of quantised weights: `y = conv(x, dequantised(w))`, which has `scales` along its first axis.
fn conv(m: &mut Model, [x, y]: [&str; 2], [outputs, inputs, window]: [i64; 3], scales: &[f32], per_channel: bool) {
    let [w, s, z, d] = ["w", "s", "z", "d"].map(|name| format!("{y}_{name}"));
    let count = (outputs * inputs * window * window) as usize;
    bytes_of(m, &w, INT8, &[outputs, inputs, window, window], (0..count).map(|i| (i * 31 % 251) as u8));
    let dims: &[i64] = if per_channel { &[outputs] } else { &[] };
    m.floats(&s, dims, scales);
    bytes_of(m, &z, INT8, dims, scales.iter().map(|_| 0));
    m.node("DequantizeLinear", &[&w, &s, &z], &[&d], &[("axis", Attr::Int(0))]);
    let pad = window / 2;
    m.node("Conv", &[x, &d], &[y], &[("pads", Attr::Ints(vec![pad; 4]))]);
}

fn weights(graph: &Graph) -> Vec<&Constant> {
    graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()).filter(|c| c.len() > 64).collect()
}

/// This was once refused, because about a hundred bytes were counted for each weight of one byte.
#[test]
fn two_convolutions_of_256_channels_keep_their_bytes() {
    let mut m = Model::new();
    m.input("x", &[1, 256, 4, 4]);
    let scales: Vec<f32> = (0..256).map(|i| 0.001 + i as f32 * 1e-5).collect();
    conv(&mut m, ["x", "a"], [256, 256, 3], &scales, true);
    conv(&mut m, ["a", "y"], [256, 256, 3], &[0.002], false);
    m.output("y");
    let file = m.bytes();
    let size = file.len() as u64;
    let graph = bounded(file.clone()).unwrap();
    let weights = weights(&graph);
    assert_eq!(weights.len(), 2);
    for constant in weights {
        assert_eq!((constant.dtype, constant.len()), (ElementType::I8, 256 * 256 * 9));
        assert!(constant.scale.is_some());
    }
    // The file's own bytes in memory are not counted, but a transposed copy of the weights is.
    let mut again = None;
    let counted = measure(|| again = Some(import(file)));
    assert!(again.unwrap().is_ok());
    assert!(counted.bytes_max < 3 * size, "{} bytes at a time for a file of {size}", counted.bytes_max);
}

/// A table of bytes from which rows are looked up before they are dequantised.
#[test]
fn tables_keep_their_bytes() {
    let mut m = Model::new();
    m.input("x", &[3]);
    bytes_of(&mut m, "table", UINT8, &[40, 4], (0..160).map(|i| i as u8));
    m.node("Cast", &["x"], &["i"], &[("to", Attr::Int(7))]);
    m.node("Gather", &["table", "i"], &["rows"], &[]);
    m.floats("s", &[], &[0.5]);
    bytes_of(&mut m, "z", UINT8, &[], std::iter::once(100));
    m.node("DequantizeLinear", &["rows", "s", "z"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let [constant] = weights(&graph)[..] else { unreachable!("one constant") };
    assert_eq!((constant.dtype, constant.bytes.len()), (ElementType::U8, 160));
    let rows = reference::outputs(&graph, &[vec![0.0, 39.0, 25.0]]).unwrap().remove(0);
    let expected = [0, 156, 100].iter().flat_map(|&first| (0..4).map(move |c| (first + c - 100) as f32 * 0.5));
    assert_eq!(rows, expected.collect::<Vec<f32>>());
}

/// Exporters write the scales of weights as a cast and a product. Rows that are looked up have a scale each.
#[test]
fn cast_and_scaled_bytes_stay_bytes() {
    let mut m = Model::new();
    m.input("x", &[2]);
    bytes_of(&mut m, "table", INT8, &[30, 4], (0..120).map(|i| i as u8));
    m.node("Cast", &["table"], &["reals"], &[("to", Attr::Int(1))]);
    let factors: Vec<f32> = (1..31).map(|i| i as f32 / 3.0).collect();
    m.floats("factors", &[30, 1], &factors);
    m.node("Mul", &["reals", "factors"], &["scaled"], &[]);
    m.node("Cast", &["x"], &["i"], &[("to", Attr::Int(7))]);
    m.node("Gather", &["scaled", "i"], &["rows"], &[]);
    bytes_of(&mut m, "w", INT8, &[4, 17], (0..68).map(|i| (3 * i) as u8));
    m.node("Cast", &["w"], &["v"], &[("to", Attr::Int(1))]);
    m.floats("columns", &[1, 17], &factors[..17]);
    m.node("Mul", &["columns", "v"], &["weights"], &[]);
    m.node("MatMul", &["rows", "weights"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let types: Vec<ElementType> = weights(&graph).iter().map(|constant| constant.dtype).collect();
    assert_eq!(types, [ElementType::I8; 2]);
    let actual = reference::outputs(&graph, &[vec![29.0, 7.0]]).unwrap().remove(0);
    let mut expected = Vec::new();
    for row in [29, 7] {
        for column in 0..17 {
            let scaled = |c: usize| ((row * 4 + c) as u8 as i8) as f32 * factors[row];
            let weight = |c: usize| ((3 * (c * 17 + column)) as u8 as i8) as f32 * factors[column];
            expected.push((0..4).map(|c| scaled(c) * weight(c)).sum::<f32>());
        }
    }
    for (a, b) in actual.iter().zip(&expected) {
        assert!((a - b).abs() <= b.abs() * 1e-5 + 1e-2, "{a}, not {b}");
    }
}

/// Returns the same network with dequantised weights.
#[test]
fn scales_of_channels_stay_with_their_channels() {
    let scales: Vec<f32> = (0..6).map(|i| 0.01 * (i + 1) as f32).collect();
    let [mut quantised, mut plain] = [Model::new(), Model::new()];
    quantised.input("x", &[1, 4, 5, 5]);
    conv(&mut quantised, ["x", "y"], [6, 4, 3], &scales, true);
    plain.input("x", &[1, 4, 5, 5]);
    let stored = |i: usize| f32::from((i * 31 % 251) as u8 as i8);
    let values: Vec<f32> = (0..6 * 4 * 9).map(|i| stored(i) * scales[i / 36]).collect();
    plain.floats("w", &[6, 4, 3, 3], &values);
    plain.node("Conv", &["x", "w"], &["y"], &[("pads", Attr::Ints(vec![1; 4]))]);
    same([quantised, plain], 100);
}

/// Unsigned bytes, scales along either axis of a matrix, and a matrix that is transposed before the product.
#[test]
fn matrices_have_scales_along_either_axis() {
    for (axis, turned) in [(0, false), (1, false), (0, true), (1, true)] {
        let (rows, columns) = if turned { (5, 7) } else { (7, 5) };
        let extents = [rows, columns];
        let count = extents[axis] as usize;
        let scales: Vec<f32> = (0..count).map(|i| 0.02 * (i + 1) as f32).collect();
        let zeros: Vec<u8> = (0..count).map(|i| (100 + 9 * i) as u8).collect();
        let [mut quantised, mut plain] = [Model::new(), Model::new()];
        let at = |i: usize| if axis == 0 { i / columns as usize } else { i % columns as usize };
        let values: Vec<f32> =
            (0..35).map(|i| (f32::from((i * 7 % 256) as u8) - f32::from(zeros[at(i)])) * scales[at(i)]).collect();
        for m in [&mut quantised, &mut plain] {
            m.input("x", &[3, 7]);
        }
        bytes_of(&mut quantised, "w", UINT8, &extents, (0..35usize).map(|i| (i * 7 % 256) as u8));
        quantised.floats("s", &[count as i64], &scales);
        bytes_of(&mut quantised, "z", UINT8, &[count as i64], zeros.iter().copied());
        quantised.node("DequantizeLinear", &["w", "s", "z"], &["d"], &[("axis", Attr::Int(axis as i64))]);
        plain.floats("d", &extents, &values);
        for m in [&mut quantised, &mut plain] {
            m.node("Gemm", &["x", "d"], &["y"], &[("transB", Attr::Int(turned.into()))]);
        }
        same([quantised, plain], 21);
    }
}

/// Imports a matrix of quantised weights of `rows` by `rows`, which `chain` turns from `q` to `d`, within `each` bytes
/// of memory for each of them.
fn chained(rows: usize, each: u64, chain: impl Fn(&mut Model)) -> Graph {
    let mut m = Model::new();
    m.input("x", &[1, rows as i64]);
    bytes_of(&mut m, "q", UINT8, &[rows as i64, rows as i64], (0..rows * rows).map(|i| (i % 251) as u8));
    m.floats("zero", &[], &[128.0]);
    m.floats("scale", &[], &[0.01]);
    chain(&mut m);
    m.node("MatMul", &["x", "d"], &["y"], &[]);
    m.output("y");
    let file = m.bytes();
    let mut graph = None;
    let counted = measure(|| graph = Some(import(file)));
    let most = each * (rows * rows) as u64;
    assert!(counted.bytes_max < most, "{} bytes at a time, may be {most}", counted.bytes_max);
    graph.unwrap().unwrap()
}

const TO_FLOAT: [(&str, Attr); 1] = [("to", Attr::Int(1))];

/// This was once refused, because the memory of each node was counted as if it were held until the end.
#[test]
fn weights_dequantised_by_a_cast_a_difference_and_a_product_are_imported() {
    let graph = chained(4096, 32, |m| {
        m.node("Cast", &["q"], &["c"], &TO_FLOAT);
        m.node("Sub", &["c", "zero"], &["s"], &[]);
        m.node("Mul", &["s", "scale"], &["d"], &[]);
    });
    let [constant] = weights(&graph)[..] else { panic!("{graph:?}") };
    // Transposed on the way into the graph.
    let reals = constant.reals();
    let expected = |row: usize, column: usize| (((row * 4096 + column) % 251) as f32 - 128.0) * 0.01;
    for [row, column] in [[0, 0], [0, 1], [1, 0], [17, 4001], [4095, 4095]] {
        assert_eq!(reals.get(column * 4096 + row), expected(row, column), "{row} {column}");
    }
}

/// Each value is freed after the last node that reads it, so the length of a chain does not matter.
#[test]
fn long_chains_of_known_values_hold_a_few_at_a_time() {
    let names: Vec<String> = (0..=24).map(|i| format!("v{i}")).collect();
    chained(2048, 32, |m| {
        m.node("Cast", &["q"], &["v0"], &TO_FLOAT);
        for (i, pair) in names.windows(2).enumerate() {
            match i % 4 {
                0 => m.node("Sub", &[&pair[0], "zero"], &[&pair[1]], &[]),
                1 => m.node("Mul", &[&pair[0], "scale"], &[&pair[1]], &[]),
                2 => m.node("Neg", &[&pair[0]], &[&pair[1]], &[]),
                _ => m.node("Transpose", &[&pair[0]], &[&pair[1]], &[]),
            }
        }
        m.node("Identity", &["v24"], &["d"], &[]);
    });
}

/// Values that are read again later, as they are or reshaped, are not given back before.
#[test]
fn values_that_are_held_count() {
    let mut m = Model::new();
    m.ints("extents", &[1 << 20]);
    m.node("ConstantOfShape", &["extents"], &["start"], &[]);
    m.node("Neg", &["start"], &["v0"], &[]);
    let names: Vec<String> = (0..=40).map(|i| format!("v{i}")).collect();
    names.windows(2).for_each(|pair| m.node("Neg", &[&pair[0]], &[&pair[1]], &[]));
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    m.node("Sum", &all, &["y"], &[]);
    m.output("y");
    let error = import(m.bytes()).unwrap_err().to_string();
    assert!(error.contains("too large: it asks for") && error.contains("bytes of memory"), "{error}");
}

/// 32-bit biases, block scales, and bytes with other uses than weights.
#[test]
fn other_integers_become_floats() {
    let mut m = Model::new();
    m.opset = 21;
    m.input("x", &[4]);
    let bias: Vec<u8> = [100_000i32, -7, 3, 16_777_217].iter().flat_map(|v| v.to_le_bytes()).collect();
    bytes_of(&mut m, "b", INT32, &[4], bias.into_iter());
    m.floats("s", &[], &[0.5]);
    m.node("DequantizeLinear", &["b", "s"], &["bias"], &[]);
    bytes_of(&mut m, "w", INT8, &[4], [1u8, 255, 3, 4].into_iter());
    m.floats("blocks", &[2], &[2.0, 3.0]);
    let block = [("block_size", Attr::Int(2)), ("axis", Attr::Int(0))];
    m.node("DequantizeLinear", &["w", "blocks"], &["d"], &block);
    m.node("Cast", &["w"], &["c"], &[("to", Attr::Int(1))]);
    m.node("Sum", &["x", "bias", "d", "c"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let result = reference::outputs(&graph, &[vec![0.0; 4]]).unwrap().remove(0);
    let blocks = [2.0, -2.0, 9.0, 12.0];
    let expected = [50_000.0 + 1.0, -3.5 - 1.0, 1.5 + 3.0, 8_388_608.0 + 4.0];
    let expected: Vec<f32> = expected.iter().zip(blocks).map(|(a, b)| a + b).collect();
    assert_eq!(result, expected);
}

fn same([mut quantised, mut plain]: [Model; 2], elements: usize) {
    let answers = [&mut quantised, &mut plain].map(|m| {
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let x: Vec<f32> = (0..elements).map(|i| (i % 11) as f32 - 5.0).collect();
        reference::outputs(&graph, &[x]).unwrap().remove(0)
    });
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
    assert!(answers[0].iter().zip(&answers[1]).all(near), "{answers:?}");
}
