//! Open extents of ONNX Runtime's operators, of operators on integers with scales, and of named indices.

use texpool_model::import::ImportOptions;
use texpool_ops::{
    graph::{Graph, InputValues},
    ops::reference,
};

use super::support::{
    import_with,
    onnx::{Attr, Dim, Model, bytes},
};

/// The most places of a run.
const MOST: usize = 7;

const UINT8: i64 = 2;
const INT8: i64 = 3;

fn values(seed: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 + seed * 11) % 29) as f32 / 8.0 - 1.5).collect()
}

fn integers(seed: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 53 + seed * 17) % 256) as f32).collect()
}

fn import(m: &Model, options: ImportOptions) -> Result<Graph, String> {
    import_with(m.bytes(), &options).map_err(|error| error.to_string())
}

fn bounded(m: &Model) -> Result<Graph, String> {
    import(m, ImportOptions { bounds: [("n".to_owned(), MOST.into())].into(), ..ImportOptions::default() })
}

fn run(graph: &Graph, inputs: &[Vec<f32>]) -> Vec<(Vec<usize>, Vec<f32>)> {
    let given: Vec<_> = inputs.iter().map(InputValues::from).enumerate().collect();
    let padded: Vec<Vec<f32>> =
        graph.padded_inputs(&given, 1 << 24).unwrap().into_iter().map(|(_, values)| values.into_owned()).collect();
    let mut outputs = reference::outputs(graph, &padded).unwrap();
    let dims = graph.cut_outputs(&mut outputs);
    dims.into_iter().zip(outputs).collect()
}

/// Checks that a model which is read once gives the same as one that is read for the extent of each run.
fn agrees(m: &Model, inputs: impl Fn(usize) -> Vec<Vec<f32>>, what: &str) {
    agrees_within(m, inputs, what, 1e-5);
}

/// Like [`agrees`], with this difference in proportion to the number.
fn agrees_within(m: &Model, inputs: impl Fn(usize) -> Vec<Vec<f32>>, what: &str, most: f32) {
    let graph = bounded(m).unwrap_or_else(|error| panic!("{what}: {error}"));
    for n in [3, MOST, 1, 5] {
        let dims = [("n".to_owned(), n)].into();
        let exact = import(m, ImportOptions { dims, ..ImportOptions::default() }).unwrap();
        let (found, expected) = (run(&graph, &inputs(n)), run(&exact, &inputs(n)));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.0, expected.0, "{what}, {n} places");
            for (a, b) in found.1.iter().zip(&expected.1) {
                assert!((a - b).abs() <= most * b.abs().max(1.0), "{what}, {n} places: {a} instead of {b}");
            }
        }
    }
}

fn refused(m: &Model, reason: &str) {
    let text = bounded(m).unwrap_err();
    assert!(text.contains(reason), "{text}");
}

/// Rows of four values in `rows`, and in `x` numbers that are not zero behind the extent.
fn rows() -> Model {
    let mut m = Model::new();
    m.open_input("rows", 1, &[Dim::Is(1), Dim::Named("n"), Dim::Is(4)]);
    m.node("Exp", &["rows"], &["x"], &[]);
    m.floats("four", &[4], &[0.5, -1.0, 2.0, 0.25]);
    m.floats("square", &[4, 4], &values(3, 16));
    m.output("y");
    m
}

fn equation(text: &'static str) -> (&'static str, Attr) {
    ("equation", Attr::Text(text))
}

/// Operands of a layer normalisation of a sum.
const LAYER: [&str; 5] = ["x", "rows", "four", "four", "four"];

#[test]
fn fused_operators_by_element_and_by_row_pass() {
    type Case = (&'static str, &'static [&'static str], Vec<(&'static str, Attr)>);
    let cases: [Case; 11] = [
        ("FastGelu", &["x", "four"], vec![]),
        ("BiasGelu", &["x", "four"], vec![]),
        ("QuickGelu", &["x"], vec![]),
        ("Gelu", &["x"], vec![]),
        ("SkipLayerNormalization", &LAYER, vec![]),
        ("SkipSimplifiedLayerNormalization", &["x", "rows", "four"], vec![]),
        ("FusedMatMul", &["x", "square"], vec![("alpha", Attr::Float(0.5)), ("transB", Attr::Int(1))]),
        // Places of the extent as columns, and as the summed axis.
        ("FusedMatMul", &["square", "x"], vec![("transB", Attr::Int(1))]),
        ("FusedMatMul", &["x", "x"], vec![("transA", Attr::Int(1))]),
        ("FusedMatMul", &["x", "rows"], vec![("transB", Attr::Int(1))]),
        ("FusedMatMul", &["four", "x"], vec![("transB", Attr::Int(1))]),
    ];
    for (op, operands, attributes) in cases {
        let mut m = rows();
        m.node(&format!("com.microsoft.{op}"), operands, &["y"], &attributes);
        agrees(&m, |n| vec![values(n, n * 4)], op);
    }
    let mut m = rows();
    m.node("com.microsoft.SkipLayerNormalization", &LAYER, &["z", "", "", "y"], &[]);
    m.output("z");
    agrees(&m, |n| vec![values(n, n * 4)], "sum");
    let mut m = rows();
    m.node("Squeeze", &["x", "axes"], &["matrix"], &[]);
    m.ints("axes", &[0]);
    m.node("com.microsoft.FusedGemm", &["matrix", "square", "four"], &["y"], &[("activation", Attr::Text("Relu"))]);
    agrees(&m, |n| vec![values(n, n * 4)], "FusedGemm");
}

#[test]
fn rows_by_packed_weights_pass() {
    let mut m = rows();
    let sizes = [("K", 4), ("N", 3), ("bits", 4), ("block_size", 16)].map(|(name, size)| (name, Attr::Int(size)));
    let packed: Vec<u8> = (0..24).map(|i| (i * 37 % 256) as u8).collect();
    m.tensor("packed", UINT8, &[3, 1, 8], &bytes(9, &packed));
    m.floats("scales", &[3], &[0.5, 0.25, 2.0]);
    m.node("com.microsoft.MatMulNBits", &["x", "packed", "scales"], &["y"], &sizes);
    agrees(&m, |n| vec![values(n, n * 4)], "MatMulNBits");
}

#[test]
fn named_indices_keep_the_extent_or_sum_over_it() {
    for text in ["bni,io->bno", "bni,io->obn", "bni,ij->bj", "bni,ji->n"] {
        let mut m = rows();
        m.node("Einsum", &["x", "square"], &["y"], &[equation(text)]);
        agrees(&m, |n| vec![values(n, n * 4)], text);
    }
    for text in ["bni,bni->bn", "bni,bnj->bij", "ani,bni->nab"] {
        let mut m = rows();
        m.node("Einsum", &["x", "rows"], &["y"], &[equation(text)]);
        agrees(&m, |n| vec![values(n, n * 4)], text);
    }
    // The second operand has a stated number of places.
    let mut m = rows();
    m.floats("seven", &[7], &values(1, 7));
    m.node("Einsum", &["x", "seven"], &["y"], &[equation("bni,n->bi")]);
    refused(&m, "would also read the places behind the extent");
}

/// A signal of two channels, of integers whose zero point is not zero.
fn signal() -> Model {
    let mut m = Model::new();
    m.open_input("x", UINT8, &[Dim::Is(1), Dim::Is(2), Dim::Named("n")]);
    let weights: Vec<u8> = (0..18).map(|i| (i * 37 % 256) as u8).collect();
    m.tensor("w", INT8, &[3, 2, 3], &bytes(9, &weights));
    for (name, scale) in [("x_s", 0.05), ("w_s", 0.02), ("y_s", 0.3)] {
        m.floats(name, &[], &[scale]);
    }
    for (name, kind, zero) in [("x_z", UINT8, 117), ("w_z", INT8, 0), ("y_z", UINT8, 120)] {
        m.tensor(name, kind, &[], &bytes(9, &[zero]));
    }
    m.output("y");
    m
}

/// Places behind the extent count as zeros of the border do.
#[test]
fn convolutions_of_integers_have_the_length_of_the_run() {
    let pads = [("pads", Attr::Ints(vec![1, 1]))];
    let mut m = signal();
    m.tensor("v", INT8, &[1, 3, 3], &bytes(9, &[40, 90, 200, 7, 130, 60, 5, 81, 250]));
    m.node("QLinearConv", &["x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z"], &["a"], &pads);
    m.node("QLinearConv", &["a", "y_s", "y_z", "v", "w_s", "w_z", "y_s", "y_z"], &["y"], &pads);
    // With a mask in front, integers are scaled as floats, and may be rounded to the next one.
    agrees_within(&m, |n| vec![integers(n, n * 2)], "QLinearConv", 1.0 / 64.0);
    let mut m = signal();
    m.node("ConvInteger", &["x", "w", "x_z"], &["y"], &pads);
    m.node("ConvInteger", &["x", "w"], &["from zero"], &pads);
    m.output("from zero");
    agrees(&m, |n| vec![integers(n, n * 2)], "ConvInteger");
}

#[test]
fn products_of_integers_keep_their_rows_and_are_not_summed_over_the_extent() {
    let scales = |m: &mut Model| {
        for (name, zero) in [("a", 117), ("b", 90), ("y", 120)] {
            m.floats(&format!("{name}_s"), &[], &[0.05]);
            m.tensor(&format!("{name}_z"), UINT8, &[], &bytes(9, &[zero]));
        }
        m.output("y");
    };
    let operands = ["a", "a_s", "a_z", "b", "b_s", "b_z", "y_s", "y_z"];
    let mut m = Model::new();
    m.open_input("a", UINT8, &[Dim::Is(2), Dim::Named("n"), Dim::Is(4)]);
    m.open_input("b", UINT8, &[Dim::Is(2), Dim::Is(4), Dim::Named("n")]);
    scales(&mut m);
    m.node("QLinearMatMul", &operands, &["y"], &[]);
    m.node("MatMulInteger", &["a", "b", "a_z"], &["z"], &[]);
    m.output("z");
    agrees(&m, |n| vec![integers(n, n * 8), integers(n + 1, n * 8)], "QLinearMatMul");
    let mut m = Model::new();
    m.open_input("b", UINT8, &[Dim::Is(2), Dim::Named("n"), Dim::Is(4)]);
    m.open_input("a", UINT8, &[Dim::Is(2), Dim::Is(4), Dim::Named("n")]);
    scales(&mut m);
    m.node("QLinearMatMul", &operands, &["y"], &[]);
    refused(&m, "would also read the places behind the extent");
}

#[test]
fn a_fused_convolution_adds_a_tensor_of_the_same_length() {
    let mut m = Model::new();
    m.open_input("signal", 1, &[Dim::Is(1), Dim::Is(2), Dim::Named("n")]);
    m.node("Exp", &["signal"], &["x"], &[]);
    m.floats("w", &[2, 2, 3], &values(2, 12));
    m.floats("b", &[2], &[0.5, -1.0]);
    let attributes = [("pads", Attr::Ints(vec![1, 1])), ("activation", Attr::Text("Relu"))];
    m.node("com.microsoft.FusedConv", &["x", "w", "b"], &["a"], &attributes);
    m.node("com.microsoft.FusedConv", &["a", "w", "b", "x"], &["y"], &attributes);
    m.output("y");
    agrees(&m, |n| vec![values(n, n * 2)], "FusedConv");
}

#[test]
fn operators_without_a_rule_say_so() {
    let mut m = rows();
    m.node("STFT", &["x", "i1", "", "i2"], &["y"], &[]);
    m.ints("i1", &[1]);
    m.ints("i2", &[2]);
    refused(&m, "the operator is only supported for extents that are the same in each run");
}
