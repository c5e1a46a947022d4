//! A device that is lost, or too small, or not there: each an error of its own.

use texpool::{
    gpu::{Gpu, GpuError, GpuOptions, Role, Session, SessionOptions, TextureSet},
    graph::{GraphBuilder, Op, Unary},
    plan::{TexelFormat, TextureSpec},
};

use crate::support::open;

#[test]
fn a_lost_device_is_told_from_other_errors() {
    let gpu = open();
    let mut b = GraphBuilder::new("net");
    let x = b.input("x", &[1, 3, 5, 7]).unwrap();
    let y = b.node("exp", Op::Unary(Unary::Exp), &[x], texpool::graph::Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let mut session = Session::new(&gpu, &graph, &SessionOptions::default()).unwrap();
    let input = vec![0.5; 105];
    session.run(&[&input]).unwrap();
    gpu.device.destroy();
    for _ in 0..2 {
        let error = session.run(&[&input]).unwrap_err();
        assert!(matches!(error, GpuError::Lost { .. }), "{error:?}");
    }
    let error = Session::new(&gpu, &graph, &SessionOptions::default()).unwrap_err();
    assert!(matches!(error, GpuError::Lost { .. }), "{error:?}");
}

/// Drivers that lose their device have a word about it.
#[test]
fn the_words_of_a_driver_are_told() {
    let lost = |reason, message: &str| GpuError::Lost { reason, message: message.into() }.to_string();
    let unknown = lost(wgpu::DeviceLostReason::Unknown, "out of patience");
    assert_eq!(unknown, "the device was lost (Unknown): out of patience");
    assert_eq!(lost(wgpu::DeviceLostReason::Destroyed, ""), "the device was lost (Destroyed)");
}

#[test]
fn a_texture_beyond_the_limit_is_refused_by_name() {
    let gpu = open();
    let allowed = gpu.device.limits().max_texture_dimension_2d;
    for (width, height) in [(allowed + 1, 1), (1, allowed + 1)] {
        let spec = TextureSpec { width, height, format: TexelFormat::Rgba16Float };
        let error = TextureSet::new(&gpu).create("large", spec, Role::Pool).unwrap_err();
        let GpuError::Limit { limit, needed, allowed: told, .. } = error else { panic!("{error:?}") };
        assert_eq!((limit, needed, told), ("maxTextureDimension2D", u64::from(allowed) + 1, u64::from(allowed)));
    }
}

#[test]
fn an_adapter_that_is_not_there_is_named_with_those_that_are() {
    let there = open().device.adapter_info().name;
    let options = GpuOptions { adapter: Some("no such adapter".into()), ..GpuOptions::default() };
    let error = Gpu::open(&options).unwrap_err();
    assert!(matches!(error, GpuError::NoAdapter { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("no such adapter") && message.contains(&there), "{message}");
}
