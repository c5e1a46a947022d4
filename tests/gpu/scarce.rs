//! Devices with little room: what does not fit is refused by a typed error that says how much was asked for.

use texpool::{
    gpu::{Executor, ExecutorOptions, Gpu, GpuError, Role, TextureSet},
    graph::{Graph, GraphBuilder, Unary},
    plan::{TexelFormat, TextureSpec},
};

use crate::support::{callers_device, open};

const MIB: u64 = 1 << 20;

/// Textures of 256 MiB that are made: more than `witness::no_memory` has room for.
const TEXTURES: usize = 16;
/// What is printed before the error of the texture that has no room.
pub(crate) const NO_ROOM: &str = "no room: ";

/// A device of the caller's whose buffers may take so many bytes.
fn device(most: u64) -> Gpu {
    let required_limits =
        wgpu::Limits { max_buffer_size: most, max_storage_buffer_binding_size: most, ..wgpu::Limits::default() };
    let (device, queue) = callers_device(required_limits);
    Gpu::from_device(device, queue)
}

/// A chain of functions of an image of so many rows of one texel.
fn chain(rows: usize, links: usize) -> Graph {
    let mut b = GraphBuilder::new("chain");
    let mut x = b.input("x", &[1, rows, 1, 1]).unwrap();
    for link in 0..links {
        x = b.unary("y", [Unary::Sin, Unary::Log][link % 2], x).unwrap();
    }
    b.finish(&[x]).unwrap()
}

/// Where memory runs out, the error says how many bytes were asked for, and the device goes on with less.
/// `witness::no_memory` runs this where it does run out; elsewhere the textures, which nobody touches, take none.
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
    let found = session.run(&[&[1.0; 64]]).unwrap();
    assert!(found[0].iter().all(|&v| (v - 1f32.sin().ln()).abs() < 1e-5));
}

/// Inputs and outputs pass through buffers, and row tables lie in some: neither may be larger than the device allows.
#[test]
fn buffers_beyond_the_limit_are_refused_by_name() {
    let gpu = device(4 * MIB);
    let refused = |rows: usize, links: usize| {
        let session = Executor::new(&gpu, &chain(rows, links), &ExecutorOptions::default());
        let error = session.and_then(|mut session| session.run(&[&vec![1.0; rows]])).unwrap_err();
        let GpuError::Limit { what, limit: "maxBufferSize", needed, allowed } = error else { panic!("{error:?}") };
        assert_eq!(allowed, 4 * MIB);
        assert!(needed > allowed, "{needed}");
        what
    };
    assert_eq!(refused(300_000, 1), "input 0 (`x`)");
    // An input of a megabyte, and half a megabyte of row tables in each of 12 steps.
    let what = refused(65536, 12);
    assert!(what.starts_with("row tables of all steps up to operator"), "{what}");
    let mut session = Executor::new(&gpu, &chain(65536, 2), &ExecutorOptions::default()).unwrap();
    let found = session.run(&[&[1.0; 65536]]).unwrap();
    assert!(found[0].iter().all(|&v| (v - 1f32.sin().ln()).abs() < 1e-5));
}
