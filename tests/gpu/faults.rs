//! A device that is lost, too small or missing: each gives a different error.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Instant,
};

use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, GpuOptions, Role, TextureSet};
use texpool_ops::graph::{GraphBuilder, Op, Unary};
use texpool_plan::{TexelFormat, TextureSpec};

use crate::support::{callers_device, open};

/// Number of calls of `check_lost`, which must not take another thread's polling for a loss.
const PROBES: u32 = 100_000;

#[test]
fn a_lost_device_is_told_from_other_errors() {
    let gpu = open();
    let mut b = GraphBuilder::new("net");
    let x = b.input("x", &[1, 3, 5, 7]).unwrap();
    let y = b.node("exp", Op::Unary(Unary::Exp), &[x], texpool_ops::graph::Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let mut session = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
    let input = vec![0.5; 105];
    session.run(&[&input]).unwrap();
    gpu.device.destroy();
    for _ in 0..2 {
        let error = session.run(&[&input]).unwrap_err();
        assert!(matches!(error, GpuError::Lost { .. }), "{error:?}");
    }
    let error = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap_err();
    assert!(matches!(error, GpuError::Lost { .. }), "{error:?}");
}

/// A device made by the caller keeps the caller's device-lost callback, and its sessions still notice the loss.
#[test]
fn a_callers_device_keeps_its_callback() {
    let graph = {
        let mut b = GraphBuilder::new("net");
        let x = b.input("x", &[1, 3, 5, 7]).unwrap();
        let y = b.unary("sin", Unary::Sin, x).unwrap();
        b.finish(&[y]).unwrap()
    };
    let input = vec![0.5; 105];
    for tells in [false, true] {
        let (device, queue) = callers_device(wgpu::Limits::default());
        let calls = Arc::new(AtomicUsize::new(0));
        let gpu = Gpu::from_device(device.clone(), queue);
        let (counted, handle) = (Arc::clone(&calls), gpu.clone());
        device.set_device_lost_callback(move |reason, message| {
            counted.fetch_add(1, Ordering::Relaxed);
            if tells {
                handle.device_lost(reason, message);
            }
        });
        // Only the caller hears of errors: an unexpected one ends the test.
        device.on_uncaptured_error(Arc::new(|error| panic!("{error}")));
        let mut session = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
        session.run(&[&input]).unwrap();
        device.destroy();
        if tells {
            device.poll(wgpu::PollType::Poll).unwrap();
        }
        let expected = if tells {
            "the device was lost (Destroyed)"
        } else {
            "the device was lost: it maps no buffers any more, so it was destroyed, or its driver lost it"
        };
        for error in [
            session.run(&[&input]).unwrap_err(),
            session.profile().unwrap_err(),
            Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap_err(),
            gpu.check_lost().unwrap_err(),
        ] {
            assert!(matches!(error, GpuError::Lost { .. }), "{error:?}");
            assert_eq!(error.to_string(), expected);
        }
        drop(session);
        device.poll(wgpu::PollType::Poll).unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1, "calls of the caller's callback");
    }
}

/// A caller's device that another thread polls all the while is not taken for lost.
#[test]
fn a_device_that_others_poll_is_not_lost() {
    let (device, queue) = callers_device(wgpu::Limits::default());
    let gpu = Gpu::from_device(device.clone(), queue);
    let (tell, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while done.try_recv() == Err(mpsc::TryRecvError::Empty) {
                device.poll(wgpu::PollType::Poll).unwrap();
            }
        });
        // Also closed when the test fails.
        let _tell = tell;
        let begun = Instant::now();
        for _ in 0..PROBES {
            gpu.check_lost().unwrap();
        }
        println!("{} ns a look", begun.elapsed().as_nanos() / u128::from(PROBES));
    });
}

/// The error includes the message that the driver gives for the loss.
#[test]
fn the_words_of_a_driver_are_told() {
    let lost = |reason, message: &str| GpuError::Lost { reason, message: message.into() }.to_string();
    let unknown = lost(Some(wgpu::DeviceLostReason::Unknown), "out of patience");
    assert_eq!(unknown, "the device was lost (Unknown): out of patience");
    assert_eq!(lost(Some(wgpu::DeviceLostReason::Destroyed), ""), "the device was lost (Destroyed)");
    assert_eq!(lost(None, ""), "the device was lost");
}

#[test]
fn a_texture_beyond_the_limit_is_refused_by_name() {
    let gpu = open();
    let allowed = gpu.device.limits().max_texture_dimension_2d;
    for (width, height) in [(allowed + 1, 1), (1, allowed + 1)] {
        let spec = TextureSpec { width, height, format: TexelFormat::Rgba16Float };
        let error = TextureSet::new(&gpu).create("large", spec, Role::Pool).unwrap_err();
        let GpuError::Limit { limit, needed, allowed: most, .. } = error else { panic!("{error:?}") };
        assert_eq!((limit, needed, most), ("maxTextureDimension2D", u64::from(allowed) + 1, u64::from(allowed)));
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
