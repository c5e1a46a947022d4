//! Caller-written shaders that write inputs and read outputs with the WGSL of a layout.

use texpool::{TextureLayout, texture};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, TensorRole, TextureProblem};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder};
use texpool_plan::TexelFormat;
use wgpu::{BufferUsages, TextureUsages};

use crate::support::{
    open,
    texture_layouts::{Input, indices},
};

const FORMATS: [(TexelFormat, &str); 2] =
    [(TexelFormat::Rgba32Float, "rgba32float"), (TexelFormat::Rgba16Float, "rgba16float")];

/// Resources that can be bound to a shader.
enum Bound<'a> {
    Read(&'a wgpu::Texture),
    Written(&'a wgpu::Texture),
    Sampled(&'a wgpu::Texture, &'a wgpu::Sampler),
    Buffer(&'a wgpu::Buffer),
}

/// Runs a compute shader once, in the same submission as the caller's commands before and after it.
fn dispatch(gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, wgsl: &str, bound: &[Bound<'_>], groups: [u32; 3]) {
    let (mut layouts, mut views) = (Vec::new(), Vec::new());
    for bound in bound {
        let read = |filterable| wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        match bound {
            Bound::Read(texture) => {
                layouts.push(read(false));
                views.push(Some(view(texture)));
            }
            Bound::Sampled(texture, _) => {
                layouts.extend([read(true), wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering)]);
                views.extend([Some(view(texture)), None]);
            }
            Bound::Written(texture) => {
                layouts.push(wgpu::BindingType::StorageTexture {
                    access: wgpu::StorageTextureAccess::WriteOnly,
                    format: texture.format(),
                    view_dimension: wgpu::TextureViewDimension::D2,
                });
                views.push(Some(view(texture)));
            }
            Bound::Buffer(_) => {
                layouts.push(wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: false },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                });
                views.push(None);
            }
        }
    }
    let mut others = bound.iter().filter_map(|bound| match bound {
        Bound::Read(_) | Bound::Written(_) => None,
        Bound::Sampled(_, sampler) => Some(wgpu::BindingResource::Sampler(sampler)),
        Bound::Buffer(buffer) => Some(buffer.as_entire_binding()),
    });
    let entries: Vec<_> = (0u32..)
        .zip(&views)
        .map(|(binding, view)| wgpu::BindGroupEntry {
            binding,
            resource: match view {
                Some(view) => wgpu::BindingResource::TextureView(view),
                None => others.next().unwrap(),
            },
        })
        .collect();
    let layouts: Vec<_> = (0u32..)
        .zip(layouts)
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty,
            count: None,
        })
        .collect();
    let device = &gpu.device;
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &layouts });
    let group =
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(wgsl.into()),
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
}

fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

fn buffer(gpu: &Gpu, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// Submits the encoder after adding a copy of `from`, and returns the bytes.
fn bytes_of(gpu: &Gpu, mut encoder: wgpu::CommandEncoder, from: &wgpu::Buffer) -> Vec<u8> {
    let staging = buffer(gpu, from.size(), BufferUsages::COPY_DST | BufferUsages::MAP_READ);
    encoder.copy_buffer_to_buffer(from, 0, &staging, 0, from.size());
    gpu.queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    staging.get_mapped_range(..).unwrap().to_vec()
}

/// Copies a whole texture as the layout allows: without gaps between rows.
fn texture_bytes(
    gpu: &Gpu,
    mut encoder: wgpu::CommandEncoder,
    layout: &TextureLayout,
    texture: &wgpu::Texture,
) -> Vec<u8> {
    let copy = buffer(gpu, layout.bytes(), BufferUsages::COPY_DST | BufferUsages::COPY_SRC);
    let to = wgpu::TexelCopyBufferInfo { buffer: &copy, layout: rows(layout) };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), to, texture.size());
    bytes_of(gpu, encoder, &copy)
}

fn rows(layout: &TextureLayout) -> wgpu::TexelCopyBufferLayout {
    let bytes_per_row = Some(layout.width * layout.texel_bytes());
    wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: None }
}

/// A shader that reads every element of `image` into a buffer, in the model's order.
fn reader(layout: &TextureLayout) -> String {
    layout.wgsl("image")
        + "
@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> values: array<f32>;

@compute @workgroup_size(64)
fn find(@builtin(global_invocation_id) invocation: vec3<u32>) {
    let i = invocation.x;
    if i < image_ELEMENTS {
        let at = image_element(i);
        values[i] = textureLoad(image, at.xy, 0)[at.z];
    }
}
"
}

/// A shader that stores in every element its number in the order of `[B, H, W, C]`, counted from 1. `texel` and
/// `padded` are the calls to use, up to and including their first arguments.
fn writer(functions: &str, [texel, padded]: [&str; 2], storage: &str) -> String {
    format!(
        "{functions}
@group(0) @binding(0) var image: texture_storage_2d<{storage}, write>;

@compute @workgroup_size(1)
fn store(@builtin(global_invocation_id) invocation: vec3<u32>) {{
    let x = invocation.x;
    let row = invocation.y;
    let slice = invocation.z;
    let first = (row * EXTENTS.z + x) * EXTENTS.w + 4u * slice + 1u;
    // Numbers in lanes that are no channel, too: they must not get into the texture.
    let numbers = vec4<f32>(vec4<u32>(0u, 1u, 2u, 3u) + vec4<u32>(first));
    textureStore(image, {texel}row / EXTENTS.y, row % EXTENTS.y, x, slice), {padded}numbers, slice));
}}
"
    )
}

/// A shader finds every element in textures that a caller packs or copies.
#[test]
fn a_shader_finds_every_element() {
    let gpu = open();
    for number in 0..40 {
        let input = Input::random(number);
        for (format, _) in FORMATS {
            let layout = TextureLayout::new(&input.tensor, format, 8192);
            let values: Vec<f32> = (1..=input.tensor.shape.len()).map(|i| i as f32).collect();
            let usage = TextureUsages::COPY_DST | TextureUsages::TEXTURE_BINDING;
            let texture = gpu.device.create_texture(&layout.descriptor(usage));
            let bytes = layout.pack(&values).unwrap();
            gpu.queue.write_texture(texture.as_image_copy(), &bytes, rows(&layout), texture.size());
            let read_back = buffer(&gpu, values.len() as u64 * 4, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
            let mut encoder = encoder(&gpu);
            let bound = [Bound::Read(&texture), Bound::Buffer(&read_back)];
            dispatch(&gpu, &mut encoder, &reader(&layout), &bound, [values.len().div_ceil(64) as u32, 1, 1]);
            let read_values: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes_of(&gpu, encoder, &read_back));
            assert_eq!(read_values, values, "{input:?} {format:?}");
        }
    }
}

/// A shader that stores through the layout's text, or through the general functions, produces exactly the bytes of
/// packing.
#[test]
fn a_shader_writes_what_packing_makes() {
    let gpu = open();
    for number in 0..40 {
        let input = Input::random(number);
        for (format, storage) in FORMATS {
            let layout = TextureLayout::new(&input.tensor, format, 8192);
            let values: Vec<f32> =
                (0..input.tensor.shape.len()).map(|element| (input.place(element) + 1) as f32).collect();
            let expected = layout.pack(&values).unwrap();
            let own = layout.wgsl("image") + "const EXTENTS = image_EXTENTS;";
            let [b, h, w, c] = layout.shape;
            let width = layout.width;
            let general = format!("{}const EXTENTS = vec4<u32>({b}u, {h}u, {w}u, {c}u);", texture::WGSL);
            let with_extents = format!("texpool_texel(EXTENTS, {width}u, ");
            for (functions, names) in [
                (own, ["image_texel(", "image_padded("]),
                (general, [with_extents.as_str(), "texpool_padded(EXTENTS, "]),
            ] {
                let usage = TextureUsages::COPY_SRC;
                let texture = gpu.device.create_texture(&layout.descriptor(usage));
                let mut encoder = encoder(&gpu);
                let wgsl = writer(&functions, names, storage);
                dispatch(&gpu, &mut encoder, &wgsl, &[Bound::Written(&texture)], [w, b * h, c.div_ceil(4)]);
                let bytes = texture_bytes(&gpu, encoder, &layout, &texture);
                assert!(bytes == expected, "{input:?} {format:?}: {:?}", layout.unpack(&bytes));
            }
        }
    }
}

/// Doubles an image.
fn network(height: usize, width: usize) -> Graph {
    let mut b = GraphBuilder::new("double");
    let image = b.input("image", &[1, height, width, 3]).unwrap();
    let two = b.constant("two", &[1], &[2.0]).unwrap();
    let doubled = b.binary("doubled", Binary::Mul, image, two, Act::None).unwrap();
    b.finish(&[doubled]).unwrap()
}

/// The shaders of the documentation: a picture becomes an input, and the best element of the output is found, without
/// any data leaving the device in between.
#[test]
fn the_documented_shaders_write_an_input_and_read_an_output() {
    let (height, width) = (40, 56);
    let gpu = open();
    let graph = network(height, width);
    let mut executor = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
    let max_extent = gpu.device.limits().max_texture_dimension_2d;
    let layout = |tensor| {
        let graph = executor.compiled().graph();
        TextureLayout::new(&graph.tensors[tensor], TexelFormat::Rgba32Float, max_extent)
    };
    let (image, scores) = (layout(graph.inputs[0]), layout(graph.outputs[0]));
    let input = gpu.device.create_texture(&image.descriptor(TextureUsages::COPY_SRC));
    let output = gpu.device.create_texture(&scores.descriptor(TextureUsages::TEXTURE_BINDING));

    // The picture has the input's size, so each pixel is sampled exactly; the greatest value is in one of them.
    let best = indices(1234, &[height, width, 3]);
    let rgba: Vec<u8> = (0..height * width * 4)
        .map(|i| {
            let at = indices(i, &[height, width, 4]);
            if at == best { 255 } else { (i * 37 % 251) as u8 }
        })
        .collect();
    let picture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        size: wgpu::Extent3d { width: width as u32, height: height as u32, depth_or_array_layers: 1 },
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: TextureUsages::COPY_DST | TextureUsages::TEXTURE_BINDING,
        ..image.descriptor(TextureUsages::empty())
    });
    let bytes_per_row = Some(width as u32 * 4);
    let lines = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: None };
    gpu.queue.write_texture(picture.as_image_copy(), &rgba, lines, picture.size());
    let linear = gpu.device.create_sampler(&wgpu::SamplerDescriptor {
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        ..wgpu::SamplerDescriptor::default()
    });

    executor.bind_texture(TensorRole::Input, 0, &input).unwrap();
    executor.bind_texture(TensorRole::Output, 0, &output).unwrap();
    let result = buffer(&gpu, 4, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
    let mut all = encoder(&gpu);
    let wgsl = image.wgsl("image") + include_str!("../../src/texture/write_image.wgsl");
    let groups = [(width as u32).div_ceil(8), (height as u32).div_ceil(8), 1];
    dispatch(&gpu, &mut all, &wgsl, &[Bound::Sampled(&picture, &linear), Bound::Written(&input)], groups);
    executor.encode(&mut all).unwrap();
    let wgsl = scores.wgsl("scores") + include_str!("../../src/texture/read_scores.wgsl");
    dispatch(&gpu, &mut all, &wgsl, &[Bound::Read(&output), Bound::Buffer(&result)], [1, 1, 1]);
    let result = bytes_of(&gpu, all, &result);
    assert_eq!(u32::from_ne_bytes(result.try_into().unwrap()), 1234);

    // The input holds the picture scaled to -1 to 1 and zeros in its fourth lanes. Passing the values gives the same
    // bytes.
    let bytes = texture_bytes(&gpu, encoder(&gpu), &image, &input);
    let values = image.unpack(&bytes).unwrap();
    for (i, &value) in values.iter().enumerate() {
        let byte = rgba[i / 3 * 4 + i % 3];
        assert!((value - (f32::from(byte) / 127.5 - 1.0)).abs() < 1.0 / 512.0, "element {i}: {value} of {byte}");
    }
    assert!(image.pack(&values).unwrap() == bytes);
    let mut by_value = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
    let outputs = by_value.run(&[&values]).unwrap();
    assert!(outputs[0].iter().zip(&values).all(|(output, value)| *output == value * 2.0));
}

#[test]
fn a_texture_is_taken_that_is_as_described_and_no_other() {
    let gpu = open();
    let graph = network(100, 100);
    let layout = TextureLayout::new(&graph.tensors[graph.inputs[0]], TexelFormat::Rgba32Float, 8192);
    type Change = fn(&mut wgpu::TextureDescriptor<'_>);
    let check_changed = |change: Change| {
        let mut descriptor = layout.descriptor(TextureUsages::COPY_DST);
        change(&mut descriptor);
        layout.check(&gpu.device.create_texture(&descriptor))
    };
    assert_eq!(check_changed(|_| {}), Ok(()));
    assert_eq!(check_changed(|t| t.usage |= TextureUsages::RENDER_ATTACHMENT), Ok(()));
    let cases: [(Change, TextureProblem, &str); 7] = [
        (
            |t| t.format = wgpu::TextureFormat::Rgba16Float,
            TextureProblem::Format(wgpu::TextureFormat::Rgba16Float),
            "its format is Rgba16Float",
        ),
        (
            |t| t.dimension = wgpu::TextureDimension::D3,
            TextureProblem::Dimension(wgpu::TextureDimension::D3),
            "its dimension is D3",
        ),
        (|t| t.size.width = 128, TextureProblem::Size { width: 128, height: 40 }, "it is 128x40"),
        (|t| t.size.height += 1, TextureProblem::Size { width: 256, height: 41 }, "it is 256x41"),
        (|t| t.size.depth_or_array_layers = 3, TextureProblem::Layers(3), "it has 3 layers"),
        (|t| t.mip_level_count = 2, TextureProblem::MipLevels(2), "it has 2 mip levels"),
        (
            |t| t.usage = TextureUsages::COPY_DST,
            TextureProblem::Usage(TextureUsages::STORAGE_BINDING),
            "it lacks the usage STORAGE_BINDING",
        ),
    ];
    for (change, problem, text) in cases {
        assert_eq!(check_changed(change), Err(problem));
        assert_eq!(problem.to_string(), text);
    }
}
