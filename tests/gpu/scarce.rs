//! Devices with little room: anything too large is refused with a typed error that says how much was requested.

use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, Role, TextureSet};
use texpool_ops::graph::{Act, Gather, Graph, GraphBuilder, Op, Unary};
use texpool_plan::{TexelFormat, TextureSpec};

use crate::support::{callers_device, open};

const MIB: u64 = 1 << 20;

/// Number of 256 MiB textures to create: more than fit in `witness::no_memory`.
const TEXTURES: usize = 16;
/// Prefix of the line with the error for the texture that had no room.
pub(crate) const NO_ROOM: &str = "no room: ";

/// A caller's device whose buffers are limited to `most` bytes.
fn device(most: u64) -> Gpu {
    let required_limits =
        wgpu::Limits { max_buffer_size: most, max_storage_buffer_binding_size: most, ..wgpu::Limits::default() };
    let (device, queue) = callers_device(required_limits);
    Gpu::from_device(device, queue)
}

/// A chain of functions of an image with `rows` rows of one texel.
fn chain(rows: usize, links: usize) -> Graph {
    let mut b = GraphBuilder::new("chain");
    let mut x = b.input("x", &[1, rows, 1, 1]).unwrap();
    for link in 0..links {
        x = b.unary("y", [Unary::Sin, Unary::Log][link % 2], x).unwrap();
    }
    b.finish(&[x]).unwrap()
}

/// A chain of look-ups that permute all pixels, each in a different order.
fn shuffles(pixels: usize, links: usize) -> Graph {
    let mut b = GraphBuilder::new("shuffles");
    let mut x = b.input("x", &[1, 1, pixels, 1]).unwrap();
    for link in 0..links {
        let order: Vec<f32> = (0..pixels).map(|i| ((i * 7 + link) % pixels) as f32).collect();
        let order = b.constant("order", &[1, 1, 1, pixels], &order).unwrap();
        x = b.node("y", Op::Gather(Gather { axis: 2 }), &[x, order], Act::None).unwrap();
    }
    b.finish(&[x]).unwrap()
}

/// When memory runs out, the error says how many bytes were requested, and the device still works with less.
/// `witness::no_memory` runs this where memory does run out; elsewhere the textures take none, since they are never
/// used.
#[test]
fn textures_that_have_no_room_are_named_in_bytes() {
    let gpu = open();
    let mut textures = TextureSet::new(&gpu);
    let spec = TextureSpec { width: 4096, height: 4096, format: TexelFormat::Rgba32Float };
    let refused = (0..TEXTURES).find_map(|_| textures.create("large", spec, Role::Pool).err());
    if let Some(error) = refused {
        let GpuError::OutOfMemory { bytes, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*bytes, Some(spec.bytes()));
        println!("{NO_ROOM}{error}");
    }
    drop(textures);
    let mut session = Executor::new(&gpu, &chain(64, 2), &ExecutorOptions::default()).unwrap();
    let outputs = session.run(&[&[1.0; 64]]).unwrap();
    assert!(outputs[0].iter().all(|&v| (v - 1f32.sin().ln()).abs() < 1e-5));
}

/// Parameters are stored in buffers, whose size the device limits. Inputs and outputs beyond the limit are
/// transferred in pieces.
#[test]
fn buffers_beyond_the_limit_are_refused_by_name() {
    let gpu = device(4 * MIB);
    let refused = |graph: &Graph| {
        let session = Executor::new(&gpu, graph, &ExecutorOptions::default());
        let elements = graph.shape(graph.inputs[0]).len();
        let error = session.and_then(|mut session| session.run(&[&vec![1.0; elements]])).unwrap_err();
        let GpuError::Limit { what, limit: "maxBufferSize", needed, allowed, .. } = error else { panic!("{error:?}") };
        assert_eq!(allowed, 4 * MIB);
        assert!(needed > allowed, "{needed}");
        what
    };
    // An input of a megabyte, and a quarter of a megabyte of indices in each of 24 steps.
    let what = refused(&shuffles(65536, 24));
    assert!(what.starts_with("parameters of all steps up to operator"), "{what}");
    for rows in [65536, 300_000] {
        let mut session = Executor::new(&gpu, &chain(rows, 1), &ExecutorOptions::default()).unwrap();
        let values: Vec<f32> = (0..rows).map(|row| row as f32 / rows as f32).collect();
        let outputs = session.run(&[&values]).unwrap();
        assert!(
            outputs[0].iter().zip(&values).all(|(actual, value)| (actual - value.sin()).abs() < 1e-5),
            "{rows} rows"
        );
    }
}
