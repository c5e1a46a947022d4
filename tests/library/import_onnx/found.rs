//! Extents that depend on values: NonZero, Compress and NonMaxSuppression, and the operators behind them.

use texpool_model::import::{ImportOptions, OutlineSource, Verdict};
use texpool_ops::{
    graph::{Graph, Op},
    ops::reference,
};

use super::support::{
    import,
    onnx::{Attr, Model},
};

/// Pseudo-random numbers.
struct Random(u32);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % bound
    }

    /// Values of which about a share is zero.
    fn sparse(&mut self, len: usize) -> Vec<f32> {
        let density = self.below(5);
        (0..len).map(|_| if self.below(4) < density { self.below(9) as f32 - 4.0 } else { 0.0 }).collect()
    }
}

/// Extents and values of the outputs.
fn outputs(graph: &Graph, inputs: &[Vec<f32>]) -> Vec<(Vec<usize>, Vec<f32>)> {
    let mut outputs = reference::outputs(graph, inputs).unwrap();
    let dims = graph.cut_outputs(&mut outputs);
    dims.into_iter().zip(outputs).collect()
}

#[test]
fn elements_that_are_not_zero_are_found_in_order() {
    let mut random = Random(1);
    for dims in [&[1][..], &[7], &[3, 5], &[2, 1, 4], &[2, 3, 2, 2, 3]] {
        let mut m = Model::new();
        m.input("x", &dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
        m.node("NonZero", &["x"], &["y"], &[]);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let len = dims.iter().product();
        for round in 0..6 {
            let x = if round == 0 { vec![0.0; len] } else { random.sparse(len) };
            let found: Vec<usize> = (0..len).filter(|&i| x[i] != 0.0).collect();
            let expected: Vec<f32> = (0..dims.len())
                .flat_map(|axis| {
                    let by: usize = dims[axis + 1..].iter().product();
                    found.iter().map(move |&i| (i / by % dims[axis]) as f32)
                })
                .collect();
            assert_eq!(outputs(&graph, std::slice::from_ref(&x)), [(vec![dims.len(), found.len()], expected)], "{x:?}");
        }
    }
}

#[test]
fn infinities_and_nan_are_not_zero() {
    let mut m = Model::new();
    m.input("x", &[5]);
    m.node("NonZero", &["x"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let x = vec![f32::NAN, 0.0, f32::NEG_INFINITY, -0.0, f32::INFINITY];
    assert_eq!(outputs(&graph, &[x]), [(vec![1, 3], vec![0.0, 2.0, 4.0])]);
}

/// Rows of the data, and columns.
const ROWS: usize = 9;
const COLUMNS: usize = 4;

/// Adds some operators that pass rows on, and returns the name of the last result. The rows are along axis 0.
fn chain(m: &mut Model, random: &mut Random) -> String {
    m.floats("row", &[1, COLUMNS as i64], &[0.5, -1.0, 2.0, 0.25]);
    m.floats("square", &[4, 4], &(0..16).map(|i| (i % 5) as f32 - 2.0).collect::<Vec<_>>());
    m.ints("flat", &[-1, 4]);
    m.ints("keep", &[0, 2, 2]);
    m.ints("middle", &[1]);
    m.ints("picked", &[3, 1, 0, 3]);
    m.ints("one", &[1]);
    m.ints("end", &[9]);
    m.ints("zero", &[0]);
    let mut last = "rows".to_owned();
    for step in 0..5 {
        let next = format!("step{step}");
        let (x, y) = (last.as_str(), next.as_str());
        let (a, b) = (format!("{y}a"), format!("{y}b"));
        let (a, b) = (a.as_str(), b.as_str());
        match random.below(14) {
            0 => m.node("Relu", &[x], &[y], &[]),
            1 => m.node("Add", &["row", x], &[y], &[]),
            2 => m.node("Mul", &[x, x], &[y], &[]),
            3 => m.node("MatMul", &[x, "square"], &[y], &[]),
            4 => {
                m.node("Transpose", &[x], &[a], &[]);
                m.node("Softmax", &[a], &[b], &[("axis", Attr::Int(0))]);
                m.node("Transpose", &[b], &[y], &[("perm", Attr::Ints(vec![1, 0]))]);
            }
            5 => {
                m.node("Unsqueeze", &[x, "middle"], &[a], &[]);
                m.node("Squeeze", &[a, "middle"], &[y], &[]);
            }
            6 => m.node("Gather", &[x, "picked"], &[y], &[("axis", Attr::Int(1))]),
            7 => {
                m.node("Slice", &[x, "one", "end", "one"], &[a], &[]);
                m.node("Slice", &[x, "zero", "one", "one"], &[b], &[]);
                m.node("Concat", &[a, b], &[y], &[("axis", Attr::Int(1))]);
            }
            8 => {
                m.node("Reshape", &[x, "keep"], &[a], &[]);
                m.node("Reshape", &[a, "flat"], &[y], &[]);
            }
            // These mix the places of the rows.
            9 => m.node("Softmax", &[x], &[y], &[("axis", Attr::Int(0))]),
            10 => m.node("CumSum", &[x, "zero"], &[y], &[("reverse", Attr::Int(1))]),
            11 => {
                m.node("Gemm", &[x, x], &[a], &[("transA", Attr::Int(1))]);
                m.node("MatMul", &[x, a], &[b], &[]);
                m.node("Tanh", &[b], &[y], &[]);
            }
            12 => {
                m.node("ReduceMax", &[x, "zero"], &[a], &[]);
                m.node("Sub", &[x, a], &[y], &[]);
            }
            _ => {
                m.node("ReduceSum", &[x, "zero"], &[a], &[]);
                m.node("Tanh", &[a], &[b], &[]);
                m.node("Mul", &[x, b], &[y], &[]);
            }
        }
        last = next;
    }
    last
}

/// A graph with room for all rows gives the same values for those that a run selects as one that is made for them.
#[test]
fn rows_that_a_run_selects_are_computed_as_in_a_graph_that_is_made_for_them() {
    for seed in 0..40 {
        let mut of_run = Model::new();
        of_run.input("x", &[ROWS as i64, COLUMNS as i64]);
        of_run.input("flags", &[ROWS as i64]);
        of_run.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
        of_run.node("Compress", &["x", "condition"], &["rows"], &[("axis", Attr::Int(0))]);
        let last = chain(&mut of_run, &mut Random(seed));
        of_run.output(&last);
        let graph = import(of_run.bytes()).unwrap();
        assert_eq!(graph.bounded.len(), 1);

        let mut random = Random(seed + 1000);
        let x: Vec<f32> = (0..ROWS * COLUMNS).map(|_| random.below(17) as f32 / 4.0 - 2.0).collect();
        for _ in 0..3 {
            let flags: Vec<f32> = (0..ROWS).map(|_| random.below(2) as f32).collect();
            let selected: Vec<f32> =
                (0..ROWS).filter(|&i| flags[i] != 0.0).flat_map(|i| x[i * COLUMNS..][..COLUMNS].to_vec()).collect();
            let rows = selected.len() / COLUMNS;
            let found = outputs(&graph, &[x.clone(), flags]);
            if rows == 0 {
                assert_eq!(found[0].1, [0.0; 0], "seed {seed}");
                continue;
            }
            let mut made = Model::new();
            made.input("rows", &[rows as i64, COLUMNS as i64]);
            let last = chain(&mut made, &mut Random(seed));
            made.output(&last);
            let expected = outputs(&import(made.bytes()).unwrap(), &[selected]);
            assert_eq!(found, expected, "seed {seed}, {rows} rows");
        }
    }
}

/// A detector's end: boxes and scores of four anchors and two classes in, rows of box, score and class out.
fn detector() -> Model {
    let mut m = Model::new();
    m.input("boxes", &[1, 4, 4]);
    m.input("scores", &[1, 2, 4]);
    m.ints("most", &[3]);
    m.floats("overlap", &[], &[0.5]);
    m.floats("least", &[], &[0.25]);
    m.ints("two", &[2]);
    m.ints("one", &[1]);
    m.ints("three", &[3]);
    m.ints("scalar", &[0]);
    m.ints("hundred", &[5]);
    m.ints("flat", &[-1]);
    m.node("NonMaxSuppression", &["boxes", "scores", "most", "overlap", "least"], &["selected"], &[]);
    m.node("Slice", &["selected", "two", "three", "one"], &["indices"], &[]);
    m.node("Reshape", &["indices", "flat"], &["flat indices"], &[]);
    m.node("Gather", &["boxes", "flat indices"], &["picked"], &[("axis", Attr::Int(1))]);
    m.node("Squeeze", &["picked", "scalar"], &["box rows"], &[]);
    m.node("GatherND", &["scores", "selected"], &["score list"], &[]);
    m.node("Unsqueeze", &["score list", "one"], &["score rows"], &[]);
    m.node("Gather", &["selected", "one"], &["class column"], &[("axis", Attr::Int(1))]);
    m.node("Cast", &["class column"], &["class rows"], &[("to", Attr::Int(1))]);
    m.node("Concat", &["box rows", "score rows", "class rows"], &["all"], &[("axis", Attr::Int(1))]);
    m.node("Slice", &["all", "scalar", "hundred"], &["found"], &[]);
    m.output("found");
    m.output("selected");
    m
}

#[test]
fn a_detector_gives_as_many_boxes_as_a_run_finds() {
    let graph = import(detector().bytes()).unwrap();
    // Six places for `selected`, and five after the range.
    let bounds: Vec<(usize, usize)> = graph.bounded.iter().map(|bounded| (bounded.output, bounded.axis)).collect();
    assert_eq!(bounds, [(0, 0), (1, 0)]);
    assert_eq!(outputs_of_bounds(&graph), [vec![5, 6], vec![6, 3]]);
    let boxes: Vec<f32> =
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [5.0, 5.0, 6.0, 6.0], [9.0, 9.0, 9.5, 9.5]].concat();
    let scores = [[0.6, 0.9, 0.3, 0.1], [0.2, 0.1, 0.5, 0.75]].concat();
    let [found, selected] = &outputs(&graph, &[boxes.clone(), scores])[..] else { panic!() };
    assert_eq!(selected.0, [4, 3]);
    assert_eq!(selected.1, [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 1.0, 3.0], [0.0, 1.0, 2.0]].concat());
    assert_eq!(found.0, [4, 6]);
    let row = |index: usize, score: f32, class: f32| [&boxes[index * 4..][..4], &[score, class]].concat();
    assert_eq!(found.1, [row(1, 0.9, 0.0), row(2, 0.3, 0.0), row(3, 0.75, 1.0), row(2, 0.5, 1.0)].concat());
    let none = outputs(&graph, &[boxes.clone(), vec![0.0; 8]]);
    assert_eq!(none, [(vec![0, 6], vec![]), (vec![0, 3], vec![])]);
    // The places of the range are all in use, and the last box is left out.
    let apart: Vec<f32> = (0..4).flat_map(|i| [i as f32, 0.0, i as f32 + 0.5, 1.0]).collect();
    let most = outputs(&graph, &[apart, vec![0.5; 8]]);
    assert_eq!((&most[0].0[..], &most[1].0[..]), (&[5, 6][..], &[6, 3][..]));
}

/// Boxes with a score above a limit, and of these the ones that overlap with no better one.
#[test]
fn a_detector_selects_among_the_boxes_that_a_run_finds() {
    for has_limit in [false, true] {
        let mut m = Model::new();
        m.input("boxes", &[5, 4]);
        m.input("scores", &[5]);
        m.floats("limit", &[], &[0.25]);
        m.floats("overlap", &[], &[0.5]);
        for (name, list) in [("zero", &[0][..]), ("one", &[1]), ("both", &[0, 1]), ("many", &[100]), ("two", &[2])] {
            m.ints(name, list);
        }
        m.node("Greater", &["scores", "limit"], &["good"], &[]);
        m.node("NonZero", &["good"], &["found"], &[]);
        m.node("Squeeze", &["found", "zero"], &["places"], &[]);
        m.node("Gather", &["boxes", "places"], &["good boxes"], &[]);
        m.node("Gather", &["scores", "places"], &["good scores"], &[]);
        m.node("Unsqueeze", &["good boxes", "zero"], &["box rows"], &[]);
        m.node("Unsqueeze", &["good scores", "both"], &["score rows"], &[]);
        let operands = ["box rows", "score rows", "many", "overlap", "limit"];
        m.node("NonMaxSuppression", &operands[..if has_limit { 5 } else { 4 }], &["selected"], &[]);
        m.node("Gather", &["selected", "two"], &["column"], &[("axis", Attr::Int(1))]);
        m.node("Squeeze", &["column", "one"], &["kept"], &[]);
        m.node("Gather", &["good boxes", "kept"], &["kept boxes"], &[]);
        m.node("Gather", &["good scores", "kept"], &["kept scores"], &[]);
        m.output("kept boxes");
        m.output("kept scores");
        let graph = import(m.bytes()).unwrap();
        let boxes: Vec<f32> =
            [[0.0, 0.0, 1.0, 1.0], [5.0, 5.0, 6.0, 6.0], [0.0, 0.1, 1.0, 1.1], [9.0, 9.0, 9.5, 9.5], [0.0; 4]].concat();
        for (scores, kept) in [
            ([0.5, 0.1, 0.75, 0.3, 0.0], &[2, 3][..]),
            ([0.5, 0.6, 0.4, 0.3, 0.9], &[4, 1, 0, 3]),
            ([0.0; 5], &[]),
            ([0.0, 0.0, 0.0, 0.0, 0.5], &[4]),
        ] {
            let expected_boxes: Vec<f32> = kept.iter().flat_map(|&i| boxes[i * 4..][..4].to_vec()).collect();
            let expected_scores: Vec<f32> = kept.iter().map(|&i| scores[i]).collect();
            let found = outputs(&graph, &[boxes.clone(), scores.to_vec()]);
            let expected = [(vec![kept.len(), 4], expected_boxes), (vec![kept.len()], expected_scores)];
            assert_eq!(found, expected, "{scores:?}");
        }
    }
}

/// A run keeps the greatest values of those that it finds, up to a number: one that it never reaches, one within its
/// extents, and one that it always reaches.
#[test]
fn the_smaller_of_an_extent_and_a_number_is_how_many_a_run_keeps() {
    for (limit, reduced) in [(9, true), (8, false), (5, true), (3, false), (1, true)] {
        let mut m = Model::new();
        m.input("x", &[8]);
        m.ints("limit", &[limit]);
        m.ints("first", &[0]);
        m.ints("last", &[-1]);
        m.node("NonZero", &["x"], &["found"], &[]);
        m.node("Squeeze", &["found", "first"], &["places"], &[]);
        m.node("Gather", &["x", "places"], &["values"], &[]);
        m.node("Shape", &["values"], &["count"], &[]);
        if reduced {
            m.node("Concat", &["limit", "count"], &["both"], &[("axis", Attr::Int(0))]);
            m.node("ReduceMin", &["both"], &["least"], &[("keepdims", Attr::Int(0))]);
        } else {
            m.node("Min", &["count", "limit"], &["least"], &[]);
        }
        m.node("Reshape", &["least", "last"], &["k"], &[]);
        m.node("TopK", &["values", "k"], &["top", "_"], &[]);
        m.output("top");
        let graph = import(m.bytes()).unwrap_or_else(|error| panic!("{limit}: {error}"));
        assert_eq!(outputs_of_bounds(&graph), [vec![limit.min(8) as usize]]);
        let mut random = Random(7);
        for _ in 0..8 {
            let x = random.sparse(8);
            let mut expected: Vec<f32> = x.iter().copied().filter(|&value| value != 0.0).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            expected.truncate(limit as usize);
            assert_eq!(outputs(&graph, &[x]), [(vec![expected.len()], expected)], "{limit}");
        }
    }
}

/// Places are found, and rows selected, among those that a run has selected before.
#[test]
fn a_run_selects_among_what_it_has_selected() {
    let mut m = Model::new();
    m.input("x", &[6, 2]);
    m.input("flags", &[6]);
    m.floats("limit", &[], &[6.0]);
    m.ints("one", &[1]);
    m.ints("zero", &[0]);
    m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
    m.node("Compress", &["x", "condition"], &["some"], &[("axis", Attr::Int(0))]);
    m.node("Greater", &["some", "limit"], &["is_great"], &[]);
    m.node("NonZero", &["is_great"], &["places"], &[]);
    m.node("Gather", &["is_great", "one"], &["column"], &[("axis", Attr::Int(1))]);
    m.node("Squeeze", &["column", "one"], &["rows"], &[]);
    m.node("Compress", &["some", "rows"], &["great"], &[("axis", Attr::Int(0))]);
    m.node("NonZero", &["is_great"], &["again"], &[]);
    m.node("Sub", &["places", "again"], &["nothing"], &[]);
    for name in ["places", "great", "nothing"] {
        m.output(name);
    }
    let graph = import(m.bytes()).unwrap();
    let x: Vec<f32> = vec![9.0, 1.0, 2.0, 8.0, 7.0, 7.0, 3.0, 4.0, 5.0, 9.0, 8.0, 0.0];
    for chosen in [0b000000, 0b111111, 0b010110, 0b101001] {
        let flags: Vec<f32> = (0..6).map(|i| f32::from(u8::from(chosen >> i & 1 == 1))).collect();
        let some: Vec<&[f32]> = x.chunks(2).zip(&flags).filter(|(_, flag)| **flag == 1.0).map(|(row, _)| row).collect();
        let is_great = |&(row, column): &(usize, usize)| some[row][column] > 6.0;
        let places: Vec<_> = (0..some.len()).flat_map(|row| [(row, 0), (row, 1)]).filter(is_great).collect();
        let coordinates: Vec<f32> =
            places.iter().map(|&(row, _)| row as f32).chain(places.iter().map(|&(_, column)| column as f32)).collect();
        let great: Vec<f32> = some.iter().filter(|row| row[1] > 6.0).flat_map(|row| row.to_vec()).collect();
        let expected = [
            (vec![2, places.len()], coordinates.clone()),
            (vec![great.len() / 2, 2], great),
            (vec![2, places.len()], vec![0.0; coordinates.len()]),
        ];
        assert_eq!(outputs(&graph, &[x.clone(), flags]), expected, "{chosen:b}");
    }
}

/// The greater of an extent and a number is one of a run, too.
#[test]
fn the_greater_of_an_extent_and_a_number_is_an_extent() {
    for (most, limit) in [("Max", 4), ("ReduceMax", 9)] {
        let mut m = Model::new();
        m.input("x", &[8]);
        m.ints("limit", &[limit]);
        m.ints("first", &[0]);
        m.node("NonZero", &["x"], &["found"], &[]);
        m.node("Squeeze", &["found", "first"], &["places"], &[]);
        m.node("Shape", &["places"], &["count"], &[]);
        if most == "Max" {
            m.node("Max", &["count", "limit"], &["n"], &[]);
        } else {
            m.node("Concat", &["count", "limit"], &["both"], &[("axis", Attr::Int(0))]);
            m.node("ReduceMax", &["both"], &["n"], &[]);
        }
        m.node("ConstantOfShape", &["n"], &["y"], &[]);
        m.output("y");
        let graph = import(m.bytes()).unwrap_or_else(|error| panic!("{most}: {error}"));
        for count in [0, 3, 4, 6, 8] {
            let x: Vec<f32> = (0..8).map(|i| f32::from(u8::from(i < count))).collect();
            let expected = count.max(limit as usize);
            assert_eq!(outputs(&graph, &[x]), [(vec![expected], vec![0.0; expected])], "{most} of {count}");
        }
    }
}

/// A limit of scores is an input, so that each run has its own.
#[test]
fn a_run_gives_the_limit_of_scores() {
    let mut m = Model::new();
    m.input("boxes", &[1, 4, 4]);
    m.input("scores", &[1, 1, 4]);
    m.input("least", &[1]);
    m.ints("most", &[4]);
    m.floats("overlap", &[], &[0.5]);
    m.node("NonMaxSuppression", &["boxes", "scores", "most", "overlap", "least"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let boxes: Vec<f32> = (0..4).flat_map(|i| [0.0, i as f32, 1.0, i as f32 + 1.0]).collect();
    let scores = vec![0.5, f32::NAN, -3.0, f32::INFINITY];
    for (least, kept) in [
        (-f32::INFINITY, &[3, 0, 2][..]),
        (-3.0, &[3, 0]),
        (0.25, &[3, 0]),
        (0.5, &[3]),
        (f32::INFINITY, &[]),
        (f32::NAN, &[]),
    ] {
        let expected = kept.iter().flat_map(|&i| [0.0, 0.0, i as f32]).collect();
        let found = outputs(&graph, &[boxes.clone(), scores.clone(), vec![least]]);
        assert_eq!(found, [(vec![kept.len(), 3], expected)], "{least}");
    }
}

/// A selection of all boxes, in a branch or not, and what reads the numbers of these boxes.
fn selection(in_branch: bool, read: &dyn Fn(&mut Model)) -> Model {
    let select = |m: &mut Model, boxes: &str| {
        m.node("NonMaxSuppression", &["boxes", "scores", "all", "overlap"], &["selected"], &[]);
        m.node("Gather", &["selected", "two"], &["column"], &[("axis", Attr::Int(1))]);
        m.node("Squeeze", &["column", "one"], &[boxes], &[]);
    };
    let mut m = Model::new();
    m.input("boxes", &[1, 6, 4]);
    m.input("scores", &[1, 1, 6]);
    m.ints("all", &[i64::MAX]);
    m.floats("overlap", &[], &[0.5]);
    for (name, number) in [("zero", 0), ("one", 1), ("two", 2), ("three", 3)] {
        m.ints(name, &[number]);
    }
    if in_branch {
        m.tensor("yes", 9, &[], &super::support::onnx::bytes(9, &[1]));
        let mut body = Model::new();
        select(&mut body, "inner");
        body.output("inner");
        m.node(
            "If",
            &["yes"],
            &["kept"],
            &[("then_branch", Attr::Branch(body)), ("else_branch", branch("all", "Neg"))],
        );
    } else {
        select(&mut m, "kept");
    }
    read(&mut m);
    m
}

/// A selection finds as many boxes as its readers take, if all of them slice its result.
#[test]
fn a_selection_finds_no_more_boxes_than_readers_take() {
    fn slice(m: &mut Model, name: &str, end: &str) {
        m.node("Slice", &["kept", "zero", end, "zero", "one"], &[name], &[]);
        m.output(name);
    }
    fn also(m: &mut Model, op: &str) {
        slice(m, "y", "two");
        m.node(op, &["kept"], &["z"], &[]);
        m.output("z");
    }
    type Reader<'r> = &'r dyn Fn(&mut Model);
    let readers: [(usize, Reader<'_>); 6] = [
        (2, &|m| slice(m, "y", "two")),
        (3, &|m| [("y", "two"), ("z", "three")].iter().for_each(|(name, end)| slice(m, name, end))),
        (3, &|m| {
            m.node("Cast", &["kept"], &["cast"], &[("to", Attr::Int(1))]);
            m.node("Slice", &["cast", "zero", "three"], &["y"], &[]);
            m.output("y");
        }),
        (6, &|m| also(m, "Shape")),
        (6, &|m| also(m, "Neg")),
        (6, &|m| {
            slice(m, "y", "two");
            m.output("kept");
        }),
    ];
    let boxes: Vec<f32> = [0.0, 5.0, 0.1, 10.0, 15.0, 20.0].iter().flat_map(|y| [0.0, *y, 1.0, y + 1.0]).collect();
    let kept = [4.0, 0.0, 5.0, 3.0, 1.0];
    let scores = vec![0.8, 0.1, 0.7, 0.2, 0.9, 0.3];
    for (number, (places, reader)) in readers.iter().enumerate() {
        for in_branch in [false, true] {
            let graph = import(selection(in_branch, reader).bytes()).unwrap();
            let found = graph.nodes.iter().find_map(|node| match &node.op {
                Op::NonMaxSuppression(op) => Some(op.places),
                _ => None,
            });
            assert_eq!(found, Some(*places), "{number}, {in_branch}");
            let first = outputs(&graph, &[boxes.clone(), scores.clone()]).swap_remove(0).1;
            let taken = if *places == 3 && graph.caller_outputs().len() == 1 { 3 } else { 2 };
            assert_eq!(first, kept[..taken], "{number}, {in_branch}");
        }
    }
}

fn outputs_of_bounds(graph: &Graph) -> Vec<Vec<usize>> {
    graph.caller_outputs().iter().map(|&tensor| graph.tensors[tensor].dims.clone()).collect()
}

/// Returns the refusal of an operator behind a Compress of three rows of four columns along axis 0.
fn refusal(node: impl Fn(&mut Model)) -> String {
    let mut m = Model::new();
    m.input("x", &[3, 4]);
    m.input("flags", &[3]);
    m.ints("zero", &[0]);
    m.ints("one", &[1]);
    m.ints("three", &[3]);
    m.ints("all", &[2, -1]);
    m.ints("fixed", &[3, 4]);
    m.floats("rows", &[3, 4], &[1.0; 12]);
    m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
    m.node("Compress", &["x", "condition"], &["c"], &[("axis", Attr::Int(0))]);
    node(&mut m);
    m.output("y");
    import(m.bytes()).unwrap_err().to_string()
}

/// An operator, its operands and its attributes.
type Node<'n> = (&'n str, &'n [&'n str], &'n [(&'n str, Attr)]);

#[test]
fn operators_that_mix_the_places_are_refused() {
    let axis = |axis: i64| [("axis", Attr::Int(axis))];
    let plain: &[Node<'_>] = &[
        ("ArgMax", &["c"], &axis(0)),
        ("Hardmax", &["c"], &axis(0)),
        ("Concat", &["c", "rows"], &axis(1)),
        ("Add", &["c", "rows"], &[]),
        ("Size", &["c"], &[]),
        ("Gather", &["c", "zero"], &axis(0)),
        ("Slice", &["c", "one", "three", "zero"], &[]),
        ("Reshape", &["c", "all"], &[]),
        ("Expand", &["c", "fixed"], &[]),
        ("MatMul", &["rows", "c"], &[]),
        ("Split", &["c"], &axis(0)),
    ];
    for (op, operands, attributes) in plain {
        let refusal = refusal(|m| m.node(op, operands, &["y"], attributes));
        assert!(refusal.contains(op), "{op}: {refusal}");
        assert!(refusal.contains("is found in a run, and is at most 3"), "{op}: {refusal}");
    }
}

/// Tensors with several extents of a run are joined without the places behind these.
#[test]
fn selections_are_joined_one_behind_the_other() {
    for parts in [&["a", "b"][..], &["a", "b", "a"], &["fixed", "a", "fixed", "b", "fixed"], &["b", "fixed", "b"]] {
        let mut m = Model::new();
        m.input("x", &[6, 2]);
        m.floats("fixed", &[2, 2], &[10.0, 11.0, 12.0, 13.0]);
        m.input("flags", &[6]);
        m.ints("zero", &[0]);
        m.ints("two", &[2]);
        m.node("Cast", &["flags"], &["of_a"], &[("to", Attr::Int(9))]);
        m.node("Not", &["of_a"], &["of_b"], &[]);
        for name in ["a", "b"] {
            m.node("Compress", &["x", &format!("of_{name}")], &[name], &[("axis", Attr::Int(0))]);
        }
        m.node("Concat", parts, &["joined"], &[("axis", Attr::Int(0))]);
        m.node("Concat", parts, &["again"], &[("axis", Attr::Int(0))]);
        // Both have the same extent.
        m.node("Add", &["joined", "again"], &["y"], &[]);
        m.output("y");
        let graph = import(m.bytes()).unwrap_or_else(|error| panic!("{parts:?}: {error}"));
        let x: Vec<f32> = (0..12).map(|i| i as f32).collect();
        for chosen in [0b000000, 0b111111, 0b010110, 0b100001] {
            let flags: Vec<f32> = (0..6).map(|i| f32::from(u8::from(chosen >> i & 1 == 1))).collect();
            let part = |name: &str| -> Vec<f32> {
                match name {
                    "fixed" => vec![10.0, 11.0, 12.0, 13.0],
                    _ => {
                        let wanted = f32::from(u8::from(name == "a"));
                        x.chunks(2)
                            .zip(&flags)
                            .filter(|(_, flag)| **flag == wanted)
                            .flat_map(|(row, _)| row.to_vec())
                            .collect()
                    }
                }
            };
            let expected: Vec<f32> = parts.iter().flat_map(|name| part(name)).map(|value| 2.0 * value).collect();
            let found = outputs(&graph, &[x.clone(), flags]);
            assert_eq!(found, [(vec![expected.len() / 2, 2], expected)], "{parts:?}, {chosen:b}");
        }
    }
}

#[test]
fn two_selections_do_not_mix() {
    let refusal = refusal(|m| {
        m.node("Not", &["condition"], &["others"], &[]);
        m.node("Compress", &["x", "others"], &["d"], &[("axis", Attr::Int(0))]);
        m.node("Add", &["c", "d"], &["y"], &[]);
    });
    assert!(refusal.contains("Add") && refusal.contains("is found in a run"), "{refusal}");
}

fn branch(operand: &str, op: &str) -> Attr {
    let mut body = Model::new();
    body.node(op, &[operand], &["r"], &[]);
    body.output("r");
    Attr::Branch(body)
}

/// A branch gives what a run finds in it: one that is taken, or both with the same extent.
#[test]
fn branches_give_what_a_run_finds() {
    let graph = |condition: &str, branches: [Attr; 2]| {
        let [then, other] = branches;
        let mut m = Model::new();
        m.input("x", &[3, 2]);
        m.input("flags", &[3]);
        m.ints("zero", &[0]);
        m.tensor("no", 9, &[], &super::support::onnx::bytes(9, &[0]));
        m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
        m.node("Compress", &["x", "condition"], &["c"], &[("axis", Attr::Int(0))]);
        m.node("Gather", &["condition", "zero"], &["first"], &[]);
        m.node("If", &[condition], &["y"], &[("then_branch", then), ("else_branch", other)]);
        m.output("y");
        import(m.bytes()).unwrap_or_else(|error| panic!("{condition}: {error}"))
    };
    let x: Vec<f32> = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let [last_two, outer_two] = [vec![0.0, 1.0, 1.0], vec![1.0, 0.0, 1.0]];

    let taken = graph("no", [branch("c", "Shape"), branch("c", "Neg")]);
    assert_eq!(outputs(&taken, &[x.clone(), last_two.clone()]), [(vec![2, 2], vec![-3.0, -4.0, -5.0, -6.0])]);

    let inside = graph("no", [branch("c", "Shape"), branch("flags", "NonZero")]);
    assert_eq!(outputs(&inside, &[x.clone(), last_two.clone()]), [(vec![1, 2], vec![1.0, 2.0])]);

    let alike = graph("first", [branch("c", "Neg"), branch("c", "Relu")]);
    assert_eq!(outputs(&alike, &[x.clone(), last_two]), [(vec![2, 2], vec![3.0, 4.0, 5.0, 6.0])]);
    assert_eq!(outputs(&alike, &[x, outer_two]), [(vec![2, 2], vec![-1.0, -2.0, -5.0, -6.0])]);
}

/// Detectors return nothing if they have no boxes, and else those that they select in the branch.
#[test]
fn a_branch_without_elements_leaves_those_of_the_other() {
    let nothing = || {
        let mut body = Model::new();
        body.floats("r", &[0, 2], &[]);
        body.output("r");
        Attr::Branch(body)
    };
    for (then, other, expected) in [(nothing(), branch("c", "Neg"), [2, 0]), (branch("c", "Neg"), nothing(), [0, 2])] {
        let mut m = Model::new();
        m.input("x", &[3, 2]);
        m.input("flags", &[3]);
        m.ints("zero", &[0]);
        m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
        m.node("Compress", &["x", "condition"], &["c"], &[("axis", Attr::Int(0))]);
        m.node("Gather", &["condition", "zero"], &["first"], &[]);
        m.node("If", &["first"], &["y"], &[("then_branch", then), ("else_branch", other)]);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let x: Vec<f32> = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        for (flags, places) in [([0.0, 1.0, 1.0], expected[0]), ([1.0, 1.0, 0.0], expected[1])] {
            let kept = x.chunks(2).zip(flags).filter(|(_, flag)| *flag == 1.0).flat_map(|(row, _)| row.to_vec());
            let values: Vec<f32> = kept.map(|value| -value).take(2 * places).collect();
            assert_eq!(outputs(&graph, &[x.clone(), flags.to_vec()]), [(vec![places, 2], values)], "{flags:?}");
        }
    }
}

/// The product of an extent and numbers is an extent, too: the number of elements, with which networks compare zero.
#[test]
fn the_product_of_extents_is_that_of_a_run() {
    let mut m = Model::new();
    m.input("x", &[3, 4]);
    m.input("flags", &[3]);
    m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
    m.node("Compress", &["x", "condition"], &["c"], &[("axis", Attr::Int(0))]);
    m.node("Shape", &["c"], &["dims"], &[]);
    m.node("ReduceProd", &["dims"], &["elements"], &[("keepdims", Attr::Int(0))]);
    super::loops::integer(&mut m, "none", 0);
    m.node("Equal", &["elements", "none"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    for (flags, expected) in [([0.0; 3], 1.0), ([0.0, 1.0, 0.0], 0.0)] {
        assert_eq!(outputs(&graph, &[vec![1.0; 12], flags.to_vec()]), [(vec![], vec![expected])]);
    }
}

/// Several extents have no product that is a multiple of one, and one operand is compared with nothing.
#[test]
fn products_and_comparisons_of_several_extents_are_refused() {
    for op in ["ReduceProd", "Min"] {
        let mut m = Model::new();
        m.input("x", &[3]);
        m.input("flags", &[3]);
        m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
        m.node("Compress", &["x", "condition"], &["c"], &[("axis", Attr::Int(0))]);
        m.node("Shape", &["c"], &["n"], &[]);
        m.node("Concat", &["n", "n"], &["both"], &[("axis", Attr::Int(0))]);
        m.node(op, &["both"], &["y"], &[]);
        m.output("y");
        let refusal = import(m.bytes()).unwrap_err().to_string();
        assert!(refusal.contains(op) && refusal.contains("it computes with extents"), "{refusal}");
    }
}

#[test]
fn extents_that_only_one_branch_has_are_refused() {
    for (other, reason) in [(branch("x", "Neg"), "only one branch can give it"), (branch("c", "Shape"), "branch")] {
        let refusal = refusal(|m| {
            let branches = [("then_branch", branch("c", "Neg")), ("else_branch", other.clone())];
            m.node("Gather", &["condition", "zero"], &["computed"], &[]);
            m.node("If", &["computed"], &["y"], &branches);
        });
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn an_outline_says_that_they_are_computed() {
    let source = OutlineSource::from_bytes(std::sync::Arc::new(detector().bytes()), &ImportOptions::default());
    let outline = source.outline(224).unwrap();
    let graph = outline.graphs.first().unwrap();
    assert!(graph.nodes.iter().all(|node| matches!(node.verdict, Verdict::Computed | Verdict::Passed)), "{graph:?}");
}
