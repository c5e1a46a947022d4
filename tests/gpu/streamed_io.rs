//! Inputs and outputs streamed through the pool row by row: outputs with other readers, outputs joined in place, and
//! outputs that are reshapes of each other.

use texpool_compile::{CompileOptions, CompiledModel, Objective, StreamedIo, compile};
use texpool_gpu::{Executor, ExecutorOptions, GpuError, SharedPipelines, TensorRole};
use texpool_ops::graph::{Graph, GraphBuilder, Padding, Pool2d, PoolKind, Unary};
use texpool_plan::SearchControl;

use crate::{
    planned::planned,
    support::{hash::bits, open},
};

/// Outputs: one with other readers, a join of two parts, a join of three in rows, and the first in another shape.
fn graph() -> Graph {
    let mut b = GraphBuilder::new("outputs");
    let x = b.input("x", &[1, 24, 20, 5]).unwrap();
    let around = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let pool = |b: &mut GraphBuilder, name: &str, kind, x| {
        b.pool(name, Pool2d::plain(kind, [3, 3], [1, 1], around), x).unwrap()
    };
    let read_again = pool(&mut b, "read again", PoolKind::Max, x);
    let left = pool(&mut b, "left", PoolKind::Average, read_again);
    let right = b.unary("right", Unary::Tanh, read_again).unwrap();
    let joined = b.concat("joined", 2, &[left, right]).unwrap();
    let below = pool(&mut b, "below", PoolKind::Max, left);
    let in_rows = b.concat("in rows", 1, &[right, below, left]).unwrap();
    let flat = b.unary("negative", Unary::Neg, in_rows).unwrap();
    let flat = b.reshape("flat", flat, &[1, 1, 72 * 20, 5]).unwrap();
    b.finish(&[read_again, joined, in_rows, flat]).unwrap()
}

#[test]
fn outputs_of_all_kinds_are_as_from_textures() {
    let graph = graph();
    let values: Vec<f32> = (0..24 * 20 * 5).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect();
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let compiled = |objective: Objective, stream_io: StreamedIo| {
        let options =
            CompileOptions { objective, stream_io, limits: gpu.texture_limits(), ..CompileOptions::default() };
        let search = || vec![compile(&graph, &options, &SearchControl::new()).unwrap()];
        planned(&format!("{} {objective:?} {stream_io:?}", graph.name), &graph, options.limits, search).remove(0)
    };
    let answer = |compiled: CompiledModel, poison: bool| {
        let options = ExecutorOptions { poison, pipelines: pipelines.clone(), ..ExecutorOptions::default() };
        let mut session = Executor::from_compiled(&gpu, compiled, &options).unwrap();
        let first = bits(&session.run(&[&values]).unwrap());
        // Leftovers of the last run in a buffer are not taken for downloads of this one.
        assert_eq!(first, bits(&session.run(&[&values]).unwrap()));
        (first, session.memory().planned)
    };
    let (expected, apart) = answer(compiled(Objective::Fastest, StreamedIo::NONE), false);
    for objective in [Objective::Fastest, Objective::Balanced, Objective::Smallest] {
        for (inputs, outputs) in [(true, false), (false, true), (true, true)] {
            let streamed = compiled(objective, StreamedIo { inputs, outputs });
            for poison in [false, true] {
                let (actual, memory) = answer(streamed.clone(), poison);
                assert_eq!(actual, expected, "{objective:?}, inputs {inputs}, outputs {outputs}, poison {poison}");
                assert!(memory.io < apart.io, "{memory:?}");
            }
        }
    }
}

/// A streamed output has no texture, and no values before a run.
#[test]
fn outputs_without_a_texture_are_refused_by_name() {
    let gpu = open();
    let options =
        CompileOptions { stream_io: StreamedIo { inputs: false, outputs: true }, ..CompileOptions::default() };
    let options = CompileOptions { limits: gpu.texture_limits(), ..options };
    let compiled = compile(&graph(), &options, &SearchControl::new()).unwrap();
    let mut session = Executor::from_compiled(&gpu, compiled, &ExecutorOptions::default()).unwrap();
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d::default(),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: wgpu::TextureUsages::STORAGE_BINDING,
        view_formats: &[],
    });
    let refused = session.bind_texture(TensorRole::Output, 1, &texture).unwrap_err();
    assert!(matches!(&refused, GpuError::TensorStreamed { role: TensorRole::Output, index: 1, .. }), "{refused}");
    assert!(refused.to_string().contains("output 1 (`joined`) goes through the pool row by row"), "{refused}");
}
