//! Decoders with a cache of earlier steps: caches without elements, and masks and positions of an open number of steps.

use texpool_model::import::{ImportError, ImportOptions, parse_dim};
use texpool_ops::{
    graph::{ExtentError, Graph, InputValues},
    ops::reference,
};

use super::support::{
    import_with,
    onnx::{Attr, Dim, FLOAT, INT64, Model, bytes},
};

/// The most steps of a cache.
const MOST: usize = 7;

/// The greatest number up to which 32-bit floats hold all integers.
const EXACT: usize = 1 << 24;

/// Values of a step.
const COLUMNS: usize = 4;

/// Positions of the tables.
const TABLE: usize = 16;

fn values(seed: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 + seed * 11) % 29) as f32 / 8.0 - 1.5).collect()
}

fn axis(axis: i64) -> [(&'static str, Attr); 1] {
    [("axis", Attr::Int(axis))]
}

/// Reads a model with names bound as on the command line.
fn read(m: &Model, dims: &[String]) -> Result<Graph, ImportError> {
    let mut options = ImportOptions::default();
    for dim in dims {
        let (name, bound) = parse_dim(dim).unwrap();
        assert!(options.bind(&name, bound), "{dim}");
    }
    import_with(m.bytes(), &options)
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

/// Adds the numbers and tables that the nodes of the models read.
fn constants(m: &mut Model) {
    for (name, numbers) in [("zero", &[0][..]), ("one", &[1]), ("column", &[-1, 1])] {
        m.ints(name, numbers);
    }
    for number in [0, 1, 2, 3, 5, 15, 16] {
        m.tensor(&format!("i{number}"), INT64, &[], &bytes(9, &i64::to_le_bytes(number)));
    }
    m.floats("table", &[TABLE as i64, COLUMNS as i64], &values(1, TABLE * COLUMNS));
}

/// Adds the extent `n` of the first axis of a value.
fn extent(m: &mut Model, of: &str, n: &str) {
    let shape = format!("{n} shape");
    m.node("Shape", &[of], &[&shape], &[]);
    m.node("Gather", &[&shape, "i0"], &[n], &axis(0));
}

/// A decoder of one layer, as exporters write it. The extent of the mask has this name.
fn decoder(mask: &'static str) -> Model {
    let mut m = Model::new();
    let columns = Dim::Is(COLUMNS as i64);
    m.open_input("new", FLOAT, &[Dim::Named("sequence_length"), columns]);
    m.open_input("mask", FLOAT, &[Dim::Named(mask)]);
    m.open_input("past", FLOAT, &[Dim::Named("past_sequence_length"), Dim::Is(COLUMNS as i64)]);
    constants(&mut m);
    let lower: Vec<u8> = (0..TABLE * TABLE).map(|i| u8::from(i % TABLE <= i / TABLE)).collect();
    m.tensor("triangle", 9, &[TABLE as i64, TABLE as i64], &bytes(9, &lower));
    m.floats("least", &[], &[-1e9]);
    m.floats("float one", &[], &[1.0]);
    extent(&mut m, "new", "s");
    extent(&mut m, "past", "p");
    m.node("Add", &["p", "s"], &["total"], &[]);
    m.node("Range", &["p", "total", "i1"], &["positions"], &[]);
    m.node("Gather", &["table", "positions"], &["embedded"], &axis(0));
    m.node("Add", &["new", "embedded"], &["x"], &[]);
    m.node("Concat", &["past", "x"], &["present"], &axis(0));
    m.node("Transpose", &["present"], &["turned"], &[]);
    m.node("MatMul", &["x", "turned"], &["likeness"], &[]);
    m.node("Unsqueeze", &["p", "zero"], &["from"], &[]);
    m.node("Unsqueeze", &["total", "zero"], &["to"], &[]);
    m.node("Slice", &["triangle", "from", "to", "zero"], &["rows"], &[]);
    m.node("Slice", &["rows", "zero", "to", "one"], &["causal"], &[]);
    m.node("Where", &["causal", "likeness", "least"], &["seen"], &[]);
    m.node("Sub", &["float one", "mask"], &["hidden"], &[]);
    m.node("Mul", &["hidden", "least"], &["bias"], &[]);
    m.node("Add", &["seen", "bias"], &["masked"], &[]);
    m.node("Softmax", &["masked"], &["shares"], &[]);
    m.node("MatMul", &["shares", "present"], &["y"], &[]);
    // A second form of the causal mask, which compares positions.
    m.node("Range", &["i0", "total", "i1"], &["all positions"], &[]);
    m.node("Reshape", &["positions", "column"], &["by row"], &[]);
    m.node("Greater", &["all positions", "by row"], &["later"], &[]);
    m.node("Cast", &["later"], &["is later"], &[("to", Attr::Int(FLOAT))]);
    for name in ["y", "present", "is later"] {
        m.output(name);
    }
    m
}

/// New steps, the mask, and the cache.
fn inputs(past: usize, new: usize) -> Vec<Vec<f32>> {
    let mut mask = vec![1.0; past + new];
    if past > 1 {
        mask[0] = 0.0;
    }
    vec![values(2, new * COLUMNS), mask, values(3, past * COLUMNS)]
}

#[test]
fn one_graph_serves_every_number_of_earlier_steps() {
    for (mask, new) in [
        ("past_sequence_length + sequence_length", 1),
        ("past_sequence_length + sequence_length", 3),
        ("total_sequence_length", 2),
        ("past_sequence_length + 1", 1),
    ] {
        let m = decoder(mask);
        let bound = format!("sequence_length={new}");
        let open = read(&m, &[format!("past_sequence_length<={MOST}"), bound.clone()]).unwrap();
        let axes: Vec<[usize; 3]> = open.bounded_inputs.iter().map(|b| [b.input, b.axis, b.more]).collect();
        assert_eq!(axes, [[1, 0, new], [2, 0, 0]]);
        for past in [3, MOST, 1, 5] {
            let exact = read(&m, &[format!("past_sequence_length={past}"), bound.clone()]).unwrap();
            let [found, expected] = [&open, &exact].map(|graph| run(graph, &inputs(past, new)));
            for ((dims, found), (expected_dims, expected)) in found.iter().zip(&expected) {
                assert_eq!(dims, expected_dims, "{mask}, {past} and {new}");
                for (a, b) in found.iter().zip(expected) {
                    assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{mask}, {past} and {new}: {a} instead of {b}");
                }
            }
        }
    }
}

/// Each cached decoder begins with a cache without elements.
#[test]
fn an_empty_cache_is_no_input() {
    let m = decoder("past_sequence_length + sequence_length");
    let graph = read(&m, &["past_sequence_length=0".to_owned(), "sequence_length=3".to_owned()]).unwrap();
    let names: Vec<&str> = graph.inputs.iter().map(|&input| &*graph.tensors[input].name).collect();
    assert_eq!(names, ["new", "mask"]);
    let given = &inputs(0, 3)[..2];
    let outputs = reference::outputs(&graph, given).unwrap();
    let present: Vec<f32> = given[0].iter().zip(values(1, TABLE * COLUMNS)).map(|(x, y)| x + y).collect();
    assert_eq!(outputs[1], present);
    assert_eq!(outputs[2], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);

    // The first prompt may have any length.
    let dims = ["past_sequence_length=0".to_owned(), format!("sequence_length<={MOST}")];
    let open = read(&m, &dims).unwrap();
    assert_eq!(
        run(&open, given),
        [[3, COLUMNS], [3, COLUMNS], [3, 3]].map(Vec::from).into_iter().zip(outputs).collect::<Vec<_>>()
    );
}

/// A batch that each run gives is that of the empty cache, too.
#[test]
fn an_empty_cache_has_the_batch_of_the_run() {
    let mut m = Model::new();
    m.open_input("past", FLOAT, &[Dim::Named("batch"), Dim::Named("past"), Dim::Is(2)]);
    m.open_input("new", FLOAT, &[Dim::Named("batch"), Dim::Is(1), Dim::Is(2)]);
    m.node("Transpose", &["past"], &["turned"], &[("perm", Attr::Ints(vec![1, 0, 2]))]);
    m.node("Transpose", &["turned"], &["back"], &[("perm", Attr::Ints(vec![1, 0, 2]))]);
    m.node("Concat", &["back", "new"], &["all"], &axis(1));
    m.node("Neg", &["all"], &["y"], &[]);
    m.output("y");
    let dims = ["past=0".to_owned(), "batch<=4".to_owned()];
    let graph = read(&m, &dims).unwrap();
    assert_eq!(run(&graph, &[vec![1.0, 2.0, 3.0, 4.0]]), [(vec![2, 1, 2], vec![-1.0, -2.0, -3.0, -4.0])]);
    // Without another input of the batch, no run gives it.
    let mut m = Model::new();
    m.open_input("past", FLOAT, &[Dim::Named("batch"), Dim::Named("past")]);
    m.open_input("x", FLOAT, &[Dim::Is(2)]);
    m.node("Neg", &["x"], &["y"], &[]);
    m.output("y");
    let error = read(&m, &dims).unwrap_err().to_string();
    assert!(
        error.contains("input `past`: it has no elements, and its extent `batch` is that of no other input"),
        "{error}"
    );
}

#[test]
fn results_of_an_empty_cache_are_refused_by_name() {
    let mut m = Model::new();
    m.open_input("past", FLOAT, &[Dim::Named("past"), Dim::Is(2)]);
    m.open_input("x", FLOAT, &[Dim::Is(2)]);
    m.node("Add", &["past", "x"], &["y"], &[]);
    m.output("y");
    let error = read(&m, &["past=0".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("its operand `past` has no elements: its extents are [0, 2]"), "{error}");
    assert!(parse_dim("past<=0").unwrap_err().contains("`0` is no extent up to which a run can have places"));
}

#[test]
fn a_run_gives_extents_that_agree() {
    let m = decoder("past_sequence_length + sequence_length");
    let graph = read(&m, &[format!("past_sequence_length<={MOST}"), "sequence_length=2".to_owned()]).unwrap();
    let given = |past: usize, mask: usize| {
        let [new, past] = [values(2, 2 * COLUMNS), values(3, past * COLUMNS)];
        let mask = vec![1.0; mask];
        let all = [(0, (&new).into()), (1, (&mask).into()), (2, (&past).into())];
        graph.padded_inputs(&all, EXACT).map(|all| all.last().map(|(_, count)| count.to_vec()))
    };
    assert_eq!(given(5, 7), Ok(Some(vec![5.0])));
    let error = given(5, 6).unwrap_err();
    let inputs = ["mask".to_owned(), "past".to_owned()];
    assert_eq!(error, ExtentError::NoSum { inputs, extents: [6, 5], expected: 4 });
    assert_eq!(
        error.to_string(),
        "inputs `mask` and `past` have 6 and 5 places along axes whose extents follow from each other: with 6, `past` has 4"
    );
    let error = given(1, 2).unwrap_err().to_string();
    assert_eq!(error, "input `mask` has 2 places along axis 0, and the model takes 3 to 9");
    // Only the mask is given: the cache has what is left.
    let mask = vec![1.0; 6];
    let padded = graph.padded_inputs(&[(1, (&mask).into())], EXACT).unwrap();
    assert_eq!(padded.last().unwrap().1[..], [4.0]);
}

#[test]
fn sums_have_one_open_part_and_are_not_asked_for() {
    let m = decoder("past_sequence_length + sequence_length");
    let error = read(&m, &["past_sequence_length<=7".to_owned(), "sequence_length<=3".to_owned()]).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ImportError::CannotBind { name, asked: 3, .. } if name == "sequence_length"), "{text}");
    assert!(text.contains("it is added to `past_sequence_length`, which runs give, too"), "{text}");
    for mask in ["past_sequence_length + sequence_length", "total_sequence_length"] {
        for dims in [&[][..], &["past_sequence_length<=7".to_owned()]] {
            let ImportError::UnresolvedDim(open) = read(&decoder(mask), dims).unwrap_err() else { panic!("{mask}") };
            assert!(open.iter().all(|dim| dim.name != mask), "{open:?}");
        }
    }
}

/// Adds an operator with two numbers.
fn two(m: &mut Model, op: &str, operands: [&str; 2], result: &str) {
    m.node(op, &operands, &[result], &[]);
}

/// A model that begins with as many rows as a run gives, and their number `n`.
fn rows() -> Model {
    let mut m = Model::new();
    m.open_input("rows", FLOAT, &[Dim::Named("n"), Dim::Is(COLUMNS as i64)]);
    constants(&mut m);
    extent(&mut m, "rows", "n");
    m
}

/// Checks that a model which is read once gives the same bits as one that is read for the number of rows of each run.
fn agrees(m: &Model, what: &str) {
    agrees_for(m, what, &[3, MOST, 1, 5]);
}

fn agrees_for(m: &Model, what: &str, runs: &[usize]) {
    let open = read(m, &[format!("n<={MOST}")]).unwrap_or_else(|error| panic!("{what}: {error}"));
    for &rows in runs {
        let exact = read(m, &[format!("n={rows}")]).unwrap();
        let [found, expected] = [&open, &exact].map(|graph| run(graph, &[values(4, rows * COLUMNS)]));
        assert_eq!(found, expected, "{what}, {rows} rows");
    }
}

#[test]
fn ranges_and_slices_begin_and_end_at_extents() {
    // Starts and ends, as an operator on the number of rows and a number.
    let cases: [[(&str, [&str; 2]); 2]; 7] = [
        [("Add", ["n", "i0"]), ("Add", ["n", "i3"])],
        [("Mul", ["n", "i1"]), ("Add", ["i5", "n"])],
        [("Sub", ["n", "i1"]), ("Add", ["n", "i2"])],
        [("Sub", ["i16", "n"]), ("Sub", ["i16", "i1"])],
        [("Add", ["n", "i1"]), ("Mul", ["n", "i2"])],
        [("Sub", ["i16", "n"]), ("Add", ["i5", "n"])],
        [("Mul", ["i1", "i1"]), ("Add", ["n", "i2"])],
    ];
    for (which, [start, end]) in cases.into_iter().enumerate() {
        for is_range in [true, false] {
            let mut m = rows();
            two(&mut m, start.0, start.1, "start");
            two(&mut m, end.0, end.1, "end");
            if is_range {
                m.node("Range", &["start", "end", "i1"], &["y"], &[]);
            } else {
                m.node("Unsqueeze", &["start", "zero"], &["from"], &[]);
                m.node("Unsqueeze", &["end", "zero"], &["to"], &[]);
                m.node("Slice", &["table", "from", "to", "zero"], &["y"], &[]);
            }
            m.output("y");
            let what = format!("case {which}, {}", if is_range { "range" } else { "slice" });
            match which {
                // The end may be less than the start.
                _ if which == 5 || (which == 3 && is_range) => {
                    let error = read(&m, &[format!("n<={MOST}")]).unwrap_err().to_string();
                    assert!(error.contains(if is_range { "Range" } else { "Slice" }), "{what}: {error}");
                }
                // A graph for one row would have no numbers.
                3 | 4 => agrees_for(&m, &what, &[2, MOST, 4]),
                _ => agrees(&m, &what),
            }
        }
    }
}

/// Positions of new tokens follow from a mask of all of them, and the last token is looked up.
#[test]
fn slices_begin_at_the_extent_and_end_at_the_end() {
    let mut m = rows();
    m.input("new", &[2, COLUMNS as i64]);
    m.ints("end", &[i64::MAX]);
    m.ints("first and last", &[0, -1]);
    m.node("Concat", &["rows", "new"], &["all"], &axis(0));
    m.node("Unsqueeze", &["n", "zero"], &["from"], &[]);
    m.node("CumSum", &["all", "i0"], &["sums"], &[]);
    m.node("Slice", &["sums", "from", "end", "zero"], &["of new"], &[]);
    m.node("Slice", &["table", "from", "end", "zero"], &["of table"], &[]);
    m.node("Gather", &["all", "first and last"], &["ends"], &axis(0));
    m.tensor("last", INT64, &[], &bytes(9, &i64::to_le_bytes(-1)));
    m.node("Gather", &["rows", "last"], &["last row"], &axis(0));
    // The row with the greatest first value, by an index without axes.
    m.node("Gather", &["rows", "i0"], &["first column"], &axis(1));
    m.node("ArgMax", &["first column"], &["place"], &[("keepdims", Attr::Int(0))]);
    m.node("Gather", &["rows", "place"], &["best row"], &axis(0));
    for name in ["of new", "of table", "ends", "last row", "best row"] {
        m.output(name);
    }
    let open = read(&m, &[format!("n<={MOST}")]).unwrap();
    for rows in [3, MOST, 1, 5] {
        let exact = read(&m, &[format!("n={rows}")]).unwrap();
        let given = [values(4, rows * COLUMNS), values(5, 2 * COLUMNS)];
        assert_eq!(run(&open, &given), run(&exact, &given), "{rows} rows");
    }
    let dims: Vec<&[usize]> = open.outputs.iter().map(|&output| &open.tensors[output].dims[..]).collect();
    assert_eq!(dims[..5], [&[2, COLUMNS][..], &[TABLE - 1, COLUMNS], &[2, COLUMNS], &[COLUMNS], &[COLUMNS]]);
}

/// Relative positions around the middle of a table, as conformers have them.
#[test]
fn a_table_is_cut_around_its_middle() {
    let mut m = rows();
    m.floats("positions", &[31, 2], &values(5, 62));
    two(&mut m, "Sub", ["i16", "n"], "start");
    two(&mut m, "Add", ["i15", "n"], "end");
    m.node("Unsqueeze", &["start", "zero"], &["from"], &[]);
    m.node("Unsqueeze", &["end", "zero"], &["to"], &[]);
    m.node("Slice", &["positions", "from", "to", "zero"], &["y"], &[]);
    m.output("y");
    agrees(&m, "middle");
}

/// The difference of two extents is a number, with which other operators are told their results.
#[test]
fn a_difference_of_extents_is_a_number() {
    let mut m = rows();
    two(&mut m, "Add", ["n", "i3"], "more");
    two(&mut m, "Sub", ["more", "n"], "three");
    m.node("Unsqueeze", &["three", "zero"], &["list"], &[]);
    m.node("ConstantOfShape", &["list"], &["zeros"], &[]);
    m.node("ReduceSum", &["rows"], &["sum"], &[("keepdims", Attr::Int(0))]);
    m.node("Add", &["zeros", "sum"], &["y"], &[]);
    m.output("y");
    agrees(&m, "difference");
}

/// Buckets of relative positions: logarithms of all distances between tokens, which are known but for their number.
#[test]
fn numbers_at_open_places_are_computed_on_import() {
    let mut m = rows();
    m.floats("two floats", &[], &[2.0]);
    m.floats("weights", &[8, 2], &values(6, 16));
    m.node("Range", &["i0", "n", "i1"], &["places"], &[]);
    m.node("Unsqueeze", &["places", "zero"], &["as row"], &[]);
    m.node("Unsqueeze", &["places", "one"], &["as column"], &[]);
    two(&mut m, "Sub", ["as row", "as column"], "distances");
    m.node("Abs", &["distances"], &["lengths"], &[]);
    m.node("Cast", &["lengths"], &["floats"], &[("to", Attr::Int(FLOAT))]);
    m.node("Log", &["floats"], &["logarithms"], &[]);
    two(&mut m, "Mul", ["logarithms", "two floats"], "scaled");
    m.node("Cast", &["scaled"], &["whole"], &[("to", Attr::Int(INT64))]);
    two(&mut m, "Add", ["whole", "i2"], "shifted");
    two(&mut m, "Min", ["shifted", "i5"], "far");
    two(&mut m, "Less", ["lengths", "i2"], "is near");
    m.node("Where", &["is near", "lengths", "far"], &["buckets"], &[]);
    m.node("Gather", &["weights", "buckets"], &["y"], &axis(0));
    m.node("ReduceSum", &["rows"], &["sum"], &[("keepdims", Attr::Int(0))]);
    m.node("Add", &["y", "sum"], &["z"], &[]);
    for name in ["z", "buckets"] {
        m.output(name);
    }
    agrees(&m, "buckets");
}
