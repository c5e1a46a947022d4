//! Writing to places that a run selects, and extents that a run computes up to a limit of the caller.

use texpool_model::import::{ImportError, ImportOptions};
use texpool_ops::{
    graph::{ExtentError, Graph},
    ops::reference,
};

use super::support::{
    import, import_with,
    onnx::{Attr, Dim, Model, bytes},
};

/// Extents and values of the outputs.
type Outputs = Vec<(Vec<usize>, Vec<f32>)>;

/// Runs a graph. Fails if it computes an extent beyond its limit.
fn outputs(graph: &Graph, inputs: &[Vec<f32>]) -> Result<Outputs, ExtentError> {
    let mut outputs = reference::outputs(graph, inputs).unwrap();
    graph.check_limits(|output| outputs[output].first().copied())?;
    let dims = graph.cut_outputs(&mut outputs);
    Ok(dims.into_iter().zip(outputs).collect())
}

/// Returns the bits of a number as flags.
fn flags(number: usize, len: usize) -> Vec<f32> {
    (0..len).map(|place| (number >> place & 1) as f32).collect()
}

/// `y[mask] = -x[mask]`, as PyTorch exports it: the mask is looked up once for each of the two uses.
fn masked(reduction: &'static str) -> Model {
    let mut m = Model::new();
    m.input("x", &[2, 3]);
    m.input("mask", &[2, 3]);
    m.ints("zero", &[0]);
    m.ints("zeros", &[0]);
    m.ints("extents", &[2, 3]);
    m.node("Cast", &["mask"], &["flags"], &[("to", Attr::Int(9))]);
    m.node("NonZero", &["flags"], &["read"], &[]);
    m.node("Transpose", &["read"], &["read tuples"], &[]);
    m.node("GatherND", &["x", "read tuples"], &["picked"], &[]);
    m.node("Neg", &["picked"], &["negated"], &[]);
    m.node("Expand", &["flags", "extents"], &["expanded"], &[]);
    m.node("NonZero", &["expanded"], &["written"], &[]);
    m.node("Transpose", &["written"], &["written tuples"], &[]);
    m.node("Shape", &["written tuples"], &["shape"], &[]);
    m.node("Gather", &["shape", "zero"], &["count"], &[]);
    m.node("Slice", &["negated", "zeros", "count", "zeros"], &["values"], &[]);
    let reduction = [("reduction", Attr::Text(reduction))];
    m.node("ScatterND", &["x", "written tuples", "values"], &["y"], &reduction);
    m.output("y");
    m
}

#[test]
fn values_are_written_to_the_places_that_a_mask_selects() {
    let x: Vec<f32> = [0.5, -1.0, 2.0, f32::INFINITY, -0.25, 8.0].to_vec();
    for reduction in ["none", "add", "mul", "max"] {
        let function = |x: f32| match reduction {
            "none" => -x,
            "add" => x - x,
            "mul" => x * -x,
            _ => x.max(-x),
        };
        let graph = import(masked(reduction).bytes()).unwrap();
        assert!(graph.bounded.is_empty(), "the result has the extents of the data");
        for number in 0..64 {
            let mask = flags(number, 6);
            let found = outputs(&graph, &[x.clone(), mask.clone()]).unwrap();
            let expected: Vec<f32> =
                x.iter().zip(&mask).map(|(&x, &flag)| if flag == 0.0 { x } else { function(x) }).collect();
            assert_eq!(found[0].0, [2, 3]);
            let same = found[0].1.iter().zip(&expected).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{reduction}, mask {mask:?}: {:?} instead of {expected:?}", found[0].1);
        }
    }
}

/// Selects rows of `x` by flags, and numbers them from the first one and from the end.
fn number_rows(m: &mut Model) {
    m.tensor("start", 7, &[], &bytes(9, &0i64.to_le_bytes()));
    m.tensor("step", 7, &[], &bytes(9, &1i64.to_le_bytes()));
    m.node("Cast", &["flags"], &["condition"], &[("to", Attr::Int(9))]);
    m.node("Compress", &["x", "condition"], &["rows"], &[("axis", Attr::Int(0))]);
    m.node("Shape", &["rows"], &["shape"], &[]);
    m.node("Gather", &["shape", "start"], &["count"], &[]);
    m.node("Range", &["start", "count", "step"], &["numbers"], &[]);
    m.node("Sub", &["numbers", "count"], &["from the end"], &[]);
}

/// Selected rows, of which two columns are replaced, one by indices that count from the end of both axes, and the
/// greatest element of each row.
fn columns() -> Model {
    let mut m = Model::new();
    m.input("x", &[5, 4]);
    m.input("flags", &[5]);
    m.ints("one", &[1]);
    m.ints("first", &[0]);
    m.ints("last", &[-1]);
    m.floats("new", &[1], &[100.0]);
    number_rows(&mut m);
    m.node("Shape", &["numbers"], &["extent"], &[]);
    m.node("Expand", &["new", "extent"], &["values"], &[]);
    for (numbers, column, data, result) in
        [("numbers", "first", "rows", "one column"), ("from the end", "last", "one column", "y")]
    {
        let [expanded, rows, columns, tuples] = ["e", "r", "c", "t"].map(|part| format!("{result} {part}"));
        m.node("Expand", &[column, "extent"], &[&expanded], &[]);
        m.node("Unsqueeze", &[numbers, "one"], &[&rows], &[]);
        m.node("Unsqueeze", &[&expanded, "one"], &[&columns], &[]);
        m.node("Concat", &[&rows, &columns], &[&tuples], &[("axis", Attr::Int(1))]);
        m.node("ScatterND", &[data, &tuples, "values"], &[result], &[]);
    }
    m.node("ArgMax", &["rows"], &["place"], &[("axis", Attr::Int(1))]);
    m.node("GatherElements", &["rows", "place"], &["greatest"], &[("axis", Attr::Int(1))]);
    m.output("y");
    m.output("greatest");
    m
}

#[test]
fn elements_of_selected_rows_are_written_and_looked_up() {
    let graph = import(columns().bytes()).unwrap();
    let x: Vec<f32> = (0..20).map(|i| (i * 7 % 20) as f32).collect();
    for number in 0..32 {
        let flags = flags(number, 5);
        let rows: Vec<&[f32]> = x.chunks(4).zip(&flags).filter(|(_, flag)| **flag == 1.0).map(|(row, _)| row).collect();
        let y: Vec<f32> = rows.iter().flat_map(|row| [100.0, row[1], row[2], 100.0]).collect();
        let greatest: Vec<f32> = rows.iter().map(|row| row.iter().copied().fold(f32::MIN, f32::max)).collect();
        let found = outputs(&graph, &[x.clone(), flags]).unwrap();
        assert_eq!(found, [(vec![rows.len(), 4], y), (vec![rows.len(), 1], greatest)]);
    }
}

/// Rows of an open number, looked up by indices of a run: by their numbers and from the end, alone and as tuples.
#[test]
fn indices_of_a_run_look_up_selected_rows() {
    let mut m = Model::new();
    m.input("x", &[5, 2]);
    m.input("flags", &[5]);
    m.ints("zero", &[0]);
    m.ints("one", &[1]);
    number_rows(&mut m);
    m.node("Neg", &["numbers"], &["backwards from zero"], &[]);
    m.node("Sub", &["backwards from zero", "one"], &["backwards"], &[]);
    m.node("Gather", &["rows", "numbers"], &["a"], &[("axis", Attr::Int(0))]);
    m.node("Gather", &["rows", "backwards"], &["b"], &[("axis", Attr::Int(0))]);
    m.node("Unsqueeze", &["from the end", "one"], &["tuples"], &[]);
    m.node("GatherND", &["rows", "tuples"], &["c"], &[]);
    ["a", "b", "c"].into_iter().for_each(|name| m.output(name));
    let graph = import(m.bytes()).unwrap();
    let x: Vec<f32> = (1..=10).map(|i| i as f32).collect();
    for number in 0..32 {
        let flags = flags(number, 5);
        let rows: Vec<&[f32]> = x.chunks(2).zip(&flags).filter(|(_, flag)| **flag == 1.0).map(|(row, _)| row).collect();
        let (dims, forwards) = (vec![rows.len(), 2], rows.concat());
        let backwards: Vec<f32> = rows.iter().rev().flat_map(|row| row.to_vec()).collect();
        let expected = [(dims.clone(), forwards.clone()), (dims.clone(), backwards), (dims, forwards)];
        assert_eq!(outputs(&graph, &[x.clone(), flags]).unwrap(), expected);
    }
}

/// The most that the number of flags can be.
const MOST: usize = 6;

/// Tensors of as many elements as flags are set, of eight.
fn counted(outputs: &[&str]) -> Model {
    let mut m = Model::new();
    m.input("x", &[MOST as i64]);
    m.input("flags", &[8]);
    m.ints("zero", &[0]);
    m.ints("one", &[1]);
    m.floats("third", &[1], &[0.3]);
    m.tensor("start", 7, &[], &bytes(9, &0i64.to_le_bytes()));
    m.tensor("step", 7, &[], &bytes(9, &1i64.to_le_bytes()));
    m.node("ReduceSum", &["flags"], &["sum"], &[("keepdims", Attr::Int(1))]);
    m.node("Cast", &["sum"], &["n"], &[("to", Attr::Int(7))]);
    m.node("Squeeze", &["n", "zero"], &["limit"], &[]);
    m.node("Range", &["start", "limit", "step"], &["numbers"], &[]);
    m.node("Expand", &["third", "n"], &["repeated"], &[]);
    m.node("ConstantOfShape", &["n"], &["zeros"], &[]);
    m.node("Slice", &["x", "zero", "n"], &["part"], &[]);
    m.node("TopK", &["x", "n"], &["values", "places"], &[]);
    m.node("ReduceSum", &["numbers"], &["total"], &[]);
    m.node("Neg", &["n"], &["negated"], &[]);
    outputs.iter().for_each(|output| m.output(output));
    m
}

const ALL: [&str; 8] = ["numbers", "repeated", "zeros", "part", "values", "places", "total", "negated"];

fn limited(m: &Model, name: &str, most: usize) -> Result<Graph, ImportError> {
    let bounds = [(name.to_owned(), most.into())].into();
    import_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() })
}

#[test]
fn a_run_computes_extents_up_to_the_limit_of_the_caller() {
    let graph = limited(&counted(&ALL), "n", MOST).unwrap();
    assert_eq!(graph.caller_outputs().len(), 8);
    let x: Vec<f32> = vec![3.0, 1.0, 4.0, 1.5, 5.0, 9.0];
    for number in [0b0, 0b1, 0b1010, 0b0111_0111, 0b1000_0001] {
        let flags = flags(number, 8);
        let n = flags.iter().sum::<f32>() as usize;
        let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut order: Vec<usize> = (0..MOST).collect();
        order.sort_by(|&a, &b| x[b].total_cmp(&x[a]));
        let lists = [
            numbers.clone(),
            vec![0.3; n],
            vec![0.0; n],
            x[..n].to_vec(),
            order[..n].iter().map(|&i| x[i]).collect(),
            order[..n].iter().map(|&i| i as f32).collect(),
        ];
        let mut expected: Outputs = lists.into_iter().map(|list| (vec![n], list)).collect();
        expected.push((vec![1], vec![numbers.iter().sum()]));
        expected.push((vec![1], vec![-(n as f32)]));
        assert_eq!(outputs(&graph, &[x.clone(), flags]).unwrap(), expected, "{n} places");
    }
}

/// Also if no output has the extent, since a sum would lack the places beyond the limit.
#[test]
fn a_run_that_computes_a_greater_extent_fails() {
    for read in [&ALL[..], &["total"]] {
        let graph = limited(&counted(read), "n", MOST).unwrap();
        let found = outputs(&graph, &[vec![0.0; MOST], vec![1.0; 8]]);
        assert_eq!(found, Err(ExtentError::BeyondLimit { name: "n".to_owned(), most: MOST, found: 8 }));
    }
}

/// The caller's own number, such as that of the places to select.
#[test]
fn an_input_is_an_extent_up_to_the_limit() {
    let mut m = Model::new();
    m.input("x", &[MOST as i64]);
    m.open_input("k", 7, &[Dim::Is(1)]);
    m.ints("zero", &[0]);
    m.node("TopK", &["x", "k"], &["values", "places"], &[]);
    m.node("Slice", &["x", "zero", "k"], &["first"], &[]);
    ["values", "places", "first"].into_iter().for_each(|name| m.output(name));
    let refused = import(m.bytes()).unwrap_err().to_string();
    assert!(refused.contains("operand 1 `k`, its number, is computed at run time"), "{refused}");
    let graph = limited(&m, "k", 4).unwrap();
    let x = vec![3.0, 1.0, 4.0, 1.5, 5.0, 9.0];
    let lists = [vec![9.0, 5.0, 4.0], vec![5.0, 4.0, 2.0], vec![3.0, 1.0, 4.0]];
    let expected: Outputs = lists.into_iter().map(|list| (vec![3], list)).collect();
    assert_eq!(outputs(&graph, &[x.clone(), vec![3.0]]).unwrap(), expected);
    let beyond = outputs(&graph, &[x, vec![5.0]]);
    assert_eq!(beyond, Err(ExtentError::BeyondLimit { name: "k".to_owned(), most: 4, found: 5 }));
    let refused = limited(&m, "x", 4).unwrap_err().to_string();
    assert!(refused.contains("`x`, f32 of [6], is no extent, which is a single integer"), "{refused}");
}

#[test]
fn operators_name_the_integer_to_be_limited() {
    let error = import(counted(&ALL).bytes()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Range `numbers`: operand 1 `limit`, its limit, is computed at run time"), "{text}");
    assert!(text.contains("or bind it to the most that it can be"), "{text}");
    let ImportError::Unsupported(refused) = error else { panic!("{text}") };
    let extents: Vec<Option<&str>> = refused.iter().map(|operator| operator.extent.as_deref()).collect();
    assert_eq!(extents, [Some("limit"), Some("n"), Some("n"), Some("n"), Some("n")]);
}

#[test]
fn only_integers_of_a_run_have_limits() {
    for (name, most, reason) in [
        ("sum", 3, "ReduceSum `sum`: `sum`, f32 of [1], is no extent, which is a single integer"),
        ("numbers", 3, "operators cannot be imported"),
        ("zero", 3, "no extent of the model is called zero"),
        ("nothing", 3, "no extent of the model is called nothing"),
        ("n", 0, "`n` cannot be 0: an extent that a run computes is at least 1"),
        ("n", 1 << 25, "`n` cannot be 33554432: an extent that a run computes is at least 1 and at most 16777216"),
    ] {
        let text = limited(&counted(&ALL), name, most).unwrap_err().to_string();
        assert!(text.contains(reason), "{name}: {text}");
    }
    let mut m = Model::new();
    m.input("x", &[4]);
    m.node("Shape", &["x"], &["four"], &[]);
    m.node("Expand", &["x", "four"], &["y"], &[]);
    m.output("y");
    let text = limited(&m, "four", 5).unwrap_err().to_string();
    assert!(text.contains("`four` is a known number"), "{text}");
}
