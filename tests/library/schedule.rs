//! Steps, storages and usage records of hand-built graphs.

#![cfg(test)]

use std::ops::Range;

use texpool_compile::schedule::{
    Schedule, ScheduleError, Step, StepKind, StorageId, StorageKind, SubtensorLayout, schedule,
    tiling::{Cascade, CascadeCosts, RowDependencies, tiled},
};
use texpool_model::rewrite::{Rules, SkipReason, rewrite};
use texpool_ops::graph::{
    Act, Concat, Constant, Epilogue, Graph, Node, NodeSet, Op, Pad, PadMode, Shape, SubtensorError, Tensor, Unary,
};
use texpool_plan::{RowTable, SearchControl, StepUse, UsageRecord};

use crate::support::{graphs::n, t};

/// A graph whose tensors have the given extents; nodes are added by [`node`].
fn graph(shapes: &[[usize; 4]], inputs: &[usize], outputs: &[usize]) -> Graph {
    let tensor = |(id, &dims): (usize, &[usize; 4])| Tensor::new(format!("t{id}"), Shape::from(dims));
    let tensors = shapes.iter().enumerate().map(tensor).collect();
    let [inputs, outputs] = [inputs, outputs].map(|ids| ids.iter().copied().map(t).collect());
    Graph { name: "hand".into(), tensors, inputs, outputs, ..Graph::default() }
}

fn node(graph: &mut Graph, op: Op, inputs: &[usize], output: usize) {
    let op_index = graph.nodes.len();
    let inputs = inputs.iter().copied().map(t).collect();
    graph.nodes.push(Node { op, inputs, output: t(output), epilogue: Epilogue::default(), op_index, integers: None });
}

fn nodes<const N: usize>(numbers: [usize; N]) -> NodeSet {
    numbers.into_iter().map(n).collect()
}

const RELU: Op = Op::Unary(Unary::Relu);
const ADD: Op = Op::Binary(texpool_ops::graph::Binary::Add);

/// `0 -> relu -> 1 -> relu -> 2`, `3 = 1 + 2`; the output is 3.
fn skip_graph() -> Graph {
    let mut g = graph(&[[1, 4, 5, 6]; 4], &[0], &[3]);
    node(&mut g, RELU, &[0], 1);
    node(&mut g, RELU, &[1], 2);
    node(&mut g, ADD, &[1, 2], 3);
    g
}

fn reads(step: &Step) -> Vec<StorageId> {
    step.reads.iter().map(|read| read.storage).collect()
}

fn kinds(schedule: &Schedule) -> Vec<StorageKind> {
    schedule.storages.iter().map(|storage| storage.kind).collect()
}

#[test]
fn intermediates_are_recorded_in_texels_from_first_to_last_use() {
    let planned = schedule(&skip_graph(), &NodeSet::new()).unwrap();
    assert_eq!(planned.records, [UsageRecord::new(0, 2, 40), UsageRecord::new(1, 2, 40)]);
    assert_eq!(
        kinds(&planned),
        [StorageKind::Input(0), StorageKind::Output(0), StorageKind::Intermediate(0), StorageKind::Intermediate(1)]
    );
    assert_eq!(*planned.storage_of, [Some(0), Some(2), Some(3), Some(1)]);
    assert_eq!(reads(&planned.steps[2]), [2, 3]);
    assert_eq!(planned.steps[2].to, 1);
    assert_eq!(planned.steps[2].rows, 0..4);
    assert_eq!(planned.uses()[2], StepUse { reads: vec![0, 1], writes: vec![] });
    assert_eq!(planned.uses()[1], StepUse { reads: vec![0], writes: vec![1] });
}

#[test]
fn an_operand_read_twice_is_one_read() {
    let mut g = graph(&[[1, 1, 1, 4]; 3], &[0], &[2]);
    node(&mut g, RELU, &[0], 1);
    node(&mut g, ADD, &[1, 1], 2);
    assert_eq!(reads(&schedule(&g, &NodeSet::new()).unwrap().steps[1]), [2]);
}

#[test]
fn the_epilogue_is_read_too_and_constants_are_no_storage() {
    let mut g = skip_graph();
    g.tensors.push(Tensor { constant: Some(Constant::from_f32(&[0.5; 6])), ..g.tensors[t(0)].clone() });
    g.nodes.pop();
    g.nodes[n(1)].output = t(3);
    g.nodes[n(1)].epilogue = Epilogue { first: Act::Prelu(t(4)), add: Some(t(0)), then: Act::None };
    let planned = schedule(&g, &NodeSet::new()).unwrap();
    assert_eq!(reads(&planned.steps[1]), [2, 0]);
    assert_eq!(planned.storage_of[t(4)], None);
    assert_eq!(planned.storage_of[t(2)], None);
}

#[test]
fn a_result_nobody_reads_is_still_a_step_and_a_record() {
    let mut g = skip_graph();
    g.tensors.push(g.tensors[t(0)].clone());
    node(&mut g, RELU, &[0], 4);
    let planned = schedule(&g, &NodeSet::new()).unwrap();
    assert_eq!(planned.steps.len(), 4);
    assert_eq!(planned.records[2], UsageRecord::new(3, 3, 40));
}

#[test]
fn an_output_that_is_read_again_keeps_its_own_texture() {
    let mut g = skip_graph();
    g.outputs = vec![t(3), t(1)];
    let planned = schedule(&g, &NodeSet::new()).unwrap();
    assert_eq!(planned.records, [UsageRecord::new(1, 2, 40)]);
    assert_eq!(reads(&planned.steps[1]), [planned.storage_of[t(1)].unwrap()]);
    assert_eq!(planned.storages[planned.storage_of[t(1)].unwrap()].kind, StorageKind::Output(1));
}

/// `0 -> relu -> 1 [1,4,5,4] -> reshape -> 2 [1,1,1,80] -> relu -> 3`.
fn view_graph(outputs: &[usize]) -> Graph {
    let mut g = graph(&[[1, 4, 5, 4], [1, 4, 5, 4], [1, 1, 1, 80], [1, 1, 1, 80]], &[0], outputs);
    node(&mut g, RELU, &[0], 1);
    node(&mut g, Op::Reshape, &[1], 2);
    node(&mut g, RELU, &[2], 3);
    g
}

#[test]
fn a_view_shares_its_operands_storage_and_has_rows_of_its_own() {
    let g = view_graph(&[3]);
    let planned = schedule(&g, &nodes([1])).unwrap();
    assert_eq!(planned.steps.iter().map(|step| step.node).collect::<Vec<_>>(), [n(0), n(2)]);
    assert_eq!(planned.records, [UsageRecord::new(0, 1, 20)]);
    assert_eq!(planned.storage_of[t(1)], planned.storage_of[t(2)]);
    let table = RowTable::Whole { base: 7, rows: 4, row_texels: 5 };
    assert_eq!(planned.row_table(&g, t(1), &table), Some(table.clone()));
    assert_eq!(planned.row_table(&g, t(2), &table), Some(RowTable::Whole { base: 7, rows: 1, row_texels: 20 }));
    let ring = RowTable::Ring { base: 7, rows: 4, row_texels: 5, ring: 2 };
    assert_eq!(planned.row_table(&g, t(1), &ring), Some(ring.clone()));
    assert_eq!(planned.row_table(&g, t(2), &ring), None);
}

#[test]
fn an_output_view_is_written_into_the_outputs_texture() {
    let mut g = view_graph(&[2]);
    g.nodes.pop();
    let planned = schedule(&g, &nodes([1])).unwrap();
    assert!(planned.records.is_empty());
    let storage = planned.storages[planned.steps[0].to];
    assert_eq!((storage.kind, storage.tensor()), (StorageKind::Output(0), Some(t(2))));
}

#[test]
fn a_view_of_an_input_reads_the_inputs_texture() {
    let mut g = view_graph(&[3]);
    g.nodes.remove(0);
    g.inputs = vec![t(1)];
    let planned = schedule(&g, &nodes([0])).unwrap();
    assert_eq!(reads(&planned.steps[0]), [0]);
    assert!(planned.records.is_empty());
}

#[test]
fn two_outputs_never_share_a_texture() {
    let error = schedule(&view_graph(&[1, 2]), &nodes([1])).unwrap_err();
    assert_eq!(error, ScheduleError::SharedTexture { first: "t1".into(), second: "t2".into() });
}

#[test]
fn only_a_bare_reshape_with_agreeing_texels_can_be_a_view() {
    let refused = |g: &Graph, view| match schedule(g, &nodes([view])) {
        Err(ScheduleError::NotAView { node, .. }) => node == view,
        _ => false,
    };
    assert!(refused(&view_graph(&[3]), 0), "a relu");
    let mut epilogue = view_graph(&[3]);
    epilogue.nodes[n(1)].epilogue = Epilogue::of(Act::Unary(Unary::Relu));
    assert!(refused(&epilogue, 1), "an epilogue");
    let mut apart = view_graph(&[3]);
    apart.tensors[t(2)].shape = Shape::new(1, 1, 20, 4);
    assert!(!refused(&apart, 1));
    apart.tensors[t(2)].shape = Shape::new(1, 1, 40, 2);
    assert!(refused(&apart, 1), "other texels");
}

#[test]
fn graphs_that_cannot_be_executed_are_refused() {
    let mut order = skip_graph();
    order.nodes.swap(0, 1);
    let order = schedule(&order, &NodeSet::new()).unwrap_err();
    assert_eq!(order, ScheduleError::NotYetComputed { node: 1, op: "RELU", tensor: "t1".into() });

    let mut twice = skip_graph();
    twice.nodes[n(1)].output = t(1);
    let twice = schedule(&twice, &NodeSet::new()).unwrap_err();
    assert_eq!(twice, ScheduleError::WrittenTwice { node: 1, op: "RELU", tensor: "t1".into() });

    let mut missing = skip_graph();
    missing.nodes.pop();
    let missing = schedule(&missing, &NodeSet::new()).unwrap_err();
    assert_eq!(missing, ScheduleError::OutputNotComputed { index: 0, tensor: "t3".into() });

    let mut unknown = skip_graph();
    unknown.nodes[n(2)].inputs[1] = t(9);
    let unknown = schedule(&unknown, &NodeSet::new()).unwrap_err();
    assert_eq!(unknown, ScheduleError::UnknownTensor { place: "node 2 (ADD)".into(), tensor: t(9) });

    let mut large = skip_graph();
    large.tensors[t(1)].shape = Shape::new(1, 70_000, 70_000, 1);
    let large = schedule(&large, &NodeSet::new()).unwrap_err();
    assert_eq!(large, ScheduleError::TooLarge { tensor: "t1".into(), shape: "1x70000x70000x1".into() });
}

/// A step writes through a view into an output, in rows of the view's shape.
#[test]
fn an_output_view_has_other_rows_than_its_step() {
    for shapes in [[[1, 6, 1, 4], [1, 6, 1, 4], [1, 1, 6, 4]], [[1, 1, 6, 4], [1, 1, 6, 4], [1, 6, 1, 4]]] {
        let mut g = graph(&shapes, &[0], &[2]);
        node(&mut g, RELU, &[0], 1);
        node(&mut g, Op::Reshape, &[1], 2);
        let views = rewrite(&g, &Rules::all()).views;
        assert!(views.contains(n(1)));
        let steps = schedule(&g, &views).unwrap();
        assert_eq!(steps.last_uses(), [[]], "nothing of it is in the pool");
        let model = RowDependencies::new(&g, &steps);
        let (_, cascades) = CascadeCosts::new(&model, 1 << 20, &SearchControl::new()).least(false);
        let planned = tiled(&steps, &model, &cascades);
        let rows: u32 = planned.steps.iter().map(|step| step.rows.end - step.rows.start).sum();
        assert_eq!(rows as usize, shapes[1][1], "all rows are made");
    }
}

/// `1 = relu 0`, `2 = relu 0`, `3 = [1, 2]`, `4 = relu 3`, `5 = [3, 4]`; the output is 6 = relu 5.
fn nested(axis: usize) -> Graph {
    let mut shapes = [[1, 3, 5, 8]; 7];
    for (tensor, parts) in [(3, 2), (4, 2), (5, 4), (6, 4)] {
        shapes[tensor][axis] *= parts;
    }
    let mut g = graph(&shapes, &[0], &[6]);
    node(&mut g, RELU, &[0], 1);
    node(&mut g, RELU, &[0], 2);
    node(&mut g, Op::Concat(Concat { axis }), &[1, 2], 3);
    // The tensor that is read here is not part of the tensor that is written.
    let copy = g.tensors.push(g.tensors[t(3)].clone()).index();
    node(&mut g, RELU, &[0], copy);
    node(&mut g, RELU, &[copy], 4);
    node(&mut g, Op::Concat(Concat { axis }), &[3, 4], 5);
    node(&mut g, RELU, &[5], 6);
    g
}

/// Returns the number of steps that write each texel of a storage.
fn written(schedule: &Schedule, storage: usize) -> Vec<u32> {
    let target = &schedule.storages[storage];
    let mut written = vec![0; target.texels() as usize];
    for touch in schedule.steps.iter().flat_map(|step| &step.writes).filter(|touch| touch.storage == storage) {
        for row in touch.rows.clone() {
            let start = row * target.row_texels;
            touch.texels.clone().for_each(|texel| written[(start + texel) as usize] += 1);
        }
    }
    written
}

/// `1 = relu 0`, `2 = pad 1`; the output is 3 = relu 2.
fn padded(before: [isize; 4], after: [isize; 4], mode: PadMode, to: [usize; 4]) -> Graph {
    let mut g = graph(&[[1, 3, 5, 8], [1, 3, 5, 8], to, to], &[0], &[3]);
    node(&mut g, RELU, &[0], 1);
    node(&mut g, Op::Pad(Pad { before, after, mode }), &[1], 2);
    node(&mut g, RELU, &[2], 3);
    g
}

#[test]
fn a_pad_whose_operand_lies_inside_its_result_writes_the_border() {
    for (before, after, to, inside, touches) in [
        ([0, 1, 1, 0], [0, 2, 1, 0], [1, 6, 7, 8], (1, 1), 3 + 2),
        ([0, 1, 0, 0], [0, 2, 0, 0], [1, 6, 5, 8], (1, 0), 2),
        ([0, 0, 2, 0], [0, 0, 0, 0], [1, 3, 7, 8], (0, 2), 2),
        ([0, 0, 0, 4], [0, 0, 0, 9], [1, 3, 5, 21], (0, 5), 2),
        ([2, 0, 0, 0], [1, 0, 1, 1], [4, 3, 6, 9], (6, 0), 4),
    ] {
        let g = padded(before, after, PadMode::Constant(0.0), to);
        let in_place = rewrite(&g, &Rules::only(&["in-place"]).unwrap()).in_place;
        assert_eq!(in_place, nodes([1]));
        let planned = schedule(&g, &in_place).unwrap();
        let outer = planned.storage_of[t(2)].unwrap();
        assert_eq!(
            planned.subtensors[t(1)],
            Some(SubtensorLayout { tensor: t(2), row: inside.0, texel: inside.1, pitch: to[2] as u32 })
        );
        assert_eq!(
            planned.steps.iter().map(|step| step.kind == StepKind::PadBorder).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!((planned.steps[1].reads.len(), planned.steps[1].writes.len()), (0, touches), "{before:?} {after:?}");
        assert!(written(&planned, outer).iter().all(|&times| times == 1), "{before:?} {after:?}");
        // Rows without a border take no step.
        let model = RowDependencies::new(&g, &planned);
        let rows = tiled(&planned, &model, &[Cascade::new(0..3, u32::MAX)]);
        let frames: Vec<Range<u32>> =
            rows.steps.iter().filter(|step| step.kind == StepKind::PadBorder).map(|step| step.rows.clone()).collect();
        match touches {
            2 if before[1] == 1 => assert_eq!(frames, [0..1, 4..5, 5..6]),
            _ => assert_eq!(frames.len(), g.shape(t(2)).rows()),
        }
    }
    for (before, after, mode, to) in [
        ([0, 1, 0, 0], [0; 4], PadMode::Edge, [1, 4, 5, 8]),
        ([0, -1, 1, 0], [0; 4], PadMode::Constant(0.0), [1, 2, 6, 8]),
    ] {
        let rewriting = rewrite(&padded(before, after, mode, to), &Rules::only(&["in-place"]).unwrap());
        assert!(rewriting.in_place.is_empty());
        assert!(
            rewriting
                .report
                .missed
                .iter()
                .any(|missed| missed.why == SkipReason::NotASubtensor(SubtensorError::NotABorder))
        );
    }
    // A part with this number of slices would need that many runs of texels per row.
    for (channels, joined) in [(1024, 1), (1028, 0)] {
        let mut g = padded([0, 0, 1, 0], [0; 4], PadMode::Constant(0.0), [1, 3, 6, channels]);
        g.tensors[t(1)].shape.c = channels;
        g.tensors[t(0)].shape.c = channels;
        let rewriting = rewrite(&g, &Rules::only(&["in-place"]).unwrap());
        assert_eq!(rewriting.in_place.iter().count(), joined);
        let many = |why: &SkipReason| matches!(why, SkipReason::TooManyRuns { tensor } if tensor == "t1");
        assert_eq!(rewriting.report.missed.iter().filter(|missed| many(&missed.why)).count(), 1 - joined);
    }
    let between = padded([0, 0, 0, 2], [0; 4], PadMode::Constant(0.0), [1, 3, 5, 10]);
    assert!(rewrite(&between, &Rules::only(&["in-place"]).unwrap()).in_place.is_empty());
}

#[test]
fn parts_of_concatenations_are_written_in_place() {
    for (axis, pitch, places) in [
        (3, 5, [(0, 0), (0, 10), (0, 0), (0, 20)]),
        (2, 20, [(0, 0), (0, 5), (0, 0), (0, 10)]),
        (1, 5, [(0, 0), (3, 0), (0, 0), (6, 0)]),
    ] {
        let mut g = nested(axis);
        // The input is broadcast where it has to be; extents are the scheduler's only concern.
        let in_place = rewrite(&g, &Rules::only(&["in-place"]).unwrap()).in_place;
        assert_eq!(in_place, nodes([2, 5]), "axis {axis}");
        let planned = schedule(&g, &in_place).unwrap();
        assert_eq!(planned.steps.len(), g.nodes.len() - 2);
        let outer = planned.storage_of[t(5)].unwrap();
        for (tensor, (row, texel)) in [1, 2, 3, 4].into_iter().zip(places) {
            assert_eq!(planned.storage_of[t(tensor)], Some(outer));
            assert_eq!(
                planned.subtensors[t(tensor)],
                Some(SubtensorLayout { tensor: t(5), row, texel, pitch }),
                "axis {axis}, t{tensor}"
            );
        }
        // Live from the first part that is written to the last step that reads the whole.
        let record = planned.record(outer).unwrap();
        assert_eq!((planned.records[record].first, planned.records[record].last), (0, 4));
        assert_eq!(planned.uses()[4], StepUse { reads: vec![record], writes: vec![] });
        // All texels of the outer tensor, each written by one step.
        assert!(written(&planned, outer).iter().all(|&times| times == 1), "axis {axis}");
        // The rows of a part follow from a scattered table of the whole.
        let starts: Vec<u32> = (0..planned.storages[outer].rows).map(|row| 1000 - 37 * row).collect();
        let row_texels = planned.storages[outer].row_texels;
        let table = RowTable::Scattered { row_starts: starts.clone(), row_texels };
        let part = planned.row_table(&g, t(4), &table).unwrap();
        let (row, texel) = places[3];
        let expected: Vec<u32> = starts[row as usize..].iter().take(g.shape(t(4)).rows()).map(|s| s + texel).collect();
        assert_eq!(part.starts().collect::<Vec<_>>(), expected);
        for table in [
            RowTable::Whole { base: 7, rows: planned.storages[outer].rows, row_texels },
            RowTable::Ring { base: 7, rows: planned.storages[outer].rows, row_texels, ring: 2 },
        ] {
            let part = planned.row_table(&g, t(4), &table).unwrap();
            let expected: Vec<u32> =
                table.starts().skip(row as usize).take(g.shape(t(4)).rows()).map(|s| s + texel).collect();
            assert_eq!(part.starts().collect::<Vec<_>>(), expected, "{table:?}");
        }
        // A reader of a part cannot be written beside it.
        g.nodes[n(4)].inputs[0] = t(3);
        let in_place = rewrite(&g, &Rules::only(&["in-place"]).unwrap()).in_place;
        assert_eq!(in_place, nodes([2]), "axis {axis}");
        let all = nodes([2, 5]);
        assert!(matches!(schedule(&g, &all), Err(ScheduleError::NotInPlace { node: 4, .. })));
    }
}

#[test]
fn concatenations_that_cannot_be_in_place_stay_steps() {
    let in_place = |g: &Graph| rewrite(g, &Rules::only(&["in-place"]).unwrap());
    let mut unaligned = nested(3);
    for tensor in [1, 3, 5] {
        unaligned.tensors[t(tensor)].shape.c -= 2;
    }
    let rewriting = in_place(&unaligned);
    assert!(rewriting.in_place.is_empty());
    let t2 = SkipReason::NotASubtensor(SubtensorError::Unaligned { tensor: "t2".into() });
    assert!(rewriting.report.missed.iter().any(|missed| missed.why == t2));
    assert!(matches!(schedule(&unaligned, &nodes([2])), Err(ScheduleError::NotInPlace { node: 2, .. })));

    let twice = {
        let mut g = nested(3);
        g.nodes[n(2)].inputs[1] = t(1);
        in_place(&g)
    };
    assert!(twice.report.missed.iter().any(|m| m.why == SkipReason::StoredElsewhere { tensor: "t1".into() }));

    let mut goes_out = nested(3);
    goes_out.outputs.push(t(2));
    assert!(in_place(&goes_out).report.missed.iter().any(|m| m.why == SkipReason::IsOutput { tensor: "t2".into() }));

    let mut comes_in = nested(3);
    comes_in.nodes[n(2)].inputs[0] = t(0);
    assert!(in_place(&comes_in).report.missed.iter().any(|m| m.why == SkipReason::NotComputed { tensor: "t0".into() }));
}
