//! The account of a session's memory: each byte of its device has a part, and peaks are peaks. That a stream of
//! sessions is accounted for and leaves nothing behind is in `stream.rs`.

use texpool_compile::{CompileOptions, Objective};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, MemoryParts};
use texpool_ops::graph::{Act, Graph, GraphBuilder};
use texpool_plan::TexelFormat;

use crate::support::{models, open};

/// Upper limit on the bytes of an allocation beyond its planned size: lavapipe rounds textures up as in `memory.rs`,
/// and the allocator counts alignment gaps.
const ROUNDING: u64 = 16384;
/// Upper limit on the textures or buffers of a part: inputs and outputs of the networks here, each with a buffer.
const IN_A_PART: u64 = 8;

fn is_complete(gpu: &Gpu, name: &str, graph: &Graph, objective: Objective, format: TexelFormat) {
    let compile = CompileOptions { objective, format, ..CompileOptions::default() };
    let options = ExecutorOptions { compile, ..ExecutorOptions::default() };
    let mut session = Executor::new(gpu, graph, &options).unwrap();
    let loaded = session.memory();
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&tensor| vec![0.25; graph.shape(tensor).len()]).collect();
    let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    session.run(&slices).unwrap();

    gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let report = gpu.device.generate_allocator_report().unwrap();
    let memory = session.memory();
    let (planned, allocated, peak) = (memory.planned, memory.allocated.unwrap(), memory.peak.unwrap());
    println!("{name}, {objective:?}, {format:?}: {memory:?}");
    // Every allocation on the device is counted exactly once.
    assert_eq!(allocated.sum(), report.total_allocated_bytes, "{name}: {report:?}");
    assert_eq!(memory.reserved, Some(report.total_reserved_bytes));
    let own = report.allocations.iter().filter(|one| one.name.starts_with("(wgpu internal)"));
    let of_wgpu: u64 = own.map(|one| one.size).sum();
    let mut allocated_parts = parts(allocated);
    allocated_parts[5] -= of_wgpu;
    for (planned, allocated) in parts(planned).into_iter().zip(allocated_parts) {
        let most = planned + IN_A_PART * ROUNDING;
        assert!(planned > 0 && (planned..=most).contains(&allocated), "{name}: {allocated} bytes for {planned}");
    }
    // Loading holds the weights and their staging buffer; a run holds everything that exists now.
    let before = loaded.peak.unwrap();
    assert!(before.allocated >= loaded.allocated.unwrap().sum() && before.reserved <= peak.reserved, "{loaded:?}");
    assert!(before.allocated > loaded.allocated.unwrap().weights + of_wgpu, "{loaded:?}");
    assert!(peak.allocated >= allocated.sum() && peak.allocated >= before.allocated, "{memory:?}");
    assert!(peak.reserved >= report.total_reserved_bytes && peak.reserved >= peak.allocated, "{memory:?}");
}

fn parts(of: MemoryParts) -> [u64; 6] {
    [of.pool, of.weights, of.io, of.tables, of.transfer, of.other]
}

/// Networks of the catalogue, each alone on a device.
#[test]
fn each_byte_of_the_device_is_in_one_part() {
    let formats = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float, TexelFormat::Rgba8Uint];
    for (file, objective, formats) in [
        ("face_detection_short_range.tflite", Objective::Fastest, &formats[..]),
        ("face_detection_short_range.tflite", Objective::Smallest, &formats),
        ("mobilenet_v1_1.0_224.tflite", Objective::Fastest, &formats[..1]),
        ("face_landmark.tflite", Objective::Fastest, &formats[..2]),
    ] {
        let graph = texpool_model::import::open(models::model(file)).unwrap();
        for &format in formats {
            is_complete(&open(), file, &graph, objective, format);
        }
    }
}

/// A dense layer whose weights are several pieces long.
fn dense(inputs: usize, outputs: usize) -> Graph {
    let mut b = GraphBuilder::new("dense");
    let x = b.input("x", &[1, 1, 1, inputs]).unwrap();
    let values: Vec<f32> = (0..inputs * outputs).map(|i| (i % 17) as f32 / 17.0 - 0.4).collect();
    let weights = b.constant("w", &[outputs, inputs], &values).unwrap();
    let y = b.fully_connected("dense", x, weights, None, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// Loading weights needs little memory beyond the weights themselves.
#[test]
fn loading_takes_little_more_than_what_stays() {
    let gpu = open();
    let graph = dense(1000, 1000);
    let session = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
    let memory = session.memory();
    let (allocated, peak) = (memory.allocated.unwrap(), memory.peak.unwrap());
    assert!(allocated.weights >= 4_000_000, "{memory:?}");
    let beside = peak.allocated - allocated.sum();
    assert!(beside <= 256 << 10, "{beside} bytes more while it was loaded: {memory:?}");
}
