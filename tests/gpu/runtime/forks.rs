//! A process that forks after it has opened a device: in the child, calls fail at once since the device belongs to
//! the parent, and a device that the child opens works. Forks a process in which no other test runs, since work of
//! other threads would stay unfinished in the child.

use std::{
    env, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    process, thread,
    time::{Duration, Instant},
};

use texpool::{Context, TensorView};
use texpool_gpu::{Gpu, GpuOptions};

use super::{answer, compiled, gain, image, model, run};
use crate::{support::open, witness::Child};

/// Environment variable set in the process that forks.
const FORKS: &str = "TEXPOOL_TEST_FORKS";
/// Time limit for a child: a fault shows as a hang.
const PATIENCE: Duration = Duration::from_secs(120);

#[expect(unsafe_code, reason = "the standard library has no `fork`")]
mod system {
    unsafe extern "C" {
        pub(super) safe fn fork() -> i32;
        pub(super) safe fn kill(process: i32, signal: i32) -> i32;
        fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    }

    /// The status of a child that has ended.
    pub(super) fn ended(child: i32) -> Option<i32> {
        const NO_HANG: i32 = 1;
        let mut status = 0;
        // SAFETY: there is room for the status.
        (unsafe { waitpid(child, &mut status, NO_HANG) } == child).then_some(status)
    }
}

/// Does the work in a forked child, which then exits normally, and checks its exit status.
fn in_child(what: &str, work: impl FnOnce()) {
    const KILL: i32 = 9;
    let child = system::fork();
    assert!(child >= 0);
    if child == 0 {
        // Unwinding would go on with the parent's tests.
        let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
        process::exit(i32::from(failed));
    }
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = system::ended(child) {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            system::kill(child, KILL);
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status, 0, "a child that {what} ended otherwise");
}

fn open_context() -> Context {
    Context::from_gpu(open())
}

#[test]
fn a_child_opens_a_device_of_its_own() {
    if env::var_os(FORKS).is_none() {
        Child::new().only("forks::a_child").env(FORKS, "1").run().must_pass();
        return;
    }
    let context = open_context();
    assert!(!context.is_inherited());
    let [compiled, tiled] = compiled(&context);
    let mut session = Some(compiled.session().unwrap());
    let right = run(session.as_mut().unwrap(), 3);
    let mut pool = Some(context.pool([&compiled]).unwrap());
    let mut pooled = Some(compiled.session_in(pool.as_ref().unwrap()).unwrap());
    let mut streamed = Some(tiled.session().unwrap());

    in_child("does nothing", || {});
    in_child("uses its parent's device", || {
        assert!(context.is_inherited());
        let session = session.as_mut().unwrap();
        let (image, gain) = (image(3), gain());
        let inputs = [("image", TensorView::from(&image)), ("gain", TensorView::from(&gain))];
        let answers = [
            context.check(),
            context.compile(&model()).build().map(drop),
            compiled.session().map(drop),
            session.run(inputs).map(drop),
            session.write("image", TensorView::from(&image)),
            session.read(["scores"]).map(drop),
            session.input_texture("image").map(drop),
            session.submit().map(drop),
            session.restore(),
            context.pool([&compiled]).map(drop),
            pool.as_mut().unwrap().enter(pooled.as_mut().unwrap()).map(drop),
        ];
        for (number, answer) in answers.into_iter().enumerate() {
            let error = answer.unwrap_err();
            assert!(error.is_forked(), "{number}: {error}");
        }
        assert_eq!(session.memory().allocated, None);
        session.trim();
    });
    in_child("lets go of its parent's things", || {
        drop((session.take(), pooled.take(), pool.take(), streamed.take()));
        drop((context.clone(), compiled.clone()));
    });
    if context.device().adapter_info().name.contains("SwiftShader") {
        in_child("is refused a device that would never do its work", || {
            let error = Gpu::open(&GpuOptions::default()).unwrap_err().to_string();
            assert!(error.contains("`spawn` instead of `fork`"), "{error}");
        });
        return;
    }
    in_child("makes a session of its own", || {
        let context = open_context();
        let own = context.compile(&model()).build().unwrap();
        assert!(answer(&own, 3) == right);
        in_child("is a child's child", || {
            assert!(context.is_inherited());
            assert!(answer(&open_context().compile(&model()).build().unwrap(), 3) == right);
        });
        // The child's device is still open when it exits.
        mem::forget(own.session().unwrap());
    });
    assert!(run(session.as_mut().unwrap(), 3) == right);
}
