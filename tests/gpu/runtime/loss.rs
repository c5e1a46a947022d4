//! A caller's device is lost: every call says so, and the caller's device-lost callback is still called.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use texpool::{Context, Error, GpuError, TensorView};

use super::{compiled, context, encoder, gain, image, model, run, submit};
use crate::support::callers_device;

#[test]
fn calls_on_a_lost_device_fail_and_the_caller_is_notified_once() {
    for tells in [false, true] {
        let (device, queue) = callers_device(wgpu::Limits::default());
        let context = Context::from_wgpu(device.clone(), queue).unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let (counted, handle) = (Arc::clone(&calls), context.clone());
        device.set_device_lost_callback(move |reason, message| {
            counted.fetch_add(1, Ordering::Relaxed);
            if tells {
                handle.device_lost(reason, message);
            }
        });
        // Only the caller hears of errors: an unexpected one ends the test.
        device.on_uncaptured_error(Arc::new(|error| panic!("{error}")));
        let compiled = &compiled(&context)[0];
        let mut session = compiled.session().unwrap();
        run(&mut session, 0);
        let mut trimmed = compiled.session().unwrap();
        trimmed.trim();
        let mut pool = context.pool([compiled]).unwrap();
        let mut pooled = compiled.session_in(&pool).unwrap();
        context.check().unwrap();
        let mut encoder = encoder(&context);
        let readback = session.encode_read(&mut encoder, [0]).unwrap();
        submit(&context, encoder);

        device.destroy();
        if tells {
            // wgpu calls back once the device is idle.
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        }
        let mut encoder = super::encoder(&context);
        let (image, gain) = (image(0), gain());
        let inputs = || [("image", TensorView::from(&image)), ("gain", TensorView::from(&gain))];
        let errors = [
            ("run", session.run(inputs()).map(drop)),
            ("run of a trimmed session", trimmed.run(inputs()).map(drop)),
            ("write", session.write("gain", TensorView::from(&gain))),
            ("encode", session.encode(&mut encoder)),
            ("encode_read", session.encode_read(&mut encoder, [0]).map(drop)),
            ("submit", session.submit().map(drop)),
            ("read", session.read([0]).map(drop)),
            ("restore", trimmed.restore()),
            ("profile", session.profile().map(drop)),
            ("a texture", trimmed.input_texture(0).map(drop)),
            ("a session", compiled.session().map(drop)),
            ("a pool", context.pool([compiled]).map(drop)),
            ("a session in a pool", compiled.session_in(&pool).map(drop)),
            ("a session of a pool", pool.enter(&mut pooled).unwrap().run(inputs()).map(drop)),
            ("check", context.check()),
        ];
        let text = if tells {
            "the device was lost (Destroyed)"
        } else {
            "the device was lost: it maps no buffers any more, so it was destroyed, or its driver lost it"
        };
        for (call, result) in errors {
            let error = result.expect_err(call);
            assert!(error.is_lost() && !error.is_timeout() && !error.is_out_of_memory(), "{call}: {error:?}");
            assert!(matches!(error, Error::Gpu(GpuError::Lost { .. })));
            assert_eq!(error.to_string(), text, "{call}");
        }
        // Results of earlier submissions may have arrived, or are lost.
        if let Err(error) = readback.wait() {
            assert!(error.is_lost(), "{error:?}");
        }
        // Calls that need no device still work.
        session.trim();
        let _ = session.memory();
        let _ = context.load(&model(), &compiled.save()).unwrap();
        drop((session, trimmed, pooled, pool));
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1, "calls of the caller's callback");
    }
}

/// One thread's wait may end just when another thread's has seen the device finish. wgpu 30 panics in that case, and
/// callers must not notice.
#[test]
fn waits_of_two_threads_lose_no_device() {
    const RUNS: usize = 1500;
    let context = context();
    let [compiled, _] = compiled(&context);
    let (mut hasty, mut patient) = (compiled.session().unwrap(), compiled.session().unwrap());
    let expected = run(&mut patient, 1);
    thread::scope(|scope| {
        scope.spawn(|| {
            hasty.set_timeout(Duration::ZERO);
            let (image, gain) = (image(1), gain());
            for _ in 0..RUNS {
                let inputs = [("image", TensorView::from(&image)), ("gain", TensorView::from(&gain))];
                match hasty.run(inputs) {
                    Err(error) if !error.is_timeout() => panic!("{error}"),
                    _ => {}
                }
            }
        });
        for _ in 0..RUNS / 3 {
            assert_eq!(run(&mut patient, 1), expected);
        }
    });
}
