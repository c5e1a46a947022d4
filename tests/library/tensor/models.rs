//! The element types of models' inputs and outputs.

use std::sync::Arc;

use texpool::{
    ElementType::{self, Bool, F16, F32, I8, I32, I64, U8},
    Quantization, TensorView,
};
use texpool_model::{
    import::{FakeQuant, ImportError, ImportOptions, from_bytes, from_bytes_with, open},
    tensor::convert::{TensorSpec, read_reals, write_reals},
};
use texpool_ops::{
    graph::{Act, Binary, Graph, GraphBuilder, TensorId},
    ops::reference,
};
use texpool_plan::TexelFormat;

use crate::support::{
    onnx::{self, Attr},
    tflite, zoo,
};

fn import(bytes: Vec<u8>) -> Result<Graph, ImportError> {
    from_bytes(Arc::new(bytes))
}

/// Type and quantisation of each input, and of each output.
type Types = [Vec<(ElementType, Option<Quantization>)>; 2];

fn types(graph: &Graph) -> Types {
    let of = |&id: &TensorId| (graph.tensors[id].element_type, graph.tensors[id].quantization);
    [&graph.inputs, &graph.outputs].map(|ids| ids.iter().map(of).collect())
}

/// Types alone, of a graph that is not quantised.
fn plain(graph: &Graph) -> [Vec<ElementType>; 2] {
    let all = types(graph);
    assert!(all.iter().flatten().all(|(_, quantization)| quantization.is_none()));
    all.map(|of| of.into_iter().map(|(element_type, _)| element_type).collect())
}

#[test]
fn the_files_kept_here_have_floats() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let types_of = |file: &str| plain(&open(format!("{root}/{file}")).unwrap());
    assert_eq!(types_of("tiny.tflite"), [vec![F32], vec![F32, F32]]);
    assert_eq!(types_of("models/face_detection_front_2019.tflite"), [vec![F32], vec![F32, F32]]);
}

/// A text encoder reads ids of words and a mask, and gives both back; a quantised classifier reads the bytes of a picture.
#[test]
fn published_models_have_the_types_of_their_files() {
    let graph = |name: &str| zoo::case(name).graph().unwrap();
    assert_eq!(plain(&graph("minilm")), [vec![I64, I64], vec![I64, I64, F32, F32]]);
    let quantised = |scale, zero_point| vec![(U8, Some(Quantization { scale, zero_point }))];
    assert_eq!(types(&graph("inception_v3")), [quantised(1.0 / 128.0, 128), quantised(0.075_974_986, 53)]);
}

/// A model of one node between an input of `kind` and an output stated as `stated`.
fn onnx_model(kind: i64, op: &str, attributes: &[(&str, Attr)], stated: Option<i64>) -> onnx::Model {
    let mut m = onnx::Model::new();
    m.raw_input("x", kind, &[onnx::number(1, 4)]);
    m.node(op, &["x"], &["y"], attributes);
    match stated {
        Some(kind) => m.outputs.push(onnx::typed("y", kind, &[onnx::number(1, 4)])),
        None => m.output("y"),
    }
    m
}

#[test]
fn onnx_inputs_and_outputs_have_the_types_that_are_stated() {
    for (kind, expected) in [
        (1, F32),
        (2, U8),
        (3, I8),
        (4, ElementType::U16),
        (5, ElementType::I16),
        (6, I32),
        (7, I64),
        (9, Bool),
        (10, F16),
        (12, ElementType::U32),
        (13, ElementType::U64),
    ] {
        for stated in [None, Some(kind)] {
            let graph = import(onnx_model(kind, "Identity", &[], stated).bytes()).unwrap();
            assert_eq!(plain(&graph), [vec![expected], vec![expected]], "{kind}");
        }
    }
    let types = |kind, op: &str, attributes: &[(&str, Attr)], stated| {
        plain(&import(onnx_model(kind, op, attributes, stated).bytes()).unwrap())
    };
    assert_eq!(types(1, "ArgMax", &[], None), [vec![F32], vec![I64]]);
    assert_eq!(types(7, "Cast", &[("to", Attr::Int(1))], None), [vec![I64], vec![F32]]);
    assert_eq!(types(1, "Cast", &[("to", Attr::Int(9))], None), [vec![F32], vec![Bool]]);
    assert_eq!(types(1, "Relu", &[], Some(10)), [vec![F32], vec![F16]], "the file's word counts among floats");
    assert_eq!(types(1, "Relu", &[], Some(7)), [vec![F32], vec![F32]], "but none is rounded for it");
}

#[test]
fn inputs_of_doubles_are_floats_and_those_of_texts_are_refused() {
    let graph = import(onnx_model(11, "Identity", &[], Some(11)).bytes()).unwrap();
    assert_eq!(plain(&graph), [vec![F32], vec![F32]]);
    let error = import(onnx_model(8, "Identity", &[], None).bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "graph input `x`: its elements are of type string (8); convert it to float, float16, an integer or bool"
    );
}

/// Element types of TensorFlow Lite beside those that its writer for tests names.
const BOOL: i8 = 6;

/// A model that hands its input on, to a result of the same type.
fn tflite_model(dtype: i8, scales: Option<(&[f32], &[i64], i32)>) -> Vec<u8> {
    let mut m = tflite::Model::new();
    let (x, y) = (m.tensor("x", &[1, 2, 2], dtype), m.tensor("y", &[1, 2, 2], dtype));
    if let Some((scale, zero, axis)) = scales {
        m.scaled(x, scale, zero, axis);
        m.scaled(y, scale, zero, axis);
    }
    m.op(22, &[x], y, None);
    m.bytes(&[x], &[y])
}

#[test]
fn tflite_inputs_and_outputs_have_the_types_that_are_stated() {
    for (dtype, expected) in [(tflite::F32, F32), (tflite::I32, I32), (tflite::I64, I64), (BOOL, Bool)] {
        let graph = import(tflite_model(dtype, None)).unwrap();
        assert_eq!(plain(&graph), [vec![expected], vec![expected]]);
    }
    let of = |dtype, scale: &[f32], zero: &[i64], axis| {
        let [inputs, outputs] = types(&import(tflite_model(dtype, Some((scale, zero, axis)))).unwrap());
        assert_eq!(inputs, outputs);
        inputs[0]
    };
    let quantization = |scale, zero_point| Some(Quantization { scale, zero_point });
    assert_eq!(of(tflite::U8, &[0.5], &[10], 0), (U8, quantization(0.5, 10)));
    assert_eq!(of(tflite::I8, &[0.25], &[], 0), (I8, quantization(0.25, 0)));
    assert_eq!(of(tflite::I32, &[0.125], &[0], 0), (I32, quantization(0.125, 0)));
    assert_eq!(of(tflite::F32, &[0.5], &[10], 0), (F32, None), "floats stand for themselves");
    assert_eq!(of(tflite::I32, &[0.0], &[0], 0), (I32, None), "a scale of zero is none");
    assert_eq!(of(tflite::I8, &[0.5, 0.25], &[0, 0], 2), (F32, None), "several scales: the reals");
}

/// From a caller's integers through the reference back to integers, in a model whose scales differ.
#[test]
fn a_quantised_model_takes_and_answers_the_integers_of_its_file() {
    let mut m = tflite::Model::new();
    let x = m.tensor("x", &[1, 4], tflite::U8);
    m.scaled(x, &[0.5], &[10], 0);
    let y = m.tensor("y", &[1, 4], tflite::I8);
    m.scaled(y, &[0.25], &[-128], 0);
    // RELU, and then QUANTIZE to the scale of the output.
    let between = m.tensor("relu", &[1, 4], tflite::U8);
    m.scaled(between, &[0.5], &[10], 0);
    m.op(19, &[x], between, None);
    m.op(114, &[between], y, None);
    let bytes = m.bytes(&[x], &[y]);
    for fake_quant in [FakeQuant::On, FakeQuant::Off] {
        let options = ImportOptions { fake_quant, ..ImportOptions::default() };
        let graph = from_bytes_with(Arc::new(bytes.clone()), &options).unwrap();
        let [input, output] = [graph.inputs[0], graph.outputs[0]].map(|id| TensorSpec::from(&graph.tensors[id]));
        let mut reals = Vec::new();
        // They stand for -5, 0, 1.5 and 122.5.
        let pixels = TensorView::from(&[0u8, 10, 13, 255]);
        write_reals(&pixels, input, TexelFormat::Rgba32Float, &mut reals).unwrap();
        assert_eq!(reals, [-5.0, 0.0, 1.5, 122.5]);
        let answer = reference::outputs(&graph, &[reals]).unwrap().remove(0);
        let answer = read_reals(&answer, output).unwrap();
        assert_eq!((answer.dims(), answer.as_slice::<i8>().unwrap()), (&[1, 4][..], &[-128, -128, -122, 127][..]));
        assert_eq!(*answer.to_f32(), [0.0, 0.0, 1.5, 63.75], "the last is more than its 8 bits can say");
    }
}

#[test]
fn inputs_of_any_type_are_built_by_hand() {
    let mut b = GraphBuilder::new("lookup");
    let (ids, x) = (b.input_of("ids", &[1, 8], I64).unwrap(), b.input("x", &[1, 8]).unwrap());
    let y = b.binary("y", Binary::Add, ids, x, Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    assert_eq!(plain(&graph), [vec![I64, F32], vec![F32]]);
    assert!(GraphBuilder::new("empty").input_of("ids", &[0], I64).is_err());
}
