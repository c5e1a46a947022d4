//! Heap allocations of a frame, after the first frames have made what later ones reuse. wgpu allocates for every
//! encoder, pass and submission. So the same calls of wgpu are made here by hand, and only what a session allocates
//! beyond them is its own.
//!
//! `cargo test --test gpu allocations:: -- --nocapture` prints the numbers.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{self, Poll, Waker},
};

use allocation_counter::measure;
use texpool::{CompiledModel, Context, Model, Session, TensorView, TensorViewMut};

use crate::{
    support::{goldens::golden, models, open},
    witness::Child,
};

/// Golden whose model and photo are used: BlazeFace, with an input and two outputs.
const GOLDEN: &str = "blazeface_short_range";
/// Begin of the line with the numbers of a run.
const RUN_INTO: &str = "`run_into`: ";
/// Frames before those that are counted: each of two bound textures is used twice.
const FIRST: usize = 4;
/// Frames that are counted. Lists inside wgpu still grow in some of them, so the least count is taken.
const COUNTED: usize = 32;
/// Allocations that a run makes itself for each tensor that is passed by value: a channel, through which wgpu answers
/// that the tensor's buffer is mapped.
const FOR_EACH_TENSOR: u64 = 1;

fn blazeface(context: &Context) -> (CompiledModel, Session, Vec<f32>) {
    let golden = golden(GOLDEN);
    let model = Model::open(models::model(&golden.model)).unwrap();
    let compiled = context.compile(&model).build().unwrap();
    let session = compiled.session().unwrap();
    (compiled, session, golden.input)
}

/// Allocations of this thread during a call.
fn count(call: impl FnOnce()) -> u64 {
    measure(call).count_total
}

/// The smallest of the counts that `frame` returns for its number, without those of the first frames.
fn least(mut frame: impl FnMut(usize) -> u64) -> u64 {
    let counts: Vec<u64> = (0..FIRST + COUNTED).map(&mut frame).collect();
    counts[FIRST..].iter().copied().min().unwrap()
}

fn finish(context: &Context, encoder: wgpu::CommandEncoder) {
    context.queue().submit([encoder.finish()]);
    context.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
}

fn encoder(context: &Context) -> wgpu::CommandEncoder {
    context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("run") })
}

#[test]
fn binding_and_encoding_allocate_nothing_of_their_own() {
    let context = Context::from_gpu(open());
    let (compiled, mut session, _) = blazeface(&context);
    let input = compiled.inputs()[0].name.clone();
    let layout = compiled.input_layout(0).unwrap();
    let camera = [(); 2].map(|()| context.device().create_texture(&layout.descriptor(wgpu::TextureUsages::COPY_DST)));
    let bind = least(|frame| {
        let count = count(|| session.bind_input(&input[..], &camera[frame % 2]).unwrap());
        let mut encoder = encoder(&context);
        session.encode(&mut encoder).unwrap();
        finish(&context, encoder);
        count
    });
    let encode = least(|frame| {
        session.bind_input(&input[..], &camera[frame % 2]).unwrap();
        let mut encoder = encoder(&context);
        let count = count(|| session.encode(&mut encoder).unwrap());
        finish(&context, encoder);
        count
    });
    let pass = BarePass::new(context.device());
    let bare = least(|_| {
        let mut encoder = encoder(&context);
        let count = count(|| pass.encode(&mut encoder, session.dispatches()));
        finish(&context, encoder);
        count
    });
    println!("`bind_input`: {bind} allocations, `encode`: {encode}, a pass of wgpu as long: {bare}");
    assert_eq!(bind, 0);
    assert_eq!(encode, bare);
}

/// Dispatches that compute nothing, encoded as those of a session are: each with another pipeline and bind group than
/// the one before, and with its own parameters.
struct BarePass {
    pipelines: [wgpu::ComputePipeline; 2],
    groups: [wgpu::BindGroup; 2],
    /// False if parameters are passed as offsets into a uniform buffer, because the device has no immediates.
    has_immediates: bool,
}

impl BarePass {
    /// Bytes of the parameters of a dispatch.
    const PARAMS: u32 = texpool_gpu::DispatchBinding::BYTES;

    fn new(device: &wgpu::Device) -> Self {
        let has_immediates = device.features().contains(wgpu::Features::IMMEDIATES);
        let entry = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: !has_immediates,
                min_binding_size: None,
            },
            count: None,
        };
        let group_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: std::slice::from_ref(&entry),
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&group_layout)],
            immediate_size: if has_immediates { Self::PARAMS } else { 0 },
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl("@compute @workgroup_size(1) fn main() {}".into()),
        });
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 256,
            usage: wgpu::BufferUsages::UNIFORM,
            mapped_at_creation: false,
        });
        let pipeline = || {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&layout),
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        };
        let group = || {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &group_layout,
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
            })
        };
        Self { pipelines: [pipeline(), pipeline()], groups: [group(), group()], has_immediates }
    }

    fn encode(&self, encoder: &mut wgpu::CommandEncoder, dispatches: usize) {
        let descriptor = wgpu::ComputePassDescriptor { label: Some("texpool"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        for i in 0..dispatches {
            pass.set_pipeline(&self.pipelines[i % 2]);
            if self.has_immediates {
                pass.set_bind_group(0, &self.groups[i % 2], &[]);
                pass.set_immediates(0, &[0; Self::PARAMS as usize]);
            } else {
                pass.set_bind_group(0, &self.groups[i % 2], &[0]);
            }
            pass.dispatch_workgroups(1, 1, 1);
        }
    }
}

#[test]
fn a_run_into_memory_of_the_caller_allocates_a_channel_for_each_tensor() {
    // Built with debug assertions, wgpu notes a backtrace at each of its locks if backtraces are switched on, and the
    // deeper the stack is, the more that allocates.
    if Backtrace::capture().status() == BacktraceStatus::Captured {
        let name = "allocations::a_run_into_memory_of_the_caller";
        let outcome = Child::new().only(name).env("RUST_LIB_BACKTRACE", "0").run().must_pass();
        println!("{RUN_INTO}{}", outcome.values(RUN_INTO).concat());
        return;
    }
    let context = Context::from_gpu(open());
    let (compiled, mut session, photo) = blazeface(&context);
    let input = compiled.inputs()[0].name.clone();
    let mut results: Vec<Vec<f32>> = compiled.outputs().iter().map(|output| vec![0.0; output.len()]).collect();
    let run = least(|_| {
        let [first, second] = &mut results[..] else { panic!("the model has other outputs") };
        let rooms = [(0, TensorViewMut::from(first)), (1, TensorViewMut::from(second))];
        let inputs = [(&input[..], TensorView::from(&photo))];
        count(|| session.run_into(inputs, rooms).unwrap())
    });
    // On a device of its own, so that its buffers have the same numbers: the lists in which wgpu tracks buffers grow to
    // the largest number in use.
    let context = Context::from_gpu(open());
    let (compiled, mut session, _) = blazeface(&context);
    let by_hand = ByHand::new(&context, &compiled, &mut session);
    let bare = least(|_| count(|| by_hand.run(&context, &mut session)));
    let tensors = (compiled.inputs().len() + compiled.outputs().len()) as u64;
    println!("{RUN_INTO}{run} allocations, the same calls of wgpu: {bare}, tensors: {tensors}");
    assert_eq!(run, bare + FOR_EACH_TENSOR * tensors);
}

/// The calls of wgpu in `run_into`, made by hand on the textures of the session. Its dispatches are encoded by the
/// session, which allocates nothing of its own for them, as the other test shows.
struct ByHand {
    upload: Staged,
    readbacks: Vec<Staged>,
}

/// A texture of the session and a buffer for its texels.
struct Staged {
    texture: wgpu::Texture,
    buffer: wgpu::Buffer,
    bytes_per_row: u32,
    /// True once the buffer was mapped again.
    told: Arc<AtomicBool>,
}

impl ByHand {
    fn new(context: &Context, compiled: &CompiledModel, session: &mut Session) -> Self {
        let staged = |texture: wgpu::Texture, layout: &texpool::TextureLayout, usage, mapped_at_creation| {
            let descriptor = wgpu::BufferDescriptor { label: None, size: layout.bytes(), usage, mapped_at_creation };
            let buffer = context.device().create_buffer(&descriptor);
            let bytes_per_row = layout.texel_bytes() * texture.width();
            Staged { texture, buffer, bytes_per_row, told: Arc::default() }
        };
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let upload = staged(session.input_texture(0).unwrap(), compiled.input_layout(0).unwrap(), usage, true);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let outputs = 0..compiled.outputs().len();
        let readback = |i| staged(session.output_texture(i).unwrap(), compiled.output_layout(i).unwrap(), usage, false);
        Self { upload, readbacks: outputs.map(readback).collect() }
    }

    fn run(&self, context: &Context, session: &mut Session) {
        let device = context.device();
        let Staged { texture, buffer, .. } = &self.upload;
        buffer.get_mapped_range_mut(..).unwrap().slice(..).fill(0);
        buffer.unmap();
        let mut encoder = in_scopes(device, || {
            let mut encoder = encoder(context);
            encoder.copy_buffer_to_texture(self.upload.in_buffer(), texture.as_image_copy(), texture.size());
            self.upload.map_on_submit(&encoder, wgpu::MapMode::Write);
            encoder
        });
        in_scopes(device, || {
            session.encode(&mut encoder).unwrap();
            for readback in &self.readbacks {
                let texture = &readback.texture;
                encoder.copy_texture_to_buffer(texture.as_image_copy(), readback.in_buffer(), texture.size());
                readback.map_on_submit(&encoder, wgpu::MapMode::Read);
            }
            context.queue().submit([encoder.finish()]);
        });
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        for Staged { buffer, .. } in &self.readbacks {
            drop(buffer.get_mapped_range(..).unwrap());
            buffer.unmap();
        }
    }
}

impl Staged {
    fn in_buffer(&self) -> wgpu::TexelCopyBufferInfo<'_> {
        let (bytes_per_row, rows_per_image) = (Some(self.bytes_per_row), None);
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image };
        wgpu::TexelCopyBufferInfo { buffer: &self.buffer, layout }
    }

    /// wgpu boxes the callback, so it captures something, as one that tells anybody must.
    fn map_on_submit(&self, encoder: &wgpu::CommandEncoder, mode: wgpu::MapMode) {
        let told = Arc::clone(&self.told);
        encoder.map_buffer_on_submit(&self.buffer, mode, .., move |_| told.store(true, Ordering::Relaxed));
    }
}

/// Calls wgpu as a session does, which learns of errors by a scope for each kind.
fn in_scopes<T>(device: &wgpu::Device, call: impl FnOnce() -> T) -> T {
    let filters = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let answer = call();
    for scope in scopes.into_iter().rev() {
        let error = pin!(scope.pop()).poll(&mut task::Context::from_waker(Waker::noop()));
        assert!(matches!(error, Poll::Ready(None)));
    }
    answer
}
