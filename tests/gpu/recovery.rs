//! The state of a session and its device after a failed run: the next run is right, or says why not.

use std::{
    ops::ControlFlow,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use texpool_compile::io_texture;
use texpool_gpu::{
    Executor, ExecutorOptions, Gpu, GpuError, GpuOptions, Interrupt, Role, TIMEOUT, TensorRole, TextureSet,
};
use texpool_ops::graph::{Act, Conv2d, Graph, GraphBuilder, Padding, Unary};
use texpool_plan::TexelFormat;

use crate::support::{open, open_with};

/// Edge length in pixels of the slow network's image.
const EDGE: usize = 96;

fn convolution() -> Conv2d {
    Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding { top: 1, bottom: 1, left: 1, right: 1 }, groups: 1 }
}

/// A network that keeps a device busy long enough to be observed: two thousand million multiply-adds. Two outputs.
pub(crate) fn slow() -> Graph {
    let channels = 96;
    let mut b = GraphBuilder::new("slow");
    let mut x = b.input("x", &[1, EDGE, EDGE, 4]).unwrap();
    let mut depth = 4;
    for _ in 0..4 {
        let values: Vec<f32> =
            (0..channels * 9 * depth).map(|i| ((i * 37 % 101) as f32 / 101.0 - 0.5) / depth as f32).collect();
        let weights = b.constant("w", &[channels, 3, 3, depth], &values).unwrap();
        x = b.conv2d("conv", convolution(), x, weights, None, Act::Unary(Unary::Relu)).unwrap();
        depth = channels;
    }
    let row = b.mean("mean", [false, true, true, false], x).unwrap();
    b.finish(&[x, row]).unwrap()
}

pub(crate) fn input() -> Vec<f32> {
    (0..EDGE * EDGE * 4).map(|i| (i % 83) as f32 / 83.0 - 0.3).collect()
}

fn bits(outputs: &[Vec<f32>]) -> Vec<u32> {
    outputs.iter().flatten().map(|v| v.to_bits()).collect()
}

/// Output bits of the slow network.
fn answer() -> &'static [u32] {
    static ANSWER: OnceLock<Vec<u32>> = OnceLock::new();
    ANSWER.get_or_init(|| {
        let mut session = Executor::new(&open(), &slow(), &ExecutorOptions::default()).unwrap();
        bits(&session.run(&[&input()]).unwrap())
    })
}

/// Asserts that a session still runs right.
fn runs_right(session: &mut Executor, after: &str) {
    assert!(bits(&session.run(&[&input()]).unwrap()) == answer(), "another answer after {after}");
}

/// Buffers and bytes that the device holds once all its work is done.
fn live_resources(gpu: &Gpu) -> [isize; 3] {
    gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let hal = gpu.device.get_internal_counters().hal;
    [hal.buffers.read(), hal.buffer_memory.read(), hal.texture_memory.read()]
}

fn miscounted<T>(result: &Result<T, GpuError>) -> bool {
    matches!(result, Err(GpuError::TensorCount { .. } | GpuError::TensorLength { .. }))
}

/// Calls with invalid arguments are refused without side effects.
#[test]
fn a_session_runs_on_after_wrong_calls() {
    let gpu = open();
    let mut session = Executor::new(&gpu, &slow(), &ExecutorOptions::default()).unwrap();
    let right = input();
    runs_right(&mut session, "nothing");
    let before = live_resources(&gpu);
    let mut outputs = [vec![0.0; EDGE * EDGE * 96], vec![0.0; 96]];
    let cases: [(&str, Vec<&[f32]>, usize); 6] = [
        ("no input", vec![], 2),
        ("a short input", vec![&right[1..]], 2),
        ("two inputs", vec![&right, &right], 2),
        ("no outputs", vec![&right], 0),
        ("too few outputs", vec![&right], 1),
        ("an output of another length", vec![&right], 3),
    ];
    for (name, inputs, outputs_given) in cases {
        let mut wrong = vec![vec![0.0; 7]; 2];
        let result = match outputs_given {
            3 => session.run_into(&inputs, &mut wrong),
            n => session.run_into(&inputs, &mut outputs[..n]),
        };
        assert!(miscounted(&result), "{name}: {result:?}");
        assert!(miscounted(&session.run_stepwise(&[] as &[&[f32]], |_, _| true)), "{name}");
        runs_right(&mut session, name);
    }
    assert_eq!(live_resources(&gpu), before, "calls that were refused hold memory");
}

/// Retries until a call times out; every call that succeeds must be right.
fn time_out(session: &mut Executor) -> GpuError {
    session.set_timeout(Duration::ZERO);
    let error = (0..50).find_map(|_| match session.run(&[&input()]) {
        Ok(outputs) => {
            assert!(bits(&outputs) == answer(), "another answer without patience");
            None
        }
        Err(error) => Some(error),
    });
    error.expect("the device was always done at once")
}

/// With a zero timeout a run fails promptly with an error that names it; with a long one the same session then runs
/// right.
#[test]
fn a_session_runs_on_after_a_timeout() {
    let gpu = open();
    let mut session = Executor::new(&gpu, &slow(), &ExecutorOptions::default()).unwrap();
    runs_right(&mut session, "nothing");
    let before = live_resources(&gpu);
    for _ in 0..3 {
        let error = time_out(&mut session);
        assert!(matches!(error, GpuError::Timeout { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains("a run of the model") && message.contains("0.0 seconds"), "{message}");
        // While the first run is still in progress no other begins, so nothing piles up.
        let begun = Instant::now();
        match session.run(&[&input()]) {
            Ok(outputs) => assert!(bits(&outputs) == answer()),
            Err(error) => assert!(matches!(error, GpuError::Timeout { .. }), "{error:?}"),
        }
        assert!(begun.elapsed() < TIMEOUT / 10, "an end without patience took {:?}", begun.elapsed());
        session.set_timeout(TIMEOUT);
        runs_right(&mut session, "a timeout");
    }
    time_out(&mut session);
    session.set_timeout(TIMEOUT);
    session.profile().unwrap();
    runs_right(&mut session, "a timeout and a profile");
    assert_eq!(live_resources(&gpu), before, "runs that were given up hold memory");
}

/// A profile that timed out does not harm later runs, nor does an interrupted observed run.
#[test]
fn a_session_runs_on_after_a_timeout_of_another_kind() {
    let gpu = open_with(&GpuOptions { timestamps: true, ..GpuOptions::default() });
    let mut session = Executor::new(&gpu, &slow(), &ExecutorOptions::default()).unwrap();
    runs_right(&mut session, "nothing");
    session.set_timeout(Duration::ZERO);
    let late = |result: Result<(), GpuError>| match result {
        Ok(()) => {}
        Err(error) => assert!(matches!(error, GpuError::Timeout { .. }), "{error:?}"),
    };
    for _ in 0..3 {
        late(session.profile().map(drop));
        late(session.run_stepwise(&[&input()], |_, _| true));
    }
    session.set_timeout(TIMEOUT);
    runs_right(&mut session, "profiles and watches that were given up");
    assert!(session.profile().unwrap().is_none_or(|times| times.len() == session.dispatches()));
}

/// The timeout is the one in the device's options, unless the session sets another.
#[test]
fn a_timeout_comes_from_the_options() {
    let gpu = open_with(&GpuOptions { timeout: Duration::ZERO, ..GpuOptions::default() });
    assert_eq!((gpu.timeout(), GpuOptions::default().timeout), (Duration::ZERO, TIMEOUT));
    // Weights are uploaded in pieces, and the waits for those time out, too.
    let outcome = (0..50).find_map(|_| Executor::new(&gpu, &slow(), &ExecutorOptions::default()).err());
    let error = match outcome {
        Some(error) => error,
        None => {
            let mut session = Executor::new(&gpu, &slow(), &ExecutorOptions::default()).unwrap();
            (0..50).find_map(|_| session.run(&[&input()]).err()).expect("the device was always done at once")
        }
    };
    assert!(matches!(error, GpuError::Timeout { .. }), "{error:?}");
    let mut session = Executor::new(&gpu.with_timeout(TIMEOUT), &slow(), &ExecutorOptions::default()).unwrap();
    runs_right(&mut session, "a timeout of another handle");
}

/// The interrupt callback can end a wait, and the session runs right afterwards.
#[test]
fn a_session_runs_on_after_an_interrupt() {
    static PRESSED: AtomicBool = AtomicBool::new(false);
    let ask = || if PRESSED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let gpu = open_with(&GpuOptions { interrupt: Some(Interrupt::new(ask)), ..GpuOptions::default() });
    let mut session = Executor::new(&gpu, &slow(), &ExecutorOptions::default()).unwrap();
    runs_right(&mut session, "nothing");
    for _ in 0..3 {
        PRESSED.store(true, Ordering::Relaxed);
        let error = session.run(&[&input()]).unwrap_err();
        assert!(matches!(error, GpuError::Interrupted { .. }), "{error:?}");
        assert!(error.to_string().ends_with("was interrupted"), "{error}");
        PRESSED.store(false, Ordering::Relaxed);
        runs_right(&mut session, "an interrupt");
    }
    // Interrupted by another thread, somewhere in one of many runs.
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            PRESSED.store(true, Ordering::Relaxed);
        });
        loop {
            let run = session.run(&[&input()]);
            if run.is_err() {
                break run;
            }
        }
    });
    assert!(matches!(result, Err(GpuError::Interrupted { .. })), "{result:?}");
    PRESSED.store(false, Ordering::Relaxed);
    runs_right(&mut session, "an interrupt from another thread");
}

/// A run that the device refuses, since a bound texture was destroyed, is refused each time without a panic; other
/// sessions of the device are not affected.
#[test]
fn a_run_that_is_refused_is_refused_again() {
    let gpu = open();
    let (graph, limit) = (slow(), gpu.device.limits().max_texture_dimension_2d);
    let spec = io_texture(&graph.tensors[graph.outputs[1]], TexelFormat::Rgba32Float, limit);
    let mut textures = TextureSet::new(&gpu);
    let index = textures.create("out", spec, Role::Shared).unwrap();
    let texture = textures.texture(index).clone();
    let options = ExecutorOptions::default();
    let mut session = Executor::new(&gpu, &graph, &options).unwrap();
    session.bind_texture(TensorRole::Output, 1, &texture).unwrap();
    session.run(&[&input()]).unwrap();
    texture.destroy();
    for _ in 0..3 {
        let error = session.run(&[&input()]).unwrap_err();
        assert!(matches!(error, GpuError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("a run of the model"), "{error}");
    }
    runs_right(&mut Executor::new(&gpu, &graph, &options).unwrap(), "another session's refusal");
}

/// Every call of a session whose device is lost, even during a run, returns an error that says so, and how.
#[test]
fn a_session_of_a_lost_device_says_so() {
    for busy in [false, true] {
        let gpu = open();
        let options = ExecutorOptions::default();
        let mut session = Executor::new(&gpu, &slow(), &options).unwrap();
        runs_right(&mut session, "nothing");
        if busy {
            time_out(&mut session);
            session.set_timeout(TIMEOUT);
        }
        gpu.device.destroy();
        let mut outputs = vec![vec![0.0; EDGE * EDGE * 96], vec![0.0; 96]];
        let errors = [
            session.run(&[&input()]).map(drop),
            session.run_into(&[&input()], &mut outputs).map(drop),
            session.run_stepwise(&[&input()], |_, _| true),
            session.profile().map(drop),
            Executor::new(&gpu, &slow(), &options).map(drop),
        ];
        for (i, error) in errors.into_iter().enumerate() {
            let error = error.expect_err("a lost device ran");
            let GpuError::Lost { reason: Some(wgpu::DeviceLostReason::Destroyed), .. } = error else {
                panic!("call {i}, busy {busy}: {error:?}")
            };
            assert!(error.to_string().contains("Destroyed"), "{error}");
        }
    }
}
