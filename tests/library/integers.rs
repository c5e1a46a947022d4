//! Integer arithmetic as checked before a run: results that wrap around, nodes that are refused, and ranges for
//! inputs.

use std::sync::Arc;

use texpool_compile::{CompileError, CompileOptions, compile};
use texpool_model::import::{ImportError, from_bytes};
use texpool_ops::{graph::Graph, ops::reference};
use texpool_plan::{SearchControl, TexelFormat};

use crate::support::{
    onnx::{Attr, Model, bytes, number},
    tflite,
};

/// Element types by their number in the format.
const F32: i64 = 1;
const U8: i64 = 2;
const I8: i64 = 3;
const U16: i64 = 4;
const I16: i64 = 5;
const I32: i64 = 6;
const I64: i64 = 7;
const U32: i64 = 12;
/// The largest integer up to which 32-bit floats represent all integers.
const MOST: i32 = 1 << 24;

/// Builds a model with four elements per input, of these types. The last node gives the output `y`.
fn model(inputs: &[(&str, i64)], nodes: impl Fn(&mut Model)) -> Graph {
    imported(inputs, nodes).unwrap()
}

fn imported(inputs: &[(&str, i64)], nodes: impl Fn(&mut Model)) -> Result<Graph, ImportError> {
    let mut m = Model::new();
    for (name, kind) in inputs {
        m.raw_input(name, *kind, &[number(1, 4)]);
    }
    nodes(&mut m);
    m.output("y");
    from_bytes(Arc::new(m.bytes()))
}

fn node(op: &'static str, inputs: &'static [&str]) -> impl Fn(&mut Model) {
    move |m| m.node(op, inputs, &["y"], &[])
}

fn compiled(graph: &Graph, format: TexelFormat) -> Result<Vec<Option<[i32; 2]>>, CompileError> {
    let options = CompileOptions { format, ..CompileOptions::default() };
    let compiled = compile(graph, &options, &SearchControl::new())?;
    let graph = compiled.graph();
    Ok(graph.inputs.iter().map(|&id| graph.tensors[id].integer_range).collect())
}

/// Returns the ranges of the inputs.
fn ranges(graph: &Graph) -> Vec<Option<[i32; 2]>> {
    compiled(graph, TexelFormat::Rgba32Float).unwrap()
}

/// Returns the refused nodes and the error text.
fn refusal(inputs: &[(&str, i64)], nodes: impl Fn(&mut Model)) -> (Vec<usize>, String) {
    let error = imported(inputs, nodes).unwrap_err();
    let ImportError::Unsupported(refused) = &error else { panic!("{error}") };
    (refused.iter().map(|refused| refused.node).collect(), error.to_string())
}

fn computed(graph: &Graph, inputs: &[[f32; 4]]) -> Vec<f32> {
    let inputs: Vec<Vec<f32>> = inputs.iter().map(|values| values.to_vec()).collect();
    reference::outputs(graph, &inputs).unwrap().remove(0)
}

/// 200 + 100 is 44 in eight bits: the answers are those of a processor's integers.
#[test]
fn integers_of_8_and_16_bits_wrap_around_as_a_processor_s_do() {
    let (a, b) = ([200.0, 100.0, 255.0, 3.0], [100.0, 100.0, 255.0, 5.0]);
    let unsigned = |op| model(&[("a", U8), ("b", U8)], move |m| m.node(op, &["a", "b"], &["y"], &[]));
    let wrapped = |function: fn(u8, u8) -> u8| -> Vec<f32> {
        a.iter().zip(b).map(|(&a, b)| function(a as u8, b as u8).into()).collect()
    };
    assert_eq!(computed(&unsigned("Add"), &[a, b]), wrapped(u8::wrapping_add));
    assert_eq!(computed(&unsigned("Sub"), &[a, b]), wrapped(u8::wrapping_sub));
    assert_eq!(computed(&unsigned("Mul"), &[a, b]), wrapped(u8::wrapping_mul));
    for op in ["Add", "Sub", "Mul"] {
        assert_eq!(ranges(&unsigned(op)), [Some([0, 255]); 2], "{op} of eight bits is exact whatever they are");
    }
    let (a, b) = ([-128.0, 127.0, -128.0, 100.0], [-1.0, 1.0, -128.0, 100.0]);
    let signed = model(&[("a", I8), ("b", I8)], node("Add", &["a", "b"]));
    assert_eq!(computed(&signed, &[a, b]), [127.0, -128.0, 0.0, -56.0]);
    let negated = model(&[("a", I8)], node("Neg", &["a"]));
    assert_eq!(computed(&negated, &[a]), [-128.0, -127.0, -128.0, -100.0]);
    let added = model(&[("a", I16), ("b", I16)], node("Add", &["a", "b"]));
    let (a, b) = ([32767.0, -32768.0, 20000.0, 1.0], [1.0, -1.0, 20000.0, 2.0]);
    assert_eq!(computed(&added, &[a, b]), [-32768.0, 32767.0, -25536.0, 3.0]);
}

#[test]
fn casts_into_fewer_bits_keep_the_low_ones() {
    let cast = |from, to| model(&[("a", from)], move |m| m.node("Cast", &["a"], &["y"], &[("to", Attr::Int(to))]));
    let a = [300.0, -1.0, 70_000.0, -129.0];
    let bits = |function: fn(i32) -> f32| -> Vec<f32> { a.iter().map(|&a| function(a as i32)).collect() };
    assert_eq!(computed(&cast(I64, U8), &[a]), bits(|a| (a as u8).into()));
    assert_eq!(computed(&cast(I32, I8), &[a]), bits(|a| (a as i8).into()));
    assert_eq!(computed(&cast(I32, U16), &[a]), bits(|a| (a as u16).into()));
    assert_eq!(computed(&cast(I64, I16), &[a]), bits(|a| (a as i16).into()));
    assert_eq!(computed(&cast(U8, I8), &[[200.0, 127.0, 128.0, 0.0]]), [-56.0, 127.0, -128.0, 0.0]);
    for (from, to) in [(I64, I32), (U8, I32), (I8, I64), (U32, I64), (I32, F32)] {
        assert!(cast(from, to).nodes.iter().all(|node| node.integers.is_none()), "{from} to {to} keeps all");
    }
    // A negative integer becomes an unsigned 32-bit integer that no float represents, so negative inputs are
    // excluded.
    assert_eq!(ranges(&cast(I32, U32)), [Some([0, MOST])]);
}

/// Inputs are restricted as little as possible while every sum and product stays exact.
#[test]
fn inputs_stay_within_what_is_exact() {
    let two = [("a", I64), ("b", I64)];
    assert_eq!(ranges(&model(&two, node("Add", &["a", "b"]))), [Some([-MOST / 2, MOST / 2]); 2]);
    assert_eq!(ranges(&model(&two, node("Mul", &["a", "b"]))), [Some([-4096, 4096]); 2]);
    // A negative exponent gives a fraction.
    assert_eq!(ranges(&model(&two, node("Pow", &["a", "b"]))), [Some([0, 8]); 2]);
    let sum = |m: &mut Model| {
        m.ints("axes", &[0]);
        m.node("ReduceSum", &["a", "axes"], &["y"], &[]);
    };
    assert_eq!(ranges(&model(&[("a", I32)], sum)), [Some([-MOST / 4, MOST / 4])]);
    // Values that wrap around are first shifted above zero, which must be exact too.
    assert_eq!(ranges(&model(&[("a", I16), ("b", I16)], node("Mul", &["a", "b"]))), [Some([-4091, 4091]); 2]);
    // For values that are only compared, moved or selected, and for dividends, everything that texels can hold is
    // exact.
    for op in ["Max", "Min", "Equal", "Less"] {
        let ranges_of_op = ranges(&model(&two, move |m| m.node(op, &["a", "b"], &["y"], &[])));
        assert!(
            ranges_of_op.iter().all(|range| range.is_none_or(|range| range == [-MOST, MOST])),
            "{op}: {ranges_of_op:?}"
        );
    }
    assert_eq!(ranges(&model(&two, node("Div", &["a", "b"]))), [Some([-MOST, MOST]); 2]);
    let chosen = |m: &mut Model| {
        m.node("Less", &["a", "b"], &["less"], &[]);
        m.node("Where", &["less", "a", "b"], &["y"], &[]);
    };
    assert_eq!(ranges(&model(&two, chosen)), [Some([-MOST, MOST]); 2]);
    // Floats round as usual.
    let float = |m: &mut Model| {
        m.node("Cast", &["a"], &["f"], &[("to", Attr::Int(F32))]);
        m.node("Mul", &["f", "f"], &["y"], &[]);
    };
    assert_eq!(ranges(&model(&[("a", I64)], float)), [None]);
    // An input that takes part in no arithmetic keeps its full range.
    let apart = |m: &mut Model| {
        m.node("Mul", &["a", "a"], &["square"], &[]);
        m.node("Concat", &["square", "b"], &["y"], &[("axis", Attr::Int(0))]);
    };
    let [a, b] = ranges(&model(&two, apart)).try_into().unwrap();
    assert_eq!((a, b.unwrap_or([-4096, 4096])), (Some([-4096, 4096]), [-4096, 4096]));
}

/// The limit is the largest exact one: with one more, a float would round.
#[test]
fn a_limit_is_as_wide_as_it_can_be() {
    let cube = |m: &mut Model| {
        m.node("Mul", &["a", "a"], &["square"], &[]);
        m.node("Mul", &["square", "a"], &["y"], &[]);
    };
    let [range] = ranges(&model(&[("a", I32)], cube)).try_into().unwrap();
    let [_, most] = range.unwrap();
    assert!(most.pow(3) <= MOST && (most + 1).pow(3) > MOST, "{most}");
}

#[test]
fn integers_that_cannot_be_exact_are_refused_by_name() {
    let of_floats = |m: &mut Model| {
        m.node("Cast", &["x"], &["i"], &[("to", Attr::Int(I64))]);
        m.node("Add", &["i", "i"], &["y"], &[]);
    };
    let (nodes, text) = refusal(&[("x", F32)], of_floats);
    assert_eq!(nodes, [1]);
    for words in ["node 1", "Add", "y", "16777216", "Clip"] {
        assert!(text.contains(words), "`{words}` is missing: {text}");
    }
    // The hint helps.
    let bounded = |m: &mut Model| {
        m.floats("least", &[], &[0.0]);
        m.floats("most", &[], &[1000.0]);
        m.node("Clip", &["x", "least", "most"], &["c"], &[]);
        m.node("Cast", &["c"], &["i"], &[("to", Attr::Int(I64))]);
        m.node("Mul", &["i", "i"], &["y"], &[]);
    };
    assert_eq!(ranges(&model(&[("x", F32)], bounded)), [None]);
    refusal(&[("a", U32), ("b", U32)], node("Sub", &["a", "b"]));
    let mean = |m: &mut Model| {
        m.ints("axes", &[0]);
        m.node("ReduceMean", &["a", "axes"], &["y"], &[]);
    };
    // The mean of integers is not an integer.
    refusal(&[("a", I32)], mean);
    // After twenty nested squares the only exact inputs are zero and one.
    let towers = |m: &mut Model| {
        m.node("Add", &["a", "a"], &["s0"], &[]);
        for i in 0..20 {
            let (from, to) = (format!("s{i}"), format!("s{}", i + 1));
            m.node("Mul", &[&from, &from], &[&to], &[]);
        }
        m.node("Identity", &["s20"], &["y"], &[]);
    };
    assert_eq!(refusal(&[("a", I64)], towers).0, (5..=20).collect::<Vec<_>>());
}

/// Imports the product of 1024 bytes with weights that all are `weight`, cast to `to` if it is stated. The bytes are
/// the input, or a run quantises them.
fn long_product(quantised: bool, weight: u8, to: Option<i64>) -> Result<Graph, ImportError> {
    let mut m = Model::new();
    m.raw_input("x", if quantised { F32 } else { U8 }, &[number(1, 1), number(1, 1024)]);
    m.tensor("w", I8, &[1024, 2], &bytes(9, &[weight; 2048]));
    if quantised {
        m.node("DynamicQuantizeLinear", &["x"], &["bytes", "scale", "zero"], &[]);
        m.node("MatMulInteger", &["bytes", "w", "zero"], &["product"], &[]);
    } else {
        m.node("MatMulInteger", &["x", "w"], &["product"], &[]);
    }
    match to {
        Some(to) => m.node("Cast", &["product"], &["y"], &[("to", Attr::Int(to))]),
        None => m.node("Identity", &["product"], &["y"], &[]),
    }
    m.output("y");
    from_bytes(Arc::new(m.bytes()))
}

/// A product with known weights is bounded by the sum of their magnitudes. Floats may round it, but not integers.
#[test]
fn long_products_are_exact_or_converted_to_floats() {
    for to in [None, Some(F32), Some(I64)] {
        // 255 * 16 * 1024 is below 2^24.
        assert_eq!(ranges(&long_product(false, 16, to).unwrap()), [Some([0, 255])]);
        assert_eq!(ranges(&long_product(true, 16, to).unwrap()), [None]);
    }
    for to in [None, Some(I64)] {
        assert_eq!(ranges(&long_product(false, 100, to).unwrap()), [Some([0, MOST / 102_400])]);
        let refused = long_product(true, 100, to).unwrap_err().to_string();
        assert!(refused.contains("MatMulInteger") && refused.contains("16777216"), "{refused}");
    }
    assert_eq!(ranges(&long_product(false, 100, Some(F32)).unwrap()), [Some([0, 255])]);
    let converted = long_product(true, 100, Some(F32)).unwrap();
    assert_eq!(ranges(&converted), [None]);
    // 16-bit floats end at 65504.
    let error = compiled(&converted, TexelFormat::Rgba16Float).unwrap_err();
    assert!(matches!(error, CompileError::Integers { node: 1, bits: 16, .. }), "{error}");
}

/// Quantised files cast a bias to integers, add it to a product, and cast the sum to floats.
#[test]
fn sums_of_cast_floats_are_exact_or_converted_to_floats() {
    let sum = |m: &mut Model, to: i64| {
        m.node("Cast", &["bias"], &["integer"], &[("to", Attr::Int(I32))]);
        m.node("Cast", &["byte"], &["small"], &[("to", Attr::Int(I32))]);
        m.node("Add", &["small", "integer"], &["sum"], &[]);
        m.node("Cast", &["sum"], &["y"], &[("to", Attr::Int(to))]);
    };
    let inputs = [("bias", F32), ("byte", U8)];
    let graph = model(&inputs, |m| sum(m, F32));
    assert_eq!(ranges(&graph), [None, Some([0, 255])]);
    // 2^25 + 3 is not a float. The nearest is 2^25 + 4, as the conversion of the integer gives it.
    let bias = [33_554_432.0, -5.0, 16_777_216.0, 7.0];
    assert_eq!(computed(&graph, &[bias, [3.0, 2.0, 1.0, 255.0]]), [33_554_436.0, -3.0, 16_777_216.0, 262.0]);
    assert_eq!(refusal(&inputs, |m| sum(m, I64)).0, [2]);
    let two_casts = |m: &mut Model| {
        m.node("Cast", &["bias"], &["integer"], &[("to", Attr::Int(I32))]);
        m.node("Sub", &["integer", "integer"], &["sum"], &[]);
        m.node("Cast", &["sum"], &["y"], &[("to", Attr::Int(F32))]);
    };
    assert_eq!(refusal(&[("bias", F32)], two_casts).0, [1]);
}

/// A product may round if floats that are computed from it are quantised again, for the next product.
#[test]
fn layers_of_long_products_are_exact_or_converted_to_floats() {
    let mut m = Model::new();
    m.raw_input("x0", F32, &[number(1, 1), number(1, 1024)]);
    m.tensor("w", I8, &[1024, 1024], &bytes(9, &[100; 1 << 20]));
    for (layer, [x, y]) in [["x0", "x1"], ["x1", "x2"]].into_iter().enumerate() {
        let [integers, scale, zero, product, float] =
            ["integers", "scale", "zero", "product", "float"].map(|name| format!("{name}{layer}"));
        m.node("DynamicQuantizeLinear", &[x], &[&integers, &scale, &zero], &[]);
        m.node("MatMulInteger", &[&integers, "w", &zero], &[&product], &[]);
        m.node("Cast", &[&product], &[&float], &[("to", Attr::Int(F32))]);
        m.node("Mul", &[&float, &scale], &[y], &[]);
    }
    m.output("x2");
    assert_eq!(ranges(&from_bytes(Arc::new(m.bytes())).unwrap()), [None]);
}

/// Neighbouring integers above 2^24 map to one float, so a constant is refused instead of rounded.
#[test]
fn constants_that_floats_do_not_hold_are_refused() {
    let equal = |value: i64| {
        let mut m = Model::new();
        m.raw_input("a", I64, &[number(1, 4)]);
        m.ints("b", &[value]);
        m.node("Equal", &["a", "b"], &["y"], &[]);
        m.output("y");
        from_bytes(Arc::new(m.bytes()))
    };
    let text = equal((1 << 24) + 1).unwrap_err().to_string();
    assert!(text.contains("16777217") && text.contains("Equal"), "{text}");
    assert!(equal(i64::MAX).is_err());
    assert!(equal(1 << 24).is_ok());
    assert!(equal(i64::MIN).is_ok(), "a power of two is a float");
    let halves = compiled(&equal(2049).unwrap(), TexelFormat::Rgba16Float).unwrap_err();
    assert!(matches!(halves, CompileError::InexactConstant { value: 2049, bits: 16, .. }), "{halves}");
    assert!(compiled(&equal(2048).unwrap(), TexelFormat::Rgba16Float).is_ok());
}

#[test]
fn halves_hold_fewer() {
    let add = model(&[("a", I64), ("b", I64)], node("Add", &["a", "b"]));
    assert_eq!(compiled(&add, TexelFormat::Rgba16Float).unwrap(), [Some([-1024, 1024]); 2]);
    let sum = |m: &mut Model| {
        m.ints("most", &[2000]);
        m.node("Add", &["a", "most"], &["b"], &[]);
        m.node("Add", &["b", "most"], &["y"], &[]);
    };
    let error = compiled(&model(&[("a", U8)], sum), TexelFormat::Rgba16Float).unwrap_err();
    assert!(matches!(error, CompileError::Integers { node: 1, bits: 16, most: 2048, .. }), "{error}");
}

#[test]
fn tensorflow_lite_s_integers_are_as_exact() {
    const ADD: i32 = 0;
    const MAXIMUM: i32 = 55;
    let mut m = tflite::Model::new();
    let [a, b, y] = ["a", "b", "y"].map(|name| m.tensor(name, &[1, 4], tflite::I32));
    m.op(ADD, &[a, b], y, tflite::numbers(11, &[]));
    let add = from_bytes(Arc::new(m.bytes(&[a, b], &[y]))).unwrap();
    assert_eq!(ranges(&add), [Some([-MOST / 2, MOST / 2]); 2]);
    // The constant's neighbour is not an integer of the file, neither in a sum nor in a maximum.
    let constant = m.ints("constant", &[1, 2, 3, MOST + 1]);
    let with = |code: i32| {
        let mut m = m.clone();
        m.operators.clear();
        m.op(code, &[a, constant], y, tflite::numbers(11, &[]));
        from_bytes(Arc::new(m.bytes(&[a], &[y])))
    };
    let refused = with(ADD).unwrap_err().to_string();
    assert!(refused.contains("ADD") && refused.contains("16777216"), "{refused}");
    let lost = compiled(&with(MAXIMUM).unwrap(), TexelFormat::Rgba32Float).unwrap_err();
    assert!(matches!(lost, CompileError::InexactConstant { value: 16_777_217, bits: 32, .. }), "{lost}");
}
