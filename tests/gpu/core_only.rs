//! Nothing is asked of a device but core WebGPU; only sizes may be larger.

use texpool::gpu::{Gpu, GpuOptions, Session, SessionOptions};

use crate::support::{MODELS, models, open};

#[test]
fn a_device_is_asked_for_core_features_and_limits() {
    let device = open().device;
    assert_eq!(device.features(), wgpu::Features::empty());
    let (asked, core) = (device.limits(), wgpu::Limits::default());
    let sizes_of = |limits: &wgpu::Limits| wgpu::Limits {
        max_texture_dimension_2d: limits.max_texture_dimension_2d,
        max_buffer_size: limits.max_buffer_size,
        max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
        ..core.clone()
    };
    assert_eq!(asked, sizes_of(&asked));
    // A dispatch binds as many.
    assert_eq!(asked.max_storage_textures_per_shader_stage, 4);
}

#[test]
fn timestamps_are_asked_for_only_on_request() {
    let gpu = Gpu::open(&GpuOptions { timestamps: true, ..GpuOptions::default() });
    let features = gpu.unwrap_or_else(|e| panic!("{e}")).device.features();
    assert!(wgpu::Features::TIMESTAMP_QUERY.contains(features), "{features:?}");
}

/// A caller's device without any feature and with core limits, sizes included.
fn bare() -> Gpu {
    // Says what to install where there is no adapter.
    drop(open());
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle().with_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).unwrap();
    let descriptor = wgpu::DeviceDescriptor { required_limits: wgpu::Limits::default(), ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    Gpu::from_device(device, queue)
}

#[test]
fn every_model_runs_on_a_callers_device_of_core_limits() {
    let gpu = bare();
    for file in MODELS {
        let graph = texpool::import::open(models::model(file)).unwrap();
        let mut session = Session::new(&gpu, &graph, &SessionOptions::default()).unwrap();
        let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| vec![0.5; graph.shape(t).len()]).collect();
        let outputs = session.run(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        assert!(outputs.iter().flatten().all(|v| v.is_finite()), "{file}");
    }
}
