//! A budget for all of the device's memory is kept, as counted by the driver, and does not change a bit.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use texpool_compile::{CompileOptions, Objective, StreamedIo, WeightFormat, WeightStorage, compile};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, TensorRole};
use texpool_ops::graph::Graph;
use texpool_plan::{SearchControl, TexelFormat};

use crate::{
    planned::planned,
    shared_weights,
    support::{hash::bits, models::model, open},
};

fn loaded(file: &str) -> (Graph, Vec<f32>) {
    let graph = texpool_model::import::open(model(file)).unwrap();
    let count = graph.shape(graph.inputs[0]).len();
    (graph, (0..count).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect())
}

/// Number that distinguishes options.
fn options_hash(options: &CompileOptions) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{options:?}").hash(&mut hasher);
    hasher.finish()
}

fn session(gpu: &Gpu, graph: &Graph, options: &CompileOptions) -> (Executor, u64) {
    let options = CompileOptions { limits: gpu.texture_limits(), ..options.clone() };
    let name = format!("budget {} {:x}", graph.name, options_hash(&options));
    let search = || vec![compile(graph, &options, &SearchControl::new()).unwrap()];
    let compiled = planned(&name, graph, options.limits, search).remove(0);
    let reckoned = compiled.device_bytes();
    (Executor::from_compiled(gpu, compiled, &ExecutorOptions::default()).unwrap(), reckoned)
}

#[test]
fn everything_on_the_device_is_within_the_budget() {
    is_within("blaze_face_short_range.tflite", 1_250_000);
}

#[test]
fn everything_of_a_larger_network_is_within_the_budget() {
    is_within("face_landmark.tflite", 1_100_000);
}

/// Asserts that a network stays within a number of bytes of the device, by the driver's count, with the bits that it has
/// without a budget.
fn is_within(file: &str, bytes: u64) {
    let (graph, values) = loaded(file);
    let whole = bits(&session(&open(), &graph, &CompileOptions::default()).0.run(&[&values]).unwrap());
    // A fresh device, since the driver's memory count covers the whole device.
    let gpu = open();
    let options = CompileOptions { objective: Objective::Device(bytes), ..CompileOptions::default() };
    let (mut session, reckoned) = session(&gpu, &graph, &options);
    for _ in 0..2 {
        assert_eq!(bits(&session.run(&[&values]).unwrap()), whole, "{file}, {bytes} bytes");
    }
    let memory = session.memory();
    let peak = memory.peak.unwrap().allocated;
    println!("{file}: {bytes} allowed, {reckoned} reckoned, {} planned, {peak} at most", memory.planned.sum());
    assert!(memory.planned.sum() <= reckoned && reckoned <= bytes && peak <= bytes, "{file}: {memory:?}");
    is_counted(file, peak, reckoned);
    assert!(!session.compiled().schedule().streamed().is_empty(), "{file}: nothing was streamed");
}

/// Bytes by which the reckoning may exceed the driver's count: 256 of alignment for each of some twenty allocations,
/// and the rounding up of a texture of one texel.
const ALIGNMENTS: u64 = 6 << 10;

/// Asserts that the bytes reckoned without a device are an upper limit on the driver's count, and a tight one.
fn is_counted(what: &str, peak: u64, reckoned: u64) {
    assert!(peak <= reckoned && reckoned <= peak + ALIGNMENTS, "{what}: {peak} by the driver, {reckoned} reckoned");
}

/// Every texture and buffer is counted the way the session makes it, for every choice of streaming and every format.
#[test]
fn computed_bytes_equal_the_drivers_count() {
    let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 64 << 10 };
    let some = WeightStorage::Streamed { resident_below: 64 << 10, tile_bytes: 128 << 10 };
    let both = [WeightFormat::F32, WeightFormat::Int8];
    // The second network takes the formats of weights in turns, since each session compiles all of its pipelines.
    for (file, in_turns) in [("blaze_face_short_range.tflite", false), ("face_landmark.tflite", true)] {
        let (graph, values) = loaded(file);
        let choices = [
            (WeightStorage::Resident, StreamedIo::NONE, TexelFormat::Rgba32Float),
            (WeightStorage::Resident, StreamedIo::BOTH, TexelFormat::Rgba32Float),
            (WeightStorage::Resident, StreamedIo::NONE, TexelFormat::Rgba16Float),
            (streamed, StreamedIo::BOTH, TexelFormat::Rgba32Float),
            (streamed, StreamedIo::NONE, TexelFormat::Rgba16Float),
            (some, StreamedIo::BOTH, TexelFormat::Rgba32Float),
            (WeightStorage::Resident, StreamedIo::NONE, TexelFormat::Rgba8Uint),
            (streamed, StreamedIo::BOTH, TexelFormat::Rgba8Uint),
        ];
        for (turn, (weights, stream_io, format)) in choices.into_iter().enumerate() {
            for weight_format in if in_turns { vec![both[turn % 2]] } else { both.to_vec() } {
                let gpu = open();
                let options = CompileOptions { weights, stream_io, format, weight_format, ..CompileOptions::default() };
                let (mut session, reckoned) = session(&gpu, &graph, &options);
                session.run(&[&values]).unwrap();
                let what = format!("{file}, {weights:?}, {stream_io:?}, {format:?}, {weight_format:?}");
                is_counted(&what, session.memory().peak.unwrap().allocated, reckoned);
            }
        }
    }
}

/// Weights that several operators share are counted once.
#[test]
fn computed_bytes_of_shared_weights_equal_the_drivers_count() {
    let gpu = open();
    let (mut session, reckoned) = session(&gpu, &shared_weights::branches(0..8), &CompileOptions::default());
    session.run(&[&shared_weights::values()]).unwrap();
    is_counted("branches", session.memory().peak.unwrap().allocated, reckoned);
}

/// With a budget of at least one allocator block, the blocks that the allocator takes from the driver stay within it,
/// although they are seldom full. Without a budget these networks take 8 and 12 MiB.
#[test]
fn blocks_are_within_the_budget() {
    for (file, budgets) in
        [("face_landmark.tflite", &[4 << 20, 5 << 20][..]), ("hand_landmark_lite.tflite", &[7 << 20])]
    {
        let (graph, values) = loaded(file);
        for &bytes in budgets {
            let gpu = open();
            let options = CompileOptions { objective: Objective::Device(bytes), ..CompileOptions::default() };
            let (mut session, _) = session(&gpu, &graph, &options);
            session.run(&[&values]).unwrap();
            let peak = session.memory().peak.unwrap();
            println!("{file}: {bytes} allowed, {} in blocks of {} at most", peak.allocated, peak.reserved);
            assert!(peak.reserved <= bytes, "{file}, {bytes} bytes: {peak:?}");
        }
    }
}

/// A session that streams refuses to be encoded into one submission or to bind a texture as input, and names itself;
/// runs still work.
#[test]
fn sessions_that_stream_refuse_what_they_cannot() {
    let gpu = open();
    let (graph, values) = loaded("blaze_face_short_range.tflite");
    let weights = WeightStorage::Streamed { resident_below: 0, tile_bytes: 16 << 10 };
    let options = CompileOptions { weights, stream_io: StreamedIo::BOTH, ..CompileOptions::default() };
    let (mut session, _) = session(&gpu, &graph, &options);
    let before = session.run(&[&values]).unwrap();
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    assert!(matches!(session.encode(&mut encoder), Err(GpuError::Streamed)));
    let usage = wgpu::TextureUsages::STORAGE_BINDING;
    let spec = texpool_compile::io_texture(&graph.tensors[graph.inputs[0]], options.format, 8192);
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: spec.width, height: spec.height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage,
        view_formats: &[],
    });
    let refused = session.bind_texture(TensorRole::Input, 0, &texture).unwrap_err();
    assert!(matches!(&refused, GpuError::TensorStreamed { role: TensorRole::Input, index: 0, .. }), "{refused}");
    assert!(refused.to_string().contains("inputs go by value"), "{refused}");
    assert_eq!(bits(&session.run(&[&values]).unwrap()), bits(&before));
}
