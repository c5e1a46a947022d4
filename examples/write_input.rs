//! Writes the input with a shader of the program, so that the pixels of a picture on the GPU never pass through the
//! host.
//!
//! `cargo run --release --example write_input`

use std::error::Error;
use texpool::{
    Context, Model,
    wgpu::{self, util::DeviceExt},
};
// A part of the texpool command that downloads models and photos. An application would use its own files.
use texpool_cli::fetch::{Bar, Fetcher};

fn main() -> Result<(), Box<dyn Error>> {
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    let context = Context::open(&Default::default())?;
    let compiled = context.compile(&Model::open(fetcher.get("mobilenet_v1")?)?).build()?;
    let mut session = compiled.session()?;

    // A picture on the GPU, such as a decoder or renderer would leave there.
    let (device, queue) = (context.device(), context.queue());
    let photo = image::open(fetcher.get("coffee")?)?.to_rgba8();
    let picture = wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: photo.width(), height: photo.height(), depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: wgpu::TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    };
    let picture = device.create_texture_with_data(queue, &picture, Default::default(), &photo);
    let linear = device.create_sampler(&wgpu::SamplerDescriptor {
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        ..Default::default()
    });

    // The shader from the documentation of `texpool::texture`, appended to the generated WGSL that describes this
    // input.
    let layout = compiled.input_layout("input")?;
    let shader = layout.wgsl("image") + include_str!("../src/texture/write_image.wgsl");
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(shader.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let image = session.input_texture("input")?;
    let view = |texture: &wgpu::Texture| texture.create_view(&Default::default());
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view(&picture)) },
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&linear) },
            wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::TextureView(&view(&image)) },
        ],
    });

    let [_, height, width, _] = layout.shape;
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &bind_group, &[]);
    pass.dispatch_workgroups(width.div_ceil(8), height.div_ceil(8), 1);
    drop(pass);
    session.encode(&mut encoder)?;
    let readback = session.encode_read(&mut encoder, [0])?;
    queue.submit([encoder.finish()]);

    let outputs = readback.wait()?;
    let labels = std::fs::read_to_string(fetcher.get("imagenet_labels")?)?;
    let scores = outputs[0].as_slice::<f32>()?.iter().zip(labels.lines());
    let (score, label) = scores.max_by(|a, b| a.0.total_cmp(b.0)).ok_or("no classes")?;
    println!("{:.1} % {label}", score * 100.0);
    Ok(())
}
