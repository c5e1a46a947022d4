//! Inputs whose extent each run gives, up to a bound.

use std::sync::OnceLock;

use texpool::{
    CompiledModel, Context, Error, Model, Outputs, Session, TensorView, TensorViewMut, graph::ExtentError,
    import::ImportOptions,
};

use super::{both_plans, context, encoder, filled, submit, values};
use crate::support::onnx_model::{Model as OnnxModel, bytes, number};

/// The most rows of a run.
const MOST: usize = 9;

/// Values of a row.
const COLUMNS: usize = 6;

/// Rows, and a weight for each. Each row is weighed by its likeness to the others, and the weights are summed up.
fn file() -> Vec<u8> {
    let mut m = OnnxModel::new();
    let (open, is) = (bytes(2, b"n"), |extent: usize| number(1, extent as i64));
    m.raw_input("rows", 1, &[open.clone(), is(COLUMNS)]);
    m.raw_input("weights", 1, &[is(1), open]);
    m.tensor("zero", 7, &[1], &bytes(9, &[0; 8]));
    m.raw_node("Transpose", &["rows"], &["columns"], &[]);
    m.raw_node("MatMul", &["rows", "columns"], &["likeness"], &[]);
    m.raw_node("Softmax", &["likeness"], &["shares"], &[]);
    m.raw_node("MatMul", &["shares", "rows"], &["mixed"], &[]);
    m.raw_node("MatMul", &["weights", "rows"], &["weighed"], &[]);
    m.raw_node("ReduceMax", &["rows", "zero"], &["greatest"], &[]);
    m.raw_node("Mul", &["weights", "weights"], &["squares"], &[]);
    ["mixed", "weighed", "greatest", "squares"].into_iter().for_each(|name| m.output(name));
    m.bytes()
}

/// The model for any number of rows.
fn open() -> Model {
    let bounds = [("n".to_owned(), MOST.into())].into();
    Model::from_bytes_with(file(), &ImportOptions { bounds, ..ImportOptions::default() }).unwrap()
}

fn compiled(context: &Context) -> [CompiledModel; 2] {
    static SAVED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    both_plans(context, &open(), &SAVED)
}

/// Values of the inputs for a number of rows.
fn inputs(seed: usize, rows: usize) -> [Vec<f32>; 2] {
    [values(seed, rows * COLUMNS), values(seed + 1, rows)]
}

fn run(session: &mut Session, [rows, weights]: &[Vec<f32>; 2]) -> Outputs {
    let n = weights.len();
    let (rows, weights) = (TensorView::new(rows, &[n, COLUMNS]), TensorView::new(weights, &[1, n]));
    session.run([("rows", rows.unwrap()), ("weights", weights.unwrap())]).unwrap()
}

/// Checks outputs against those of a model that is made for their extent.
fn check(found: &Outputs, expected: &Outputs, what: &str) {
    assert_eq!(found.len(), expected.len());
    for ((name, found), (_, expected)) in found.iter().zip(expected.iter()) {
        assert_eq!(found.dims(), expected.dims(), "{name}, {what}");
        let pairs = found.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap());
        for (a, b) in pairs {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{name}, {what}: {a} instead of {b}");
        }
    }
}

/// A shorter run after a longer one reads none of its values.
#[test]
fn one_session_gives_the_same_as_one_for_each_extent() {
    let context = context();
    let order = [5, MOST, 1, 4, 2, 8, MOST, 3];
    let exact: Vec<Outputs> = order
        .iter()
        .enumerate()
        .map(|(seed, &rows)| {
            let dims = [("n".to_owned(), rows)].into();
            let model = Model::from_bytes_with(file(), &ImportOptions { dims, ..ImportOptions::default() }).unwrap();
            run(&mut context.compile(&model).build().unwrap().session().unwrap(), &inputs(seed, rows))
        })
        .collect();
    for compiled in compiled(&context) {
        let infos: Vec<_> = compiled.inputs().iter().map(|info| (&*info.name, &info.bounded_axes[..])).collect();
        assert_eq!(infos, [("rows", &[0][..]), ("weights", &[1])]);
        let bounded: Vec<_> = compiled.outputs().iter().map(|info| &info.bounded_axes[..]).collect();
        assert_eq!(bounded, [&[0][..], &[], &[], &[1]]);
        assert_eq!(compiled.inputs()[0].dims, [MOST, COLUMNS]);
        let mut session = compiled.session().unwrap();
        for (seed, (&rows, expected)) in order.iter().zip(&exact).enumerate() {
            let inputs = inputs(seed, rows);
            let found = run(&mut session, &inputs);
            check(&found, expected, &format!("{rows} rows"));

            // Written, and run in an encoder of the caller.
            session.write("rows", TensorView::from(&inputs[0])).unwrap();
            session.write("weights", TensorView::from(&inputs[1])).unwrap();
            session.submit().unwrap().wait().unwrap();
            assert_eq!(session.read(["mixed", "weighed", "greatest", "squares"]).unwrap(), found);
            let mut commands = encoder(&context);
            session.encode(&mut commands).unwrap();
            let readback = session.encode_read(&mut commands, ["mixed"]).unwrap();
            submit(&context, commands);
            assert_eq!(readback.wait().unwrap()["mixed"], found["mixed"]);

            // Into room for the most that there may be.
            let mut room = [7.0f32; MOST];
            session
                .run_into([("rows", TensorView::from(&inputs[0]))], [("squares", TensorViewMut::from(&mut room))])
                .unwrap();
            assert_eq!(room[..rows], *found["squares"].as_slice::<f32>().unwrap());
            assert_eq!(room[rows..], vec![0.0; MOST - rows]);
        }
    }
}

#[test]
fn extents_that_do_not_fit_are_refused_and_change_nothing() {
    let context = context();
    let [compiled, _] = compiled(&context);
    let mut session = compiled.session().unwrap();
    let good = inputs(3, 4);
    let expected = run(&mut session, &good);
    let outside = |found| ExtentError::Outside { input: "rows".to_owned(), axis: 0, least: 1, bound: MOST, found };
    for rows in [0, MOST + 1] {
        let values = vec![0.5; rows * COLUMNS];
        match session.run([("rows", TensorView::from(&values))]).unwrap_err() {
            Error::Extent(error) => assert_eq!(error, outside(rows)),
            error => panic!("{error}"),
        }
    }
    let three = vec![0.5; 3 * COLUMNS];
    match session.run([("rows", TensorView::from(&three))]).unwrap_err() {
        Error::Extent(error) => {
            let inputs = ["rows".to_owned(), "weights".to_owned()];
            assert_eq!(error, ExtentError::Differ { inputs, extents: [3, 4] });
        }
        error => panic!("{error}"),
    }
    let ragged = vec![0.5; 3 * COLUMNS + 1];
    assert!(matches!(session.run([("rows", TensorView::from(&ragged))]), Err(Error::Tensor { .. })));
    assert_eq!(session.run([("rows", TensorView::from(&good[0]))]).unwrap(), expected);
    // Values of `write` must agree with the other inputs, too.
    session.write("rows", TensorView::from(&three)).unwrap();
    assert!(matches!(session.submit(), Err(Error::Extent(ExtentError::Differ { .. }))));
    session.write("rows", TensorView::from(&good[0])).unwrap();
    session.submit().unwrap().wait().unwrap();
    assert_eq!(session.read(["mixed"]).unwrap()["mixed"], expected["mixed"]);
}

/// A texture has room for all rows. The other input says how many of them there are, or else all count.
#[test]
fn a_texture_follows_the_other_inputs() {
    let context = context();
    let [compiled, _] = compiled(&context);
    let mut session = compiled.session().unwrap();
    let all = inputs(11, MOST);
    let expected = run(&mut session, &[all[0][..3 * COLUMNS].to_vec(), all[1][..3].to_vec()]);
    let texture = filled(&compiled, "rows", &all[0]);
    session.bind_input("rows", &texture).unwrap();
    let found = session.run([("weights", TensorView::from(&all[1][..3]))]).unwrap();
    check(&found, &expected, "a texture");
    session.unbind_input("rows").unwrap();
    let found = run(&mut session, &all);
    assert_eq!(found["mixed"].dims(), [MOST, COLUMNS]);
}

/// Operators of ONNX Runtime's optimiser, of integers with scales, and of named indices.
fn fused() -> Vec<u8> {
    let mut m = OnnxModel::new();
    m.raw_input("rows", 1, &[bytes(2, b"n"), number(1, COLUMNS as i64)]);
    m.raw_input("weights", 1, &[number(1, 1), bytes(2, b"n")]);
    m.floats("six", &[6], &values(1, COLUMNS));
    m.floats("square", &[6, 6], &values(2, COLUMNS * COLUMNS));
    m.tensor("w", 3, &[2, 1, 3], &bytes(9, &[40, 90, 200, 7, 130, 60]));
    m.tensor("axis", 7, &[1], &bytes(9, &[0; 8]));
    let equation = |text: &[u8]| bytes(5, &[bytes(1, b"equation"), bytes(4, text), number(20, 3)].concat());
    m.raw_node("Exp", &["rows"], &["x"], &[]);
    m.raw_node("com.microsoft.FastGelu", &["x", "six"], &["gelu"], &[]);
    m.raw_node("com.microsoft.SkipLayerNormalization", &["gelu", "rows", "six", "six"], &["layer"], &[]);
    m.raw_node("com.microsoft.FusedMatMul", &["layer", "square"], &["product"], &[]);
    m.raw_node("Einsum", &["product", "x"], &["summed"], &[equation(b"ni,nj->ij")]);
    m.raw_node("Einsum", &["product", "square"], &["kept"], &[equation(b"ni,ji->jn")]);
    m.raw_node("DynamicQuantizeLinear", &["weights"], &["bytes", "scale", "zero"], &[]);
    m.raw_node("Unsqueeze", &["bytes", "axis"], &["signal"], &[]);
    let pads = bytes(5, &[bytes(1, b"pads"), number(8, 1), number(8, 1), number(20, 7)].concat());
    m.raw_node("ConvInteger", &["signal", "w", "zero"], &["whole"], &[pads]);
    let to_float = bytes(5, &[bytes(1, b"to"), number(3, 1), number(20, 2)].concat());
    m.raw_node("Cast", &["whole"], &["floats"], &[to_float]);
    ["product", "summed", "kept", "floats"].into_iter().for_each(|name| m.output(name));
    m.bytes()
}

#[test]
fn fused_operators_give_the_same_as_in_a_model_for_each_extent() {
    let context = context();
    let read = |options: ImportOptions| {
        let model = Model::from_bytes_with(fused(), &options).unwrap();
        context.compile(&model).build().unwrap().session().unwrap()
    };
    let bounds = [("n".to_owned(), MOST.into())].into();
    let mut session = read(ImportOptions { bounds, ..ImportOptions::default() });
    for (seed, rows) in [5, MOST, 1, 4, 2].into_iter().enumerate() {
        let dims = [("n".to_owned(), rows)].into();
        let expected = run(&mut read(ImportOptions { dims, ..ImportOptions::default() }), &inputs(seed, rows));
        check(&run(&mut session, &inputs(seed, rows)), &expected, &format!("{rows} rows"));
    }
}
