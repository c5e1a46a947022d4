//! Stripes that the caller sets: each operator has as many as it was told to, in the order in which rows are needed.

use std::collections::BTreeMap;

use super::{networks, properties};
use proptest::prelude::*;
use texpool_compile::{
    CompileError, CompileOptions, CompiledModel, Objective, StreamedIo, StripesError, WeightStorage, compile, load,
};
use texpool_ops::graph::{Act, Conv2d, Graph, GraphBuilder, Op, Padding, TensorId, Unary};
use texpool_plan::{SearchControl, StopReason};

fn stripes(text: &str) -> CompileOptions {
    CompileOptions { stripes: text.parse().unwrap(), ..CompileOptions::default() }
}

fn compiled(graph: &Graph, options: &CompileOptions) -> Result<CompiledModel, CompileError> {
    compile(graph, options, &SearchControl::new())
}

/// Returns the numbers of rows in the stripes of each tensor.
fn rows_of(compiled: &CompiledModel) -> BTreeMap<&str, Vec<usize>> {
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for step in compiled.schedule().steps.iter().filter(|step| !step.kind.is_transfer()) {
        let graph = compiled.graph();
        rows.entry(&graph.tensors[graph.nodes[step.node].output].name).or_default().push(step.rows.len());
    }
    rows
}

fn conv(b: &mut GraphBuilder, name: &str, x: TensorId, [to, window, from]: [usize; 3], half: usize) -> TensorId {
    let weights = b.constant("w", &[to, window, window, from], &vec![0.25; to * window * window * from]).unwrap();
    let padding = Padding { top: half, bottom: half, left: half, right: half };
    let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
    b.conv2d(name, conv, x, weights, None, Act::Unary(Unary::Tanh)).unwrap()
}

/// Three convolutions of ten rows each.
fn chain() -> Graph {
    let mut b = GraphBuilder::new("chain");
    let x = b.input("x", &[1, 10, 8, 4]).unwrap();
    let first = conv(&mut b, "first", x, [4, 3, 4], 1);
    let second = conv(&mut b, "second", first, [4, 3, 4], 1);
    let third = conv(&mut b, "third", second, [4, 3, 4], 1);
    b.finish(&[third]).unwrap()
}

#[test]
fn operators_have_as_many_even_stripes_as_they_are_told() {
    let graph = chain();
    // Ten rows in four stripes are two, three, two and three, although the reader needs one row more than that.
    let model = compiled(&graph, &stripes("4")).unwrap();
    let rows = rows_of(&model);
    assert_eq!(rows.len(), 3);
    for (tensor, rows) in rows {
        assert_eq!(rows, [2, 3, 2, 3], "{tensor}");
    }
    let tiled = model.tiled().unwrap();
    assert_eq!((tiled.cascades.len(), tiled.dispatches), (1, 12));
    assert!(model.plan().bytes() < tiled.baseline_bytes);
    // With more stripes than rows, each row is one.
    assert_eq!(rows_of(&compiled(&graph, &stripes("99")).unwrap())["second"], [1; 10]);
    let names: Vec<String> = rows_of(&model).into_keys().map(str::to_owned).collect();
    let [a, b, c] = names.as_slice() else { panic!("{names:?}") };
    let some = compiled(&graph, &stripes(&format!("{a}=2,{b}=2"))).unwrap();
    let rows = rows_of(&some);
    assert_eq!((&*rows[&**a], &*rows[&**b], &*rows[&**c]), (&[5, 5][..], &[5, 5][..], &[10][..]));
    assert_eq!(some.tiled().unwrap().cascades.len(), 2);
}

#[test]
fn names_and_numbers_that_do_not_suit_the_model_are_refused() {
    let graph = chain();
    let refused = |text: &str| match compiled(&graph, &stripes(text)) {
        Err(CompileError::Stripes(error)) => error,
        outcome => panic!("{text}: {outcome:?}"),
    };
    let unknown = |layer: &str, nearest: Option<&str>| StripesError::UnknownLayer {
        layer: layer.to_owned(),
        nearest: nearest.map(str::to_owned),
    };
    assert_eq!(refused("secnd=2"), unknown("secnd", Some("second")));
    assert_eq!(refused("nothing like it=2"), unknown("nothing like it", None));
    // An input is no operator.
    assert_eq!(refused("x=2"), unknown("x", None));
    assert_eq!(refused("second=11"), StripesError::MoreThanRows { layer: "second".to_owned(), stripes: 11, rows: 10 });
    assert_eq!(refused("second=11").to_string(), "`second` has 10 rows, too few for 11 stripes");
}

/// Operators of different branches are not interleaved, because neither needs the rows of the other.
#[test]
fn cascades_end_where_no_rows_are_handed_on() {
    let mut b = GraphBuilder::new("branches");
    let x = b.input("x", &[1, 8, 8, 4]).unwrap();
    let left = conv(&mut b, "left", x, [4, 3, 4], 1);
    let right = conv(&mut b, "right", x, [4, 3, 4], 1);
    let graph = b.finish(&[left, right]).unwrap();
    let model = compiled(&graph, &stripes("4")).unwrap();
    assert_eq!(model.tiled().unwrap().cascades.len(), 2);
}

/// A concatenation that is named has a step, so that it can have stripes.
#[test]
fn a_named_concatenation_is_not_written_in_place() {
    let mut b = GraphBuilder::new("concatenation");
    let x = b.input("x", &[1, 8, 8, 4]).unwrap();
    let left = conv(&mut b, "left", x, [4, 3, 4], 1);
    let right = conv(&mut b, "right", x, [4, 3, 4], 1);
    let both = b.concat("both", 3, &[left, right]).unwrap();
    let out = conv(&mut b, "out", both, [4, 3, 8], 1);
    let graph = b.finish(&[out]).unwrap();
    let copies = |text: &str| {
        let model = compiled(&graph, &stripes(text)).unwrap();
        let steps = model.schedule().steps.iter();
        steps.filter(|step| matches!(model.graph().nodes[step.node].op, Op::Concat(_))).count()
    };
    assert_eq!((copies("4"), copies("left=4"), copies("both=4")), (0, 0, 4));
}

#[test]
fn limits_are_met_or_refused_and_a_stopped_search_keeps_tensors_whole() {
    let graph = chain();
    let bytes = compiled(&graph, &stripes("5")).unwrap().plan().bytes();
    let within = |bytes| CompileOptions { objective: Objective::Pool(bytes), ..stripes("5") };
    assert_eq!(compiled(&graph, &within(bytes)).unwrap().plan().bytes(), bytes);
    let refused = compiled(&graph, &within(bytes - 1));
    assert!(matches!(refused, Err(CompileError::Budget { least, .. }) if least == bytes), "{refused:?}");
    let control = SearchControl::new().timeout(std::time::Duration::ZERO);
    let stopped = compile(&graph, &stripes("5"), &control).unwrap();
    assert_eq!((stopped.tiled(), stopped.stopped()), (None, Some(StopReason::Deadline)));
}

/// Buffers of Example 2 of Minakova and Stefanov (2020): the first convolution in two phases, all else whole.
#[test]
fn the_second_example_of_the_paper_is_a_plan() {
    let mut b = GraphBuilder::new("example");
    let x = b.input("n1", &[1, 32, 32, 1]).unwrap();
    let n2 = conv(&mut b, "n2", x, [4, 17, 1], 0);
    let graph = b.finish(&[n2]).unwrap();
    let options = CompileOptions { stream_io: StreamedIo::BOTH, ..stripes("n2=2") };
    let model = compiled(&graph, &options).unwrap();
    assert_eq!(rows_of(&model)["n2"], [8, 8]);
    // Each phase needs 24 of the 32 rows, as the buffer of 768 bytes in Table II, but without sending 16 of them again.
    let reads: Vec<_> = model.schedule().steps.iter().filter(|step| !step.kind.is_transfer()).collect();
    let rows: Vec<_> = reads.iter().map(|step| step.reads[0].rows.clone()).collect();
    assert_eq!(rows, [0..24, 8..32]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Every operator has its number of stripes or one for each row, in any network, under any objective; and the plan,
    /// which the checker accepted, is the same after saving.
    #[test]
    fn any_network_runs_in_any_number_of_stripes(
        (layers, two_outputs, _) in properties::inputs(),
        number in 1u32..9,
        smallest in any::<bool>(),
        streams in any::<bool>(),
    ) {
        let graph = properties::network(&layers, two_outputs);
        let objective = if smallest { Objective::Smallest } else { Objective::Fastest };
        let weights = match streams {
            true => WeightStorage::Streamed { resident_below: 0, tile_bytes: 4 << 10 },
            false => WeightStorage::Resident,
        };
        let stream_io = if streams { StreamedIo::BOTH } else { StreamedIo::NONE };
        let options = CompileOptions { objective, weights, stream_io, ..stripes(&number.to_string()) };
        let model = compiled(&graph, &options).unwrap();
        for cascade in &model.tiled().unwrap().cascades {
            prop_assert_eq!(cascade.stripes, number);
        }
        let loaded = load(&graph, &model.save(), options.limits).unwrap();
        prop_assert_eq!((loaded.plan(), loaded.tiled()), (model.plan(), model.tiled()));
    }
}

#[test]
fn the_small_network_runs_in_stripes() {
    let graph = networks::small();
    let [one, two] = ["1", "2"].map(|text| compiled(&graph, &stripes(text)).unwrap());
    assert!(one.schedule().steps.len() < two.schedule().steps.len());
}
