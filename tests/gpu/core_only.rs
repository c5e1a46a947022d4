//! Devices need only core WebGPU features. Limits on sizes may be raised, and immediates are used if the adapter has
//! them.

use texpool_gpu::{DispatchBinding, Executor, ExecutorOptions, Gpu, GpuOptions};

use crate::support::{MODELS, callers_device, models, open, open_with};

#[test]
fn a_device_is_asked_for_core_features_and_limits() {
    let device = open().device;
    let immediates = wgpu::Features::IMMEDIATES;
    assert_eq!(device.features().difference(immediates), wgpu::Features::empty());
    let (limits, core) = (device.limits(), wgpu::Limits::default());
    let sizes_of = |limits: &wgpu::Limits| wgpu::Limits {
        max_texture_dimension_2d: limits.max_texture_dimension_2d,
        max_buffer_size: limits.max_buffer_size,
        max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
        max_immediate_size: limits.max_immediate_size,
        ..core.clone()
    };
    assert_eq!(limits, sizes_of(&limits));
    assert_eq!(
        limits.max_immediate_size,
        if device.features().contains(immediates) { DispatchBinding::BYTES } else { 0 }
    );
    // A dispatch binds this many.
    assert_eq!(limits.max_storage_textures_per_shader_stage, 4);
}

#[test]
fn timestamps_are_asked_for_only_on_request() {
    let features = open_with(&GpuOptions { timestamps: true, ..GpuOptions::default() }).device.features();
    let may_be = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::IMMEDIATES;
    assert!(may_be.contains(features), "{features:?}");
}

/// A device made by the caller, without any feature and with core limits, including those on sizes.
fn bare() -> Gpu {
    let (device, queue) = callers_device(wgpu::Limits::default());
    Gpu::from_device(device, queue)
}

#[test]
fn every_model_runs_on_a_callers_device_of_core_limits() {
    let gpu = bare();
    for file in MODELS {
        let graph = texpool_model::import::open(models::model(file)).unwrap();
        let mut session = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
        let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| vec![0.5; graph.shape(t).len()]).collect();
        let outputs = session.run(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        assert!(outputs.iter().flatten().all(|v| v.is_finite()), "{file}");
    }
}
