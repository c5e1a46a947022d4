//! What the tests on a device share.

use texpool::{
    compile::{CompileOptions, CompiledModel, compile},
    gpu::{Gpu, GpuError, GpuOptions},
    graph::Graph,
    plan::{LayoutKind, Planner, SearchControl, Strategy},
};

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
#[path = "../support/texture_layouts.rs"]
pub(crate) mod texture_layouts;
#[path = "../support/zoo.rs"]
pub(crate) mod zoo;

/// Files of every model that the project is measured by.
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

/// What [`open`] prints before the adapter's name.
pub(crate) const ADAPTER: &str = "adapter: ";

/// Opens the device; a machine without one is told what to install.
pub(crate) fn open() -> Gpu {
    let gpu = open_with(&GpuOptions::default());
    println!("{ADAPTER}{}", gpu.device.adapter_info().name);
    gpu
}

/// Opens a device with options; a machine without one is told what to install.
pub(crate) fn open_with(options: &GpuOptions) -> Gpu {
    match Gpu::open(options) {
        Ok(gpu) => gpu,
        Err(error @ GpuError::NoAdapter { .. }) => {
            panic!("{error}; `apt-get install mesa-vulkan-drivers libvulkan1` installs a software one")
        }
        Err(error) => panic!("{error}"),
    }
}

/// A device as a caller makes it, with these limits and no feature.
pub(crate) fn callers_device(required_limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    // Says what to install where there is no adapter.
    drop(open());
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle().with_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).unwrap();
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    pollster::block_on(adapter.request_device(&descriptor)).unwrap()
}

/// The plans a device can run: every strategy, the optimum, banks and the best; of those that place the model alike only
/// the first. Plans of one arena are none: there a step would read and write the same texture.
pub(crate) fn every_plan(graph: &Graph, options: &CompileOptions) -> Vec<(Planner, CompiledModel)> {
    let runnable = Strategy::ALL.iter().copied().filter(|strategy| strategy.problem() != LayoutKind::Offsets);
    different(graph, options, runnable.map(Planner::Strategy).chain([Planner::Optimum, Planner::Banks, Planner::Best]))
}

/// What is compiled by each planner; of those that place the model alike only the first.
pub(crate) fn different(
    graph: &Graph,
    options: &CompileOptions,
    planners: impl IntoIterator<Item = Planner>,
) -> Vec<(Planner, CompiledModel)> {
    let alike = |one: &CompiledModel, other: &CompiledModel| {
        (&one.plan().textures, &one.plan().placements) == (&other.plan().textures, &other.plan().placements)
    };
    let mut found: Vec<(Planner, CompiledModel)> = Vec::new();
    for planner in planners {
        let options = CompileOptions { planner, ..options.clone() };
        let compiled = compile(graph, &options, &SearchControl::new()).unwrap();
        if !found.iter().any(|(_, other)| alike(other, &compiled)) {
            found.push((planner, compiled));
        }
    }
    found
}

/// The place of the greatest.
pub(crate) fn first_label(scores: &[f32]) -> Option<usize> {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]))
}

/// Networks that look words up among more than 16-bit floats can count, so that they are refused in these.
pub(crate) const IN_32_BITS_ALONE: [&str; 1] = ["minilm"];
