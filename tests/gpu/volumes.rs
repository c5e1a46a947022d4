//! Networks of volumes on the device: the results of the CPU references, and the same bits under every plan.

use std::{num::NonZeroU32, slice, sync::Arc};

use texpool_compile::{CompileOptions, Objective, Stripes};
use texpool_gpu::{Executor, ExecutorOptions, SharedPipelines};
use texpool_model::import::from_bytes;
use texpool_ops::ops::reference;
use texpool_plan::{Planner, Strategy};

use super::{
    narrow_runs::{floats, integer, list},
    support::{hash::bits, onnx_model::Model, open},
};

/// A U-Net of volumes, with a depthwise layer and an average along the depth at its end.
fn network() -> Vec<u8> {
    let mut m = Model::new();
    m.input("x", &[2, 3, 4, 6, 6]);
    for (name, dims) in [
        ("first", &[8, 3, 3, 3, 3][..]),
        ("second", &[12, 8, 3, 3, 3]),
        ("deep", &[12, 1, 3, 1, 3]),
        ("up", &[12, 8, 2, 2, 2]),
        ("joined", &[8, 16, 3, 3, 3]),
        ("last", &[5, 8, 1, 1, 1]),
        ("scale", &[8]),
        ("bias", &[8]),
    ] {
        floats(&mut m, name, dims);
    }
    let (around, halves) = (list("pads", &[1; 6]), list("strides", &[2; 3]));
    m.raw_node("Conv", &["x", "first"], &["a"], slice::from_ref(&around));
    m.raw_node("InstanceNormalization", &["a", "scale", "bias"], &["n"], &[]);
    m.raw_node("Relu", &["n"], &["b"], &[]);
    m.raw_node("MaxPool", &["b"], &["half"], &[list("kernel_shape", &[2; 3]), halves.clone()]);
    m.raw_node("Conv", &["half", "second"], &["c"], slice::from_ref(&around));
    let depthwise = [list("pads", &[1, 0, 1, 1, 0, 1]), integer("group", 12)];
    m.raw_node("Conv", &["c", "deep"], &["d"], &depthwise);
    m.raw_node("Add", &["c", "d"], &["e"], &[]);
    m.raw_node("ConvTranspose", &["e", "up"], &["f"], slice::from_ref(&halves));
    m.raw_node("Concat", &["f", "b"], &["g"], &[integer("axis", 1)]);
    m.raw_node("Conv", &["g", "joined"], &["h"], &[around, halves]);
    m.raw_node("Conv", &["h", "last"], &["i"], &[]);
    let three = [list("kernel_shape", &[3, 1, 1]), list("pads", &[1, 0, 0, 1, 0, 0])];
    m.raw_node("AveragePool", &["i"], &["y"], &three);
    m.raw_node("GlobalAveragePool", &["h"], &["mean"], &[]);
    ["y", "mean"].into_iter().for_each(|name| m.output(name));
    m.bytes()
}

#[test]
fn networks_of_volumes_have_the_references_results_under_every_plan() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = from_bytes(Arc::new(network())).unwrap();
    let values: Vec<f32> =
        (0..graph.shape(graph.inputs[0]).len()).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect();
    let expected = reference::outputs(&graph, slice::from_ref(&values)).unwrap();
    let plain = CompileOptions::default();
    let plans = [
        plain.clone(),
        CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..plain.clone() },
        CompileOptions { objective: Objective::Smallest, ..plain.clone() },
        CompileOptions { stripes: Stripes::Every(NonZeroU32::new(4).unwrap()), ..plain },
    ];
    let mut first = None;
    for compile in plans {
        let what = format!("{:?}, {:?}, {:?}", compile.planner, compile.objective, compile.stripes);
        let options =
            ExecutorOptions { compile, poison: true, pipelines: pipelines.clone(), ..ExecutorOptions::default() };
        let mut executor = Executor::new(&gpu, &graph, &options).unwrap();
        let outputs = executor.run(&[&values]).unwrap();
        for (found, expected) in outputs.iter().zip(&expected) {
            assert_eq!(found.len(), expected.len());
            for (i, (a, b)) in found.iter().zip(expected).enumerate() {
                assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{what}, value {i}: {a} instead of {b}");
            }
        }
        let found = bits(&outputs);
        assert_eq!(*first.get_or_insert(found), found, "{what}");
    }
}
