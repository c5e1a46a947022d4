//! Every ONNX operator in the table has a case that passes: an official one, or one in this file.

use std::collections::BTreeSet;

use texpool_model::import::supported;

use super::support::{
    import,
    onnx::{Attr, Model, bytes},
    run,
};

/// Official cases that pass, by operator, as counted by the tests of `tests/gpu/onnx_nodes`.
const OFFICIAL: &str = include_str!("../../../crates/texpool-model/src/import/onnx/official.csv");

/// The operator, its input's extents, and its attributes; the input counts up from 1.
type Case = (&'static str, &'static [i64], &'static [(&'static str, Attr)], &'static [f32]);

/// Operators without an official case that consists of that operator alone and has supported types.
const CASES: &[Case] = &[
    ("Einsum", &[2, 2], &[("equation", Attr::Text("ij->ji"))], &[1.0, 3.0, 2.0, 4.0]),
    ("GlobalLpPool", &[1, 1, 1, 3], &[("p", Attr::Int(1))], &[6.0]),
    ("Not", &[2], &[], &[0.0, 0.0]),
    (
        "RandomNormal",
        &[1],
        &[("shape", Attr::Ints(Vec::new())), ("mean", Attr::Float(3.0)), ("scale", Attr::Float(0.0))],
        &[3.0],
    ),
    ("RandomNormalLike", &[2], &[("mean", Attr::Float(3.0)), ("scale", Attr::Float(0.0))], &[3.0, 3.0]),
    (
        "RandomUniform",
        &[1],
        &[("shape", Attr::Ints(Vec::new())), ("low", Attr::Float(3.0)), ("high", Attr::Float(3.0))],
        &[3.0],
    ),
    ("RandomUniformLike", &[2], &[("low", Attr::Float(3.0)), ("high", Attr::Float(3.0))], &[3.0, 3.0]),
    ("ReduceLogSumExp", &[1, 2], &[], &[2.313_261_7]),
    ("SimplifiedLayerNormalization", &[1, 2], &[("epsilon", Attr::Float(0.0))], &[0.632_455_5, 1.264_911]),
    ("QLinearConv", &[1, 1, 1, 2], &[], &[1.0, 3.0]),
    ("QLinearMatMul", &[1, 2], &[], &[5.0]),
    (
        "com.microsoft.Attention",
        &[1, 2, 2],
        &[("num_heads", Attr::Int(1))],
        &[2.259_12, 3.259_12, 2.550_235, 3.550_235],
    ),
    ("com.microsoft.BiasGelu", &[2], &[], &[0.0, 1.954_499_7]),
    ("com.microsoft.DequantizeLinear", &[2], &[], &[0.0, 0.5]),
    ("com.microsoft.DynamicQuantizeLSTM", &[1, 1, 1], &[], &[0.174_269_7]),
    ("com.microsoft.DynamicQuantizeMatMul", &[1, 2], &[], &[4.996_078]),
    ("com.microsoft.EmbedLayerNormalization", &[1, 2], &[], &[-1.0, 1.5, 1.0, -0.5]),
    ("com.microsoft.FastGelu", &[2], &[], &[0.841_192, 1.954_597_7]),
    ("com.microsoft.FusedConv", &[1, 1, 1, 2], &[("activation", Attr::Text("Clip"))], &[2.0, 3.0]),
    (
        "com.microsoft.FusedGemm",
        &[1, 2],
        &[("activation", Attr::Text("LeakyRelu")), ("activation_alpha", Attr::Float(0.5))],
        &[3.0, -2.0],
    ),
    (
        "com.microsoft.FusedMatMul",
        &[2, 2],
        &[("transB", Attr::Int(1)), ("alpha", Attr::Float(0.5))],
        &[2.5, 5.5, 5.5, 12.5],
    ),
    ("com.microsoft.Gelu", &[2], &[], &[0.841_344_7, 1.954_499_7]),
    (
        "com.microsoft.GroupQueryAttention",
        &[1, 2, 2],
        &[("num_heads", Attr::Int(1)), ("kv_num_heads", Attr::Int(1)), ("scale", Attr::Float(0.25))],
        &[1.0, 2.0, 2.941_375_5, 3.941_375_5],
    ),
    ("com.microsoft.MatMulIntegerToFloat", &[1, 2], &[], &[1.0]),
    (
        "com.microsoft.MatMulNBits",
        &[1, 16],
        &[("K", Attr::Int(16)), ("N", Attr::Int(1)), ("block_size", Attr::Int(16))],
        &[-60.0],
    ),
    (
        "com.microsoft.MultiHeadAttention",
        &[1, 2, 2],
        &[("num_heads", Attr::Int(2)), ("scale", Attr::Float(0.25))],
        &[2.244_919, 3.462_117, 2.635_149, 3.761_594],
    ),
    ("com.microsoft.QGemm", &[1, 2], &[], &[9.0]),
    ("com.microsoft.QLinearAdd", &[2], &[], &[1.0, 5.0]),
    ("com.microsoft.QLinearAveragePool", &[1, 1, 1, 3], &[], &[3.0]),
    ("com.microsoft.QLinearConcat", &[2], &[("axis", Attr::Int(0))], &[1.0, 3.0, 1.0, 3.0]),
    ("com.microsoft.QLinearGlobalAveragePool", &[1, 1, 1, 3], &[], &[3.0]),
    ("com.microsoft.QLinearLeakyRelu", &[2], &[], &[1.0, 3.0]),
    ("com.microsoft.QLinearMul", &[2], &[], &[1.0, 2.0]),
    ("com.microsoft.QLinearReduceMean", &[1, 3], &[], &[3.0]),
    ("com.microsoft.QLinearSigmoid", &[2], &[], &[3.0, 3.0]),
    ("com.microsoft.QLinearSoftmax", &[1, 2], &[("opset", Attr::Int(13))], &[3.0, 3.0]),
    ("com.microsoft.QuantizeLinear", &[2], &[], &[3.0, 5.0]),
    ("com.microsoft.QuickGelu", &[2], &[("alpha", Attr::Float(1.0))], &[0.731_058_6, 1.761_594_2]),
    ("com.microsoft.RotaryEmbedding", &[1, 2, 2], &[], &[1.0, 2.0, -4.0, 3.0]),
    ("com.microsoft.SkipLayerNormalization", &[1, 2], &[("epsilon", Attr::Float(0.0))], &[-1.0, 1.0]),
    (
        "com.microsoft.SkipSimplifiedLayerNormalization",
        &[1, 2],
        &[("epsilon", Attr::Float(0.0))],
        &[0.632_455_5, 1.264_911],
    ),
    ("ai.onnx.ml.Scaler", &[2], &[], &[0.0, 4.0]),
];

/// Attributes with lists of values, which a constant cannot hold.
fn lists(name: &str) -> Vec<(&'static str, Attr)> {
    match name {
        "com.microsoft.FusedConv" => vec![("activation_params", Attr::Floats(vec![0.0, 3.0]))],
        "com.microsoft.QLinearAveragePool" => vec![("kernel_shape", Attr::Ints(vec![1, 3]))],
        "ai.onnx.ml.Scaler" => vec![("offset", Attr::Floats(vec![1.0])), ("scale", Attr::Floats(vec![2.0, 4.0]))],
        _ => Vec::new(),
    }
}

/// Operands of operators of integers with scales: `x` and 3 and 5 represent 0, 0.5 and so on by half steps from 1, results
/// are of quarters.
fn quantised(name: &str, m: &mut Model) -> Vec<&'static str> {
    let ints = |m: &mut Model, name: &str, dims: &[i64], values: &[u8]| m.tensor(name, 2, dims, &bytes(9, values));
    ints(m, "z", &[], &[1]);
    m.floats("s", &[], &[0.5]);
    m.floats("r", &[], &[0.25]);
    let conv = name == "QLinearConv";
    let dims: &[i64] = if conv { &[1, 1, 1, 1] } else { &[2, 1] };
    ints(m, "b", dims, if conv { &[3] } else { &[3, 5] });
    m.tensor("c", 6, &[1], &bytes(9, &4i32.to_le_bytes()));
    match name.rsplit_once('.').map_or(name, |(_, name)| name) {
        "QLinearConv" | "QLinearMatMul" => vec!["x", "s", "z", "b", "s", "z", "r", "z"],
        "QLinearAdd" | "QLinearMul" => vec!["x", "s", "z", "x", "s", "z", "r", "z"],
        "QLinearConcat" => vec!["r", "z", "x", "s", "z", "x", "s", "z"],
        "QGemm" => vec!["x", "s", "z", "b", "s", "z", "c", "r", "z"],
        "MatMulIntegerToFloat" => vec!["x", "b", "s", "s", "z", "z"],
        "DynamicQuantizeMatMul" => vec!["x", "b", "s", "z"],
        _ => vec!["x", "s", "z", "r", "z"],
    }
}

/// Operands after the first, for operators that require them.
fn others(name: &str, m: &mut Model) -> Vec<&'static str> {
    match name {
        "com.microsoft.DynamicQuantizeMatMul" | "com.microsoft.MatMulIntegerToFloat" => quantised(name, m),
        name if name.contains("QLinear") || name.contains("QGemm") => quantised(name, m),
        "com.microsoft.FusedMatMul" => vec!["x", "x"],
        "com.microsoft.QuantizeLinear" | "com.microsoft.DequantizeLinear" => {
            m.floats("s", &[], &[0.5]);
            m.tensor("z", 4, &[], &bytes(9, &1u16.to_le_bytes()));
            vec!["x", "s", "z"]
        }
        "com.microsoft.Attention" => {
            m.floats("w", &[2, 6], &[0.5, 0.0, 0.25, 0.0, 1.0, 0.0, 0.0, 0.25, 0.0, 0.5, 0.0, 1.0]);
            vec!["x", "w"]
        }
        "com.microsoft.MultiHeadAttention" => vec!["x", "x", "x"],
        "com.microsoft.GroupQueryAttention" => {
            m.tensor("lengths", 6, &[1], &bytes(9, &1i32.to_le_bytes()));
            m.tensor("all", 6, &[], &bytes(9, &2i32.to_le_bytes()));
            vec!["x", "x", "x", "", "", "lengths", "all"]
        }
        "com.microsoft.RotaryEmbedding" => {
            m.tensor("places", 7, &[1, 2], &bytes(9, &[0i64, 1].map(i64::to_le_bytes).concat()));
            m.floats("cosines", &[2, 1], &[1.0, 0.0]);
            m.floats("sines", &[2, 1], &[0.0, 1.0]);
            vec!["x", "places", "cosines", "sines"]
        }
        "com.microsoft.FusedGemm" => {
            m.floats("w", &[2, 2], &[1.0, -2.0, 1.0, -1.0]);
            vec!["x", "w"]
        }
        "com.microsoft.EmbedLayerNormalization" => {
            m.floats("words", &[3, 2], &[0.0, 0.0, 1.0, 2.0, 5.0, 1.0]);
            m.floats("places", &[2, 2], &[0.0, 1.0, 0.0, 2.0]);
            m.floats("scale", &[2], &[1.0, 1.0]);
            m.floats("shift", &[2], &[0.0, 0.5]);
            vec!["x", "", "words", "places", "", "scale", "shift"]
        }
        "com.microsoft.MatMulNBits" => {
            // Fives and nines by turns, the lower half of a byte first.
            m.tensor("w", 2, &[1, 1, 8], &bytes(9, &[0x95; 8]));
            m.floats("s", &[1], &[0.5]);
            vec!["x", "w", "s"]
        }
        "com.microsoft.FusedConv" => {
            m.floats("w", &[1, 1, 1, 1], &[2.0]);
            vec!["x", "w"]
        }
        "com.microsoft.BiasGelu" => {
            m.floats("bias", &[2], &[-1.0, 0.0]);
            vec!["x", "bias"]
        }
        "com.microsoft.SkipLayerNormalization" | "com.microsoft.SkipSimplifiedLayerNormalization" => {
            m.floats("scale", &[2], &[1.0, 1.0]);
            vec!["x", "x", "scale"]
        }
        "RandomNormal" | "RandomUniform" => Vec::new(),
        "SimplifiedLayerNormalization" => {
            m.floats("scale", &[2], &[1.0, 1.0]);
            vec!["x", "scale"]
        }
        "com.microsoft.DynamicQuantizeLSTM" => {
            // With a scale of 0.25 and a zero point of 1, every input weight is 0.5.
            m.floats("w", &[1, 1, 4], &[3.0; 4]);
            m.floats("r", &[1, 1, 4], &[9.0; 4]);
            m.floats("scale", &[1], &[0.25]);
            m.floats("zero", &[1], &[1.0]);
            vec!["x", "w", "r", "", "", "", "", "", "scale", "zero", "scale", "zero"]
        }
        _ => vec!["x"],
    }
}

#[test]
fn every_operator_has_a_case() {
    let passes = |line: &str| {
        let (name, counts) = line.split_once(',')?;
        (!counts.starts_with("0,")).then(|| name.to_owned())
    };
    let official: BTreeSet<String> = OFFICIAL.lines().skip(1).filter_map(passes).collect();
    let operators: Vec<String> = supported().into_iter().filter_map(|operator| operator.onnx).collect();
    let here = |name: &String| CASES.iter().any(|(of, ..)| of == name);
    let without: Vec<&String> = operators.iter().filter(|&name| !official.contains(name) && !here(name)).collect();
    assert!(without.is_empty(), "operators without a case: {without:?}");
    for (name, dims, attributes, expected) in CASES {
        assert!(operators.iter().any(|operator| operator == name), "{name} is not in the table of operators");
        let mut m = Model::new();
        m.input("x", dims);
        let operands = others(name, &mut m);
        m.node(name, &operands, &["y"], &[attributes.to_vec(), lists(name)].concat());
        m.output("y");
        let (_, actual) = run(&m).remove(0);
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5;
        assert!(
            actual.len() == expected.len() && actual.iter().zip(*expected).all(near),
            "{name} gives {actual:?}, not {expected:?}"
        );
    }
}

#[test]
fn an_operator_is_found_in_its_own_domain_alone() {
    for (name, is_supported) in [("ai.onnx.Relu", true), ("com.microsoft.Relu", false), ("QuickGelu", false)] {
        let mut m = Model::new();
        m.input("x", &[2]);
        m.node(name, &["x"], &["y"], &[]);
        m.output("y");
        assert_eq!(import(m.bytes()).is_ok(), is_supported, "{name}");
    }
}
