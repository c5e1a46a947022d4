//! Patches of columns: the same bits as the undivided layers, and smaller plans.

use super::{
    networks,
    properties::{self, Layer},
};
use proptest::{prelude::*, strategy::Strategy};
use texpool_compile::{CompileError, CompileOptions, CompiledModel, Objective, Tiling, compile, load};
use texpool_model::rewrite::{Patches, Rewritten, Rules, patch_ends, patched, rewrite};
use texpool_ops::{
    graph::{
        Act, Binary, Conv2d, DepthwiseConv2d, Graph, GraphBuilder, Op, Padding, Pool2d, PoolKind, TensorId, Unary,
        check,
    },
    ops::reference,
};
use texpool_plan::SearchControl;

/// Returns the ends of patches with their numbers, and the divided graphs.
fn divisions(graph: &Graph) -> Vec<(Patches, Rewritten)> {
    let rewritten = rewrite(graph, &Rules::default());
    let widths = |end: TensorId| (2..=rewritten.graph.shape(end).w.min(4)).map(move |parts| Patches { end, parts });
    let all = patch_ends(&rewritten.graph).into_iter().flat_map(widths);
    all.filter_map(|patches| Some((patches, patched(&rewritten, &Rules::default(), patches)?))).collect()
}

/// Layers whose windows are wider than high, with strides, dilations and borders of every size along the columns.
fn wide(layers: &[(u8, u8)]) -> Graph {
    let mut b = GraphBuilder::new("wide");
    let (mut x, mut width) = (b.input("x", &[1, 3, 23, 4]).unwrap(), 23);
    let other = b.input("other", &[1, 3, 23, 4]).unwrap();
    let mut earlier = vec![(x, width), (other, width)];
    for (layer, &(kind, form)) in layers.iter().enumerate() {
        let form = form as usize;
        let (stride, dilation) = (1 + form % 2, 1 + form / 2 % 2);
        let padding = Padding { left: form % 4, right: form / 4 % 3, ..Padding::default() };
        let conv = Conv2d { stride: [1, stride], dilation: [1, dilation], padding, groups: 1 };
        let (taps, name) = (3, format!("y{layer}"));
        let padded = width + padding.left + padding.right;
        let reach = (taps - 1) * dilation + 1;
        if padded < reach {
            break;
        }
        let slid = (padded - reach) / stride + 1;
        (x, width) = match kind % 5 {
            0 => {
                let weights = b.constant("w", &[4, 1, taps, 4], &super::noise(3, 16 * taps)).unwrap();
                (b.conv2d(&name, conv, x, weights, None, Act::Unary(Unary::Relu)).unwrap(), slid)
            }
            1 => {
                let weights = b.constant("w", &[1, 1, taps, 4], &super::noise(4, 4 * taps)).unwrap();
                (b.node(&name, DepthwiseConv2d(conv).into(), &[x, weights], Act::None).unwrap(), slid)
            }
            2 if padding.left < reach && padding.right < reach => {
                let kind = [PoolKind::Max, PoolKind::Average, PoolKind::Lp { p: 2 }][form % 3];
                // A border of which a part counts as zeros.
                let counted = (form % 2 == 1).then_some(Padding { left: padding.left.min(1), ..Padding::default() });
                let window = [1, taps];
                let pool = Pool2d {
                    window,
                    dilation: [1, dilation],
                    counted,
                    ..Pool2d::plain(kind, window, [1, stride], padding)
                };
                match b.pool(&name, pool, x) {
                    Ok(pooled) => (pooled, slid),
                    // Windows that lie in the border alone.
                    Err(_) => continue,
                }
            }
            _ => match earlier.iter().rev().find(|(tensor, extent)| *extent == width && *tensor != x) {
                Some(&(same, _)) => (b.binary(&name, Binary::Add, x, same, Act::None).unwrap(), width),
                None => continue,
            },
        };
        earlier.push((x, width));
    }
    let mean = b.mean("mean", [false, true, true, false], x).unwrap();
    b.finish(&[mean]).unwrap()
}

/// Checks that divided graphs are valid and give the bits of the undivided one.
fn same_bits(graph: &Graph) -> usize {
    let inputs: Vec<Vec<f32>> =
        (1..).zip(&graph.inputs).map(|(seed, &input)| super::noise(seed, graph.shape(input).len())).collect();
    let bits = |graph: &Graph| -> Vec<u32> {
        let outputs = reference::outputs(graph, &inputs).unwrap();
        outputs.iter().flatten().map(|value| value.to_bits()).collect()
    };
    let expected = bits(&rewrite(graph, &Rules::default()).graph);
    let divided = divisions(graph);
    for (patches, divided) in &divided {
        check(&divided.graph).unwrap();
        assert_eq!(bits(&divided.graph), expected, "{patches:?}");
    }
    divided.len()
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    prop::collection::vec((0..12u8, 0..12u8), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_division_gives_the_same_bits(wide_layers in layers(), high_layers in layers()) {
        same_bits(&wide(&wide_layers));
        same_bits(&properties::network(&high_layers, true));
    }
}

#[test]
fn windows_with_borders_strides_and_dilations_are_divided() {
    // A network with a layer of each kind, for every form.
    let forms = (0..12).map(|form| wide(&[(0, form), (1, form + 1), (4, 0), (2, form), (0, 4)]));
    let divided: usize = forms.map(|graph| same_bits(&graph)).sum();
    assert!(divided > 50, "{divided}");
}

#[test]
fn patches_end_where_columns_lead_and_no_one_else_reads() {
    let mut b = GraphBuilder::new("branches");
    let x = b.input("x", &[1, 8, 16, 4]).unwrap();
    let weights = b.constant("w", &[4, 3, 3, 4], &super::noise(1, 144)).unwrap();
    let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
    let first = b.conv2d("first", conv, x, weights, None, Act::None).unwrap();
    let second = b.conv2d("second", conv, first, weights, None, Act::None).unwrap();
    let mean = b.mean("mean", [false, true, true, false], second).unwrap();
    // Every pixel is multiplied by the mean of all.
    let gated = b.binary("gated", Binary::Mul, second, mean, Act::None).unwrap();
    let third = b.conv2d("third", conv, gated, weights, None, Act::None).unwrap();
    let graph = b.finish(&[third]).unwrap();
    let ends = |graph: &Graph| -> Vec<String> {
        patch_ends(graph).into_iter().map(|end| graph.tensors[end].name.clone()).collect()
    };
    assert_eq!(ends(&graph), ["first", "second"]);
    // An output is needed whole. Patches may compute it as their end, but not on the way to a later end.
    let graph = Graph { outputs: vec![third, first], ..graph };
    assert_eq!(ends(&graph), ["first"]);
    let rewritten = rewrite(&graph, &Rules::default());
    for parts in [0, 1, 17, usize::MAX] {
        let end = patch_ends(&rewritten.graph)[0];
        assert!(patched(&rewritten, &Rules::default(), Patches { end, parts }).is_none(), "{parts}");
    }
    // A saved plan may name any tensor.
    let nowhere = Patches { end: TensorId::new(u32::MAX as usize), parts: 2 };
    assert!(patched(&rewritten, &Rules::default(), nowhere).is_none());
    let inside = Patches { end: graph.nodes.iter().next_back().unwrap().output, parts: 2 };
    assert!(patched(&rewritten, &Rules::default(), inside).is_none());
    // Three convolutions overlap by three columns on either side of each border, and the sums are the nodes themselves.
    let slices = |graph: &Graph| graph.nodes.iter().filter(|node| matches!(node.op, Op::StridedSlice(_))).count();
    let (_, divided) = divisions(&graph).remove(0);
    assert_eq!(slices(&divided.graph), 2);
}

fn smallest(graph: &Graph, objective: Objective, tiling: Tiling) -> Result<CompiledModel, CompileError> {
    compile(graph, &CompileOptions { objective, tiling, ..CompileOptions::default() }, &SearchControl::new())
}

#[test]
fn patches_make_a_network_of_narrowing_layers_smaller() {
    let graph = narrowing();
    let [rows, patches] =
        [Tiling::Rows, Tiling::Patches].map(|tiling| smallest(&graph, Objective::Smallest, tiling).unwrap());
    assert!(rows.patches().is_none());
    assert!(patches.patches().is_some_and(|patches| (2..=4).contains(&patches.parts)));
    let [with, without] = [&patches, &rows].map(|compiled| compiled.plan().bytes());
    println!("rows {without}, patches {with}");
    assert!(with * 5 < without * 4, "{with} of {without}");
    // The figures of whole tensors are those of the undivided layers.
    let [a, b] = [&patches, &rows].map(|compiled| compiled.tiled().unwrap().baseline_bytes);
    assert_eq!(a, b);
    let loaded = load(&graph, &patches.save(), CompileOptions::default().limits).unwrap();
    assert_eq!((loaded.plan(), loaded.patches()), (patches.plan(), patches.patches()));
    assert_eq!(loaded.schedule(), patches.schedule());
}

#[test]
fn limits_that_stripes_do_not_meet_are_met_by_patches() {
    let graph = narrowing();
    let [rows, patches] = [Tiling::Rows, Tiling::Patches]
        .map(|tiling| smallest(&graph, Objective::Smallest, tiling).unwrap().plan().bytes());
    let limit = Objective::Pool(patches.midpoint(rows));
    let error = smallest(&graph, limit, Tiling::Rows).unwrap_err();
    assert!(matches!(error, CompileError::Budget { .. }), "{error}");
    assert!(smallest(&graph, limit, Tiling::Patches).unwrap().patches().is_some());
    // A limit that stripes meet needs no patches.
    let easy = smallest(&graph, Objective::Pool(2 * rows), Tiling::Patches).unwrap();
    assert!(easy.patches().is_none());
    let impossible = smallest(&graph, Objective::Pool(1 << 10), Tiling::Patches).unwrap_err();
    match impossible {
        CompileError::Budget { least, .. } => assert!(least <= patches, "{least}"),
        other => panic!("{other}"),
    }
}

#[test]
fn the_floor_of_undivided_layers_is_none_of_patches() {
    let graph = narrowing();
    let floor = |tiling: Tiling| match smallest(&graph, Objective::Device(1 << 10), tiling).unwrap_err() {
        CompileError::BelowFloor { floor, .. } => floor,
        other => panic!("{other}"),
    };
    assert!(floor(Tiling::Patches) < floor(Tiling::Rows));
}

/// Wide layers of many channels before narrow ones of few.
fn narrowing() -> Graph {
    let (mut net, x) = networks::Net::new("narrowing", 64);
    let first = net.conv(x, 64, 3, 1, None);
    let second = net.conv(first, 64, 3, 2, None);
    let third = net.conv(second, 8, 3, 2, None);
    let last = net.conv(third, 8, 3, 1, None);
    net.finish(&[last])
}
