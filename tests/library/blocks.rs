//! Blocks of kernels: plans, predictions and dispatches of a model ask the same policy, for every class of devices.

use texpool_compile::{BlockChoice, CompileOptions, DeviceProfile, Objective, compile, load};
use texpool_ops::{
    graph::{Act, BlockSize, Blocks, Conv2d, DeviceClass, Graph, GraphBuilder, LayerKind, Padding},
    ops::{layer_block, work},
};
use texpool_plan::SearchControl;

/// Convolutions that differ in their blocks: of a picture, with long sums, of few pixels, and to one slice.
fn layers() -> Graph {
    let mut b = GraphBuilder::new("layers");
    let same = |window: usize| {
        let around = window / 2;
        let padding = Padding { top: around, bottom: around, left: around, right: around };
        Conv2d { stride: [1, 1], dilation: [1, 1], padding, groups: 1 }
    };
    let mut x = b.input("x", &[1, 64, 64, 3]).unwrap();
    let layers = [(5, 3, 64, 1), (3, 64, 64, 1), (1, 64, 16, 2), (1, 16, 384, 2), (1, 384, 32, 2), (3, 32, 4, 1)];
    for (window, from, to, stride) in layers {
        let weights = b.constant("w", &[to, window, window, from], &vec![0.5; to * window * window * from]).unwrap();
        x = b.conv2d("y", Conv2d { stride: [stride; 2], ..same(window) }, x, weights, None, Act::None).unwrap();
    }
    let weights = b.constant("w", &[10, 8 * 8 * 4], &[0.5; 10 * 256]).unwrap();
    let flat = b.reshape("flat", x, &[1, 256]).unwrap();
    let y = b.fully_connected("scores", flat, weights, None, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// The classes, and one of them with a measured block for every kind of layer.
fn choices() -> Vec<Blocks> {
    let mut tuned = Blocks::of(DeviceClass::Nvidia);
    LayerKind::ALL.into_iter().zip(BlockSize::ALL).for_each(|(kind, size)| tuned.tune(kind, Some(size)));
    DeviceClass::ALL.into_iter().map(Blocks::of).chain([tuned]).collect()
}

/// The predicted work, the packed weights and the constants of the pipelines are of one block, that of the chosen
/// class.
#[test]
fn predictions_and_dispatches_have_the_same_blocks() {
    let graph = layers();
    let mut blocks_seen = std::collections::BTreeSet::new();
    for blocks in choices() {
        let options = CompileOptions { blocks: BlockChoice::Fixed(blocks), ..CompileOptions::default() };
        let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
        let (graph, kernels) = (compiled.graph(), compiled.node_kernels());
        assert_eq!(graph.blocks, blocks);
        let mut layers = 0;
        for (id, node) in graph.nodes.ids().zip(&graph.nodes) {
            let Some((_, block)) = layer_block(graph, node) else { continue };
            let [(_, constants)] = &kernels[id][..] else { panic!("{blocks}: {:?}", kernels[id]) };
            let constant =
                |wanted| constants.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value as usize);
            let dispatched = (constant("PIXELS"), constant("SLICES"));
            assert_eq!(dispatched, (Some(block.pixels()), Some(block.slices())), "{blocks}: {node:?}");
            assert_eq!(work(graph, node).block, (block.pixels() * block.slices()) as f64, "{blocks}: {node:?}");
            blocks_seen.insert(block.to_string());
            layers += 1;
        }
        assert_eq!(layers, 7, "{blocks}");
    }
    assert!(blocks_seen.len() > 6, "all classes have nearly the same blocks: {blocks_seen:?}");
}

/// Larger blocks leave fewer workgroups, so the prediction for one stripe of many depends on the class.
#[test]
fn the_cost_of_stripes_depends_on_the_class() {
    let of = |class| {
        let graph = Graph { blocks: Blocks::of(class), ..layers() };
        let profile = DeviceProfile { concurrent_workgroups: 64.0, ..DeviceProfile::default() };
        graph.nodes.iter().map(|node| profile.stripe_us(&work(&graph, node), 0.1)).sum::<f64>()
    };
    assert!(of(DeviceClass::Unknown) < of(DeviceClass::Software));
}

/// A plan that is made without a device has the blocks of software devices, and a saved plan keeps those that it was
/// made with.
#[test]
fn plans_keep_their_blocks() {
    let graph = layers();
    let compiled = |blocks| {
        let options = CompileOptions { blocks, objective: Objective::Smallest, ..CompileOptions::default() };
        compile(&graph, &options, &SearchControl::new()).unwrap()
    };
    assert_eq!(compiled(BlockChoice::Auto).graph().blocks, Blocks::of(DeviceClass::Software));
    for blocks in choices() {
        let saved = compiled(BlockChoice::Fixed(blocks));
        let loaded = load(&graph, &saved.save(), saved.limits()).unwrap();
        assert_eq!((loaded.graph().blocks, loaded.plan()), (blocks, saved.plan()));
    }
    let [auto, fixed] = [BlockChoice::Auto, BlockChoice::of(DeviceClass::Mali)];
    let device = Blocks::of(DeviceClass::Intel);
    assert_eq!([auto.on(device).blocks(), fixed.on(device).blocks()], [device, Blocks::of(DeviceClass::Mali)]);
}
