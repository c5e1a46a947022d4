//! Reads an output with a shader of the program, which finds the largest of 1001 scores. Only four bytes are read
//! back instead of 1001 floats.
//!
//! `cargo run --release --example read_output`

use image::imageops;
use std::error::Error;
use texpool::{Context, Model, TensorView, wgpu};
// A part of the texpool command that downloads models and photos. An application would use its own files.
use texpool_cli::fetch::{Bar, Fetcher};

fn main() -> Result<(), Box<dyn Error>> {
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    let context = Context::open(&Default::default())?;
    let compiled = context.compile(&Model::open(fetcher.get("mobilenet_v1")?)?).build()?;
    let mut session = compiled.session()?;

    let photo = image::open(fetcher.get("coffee")?)?.to_rgb8();
    let photo = imageops::resize(&photo, 224, 224, imageops::FilterType::Triangle);
    let pixels: Vec<f32> = photo.iter().map(|&byte| f32::from(byte) / 127.5 - 1.0).collect();
    session.write("input", TensorView::from(&pixels))?;

    // The shader from the documentation of `texpool::texture`, appended to the generated WGSL that describes this
    // output.
    let device = context.device();
    let shader = compiled.output_layout(0)?.wgsl("scores") + include_str!("../src/texture/read_scores.wgsl");
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
    let buffer = |usage| {
        let (size, mapped_at_creation) = (4, false);
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation })
    };
    let best = buffer(wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
    let read = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let scores = session.output_texture(0)?.create_view(&Default::default());
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&scores) },
            wgpu::BindGroupEntry { binding: 1, resource: best.as_entire_binding() },
        ],
    });

    let mut encoder = device.create_command_encoder(&Default::default());
    session.encode(&mut encoder)?;
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &bind_group, &[]);
    pass.dispatch_workgroups(1, 1, 1);
    drop(pass);
    encoder.copy_buffer_to_buffer(&best, 0, &read, 0, 4);
    context.queue().submit([encoder.finish()]);

    read.map_async(wgpu::MapMode::Read, .., |_| ());
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let best: [u8; 4] = read.get_mapped_range(..)?[..].try_into()?;
    let labels = std::fs::read_to_string(fetcher.get("imagenet_labels")?)?;
    println!("{}", labels.lines().nth(u32::from_le_bytes(best) as usize).ok_or("no such class")?);
    Ok(())
}
