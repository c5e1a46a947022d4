//! Helpers shared by the tests on a device.

use texpool_compile::{CompileOptions, CompiledModel, compile};
use texpool_gpu::{Gpu, GpuError, GpuOptions};
use texpool_ops::graph::Graph;
use texpool_plan::{LayoutKind, Planner, SearchControl, Strategy};

#[path = "../support/arrays.rs"]
pub(crate) mod arrays;
#[path = "../support/goldens.rs"]
pub(crate) mod goldens;
#[path = "../support/graphs.rs"]
pub(crate) mod graphs;
#[path = "../support/hash.rs"]
pub(crate) mod hash;
#[path = "../support/models.rs"]
pub(crate) mod models;
#[path = "../support/onnx_model.rs"]
pub(crate) mod onnx_model;
#[path = "../support/texture_layouts.rs"]
pub(crate) mod texture_layouts;
#[path = "../support/zoo.rs"]
pub(crate) mod zoo;

/// Files of the models by which the project is measured.
pub(crate) const MODELS: [&str; 8] = [
    "face_detection_short_range.tflite",
    "face_detection_front_2019.tflite",
    "mobilenet_v1_1.0_224.tflite",
    "face_landmark.tflite",
    "hand_landmark_lite.tflite",
    "selfie_segmentation.tflite",
    "posenet_mv1_075_float_from_checkpoints.tflite",
    "deeplabv3_257_mv_gpu.tflite",
];

/// Prefix of the line in which [`open`] prints the adapter's name.
pub(crate) const ADAPTER: &str = "adapter: ";

/// Environment variable: if it is set, kernels run in every combination of format and packing, and the second driver runs
/// every test, which takes hours.
pub(crate) const EVERY_TEST: &str = "TEXPOOL_EVERY_TEST";

/// Opens the device; without an adapter, the error names the package to install.
pub(crate) fn open() -> Gpu {
    let gpu = open_with(&GpuOptions::default());
    println!("{ADAPTER}{}", gpu.device.adapter_info().name);
    gpu
}

/// Opens a device with options; without an adapter, the error names the package to install.
pub(crate) fn open_with(options: &GpuOptions) -> Gpu {
    match Gpu::open(options) {
        Ok(gpu) => gpu,
        Err(error @ GpuError::NoAdapter { .. }) => {
            panic!("{error}; `apt-get install mesa-vulkan-drivers libvulkan1` installs a software one")
        }
        Err(error) => panic!("{error}"),
    }
}

/// A device created by the caller, with these limits and no features.
pub(crate) fn callers_device(required_limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    // Without an adapter, this says what to install.
    drop(open());
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle().with_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).unwrap();
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    pollster::block_on(adapter.request_device(&descriptor)).unwrap()
}

/// The plans that a device can run: every strategy, the optimum, banks and the best, without duplicates. Plans of one
/// arena are excluded, since a step would read and write the same texture.
pub(crate) fn every_plan(graph: &Graph, options: &CompileOptions) -> Vec<(Planner, CompiledModel)> {
    let runnable = Strategy::ALL.iter().copied().filter(|strategy| strategy.problem() != LayoutKind::Offsets);
    different(graph, options, runnable.map(Planner::Strategy).chain([Planner::Optimum, Planner::Banks, Planner::Best]))
}

/// Compiles with each planner; of identical placements only the first is kept.
pub(crate) fn different(
    graph: &Graph,
    options: &CompileOptions,
    planners: impl IntoIterator<Item = Planner>,
) -> Vec<(Planner, CompiledModel)> {
    let alike = |one: &CompiledModel, other: &CompiledModel| {
        (&one.plan().textures, &one.plan().placements) == (&other.plan().textures, &other.plan().placements)
    };
    let mut plans: Vec<(Planner, CompiledModel)> = Vec::new();
    for planner in planners {
        let options = CompileOptions { planner, ..options.clone() };
        let compiled = compile(graph, &options, &SearchControl::new()).unwrap();
        if !plans.iter().any(|(_, other)| alike(other, &compiled)) {
            plans.push((planner, compiled));
        }
    }
    plans
}

/// Index of the largest score.
pub(crate) fn first_label(scores: &[f32]) -> Option<usize> {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]))
}

/// Networks whose vocabulary is too large for exact indices in 16-bit floats, so that they are refused in 16 bits.
pub(crate) const IN_32_BITS_ALONE: [&str; 2] = ["minilm", "mobilebert"];
