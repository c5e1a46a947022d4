//! Outputs whose extent is found in each run, and extents that a run computes up to a limit.

use std::sync::OnceLock;

use texpool::{
    CarryProblem, CompiledModel, Context, Error, Model, TensorView, TensorViewMut, graph::ExtentError,
    import::ImportOptions,
};
use texpool_ops::graph::{
    Act, Binary, BoundedOutput, ElementType, Graph, GraphBuilder, Op, Reduce, ReduceKind, TopK, Transpose, Unary,
};

use super::{both_plans, context, encoder, submit};
use crate::support::onnx_model::{Model as OnnxModel, bytes};

/// Places of the flags.
const PLACES: usize = 10;

/// Flags in; the places of those that are set out, twice: as integers in a row, and doubled in a column.
fn network() -> Graph {
    let mut b = GraphBuilder::new("set flags");
    let flags = b.input("flags", &[1, 1, 1, PLACES]).unwrap();
    let set = b.unary("set", Unary::NotZero, flags).unwrap();
    let sorted = Op::TopK(TopK { k: PLACES, largest: true, indices: true });
    let places = b.node("places", sorted, &[set], Act::None).unwrap();
    let doubled = b.binary("doubled", Binary::Add, places, places, Act::None).unwrap();
    let column = b.node("column", Op::Transpose(Transpose { perm: [0, 1, 3, 2] }), &[doubled], Act::None).unwrap();
    let last = b.unary("last", Unary::Neg, set).unwrap();
    let sum = Op::Reduce(Reduce { kind: ReduceKind::Sum, axes: [false, false, false, true] });
    let count = b.node("count", sum, &[set], Act::None).unwrap();
    let mut graph = b.finish(&[places, last, column, count]).unwrap();
    graph.tensors[places].element_type = ElementType::I64;
    graph.tensors[column].dims = vec![PLACES, 1];
    for (output, axis) in [(0, 3), (2, 0)] {
        graph.bounded.push(BoundedOutput { output, axis, count: 3 });
    }
    graph
}

fn compiled(context: &Context) -> [CompiledModel; 2] {
    static SAVED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    both_plans(context, &Model::from_graph(network()).unwrap(), &SAVED)
}

/// Flags, and the places of those that are set.
fn flags(round: usize) -> (Vec<f32>, Vec<i64>) {
    let is_set = |place: &usize| round > 0 && (place * 7 + round * 3) % 5 < round;
    let flags = (0..PLACES).map(|place| f32::from(u8::from(is_set(&place)))).collect();
    (flags, (0..PLACES).filter(is_set).map(|place| place as i64).collect())
}

#[test]
fn each_run_gives_the_extent_that_it_found() {
    let context = context();
    for compiled in compiled(&context) {
        let info = &compiled.outputs()[0];
        assert_eq!(
            (compiled.outputs().len(), &info.bounded_axes[..], &info.dims[..]),
            (3, &[3][..], &[1, 1, 1, PLACES][..])
        );
        assert!(compiled.outputs()[1].bounded_axes.is_empty());
        let mut session = compiled.session().unwrap();
        for round in [2, 5, 0, 1] {
            let (flags, set) = flags(round);
            let outputs = session.run([("flags", TensorView::from(&flags))]).unwrap();
            assert_eq!(outputs.len(), 3);
            assert_eq!(outputs["places"].dims(), [1, 1, 1, set.len()]);
            assert_eq!(outputs["places"].as_slice::<i64>().unwrap(), set);
            let doubled: Vec<f32> = set.iter().map(|&place| 2.0 * place as f32).collect();
            assert_eq!(
                (outputs["column"].dims(), outputs["column"].as_slice::<f32>().unwrap()),
                (&[set.len(), 1][..], &doubled[..])
            );
            assert_eq!(outputs["last"].dims(), [1, 1, 1, PLACES]);

            assert_eq!(session.read(["column"]).unwrap()["column"], outputs["column"]);
            let mut commands = encoder(&context);
            session.encode(&mut commands).unwrap();
            let readback = session.encode_read(&mut commands, ["last", "places"]).unwrap();
            submit(&context, commands);
            let read = readback.wait().unwrap();
            assert_eq!((read.len(), &read["places"], &read["last"]), (2, &outputs["places"], &outputs["last"]));

            // Into room for the most that there may be.
            let (mut places, mut column) = ([-1i64; PLACES], [-1.0f32; PLACES]);
            let rooms = [(0, TensorViewMut::from(&mut places)), (2, TensorViewMut::from(&mut column))];
            session.run_into([("flags", TensorView::from(&flags))], rooms).unwrap();
            let mut expected = [0; PLACES];
            expected[..set.len()].copy_from_slice(&set);
            assert_eq!(places, expected);
            assert_eq!(column, expected.map(|place| 2.0 * place as f32));
        }
        let problem = match session.carry("places", "flags").unwrap_err() {
            Error::Carry { problem, .. } => problem,
            other => panic!("{other}"),
        };
        assert_eq!(problem, CarryProblem::Bounded(3));
    }
}

/// The most that a number may be for which there is room.
const MOST: usize = 4;

/// Counts from zero up to an input. One output has that extent, and the other one is the sum.
fn counted() -> Model {
    let mut m = OnnxModel::new();
    m.raw_input("n", 7, &[]);
    m.tensor("start", 7, &[], &bytes(9, &0i64.to_le_bytes()));
    m.tensor("step", 7, &[], &bytes(9, &1i64.to_le_bytes()));
    m.raw_node("Abs", &["n"], &["limit"], &[]);
    m.raw_node("Range", &["start", "limit", "step"], &["numbers"], &[]);
    m.raw_node("ReduceSum", &["numbers"], &["sum"], &[]);
    ["numbers", "sum"].into_iter().for_each(|name| m.output(name));
    let bounds = [("limit".to_owned(), MOST.into())].into();
    Model::from_bytes_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() }).unwrap()
}

#[test]
fn a_run_that_computes_an_extent_beyond_its_limit_fails_wherever_it_is_read() {
    static SAVED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let context = context();
    for compiled in both_plans(&context, &counted(), &SAVED) {
        assert_eq!(compiled.outputs().len(), 2);
        let mut session = compiled.session().unwrap();
        for n in [3, 5, MOST as i64, 0, -7] {
            let extent = n.unsigned_abs() as usize;
            let input = || [("n", TensorView::from(std::slice::from_ref(&n)))];
            let mut sum = [0i64];
            let into = session.run_into(input(), [("sum", TensorViewMut::from(&mut sum))]);
            let run = session.run(input());
            session.submit().unwrap().wait().unwrap();
            let read = session.read(["sum"]);
            let mut commands = encoder(&context);
            session.encode(&mut commands).unwrap();
            let readback = session.encode_read(&mut commands, ["sum"]).unwrap();
            submit(&context, commands);
            let results = [into.map(|()| None), run.map(Some), read.map(Some), readback.wait().map(Some)];
            for (way, result) in results.into_iter().enumerate() {
                match result {
                    Ok(outputs) => {
                        assert!(extent <= MOST, "{n} is read, {way}");
                        let expected: Vec<i64> = (0..extent as i64).collect();
                        assert_eq!(sum, [expected.iter().sum::<i64>()]);
                        if let Some(outputs) = outputs {
                            assert_eq!(outputs["sum"].as_slice::<i64>().unwrap(), sum);
                            let numbers =
                                outputs.get("numbers").map(|numbers| numbers.as_slice::<i64>().unwrap().to_vec());
                            assert!(numbers.is_none_or(|numbers| numbers == expected));
                        }
                    }
                    Err(error) => {
                        let Error::Extent(source) = error else { panic!("{error}") };
                        let (name, most) = ("limit".to_owned(), MOST);
                        assert_eq!(source, ExtentError::BeyondLimit { name, most, found: extent }, "{n}, {way}");
                    }
                }
            }
        }
    }
}
