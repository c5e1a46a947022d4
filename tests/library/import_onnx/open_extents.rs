//! Extents of inputs that each run gives, up to a bound.

use texpool_model::import::ImportOptions;
use texpool_ops::{
    graph::{ExtentError, Graph, InputValues},
    ops::reference,
};

use super::support::{
    import_with,
    onnx::{Attr, Dim, INT64, Model, bytes},
};

/// The most rows of a run.
const MOST: usize = 7;

/// The greatest number up to which 32-bit floats hold all integers.
const EXACT: usize = 1 << 24;

/// Values of a row.
const COLUMNS: i64 = 4;

/// Pseudo-random numbers.
struct Random(u32);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % bound
    }

    fn values(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.below(33) as f32 / 8.0 - 2.0).collect()
    }
}

/// Reads a model for any number of rows up to a bound.
fn bounded(m: &Model) -> Result<Graph, String> {
    let bounds = [("n".to_owned(), MOST.into())].into();
    import_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() }).map_err(|error| error.to_string())
}

/// Reads a model for one number of rows.
fn exact(m: &Model, rows: usize) -> Graph {
    let dims = [("n".to_owned(), rows)].into();
    import_with(m.bytes(), &ImportOptions { dims, ..ImportOptions::default() }).unwrap()
}

/// Extents and values of the outputs of a run.
fn run(graph: &Graph, inputs: &[Vec<f32>]) -> Vec<(Vec<usize>, Vec<f32>)> {
    let given: Vec<_> = inputs.iter().map(InputValues::from).enumerate().collect();
    let padded: Vec<Vec<f32>> =
        graph.padded_inputs(&given, EXACT).unwrap().into_iter().map(|(_, values)| values.into_owned()).collect();
    let mut outputs = reference::outputs(graph, &padded).unwrap();
    let dims = graph.cut_outputs(&mut outputs);
    dims.into_iter().zip(outputs).collect()
}

/// Values of two inputs with zeros behind them, and the extents.
fn given(graph: &Graph, [a, b]: [&[f32]; 2], exact: usize) -> Result<Vec<Vec<f32>>, ExtentError> {
    let padded = graph.padded_inputs(&[(0, a.into()), (1, b.into())], exact)?;
    Ok(padded.into_iter().map(|(_, values)| values.into_owned()).collect())
}

/// Checks that a model which is read once gives the same as one that is read for the number of rows of each run.
fn agrees(m: &Model, inputs: impl Fn(usize) -> Vec<Vec<f32>>, what: &str) {
    let graph = bounded(m).unwrap_or_else(|error| panic!("{what}: {error}"));
    for rows in [3, MOST, 1, 5] {
        let (found, expected) = (run(&graph, &inputs(rows)), run(&exact(m, rows), &inputs(rows)));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.0, expected.0, "{what}, {rows} rows");
            for (a, b) in found.1.iter().zip(&expected.1) {
                let near = a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-5 * b.abs().max(1.0);
                assert!(near, "{what}, {rows} rows: {a} instead of {b}");
            }
        }
    }
}

/// A model that begins with rows in `rows`.
fn model() -> Model {
    let mut m = Model::new();
    m.open_input("rows", 1, &[Dim::Named("n"), Dim::Is(COLUMNS)]);
    for (name, numbers) in [
        ("zero", &[0][..]),
        ("one", &[1]),
        ("two", &[2]),
        ("three", &[3]),
        ("end", &[9]),
        ("all", &[-1, 4]),
        ("flat", &[-1]),
        ("halves", &[0, 2, 2]),
        ("picked", &[3, 1, 0, 3]),
    ] {
        m.ints(name, numbers);
    }
    for (name, number) in [("i0", 0), ("i1", 1)] {
        m.tensor(name, 7, &[], &bytes(9, &i64::to_le_bytes(number)));
    }
    m.floats("row", &[1, COLUMNS], &[0.5, -1.0, 2.0, 0.25]);
    m.floats("square", &[4, 4], &(0..16).map(|i| (i % 5) as f32 / 2.0 - 1.0).collect::<Vec<_>>());
    m
}

fn axis(axis: i64) -> (&'static str, Attr) {
    ("axis", Attr::Int(axis))
}

/// Number of the operators of `step`.
const STEPS: usize = 26;

/// Adds operators that read rows and give as many rows of as many columns.
fn step(m: &mut Model, which: usize, x: &str, y: &str) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|part| format!("{y} {part}"));
    let [a, b, c, d] = [&a, &b, &c, &d].map(String::as_str);
    let swap = [("perm", Attr::Ints(vec![1, 0]))];
    match which {
        0 => m.node("Relu", &[x], &[y], &[]),
        1 => m.node("Add", &["row", x], &[y], &[]),
        2 => m.node("Mul", &[x, "rows"], &[y], &[]),
        3 => m.node("MatMul", &[x, "square"], &[y], &[]),
        4 => m.node("Softmax", &[x], &[y], &[axis(0)]),
        5 => {
            m.node("Unsqueeze", &[x, "one"], &[a], &[]);
            m.node("Squeeze", &[a, "one"], &[y], &[]);
        }
        6 => m.node("Gather", &[x, "picked"], &[y], &[axis(1)]),
        7 => {
            m.node("Slice", &[x, "one", "end", "one"], &[a], &[]);
            m.node("Slice", &[x, "zero", "one", "one"], &[b], &[]);
            m.node("Concat", &[a, b], &[y], &[axis(1)]);
        }
        8 => {
            m.node("Reshape", &[x, "halves"], &[a], &[]);
            m.node("Reshape", &[a, "flat"], &[b], &[]);
            m.node("Reshape", &[b, "all"], &[y], &[]);
        }
        9..=16 => {
            let op = [
                "ReduceMean",
                "ReduceSum",
                "ReduceMax",
                "ReduceMin",
                "ReduceL1",
                "ReduceL2",
                "ReduceSumSquare",
                "ReduceProd",
            ][which - 9];
            m.node(op, &[x, "zero"], &[a], &[]);
            m.node("Tanh", &[a], &[b], &[]);
            m.node("Add", &[x, b], &[y], &[]);
        }
        // Each row is weighed by its likeness to the others.
        17 => {
            m.node("Transpose", &[x], &[a], &swap);
            m.node("MatMul", &[x, a], &[b], &[]);
            m.node("Softmax", &[b], &[c], &[]);
            m.node("MatMul", &[c, x], &[y], &[]);
        }
        18 => {
            m.node("Gemm", &[x, x], &[a], &[("transA", Attr::Int(1))]);
            m.node("MatMul", &[x, a], &[b], &[]);
            m.node("Tanh", &[b], &[y], &[]);
        }
        19 => {
            m.node("ArgMax", &[x], &[a], &[axis(0)]);
            m.node("Cast", &[a], &[b], &[("to", Attr::Int(1))]);
            m.node("Sub", &[x, b], &[y], &[]);
        }
        20 => m.node("CumSum", &[x, "i0"], &[y], &[("reverse", Attr::Int(1))]),
        // The first row is subtracted from all.
        21 => {
            m.node("Gather", &[x, "zero"], &[a], &[axis(0)]);
            m.node("Sub", &[x, a], &[y], &[]);
        }
        // The extents of the rows are read and used again.
        22 => {
            m.node("Shape", &[x], &[a], &[]);
            m.node("Gather", &[a, "zero"], &[b], &[axis(0)]);
            m.node("Concat", &[b, "two", "two"], &[c], &[axis(0)]);
            m.node("Reshape", &[x, c], &[d], &[]);
            m.node("Reshape", &[d, a], &[y], &[]);
        }
        // A number for each row.
        23 => {
            m.node("Shape", &[x], &[a], &[]);
            m.node("Gather", &[a, "i0"], &[b], &[axis(0)]);
            m.node("Range", &["i0", b, "i1"], &[c], &[]);
            m.node("Unsqueeze", &[c, "one"], &[d], &[]);
            let to_float = format!("{y} float");
            m.node("Cast", &[d], &[&to_float], &[("to", Attr::Int(1))]);
            m.node("Sub", &[x, &to_float], &[y], &[]);
        }
        // A row is repeated as often as there are rows.
        24 => {
            m.node("Shape", &[x], &[a], &[]);
            m.node("Expand", &["row", a], &[b], &[]);
            m.node("Max", &[x, b], &[y], &[]);
        }
        // The number of rows is computed with.
        _ => {
            m.node("Shape", &[x], &[a], &[("end", Attr::Int(1))]);
            m.node("Cast", &[a], &[b], &[("to", Attr::Int(1))]);
            m.node("Div", &[x, b], &[y], &[]);
        }
    }
}

#[test]
fn each_operator_gives_the_same_rows_as_in_a_graph_that_is_made_for_them() {
    for which in 0..STEPS {
        let mut m = model();
        step(&mut m, which, "rows", "y");
        m.output("y");
        agrees(&m, |rows| vec![Random(which as u32).values(rows * COLUMNS as usize)], &format!("step {which}"));
    }
}

/// Adds the number of rows, on which an operator with a number works.
fn limit(m: &mut Model, op: &str, number: i64) {
    m.tensor("number", INT64, &[], &bytes(9, &i64::to_le_bytes(number)));
    m.node("Shape", &["rows"], &["shape"], &[]);
    m.node("Gather", &["shape", "i0"], &["n"], &[]);
    m.node(op, &["n", "number"], &["limit"], &[]);
}

#[test]
fn multiples_parts_and_sums_of_the_extent_are_extents() {
    type Function = fn(usize) -> usize;
    let cases: [(&str, i64, Function); 5] =
        [("Mul", 1, |n| n), ("Mul", 3, |n| 3 * n), ("Add", 2, |n| n + 2), ("Sub", 1, |n| n - 1), ("Div", 2, |n| n / 2)];
    for (op, number, function) in cases {
        let mut m = model();
        limit(&mut m, op, number);
        m.node("Range", &["i0", "limit", "i1"], &["numbers"], &[]);
        m.output("numbers");
        let graph = bounded(&m).unwrap();
        for rows in [3, MOST, 1, 5] {
            let n = function(rows);
            let expected = (vec![n], (0..n).map(|i| i as f32).collect());
            assert_eq!(run(&graph, &[vec![0.5; rows * COLUMNS as usize]]), [expected], "{op} {number}, {rows} rows");
        }
    }
}

/// Exporters of attention and of text recognisers multiply the extent by a bound of one.
#[test]
fn a_reshape_keeps_the_extent_times_one() {
    let mut m = model();
    limit(&mut m, "Mul", 1);
    m.node("Unsqueeze", &["limit", "zero"], &["list"], &[]);
    m.node("Concat", &["list", "two", "two"], &["new"], &[axis(0)]);
    m.node("Reshape", &["rows", "new"], &["y"], &[]);
    m.output("y");
    agrees(&m, |rows| vec![Random(9).values(rows * COLUMNS as usize)], "times one");
}

#[test]
fn chains_give_the_same_rows_as_in_a_graph_that_is_made_for_them() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut m = model();
        let (mut last, mut steps) = ("rows".to_owned(), Vec::new());
        for place in 0..5 {
            let next = format!("step{place}");
            steps.push(random.below(STEPS));
            step(&mut m, steps[place], &last, &next);
            last = next;
        }
        m.output(&last);
        agrees(&m, |rows| vec![Random(seed + 99).values(rows * COLUMNS as usize)], &format!("seed {seed}, {steps:?}"));
    }
}

#[test]
fn a_graph_has_the_bound_and_an_input_for_the_extent() {
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Named("n"), Dim::Is(2)]);
    m.open_input("w", 1, &[Dim::Is(1), Dim::Named("n")]);
    m.node("MatMul", &["w", "x"], &["y"], &[]);
    m.node("Abs", &["x"], &["z"], &[]);
    m.output("y");
    m.output("z");
    let graph = bounded(&m).unwrap();
    assert_eq!((graph.inputs.len(), graph.caller_inputs().len()), (3, 2));
    let axes: Vec<[usize; 3]> = graph.bounded_inputs.iter().map(|b| [b.input, b.axis, b.count]).collect();
    assert_eq!(axes, [[0, 0, 2], [1, 1, 2]]);
    let outputs: Vec<(usize, usize)> = graph.bounded.iter().map(|b| (b.output, b.axis)).collect();
    assert_eq!(outputs, [(1, 0)]);
    assert_eq!(run(&graph, &[vec![1.0, 2.0, 3.0, 4.0], vec![1.0, 10.0]])[0], (vec![1, 2], vec![31.0, 42.0]));

    // Texels of few bits do not hold greater extents.
    let error = given(&graph, [&[0.0; 10], &[0.0; 5]], 4).unwrap_err();
    assert_eq!(error, ExtentError::Outside { input: "x".to_owned(), axis: 0, least: 1, bound: 4, found: 5 });

    // Both inputs have the extent.
    let error = given(&graph, [&[0.0; 6], &[0.0; 2]], EXACT).unwrap_err();
    assert_eq!(error, ExtentError::Differ { inputs: ["x".to_owned(), "w".to_owned()], extents: [3, 2] });
    let error = given(&graph, [&[0.0; 16], &[0.0; 8]], EXACT).unwrap_err();
    assert_eq!(error, ExtentError::Outside { input: "x".to_owned(), axis: 0, least: 1, bound: MOST, found: 8 });
    let error = given(&graph, [&[], &[]], EXACT).unwrap_err();
    assert_eq!(error.to_string(), "input `x` has no places along axis 0, and the model takes 1 to 7");
}

/// Networks of images, whose batch each run gives, and recurrent cells.
#[test]
fn batches_of_images_and_sequences_pass() {
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Named("n"), Dim::Is(2), Dim::Is(6), Dim::Is(5)]);
    m.open_input("state", 1, &[Dim::Is(1), Dim::Named("n"), Dim::Is(3)]);
    let numbers = |seed, len| Random(seed).values(len);
    m.floats("filter", &[4, 2, 3, 3], &numbers(1, 72));
    m.floats("four", &[4], &numbers(2, 4));
    m.floats("positive", &[4], &[1.0, 2.0, 0.5, 0.25]);
    m.floats("dense", &[4, 3], &numbers(3, 12));
    m.floats("input weights", &[1, 9, 3], &numbers(4, 27));
    m.floats("state weights", &[1, 9, 3], &numbers(5, 27));
    m.ints("steps", &[0, 2, 3]);
    m.ints("one", &[1]);
    m.node("Conv", &["x", "filter"], &["a"], &[("pads", Attr::Ints(vec![1; 4]))]);
    m.node("BatchNormalization", &["a", "four", "four", "four", "positive"], &["b"], &[]);
    m.node("MaxPool", &["b"], &["c"], &[("kernel_shape", Attr::Ints(vec![2, 2]))]);
    m.node("GlobalAveragePool", &["c"], &["d"], &[]);
    m.node("Flatten", &["d"], &["e"], &[]);
    m.node("Gemm", &["e", "dense"], &["f"], &[]);
    m.node("Unsqueeze", &["f", "one"], &["g"], &[]);
    m.node("Expand", &["g", "extents"], &["h"], &[]);
    m.ints("extents", &[1, 2, 1]);
    m.node("Transpose", &["h"], &["sequences"], &[("perm", Attr::Ints(vec![1, 0, 2]))]);
    let cell = [("hidden_size", Attr::Int(3))];
    m.node("GRU", &["sequences", "input weights", "state weights", "", "", "state"], &["y", "last"], &cell);
    m.node("Squeeze", &["y", "one"], &["all"], &[]);
    m.output("all");
    m.output("last");
    agrees(&m, |rows| vec![numbers(6, rows * 60), numbers(7, rows * 3)], "images");
}

/// A convolution with a bias, so that places behind the extent are not zero.
fn convolution(m: &mut Model, op: &str, [x, y]: [&str; 2], window: &[i64], attributes: &[(&str, Attr)]) {
    let [w, b] = ["w", "b"].map(|part| format!("{y} {part}"));
    let dims = [&[2, 2], window].concat();
    m.floats(&w, &dims, &Random(dims.len() as u32).values(dims.iter().product::<i64>() as usize));
    m.floats(&b, &[2], &[0.75, -1.5]);
    m.node(op, &[x, &w, &b], &[y], attributes);
}

fn numbers(name: &'static str, values: &[i64]) -> (&'static str, Attr) {
    (name, Attr::Ints(values.to_vec()))
}

/// Convolutions and pools along a signal of an open length, with steps that halve it, and branches that meet again.
#[test]
fn convolutions_of_signals_have_the_length_of_the_run() {
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Is(1), Dim::Is(2), Dim::Named("n")]);
    convolution(&mut m, "Conv", ["x", "a"], &[5], &[numbers("pads", &[2, 2])]);
    convolution(&mut m, "Conv", ["a", "b"], &[3], &[numbers("pads", &[1, 1]), numbers("strides", &[2])]);
    convolution(&mut m, "Conv", ["a", "c"], &[1], &[numbers("strides", &[2])]);
    m.node("Add", &["b", "c"], &["d"], &[]);
    let three = numbers("kernel_shape", &[3]);
    m.node("MaxPool", &["d"], &["e"], &[three, numbers("pads", &[1, 1])]);
    let [three, included] = [numbers("kernel_shape", &[3]), ("count_include_pad", Attr::Int(1))];
    m.node("AveragePool", &["e"], &["f"], &[three, numbers("pads", &[1, 1]), included]);
    let same = [("auto_pad", Attr::Text("SAME_UPPER")), numbers("dilations", &[2])];
    convolution(&mut m, "Conv", ["f", "g"], &[3], &same);
    convolution(&mut m, "ConvTranspose", ["g", "h"], &[4], &[numbers("pads", &[1, 1]), numbers("strides", &[2])]);
    m.output("g");
    m.output("h");
    agrees(&m, |rows| vec![Random(3).values(rows * 2)], "signals");
}

/// Images of an open height, normalised and reduced.
#[test]
fn convolutions_of_images_have_the_height_of_the_run() {
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Is(1), Dim::Is(2), Dim::Named("n"), Dim::Is(5)]);
    let steps = [numbers("pads", &[1, 0, 1, 1]), numbers("strides", &[2, 3])];
    convolution(&mut m, "Conv", ["x", "a"], &[3, 3], &steps);
    for (name, values) in [("scale", [0.5, 2.0]), ("mean", [0.25, -1.0])] {
        m.floats(name, &[2], &values);
    }
    m.node("BatchNormalization", &["a", "scale", "mean", "mean", "scale"], &["b"], &[]);
    convolution(&mut m, "Conv", ["b", "c"], &[2, 1], &[numbers("pads", &[1, 0, 0, 0])]);
    m.node("ReduceMean", &["c"], &["d"], &[numbers("axes", &[2, 3])]);
    m.node("GlobalAveragePool", &["c"], &["e"], &[]);
    m.node("GlobalMaxPool", &["c"], &["f"], &[]);
    ["c", "d", "e", "f"].into_iter().for_each(|name| m.output(name));
    agrees(&m, |rows| vec![Random(5).values(rows * 10)], "images");
}

/// Recurrent cells over an open number of steps, in both directions.
#[test]
fn recurrent_cells_take_the_steps_of_the_run() {
    for (op, gates) in [("LSTM", 4), ("GRU", 3), ("RNN", 1)] {
        let mut m = Model::new();
        m.open_input("x", 1, &[Dim::Named("n"), Dim::Is(2), Dim::Is(3)]);
        let weights = |seed, columns: i64| Random(seed).values((2 * gates * 4 * columns) as usize);
        m.floats("w", &[2, gates * 4, 3], &weights(1, 3));
        m.floats("r", &[2, gates * 4, 4], &weights(2, 4));
        let both = [("hidden_size", Attr::Int(4)), ("direction", Attr::Text("bidirectional"))];
        m.node(op, &["x", "w", "r"], &["y", "last"], &both);
        m.node("Exp", &["y"], &["z"], &[]);
        // The range of the values is that of the run.
        m.node("DynamicQuantizeLinear", &["z"], &["bytes", "scale", "offset"], &[]);
        m.node("DequantizeLinear", &["bytes", "scale", "offset"], &["reals"], &[]);
        m.tensor("matrix", 2, &[4, 2], &bytes(9, &[3, 0, 9, 255, 17, 1, 100, 50]));
        m.node("MatMulInteger", &["bytes", "matrix", "offset"], &["product"], &[]);
        m.node("Cast", &["product"], &["sums"], &[("to", Attr::Int(1))]);
        m.output("reals");
        m.output("sums");
        m.output("z");
        m.output("last");
        agrees(&m, |rows| vec![Random(7).values(rows * 6)], op);
    }
}

#[test]
fn windows_that_need_more_than_the_extent_are_refused() {
    let halves = || vec![numbers("kernel_shape", &[2]), numbers("strides", &[2])];
    let cases: [(&str, Vec<(&str, Attr)>); 3] = [
        ("AveragePool", [halves(), vec![("ceil_mode", Attr::Int(1))]].concat()),
        ("MaxPool", [halves(), vec![("auto_pad", Attr::Text("SAME_LOWER"))]].concat()),
        (
            "Resize",
            vec![("coordinate_transformation_mode", Attr::Text("align_corners")), ("mode", Attr::Text("linear"))],
        ),
    ];
    for (op, attributes) in cases {
        let mut m = Model::new();
        m.open_input("x", 1, &[Dim::Is(1), Dim::Is(2), Dim::Named("n")]);
        m.floats("scales", &[3], &[1.0, 1.0, 2.0]);
        let operands: &[&str] = if op == "Resize" { &["x", "", "scales"] } else { &["x"] };
        m.node(op, operands, &["y"], &attributes);
        m.output("y");
        let refusal = bounded(&m).unwrap_err();
        assert!(refusal.contains(op) && refusal.contains("and is at most 7"), "{op}: {refusal}");
    }
}

/// Means of windows have as many places as the run has, and normalizations those of each item.
#[test]
fn means_count_the_places_of_the_run() {
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Is(2), Dim::Is(2), Dim::Named("n")]);
    let three = || vec![numbers("kernel_shape", &[3]), numbers("pads", &[1, 1])];
    m.node("AveragePool", &["x"], &["a"], &three());
    m.node("AveragePool", &["a"], &["b"], &[three(), vec![numbers("strides", &[2])]].concat());
    m.floats("scale", &[2], &[0.5, 2.0]);
    m.floats("shift", &[2], &[-1.0, 0.25]);
    m.node("InstanceNormalization", &["b", "scale", "shift"], &["c"], &[("epsilon", Attr::Float(0.01))]);
    m.node("InstanceNormalization", &["x", "scale", "shift"], &["d"], &[]);
    ["a", "b", "c", "d"].into_iter().for_each(|name| m.output(name));
    agrees(&m, |rows| vec![Random(9).values(rows * 4)], "means");
}

#[test]
fn rows_are_repeated_one_repetition_after_another() {
    let mut m = model();
    m.ints("repeats", &[3, 2]);
    m.node("Tile", &["rows", "repeats"], &["y"], &[]);
    m.node("ReduceSum", &["y", "zero"], &["sum"], &[]);
    m.output("y");
    m.output("sum");
    agrees(&m, |rows| vec![Random(4).values(rows * 4)], "repeated");
}

/// Also if all values are the least ones, which places behind the extent have as well.
#[test]
fn the_last_of_equal_values_is_one_of_the_run() {
    for op in ["ArgMax", "ArgMin"] {
        let mut m = model();
        m.node(op, &["rows"], &["y"], &[axis(0), ("select_last_index", Attr::Int(1))]);
        m.node(op, &["rows"], &["z"], &[axis(1), ("select_last_index", Attr::Int(1)), ("keepdims", Attr::Int(0))]);
        m.output("y");
        m.output("z");
        for value in [f32::NEG_INFINITY, f32::INFINITY, 1.0] {
            agrees(&m, |rows| vec![vec![value; rows * 4]], &format!("{op} of {value}"));
        }
        agrees(&m, |rows| vec![Random(4).values(rows * 4)], op);
    }
}

/// Returns the refusal of an operator that reads the rows.
fn refusal(build: impl Fn(&mut Model)) -> String {
    let mut m = model();
    build(&mut m);
    m.output("y");
    bounded(&m).unwrap_err()
}

/// An operator, its operands and its attributes.
type Node<'n> = (&'n str, &'n [&'n str], &'n [(&'n str, Attr)]);

#[test]
fn operators_that_would_read_behind_the_extent_are_refused_by_name() {
    let plain: &[Node<'_>] = &[
        ("Slice", &["rows", "minus two", "end", "zero"], &[]),
        ("Concat", &["rows", "square"], &[axis(1)]),
        ("Gather", &["rows", "one"], &[axis(0)]),
        ("Slice", &["rows", "one", "end", "zero"], &[]),
        ("Reshape", &["rows", "halved"], &[]),
        ("Size", &["rows"], &[]),
        ("Split", &["rows"], &[axis(0)]),
        ("Hardmax", &["rows"], &[axis(0)]),
    ];
    for (op, operands, attributes) in plain {
        let refusal = refusal(|m| {
            m.floats("seven", &[7, 4], &[1.0; 28]);
            m.ints("minus two", &[-2]);
            m.ints("halved", &[2, -1]);
            m.node(op, operands, &["y"], attributes);
        });
        assert!(refusal.contains(op) && refusal.contains("and is at most 7"), "{op}: {refusal}");
    }
    // The extent is told to operators that do not keep it.
    for (operands, op) in [(["rows", "merged"], "Reshape"), (["square", "shape"], "Expand")] {
        let refusal = refusal(|m| {
            m.node("Shape", &["rows"], &["shape"], &[]);
            m.node("Gather", &["shape", "zero"], &["n"], &[]);
            m.node("Concat", &["two", "n", "two"], &["merged"], &[axis(0)]);
            m.node(op, &operands, &["y"], &[]);
        });
        assert!(refusal.contains(op) && refusal.contains("is found in a run, and is at most 7"), "{op}: {refusal}");
    }
}

/// A cache of a fixed number of earlier steps is put in front of those of the run, and the last of all are the next cache.
#[test]
fn a_cache_precedes_the_steps_of_the_run() {
    let mut m = model();
    m.input("cache", &[3, COLUMNS]);
    m.ints("from the end", &[-3]);
    m.ints("whole", &[i64::MAX]);
    m.node("Concat", &["cache", "rows"], &["together"], &[axis(0)]);
    m.node("Slice", &["together", "from the end", "whole", "zero"], &["next"], &[]);
    m.node("Neg", &["together"], &["y"], &[]);
    m.output("y");
    m.output("next");
    let cache: Vec<f32> = (0..3 * COLUMNS).map(|i| i as f32).collect();
    agrees(&m, |rows| vec![Random(3).values(rows * COLUMNS as usize), cache.clone()], "cache");
}

/// A cache adds places and a window without a border removes as many, so that the result can be added to the steps.
#[test]
fn a_cache_and_a_window_leave_the_steps_of_the_run() {
    let mut m = Model::new();
    m.open_input("steps", 1, &[Dim::Is(1), Dim::Is(2), Dim::Named("n")]);
    m.input("cache", &[1, 2, 3]);
    m.floats("window", &[2, 1, 4], &[1.0, -0.5, 0.25, 2.0, 0.5, 1.0, -1.0, 0.125]);
    m.node("Concat", &["cache", "steps"], &["together"], &[axis(2)]);
    m.node("Conv", &["together", "window"], &["filtered"], &[("group", Attr::Int(2))]);
    m.node("Add", &["filtered", "steps"], &["y"], &[]);
    m.output("y");
    let cache: Vec<f32> = (0..6).map(|i| i as f32 - 2.0).collect();
    agrees(&m, |rows| vec![Random(6).values(rows * 2), cache.clone()], "cache and window");
}

/// The keys of earlier tokens, as many as the run says, are followed by those of new ones.
#[test]
fn places_behind_an_open_extent_follow_it() {
    for (before, behind) in [(0, 1), (0, 3), (2, 1)] {
        let mut m = model();
        m.input("first", &[2, COLUMNS]);
        m.input("last", &[behind, COLUMNS]);
        let parts: &[&str] = if before == 0 { &["rows", "last"] } else { &["first", "rows", "last"] };
        m.node("Concat", parts, &["together"], &[axis(0)]);
        m.node("Transpose", &["together"], &["columns"], &[]);
        m.node("MatMul", &["last", "columns"], &["likeness"], &[]);
        m.node("Softmax", &["likeness"], &["shares"], &[]);
        m.node("MatMul", &["shares", "together"], &["mixed"], &[]);
        m.output("together");
        m.output("mixed");
        let list = |len: i64| (0..len * COLUMNS).map(|i| i as f32 / 8.0 - 1.0).collect::<Vec<f32>>();
        let inputs = |rows| vec![Random(4).values(rows * COLUMNS as usize), list(2), list(behind)];
        agrees(&m, inputs, &format!("{before} in front, {behind} behind"));
    }
}

/// A step of a graph network: values of nodes are sent along edges and added up where these end.
#[test]
fn graphs_have_the_nodes_and_edges_of_the_run() {
    let mut m = Model::new();
    m.open_input("nodes", 1, &[Dim::Named("n"), Dim::Is(2)]);
    m.open_input("sources", INT64, &[Dim::Named("e")]);
    m.open_input("targets", INT64, &[Dim::Named("e")]);
    m.ints("one", &[1]);
    m.node("Gather", &["nodes", "sources"], &["messages"], &[axis(0)]);
    m.node("Unsqueeze", &["targets", "one"], &["column"], &[]);
    m.node("Shape", &["messages"], &["extents"], &[]);
    m.node("Expand", &["column", "extents"], &["indices"], &[]);
    m.node("Shape", &["nodes"], &["shape"], &[]);
    m.node("ConstantOfShape", &["shape"], &["zeros"], &[]);
    let add = ("reduction", Attr::Text("add"));
    m.node("ScatterElements", &["zeros", "indices", "messages"], &["sums"], &[axis(0), add]);
    m.node("Add", &["nodes", "sums"], &["y"], &[]);
    m.output("y");
    let bounds = [("n".to_owned(), 6.into()), ("e".to_owned(), 8.into())].into();
    let graph = import_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() }).unwrap();
    let mut random = Random(5);
    for (nodes, edges) in [(6, 8), (2, 5), (1, 1), (4, 8), (6, 2)] {
        let x = random.values(nodes * 2);
        let [sources, targets] = [0, 1].map(|_| (0..edges).map(|_| random.below(nodes)).collect::<Vec<_>>());
        let mut expected = x.clone();
        for (from, to) in sources.iter().zip(&targets) {
            (0..2).for_each(|c| expected[to * 2 + c] += x[from * 2 + c]);
        }
        // Every second index counts from the end.
        let index = |(edge, node): (usize, &usize)| *node as f32 - if edge % 2 == 0 { 0.0 } else { nodes as f32 };
        let [sources, targets] = [sources, targets].map(|list| list.iter().enumerate().map(index).collect());
        let found = run(&graph, &[x, sources, targets]);
        assert_eq!(found[0].0, [nodes, 2]);
        for (a, b) in found[0].1.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-5, "{nodes} nodes, {edges} edges: {:?} instead of {expected:?}", found[0].1);
        }
    }
}

#[test]
fn bounds_that_do_not_fit_the_file_are_refused() {
    let bound = |bounds: &[(&str, usize)], m: &Model| {
        let bounds = bounds.iter().map(|&(name, bound)| (name.to_owned(), bound.into())).collect();
        import_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() }).unwrap_err().to_string()
    };
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Named("n"), Dim::Named("m"), Dim::Is(3)]);
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    assert!(bound(&[("n", 4)], &m).contains("m (axis 1 of input `x`)"));
    assert!(bound(&[("n", 4), ("k", 4)], &m).contains("m (axis 1"));
    assert!(bound(&[("n", 4), ("x:1", 2), ("x:2", 3)], &m).contains("the file states 3 for axis 2 of input `x`"));
}

/// Integers, with the least and greatest that floats hold in place of infinities.
#[test]
fn integers_are_reduced_to_those_of_the_run() {
    let mut m = Model::new();
    m.open_input("x", 6, &[Dim::Named("n"), Dim::Is(3)]);
    m.ints("zero", &[0]);
    m.ints("two", &[2]);
    m.node("ReduceMax", &["x", "zero"], &["most"], &[]);
    m.node("ReduceMin", &["x", "zero"], &["least"], &[]);
    m.node("ReduceSum", &["x", "zero"], &["sum"], &[]);
    m.node("ArgMin", &["x"], &["place"], &[axis(0)]);
    ["most", "least", "sum", "place"].into_iter().for_each(|name| m.output(name));
    agrees(&m, |rows| vec![(0..rows * 3).map(|i| (i * 7 % 11) as f32 - 30.0).collect()], "integers");
    agrees(&m, |rows| vec![(0..rows * 3).map(|i| (i * 7 % 11) as f32 + 30.0).collect()], "integers");
}

/// The greatest relative position of T5 is that of a constant which holds the least integer of 64 bits.
#[test]
fn the_extents_of_known_values_with_any_integers_are_known() {
    let mut m = model();
    m.ints("least", &[i64::MIN]);
    m.node("Shape", &["rows"], &["shape"], &[]);
    m.node("Gather", &["shape", "i0"], &["n"], &[]);
    m.node("Range", &["i0", "n", "i1"], &["places"], &[]);
    m.node("Where", &["flags", "least", "places"], &["numbers"], &[]);
    m.node("Equal", &["places", "zero"], &["flags"], &[]);
    m.node("Shape", &["numbers"], &["extents"], &[]);
    m.node("ConstantOfShape", &["extents"], &["full"], &[]);
    m.node("Max", &["numbers", "full"], &["y"], &[]);
    m.output("y");
    agrees(&m, |rows| vec![vec![0.5; rows * COLUMNS as usize]], "extents");
}

#[test]
fn a_slice_from_an_extent_before_the_end_asks_for_one_number() {
    let mut m = model();
    m.node("Shape", &["rows"], &["shape"], &[("end", Attr::Int(1))]);
    m.node("Neg", &["shape"], &["begin"], &[]);
    m.node("Slice", &["rows", "begin", "end", "zero"], &["y"], &[]);
    m.output("y");
    let text = bounded(&m).unwrap_err();
    assert!(
        text.contains("its starts, is computed at run time from `extent n`; bind the extent to one number"),
        "{text}"
    );
}
