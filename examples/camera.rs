//! Detects faces in the frames of a camera that pans over a photo. The program owns the device. Frames are created,
//! passed to the model and drawn on the GPU; only the last picture is read back.
//!
//! `cargo run --release --example camera [PICTURE.png]`

use std::{error::Error, path::PathBuf, time::Instant};
use texpool::{
    Context, Model,
    wgpu::{self, BindingResource::TextureView, BufferUsages, TextureUsages, util::DeviceExt},
};
// A part of the texpool command that downloads models and photos. An application would use its own files.
use texpool_cli::fetch::{Bar, Fetcher};

/// Width and height of the picture to draw.
const SIZE: u32 = 512;
const FRAMES: usize = 100;

/// Shader that writes a frame twice: into the model's input, and into the picture to draw on.
const TAKE_FRAME: &str = "
@group(0) @binding(0) var photo: texture_2d<f32>;
@group(0) @binding(1) var linear: sampler;
@group(0) @binding(2) var<uniform> left: f32;
@group(0) @binding(3) var image: texture_storage_2d<rgba32float, write>;
@group(0) @binding(4) var picture: texture_storage_2d<rgba8unorm, write>;

// The camera sees three quarters of the photo's width and height.
fn seen(pixel: vec2<u32>, size: vec2<u32>) -> vec4<f32> {
    let at = (vec2<f32>(pixel) + 0.5) / vec2<f32>(size);
    return textureSampleLevel(photo, linear, 0.75 * at + vec2<f32>(left, 0.0), 0.0);
}

@compute @workgroup_size(8, 8)
fn take_frame(@builtin(global_invocation_id) at: vec3<u32>) {
    textureStore(picture, at.xy, seen(at.xy, textureDimensions(picture)));
    let size = image_EXTENTS.zy;
    if all(at.xy < size) {
        let rgb = seen(at.xy, size).rgb * 2.0 - 1.0;
        textureStore(image, image_texel(0u, at.y, at.x, 0u), vec4<f32>(rgb, 0.0));
    }
}
";

/// Shader that draws the box of each of the model's 896 anchors. Each instance has five corners, connected by lines.
const DRAW_BOXES: &str = "
@group(0) @binding(0) var regressors: texture_2d<f32>;
@group(0) @binding(1) var scores: texture_2d<f32>;

fn regressor(i: u32) -> f32 {
    let at = regressors_element(i);
    return textureLoad(regressors, at.xy, 0)[at.z] / 128.0;
}

@vertex
fn box_corner(@builtin(vertex_index) corner: u32, @builtin(instance_index) anchor: u32) -> @builtin(position) vec4<f32> {
    let score = scores_element(anchor);
    if textureLoad(scores, score.xy, 0)[score.z] < 1.0 {
        return vec4<f32>(2.0, 2.0, 0.0, 1.0);  // outside the picture
    }
    // Two anchors lie in each cell of a grid of 16 by 16, then six in each of one of 8 by 8.
    let grid = select(8u, 16u, anchor < 512u);
    let cell = select((anchor - 512u) / 6u, anchor / 2u, anchor < 512u);
    let first = 16u * anchor;
    let centre = (vec2<f32>(vec2<u32>(cell % grid, cell / grid)) + 0.5) / f32(grid)
        + vec2<f32>(regressor(first), regressor(first + 1u));
    let extent = vec2<f32>(regressor(first + 2u), regressor(first + 3u));
    let right = corner == 1u || corner == 2u;
    let at = centre + extent * (vec2<f32>(f32(right), f32(corner == 2u || corner == 3u)) - 0.5);
    return vec4<f32>(2.0 * at.x - 1.0, 1.0 - 2.0 * at.y, 0.0, 1.0);
}

@fragment
fn green() -> @location(0) vec4<f32> {
    return vec4<f32>(0.0, 1.0, 0.0, 1.0);
}
";

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).map_or_else(|| "camera.png".into(), PathBuf::from);
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;

    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default()))?;

    let context = Context::from_wgpu(device.clone(), queue.clone())?;
    let compiled = context.compile(&Model::open(fetcher.get("blazeface")?)?).memory_budget(1 << 20).build()?;
    let mut session = compiled.session()?;

    // Resources of the camera: the photo, the picture, and two textures that serve as the model's input alternately.
    let photo = image::open(fetcher.get("astronaut")?)?.to_rgba8();
    let rgba8 = |width, height, usage| wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage,
        view_formats: &[],
    };
    let (width, height) = photo.dimensions();
    let photo_descriptor = rgba8(width, height, TextureUsages::TEXTURE_BINDING);
    let photo = device.create_texture_with_data(&queue, &photo_descriptor, Default::default(), &photo);
    let usage = TextureUsages::STORAGE_BINDING | TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC;
    let picture = device.create_texture(&rgba8(SIZE, SIZE, usage));
    let input = compiled.input_layout("input")?;
    let images = [(); 2].map(|()| device.create_texture(&input.descriptor(TextureUsages::empty())));

    let module = |wgsl: String| {
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source })
    };
    let view = |texture: &wgpu::Texture| texture.create_view(&Default::default());
    let bind_group = |layout, resources: &[wgpu::BindingResource<'_>]| {
        let entries = (0..).zip(resources.iter().cloned());
        let entries: Vec<_> = entries.map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries })
    };

    let take_frame = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module(input.wgsl("image") + TAKE_FRAME),
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let linear = wgpu::FilterMode::Linear;
    let linear = wgpu::SamplerDescriptor { mag_filter: linear, min_filter: linear, ..Default::default() };
    let linear = device.create_sampler(&linear);
    let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
    let left = device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 4, usage, mapped_at_creation: false });
    let frames = images.each_ref().map(|image| {
        bind_group(
            take_frame.get_bind_group_layout(0),
            &[
                TextureView(&view(&photo)),
                wgpu::BindingResource::Sampler(&linear),
                left.as_entire_binding(),
                TextureView(&view(image)),
                TextureView(&view(&picture)),
            ],
        )
    });

    let functions = compiled.output_layout("regressors")?.wgsl("regressors");
    let functions = functions + &compiled.output_layout("classificators")?.wgsl("scores");
    let module = module(functions + DRAW_BOXES);
    let draw_boxes = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState { topology: wgpu::PrimitiveTopology::LineStrip, ..Default::default() },
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            targets: &[Some(picture.format().into())],
        }),
        multiview_mask: None,
        cache: None,
    });
    // The session's textures of the outputs, which never change.
    let regressors = view(&session.output_texture("regressors")?);
    let scores = view(&session.output_texture("classificators")?);
    let outputs = [TextureView(&regressors), TextureView(&scores)];
    let outputs = bind_group(draw_boxes.get_bind_group_layout(0), &outputs);
    let target = view(&picture);

    let bind_groups = || device.get_internal_counters().hal.bind_groups.read();
    let mut early = None;
    let begun = Instant::now();
    for frame in 0..FRAMES {
        queue.write_buffer(&left, 0, &(0.25 * frame as f32 / FRAMES as f32).to_ne_bytes());
        let mut encoder = device.create_command_encoder(&Default::default());

        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&take_frame);
        pass.set_bind_group(0, &frames[frame % 2], &[]);
        pass.dispatch_workgroups(SIZE / 8, SIZE / 8, 1);
        drop(pass);

        session.bind_input("input", &images[frame % 2])?;
        session.encode(&mut encoder)?;

        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &target,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&draw_boxes);
        pass.set_bind_group(0, &outputs, &[]);
        pass.draw(0..5, 0..896);
        drop(pass);

        queue.submit([encoder.finish()]);
        if frame == 2 {
            early = Some((session.memory(), bind_groups()));
        }
    }
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let seconds = begun.elapsed().as_secs_f64();

    println!("{FRAMES} frames, {:.1} a second", FRAMES as f64 / seconds);
    for (when, (memory, groups)) in [(3, early.ok_or("too few frames")?), (FRAMES, (session.memory(), bind_groups()))] {
        println!(
            "after frame {when}: {} bytes in the session, {groups} bind groups on the device",
            memory.planned.sum()
        );
    }

    let size = u64::from(SIZE * SIZE * 4);
    let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
    let pixels = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let mut encoder = device.create_command_encoder(&Default::default());
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE * 4), rows_per_image: None };
    let copy = wgpu::TexelCopyBufferInfo { buffer: &pixels, layout };
    encoder.copy_texture_to_buffer(picture.as_image_copy(), copy, picture.size());
    queue.submit([encoder.finish()]);
    pixels.map_async(wgpu::MapMode::Read, .., |_| ());
    device.poll(wgpu::PollType::wait_indefinitely())?;
    image::save_buffer(&out, &pixels.get_mapped_range(..)?, SIZE, SIZE, image::ExtendedColorType::Rgba8)?;
    println!("the last picture is {}", out.display());
    Ok(())
}
