//! The public interface on a device: each promise of contexts, models, sessions and pools is tested.

mod bounded;
mod carry;
mod elements;
mod errors;
#[cfg(target_os = "linux")]
mod forks;
mod into;
mod loss;
mod open_extents;
mod planning;
mod pool;
mod reading;
mod rebinding;
mod saved;
mod threads;
mod trim;
mod weights;
mod writing;

use std::sync::OnceLock;

use texpool::{CompiledModel, Context, Model, Outputs, Session, TensorView};
use texpool_ops::graph::{Act, Binary, Conv2d, Graph, GraphBuilder, Padding, TensorId, Unary};

use crate::support::callers_device;

/// Rows and columns of the network's input image.
const IMAGE: [usize; 2] = [14, 11];
/// Channels of its features, and the number of gains.
const CHANNELS: usize = 6;

/// A context on a fresh device with core limits and no features, whose counters no other test changes.
fn context() -> Context {
    let (device, queue) = callers_device(wgpu::Limits::default());
    Context::from_wgpu(device, queue).unwrap()
}

/// A 3x3 convolution with weights that differ from those of other convolutions.
fn convolution(b: &mut GraphBuilder, x: TensorId, [from, to]: [usize; 2]) -> TensorId {
    let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
    let values: Vec<f32> = values(from * 31 + to, to * 9 * from).iter().map(|v| v / from as f32).collect();
    let weights = b.constant("weights", &[to, 3, 3, from], &values).unwrap();
    b.conv2d("convolution", conv, x, weights, None, Act::Unary(Unary::Relu)).unwrap()
}

/// Convolutions of an image, times a gain for each channel; separate steps read both inputs. Two outputs, one
/// computed from the other.
fn network() -> Graph {
    let [height, width] = IMAGE;
    let mut b = GraphBuilder::new("net");
    let image = b.input("image", &[1, height, width, 3]).unwrap();
    let gain = b.input("gain", &[1, 1, 1, CHANNELS]).unwrap();
    let x = convolution(&mut b, image, [3, 9]);
    let x = convolution(&mut b, x, [9, CHANNELS]);
    let x = b.binary("scaled", Binary::Mul, x, gain, Act::None).unwrap();
    let features = convolution(&mut b, x, [CHANNELS, CHANNELS + 1]);
    let scores = b.mean("scores", [false, true, true, false], features).unwrap();
    let mut graph = b.finish(&[features, scores]).unwrap();
    graph.tensors[features].name = "features".into();
    graph
}

fn model() -> Model {
    Model::from_graph(network()).unwrap()
}

/// Two plans for the network: one stripe per operator, and the stripes that make the pool smallest.
fn compiled(context: &Context) -> [CompiledModel; 2] {
    static SAVED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let plans = both_plans(context, &model(), &SAVED);
    assert!(plans[1].pool_bytes() < plans[0].pool_bytes(), "the tiling saves nothing");
    plans
}

/// Both plans of a model, searched for once: they are the same on every device with core limits.
fn both_plans(context: &Context, model: &Model, saved: &OnceLock<[Vec<u8>; 2]>) -> [CompiledModel; 2] {
    let compile = || {
        let builders = [context.compile(model), context.compile(model).smallest()];
        builders.map(|builder| builder.build().unwrap().save())
    };
    saved.get_or_init(compile).each_ref().map(|plan| context.load(model, plan).unwrap())
}

/// Numbers between -1 and 1, others for another seed.
fn values(seed: usize, len: usize) -> Vec<f32> {
    let mut state = (seed as u32 + 1).wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// An input image for the network.
fn image(seed: usize) -> Vec<f32> {
    values(seed, IMAGE[0] * IMAGE[1] * 3)
}

/// Gains for the network.
fn gain() -> Vec<f32> {
    values(77, CHANNELS)
}

/// Output bits of the network for an image, with inputs passed as values.
fn answer(compiled: &CompiledModel, seed: usize) -> Vec<u32> {
    run(&mut compiled.session().unwrap(), seed)
}

/// Runs the network on an image and its gain.
fn run(session: &mut Session, seed: usize) -> Vec<u32> {
    let (image, gain) = (image(seed), gain());
    bits(&session.run([("image", TensorView::from(&image)), ("gain", TensorView::from(&gain))]).unwrap())
}

/// Every bit of every output of 32-bit floats.
fn bits(outputs: &Outputs) -> Vec<u32> {
    outputs.iter().flat_map(|(_, tensor)| tensor.as_slice::<f32>().unwrap()).map(|v| v.to_bits()).collect()
}

fn encoder(context: &Context) -> wgpu::CommandEncoder {
    context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// Submits the encoder's commands.
fn submit(context: &Context, encoder: wgpu::CommandEncoder) {
    context.queue().submit([encoder.finish()]);
}

/// Waits until the device has nothing to do.
fn idle(context: &Context) {
    context.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
}

/// Makes a texture for an input and fills it with values.
fn filled(compiled: &CompiledModel, input: &str, values: &[f32]) -> wgpu::Texture {
    let (layout, context) = (compiled.input_layout(input).unwrap(), compiled.context());
    let usage = wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC;
    let texture = context.device().create_texture(&layout.descriptor(usage));
    fill(compiled, input, &texture, values);
    texture
}

/// Writes values to an input's texture.
fn fill(compiled: &CompiledModel, input: &str, texture: &wgpu::Texture, values: &[f32]) {
    let layout = compiled.input_layout(input).unwrap();
    let bytes_per_row = Some(layout.width * layout.texel_bytes());
    let rows = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: None };
    let bytes = layout.pack(values).unwrap();
    compiled.context().queue().write_texture(texture.as_image_copy(), &bytes, rows, texture.size());
}

/// Textures for the network's image, each with different contents.
fn frames(compiled: &CompiledModel, count: usize) -> Vec<wgpu::Texture> {
    (0..count).map(|seed| filled(compiled, "image", &image(seed))).collect()
}
