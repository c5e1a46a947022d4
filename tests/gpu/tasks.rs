//! Sessions in programs that must not block: futures that sleep until the device, or the thread that polls it, wakes
//! them.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context as TaskContext, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use texpool::{Context, GpuError, GpuOptions, Model, Outputs, Polling, Session, TensorView};

use crate::{
    recovery::{input, slow},
    support::{callers_device, open},
};

/// Waker of a task in the event loop.
struct Flag(AtomicBool, mpsc::Sender<()>);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        let _ = self.1.send(());
    }
}

/// An event loop in one thread: polls woken tasks, and sleeps when there are none.
fn run_all(mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
    let (sender, woken) = mpsc::channel();
    let flags: Vec<Arc<Flag>> = tasks.iter().map(|_| Arc::new(Flag(AtomicBool::new(true), sender.clone()))).collect();
    let mut open: Vec<usize> = (0..tasks.len()).collect();
    while !open.is_empty() {
        let ready: Vec<usize> = open.iter().copied().filter(|&i| flags[i].0.swap(false, Ordering::SeqCst)).collect();
        for i in &ready {
            let waker = Waker::from(Arc::clone(&flags[*i]));
            if tasks[*i].as_mut().poll(&mut TaskContext::from_waker(&waker)).is_ready() {
                open.retain(|other| other != i);
            }
        }
        if ready.is_empty() {
            woken.recv_timeout(Duration::from_secs(600)).expect("nobody woke a task");
        }
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut TaskContext::from_waker(Waker::noop()))
}

/// Polls a future and the device by turns. Also returns how often the future was pending.
fn drive<F: Future>(context: &Context, future: F) -> (F::Output, usize) {
    let mut future = pin!(future);
    for pending in 0.. {
        if let Poll::Ready(output) = poll(future.as_mut()) {
            return (output, pending);
        }
        context.device().poll(wgpu::PollType::Poll).unwrap();
        std::thread::sleep(Duration::from_micros(100));
    }
    unreachable!()
}

fn context(polling: Polling) -> Context {
    let (device, queue) = callers_device(wgpu::Limits::default());
    Context::from_wgpu_with(device, queue, &GpuOptions { polling, ..GpuOptions::default() }).unwrap()
}

fn model() -> Model {
    Model::from_graph(slow()).unwrap()
}

fn bits(outputs: &Outputs) -> Vec<u32> {
    outputs.iter().flat_map(|(_, tensor)| tensor.as_slice::<f32>().unwrap()).map(|v| v.to_bits()).collect()
}

fn answer(session: &mut Session) -> Vec<u32> {
    bits(&session.run([(0, TensorView::from(&input()))]).unwrap())
}

fn is_send(future: impl Future + Send) -> impl Future {
    future
}

/// With `Polling::Host`, futures do not poll the device: none is ready before the host has polled.
#[test]
fn futures_wait_for_a_host_that_polls() {
    let context = context(Polling::Host);
    let compiled = drive(&context, context.compile(&model()).build_async()).0.unwrap();
    let (session, pending) = drive(&context, compiled.session_async());
    assert!(pending > 0, "the upload of weights was not waited for");
    let mut session = session.unwrap();
    let values = input();
    let outputs = {
        let mut run = pin!(session.run_async([(0, TensorView::from(&values))]));
        for _ in 0..100 {
            assert!(poll(run.as_mut()).is_pending(), "somebody else polled the device");
            std::thread::sleep(Duration::from_millis(1));
        }
        drive(&context, run).0.unwrap()
    };
    assert_eq!(bits(&outputs), answer(&mut session));
    let (read, _) = drive(&context, session.read_async([0, 1]));
    assert_eq!(bits(&read.unwrap()), bits(&outputs));
}

/// Tasks of one thread run concurrently, woken by the thread that polls the device.
#[test]
fn tasks_of_one_thread_run_beside_each_other() {
    let context = context(Polling::Thread);
    let (mut answers, mut turns) = (Vec::new(), 0);
    {
        let (tell, receiver) = mpsc::channel();
        let work = |number: usize| {
            let (context, tell) = (context.clone(), tell.clone());
            let task = async move {
                let compiled = context.compile(&model()).build_async().await.unwrap();
                let mut session = compiled.session_async().await.unwrap();
                let values = input();
                let outputs = session.run_async([(0, TensorView::from(&values))]).await.unwrap();
                session.trim();
                session.restore_async().await.unwrap();
                let again = session.run_async([(0, TensorView::from(&values))]).await.unwrap();
                assert_eq!(bits(&again), bits(&outputs), "task {number}");
                session.submit().unwrap().await.unwrap();
                let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                session.encode(&mut encoder).unwrap();
                let readback = session.encode_read(&mut encoder, [1]).unwrap();
                context.queue().submit([encoder.finish()]);
                assert_eq!(readback.await.unwrap()[1], outputs[1], "task {number}");
                tell.send(bits(&outputs)).unwrap();
            };
            Box::pin(task) as Pin<Box<dyn Future<Output = ()>>>
        };
        // A task that would starve if the others blocked: it counts its turns.
        let count = async {
            while receiver.try_recv().map(|bits| answers.push(bits)).is_err() || answers.len() < 2 {
                turns += 1;
                yield_now().await;
            }
        };
        run_all(vec![work(0), work(1), Box::pin(count)]);
    }
    let mut session = context.compile(&model()).build().unwrap().session().unwrap();
    let right = answer(&mut session);
    assert!(answers.iter().all(|bits| *bits == right));
    assert!(turns > 100, "the other task had {turns} turns");
}

/// Yields to other tasks once.
fn yield_now() -> impl Future<Output = ()> {
    let mut first = true;
    std::future::poll_fn(move |cx| {
        if std::mem::take(&mut first) {
            std::thread::sleep(Duration::from_micros(50));
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
}

/// A future that is dropped or times out leaves a session that runs right.
#[test]
fn a_session_runs_on_after_futures_that_were_given_up() {
    let context = context(Polling::Thread);
    let mut session = context.compile(&model()).build().unwrap().session().unwrap();
    let right = answer(&mut session);
    let values = input();
    for _ in 0..3 {
        let mut run = Box::pin(session.run_async([(0, TensorView::from(&values))]));
        assert!(poll(run.as_mut()).is_pending());
        drop(run);
        assert_eq!(answer(&mut session), right);
    }
    session.set_timeout(Duration::ZERO);
    let mut late = None;
    run_all(vec![Box::pin(async { late = Some(session.run_async([(0, TensorView::from(&values))]).await) })]);
    let error = late.unwrap().expect_err("it was in time");
    assert!(error.is_timeout() && error.to_string().contains("a run of the model"), "{error}");
    session.set_timeout(texpool_gpu::TIMEOUT);
    assert_eq!(answer(&mut session), right);
}

/// A task is woken at its timeout, while the device is still at work.
#[test]
fn a_task_is_woken_at_its_deadline() {
    let context = context(Polling::Thread);
    let mut session = context.compile(&model()).build().unwrap().session().unwrap();
    let (right, values) = (answer(&mut session), input());
    session.set_timeout(Duration::from_millis(5));
    let (mut late, begun) = (None, Instant::now());
    run_all(vec![Box::pin(async { late = Some(session.run_async([(0, TensorView::from(&values))]).await) })]);
    // A faster device would need more work here.
    let error = late.unwrap().expect_err("it was done in 5 ms");
    assert!(error.is_timeout(), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(60), "it was late by {:?}", begun.elapsed());
    session.set_timeout(texpool_gpu::TIMEOUT);
    let mut again = None;
    run_all(vec![Box::pin(async { again = Some(session.run_async([(0, TensorView::from(&values))]).await) })]);
    assert_eq!(bits(&again.unwrap().unwrap()), right);
}

/// A task soon learns that its device was lost, on our devices and on a caller's.
#[test]
fn a_task_hears_that_its_device_is_lost() {
    // Without an adapter, this says what to install.
    drop(open());
    let own = Context::open(&GpuOptions::default()).unwrap();
    for (whose, context) in
        [("ours", own), ("a caller's", context(Polling::Thread)), ("a host's", context(Polling::Host))]
    {
        let mut session = context.compile(&model()).build().unwrap().session().unwrap();
        let values = input();
        let mut run = Box::pin(session.run_async([(0, TensorView::from(&values))]));
        assert!(poll(run.as_mut()).is_pending(), "{whose}");
        context.device().destroy();
        let begun = Instant::now();
        let mut lost = None;
        run_all(vec![Box::pin(async { lost = Some(run.await) })]);
        let error = lost.unwrap().expect_err("a lost device answered");
        assert!(matches!(error, texpool::Error::Gpu(GpuError::Lost { .. })), "{whose}: {error:?}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{whose}: it took {:?}", begun.elapsed());
        let mut next = None;
        run_all(vec![Box::pin(async { next = Some(session.run_async([(0, TensorView::from(&values))]).await) })]);
        let error = next.unwrap().expect_err("a lost device answered");
        assert!(matches!(error, texpool::Error::Gpu(GpuError::Lost { .. })), "{whose}: {error:?}");
    }
}

/// Two independent contexts poll one device.
#[test]
fn two_contexts_share_a_device() {
    let first = context(Polling::Thread);
    let second = Context::from_wgpu(first.device().clone(), first.queue().clone()).unwrap();
    let mut answers = [const { Vec::new() }; 2];
    let tasks = [first, second].into_iter().zip(&mut answers).map(|(context, answers_of_one)| {
        let task = async move {
            let compiled = context.compile(&model()).build_async().await.unwrap();
            let mut session = compiled.session_async().await.unwrap();
            let values = input();
            for _ in 0..3 {
                answers_of_one.push(bits(&session.run_async([(0, TensorView::from(&values))]).await.unwrap()));
            }
        };
        Box::pin(task) as Pin<Box<dyn Future<Output = ()>>>
    });
    run_all(tasks.collect());
    let [first, second] = answers;
    assert_eq!(first.len(), 3);
    assert!(first == second && first[1..].iter().all(|bits| *bits == first[0]));
}

/// A future that was polled by one thread completes in another, and the latest waker is the one that gets called.
#[test]
fn a_future_goes_on_in_another_thread() {
    let context = context(Polling::Thread);
    let mut session = context.compile(&model()).build().unwrap().session().unwrap();
    let (right, values) = (answer(&mut session), input());
    let mut run = Box::pin(session.run_async([(0, TensorView::from(&values))]));
    assert!(poll(run.as_mut()).is_pending());
    let outcome = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut outcome = None;
            run_all(vec![Box::pin(async { outcome = Some(run.await) })]);
            outcome.unwrap()
        });
        other.join().unwrap()
    });
    assert_eq!(bits(&outcome.unwrap()), right);
}

/// A waker that panics.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of the host's panics, as this test wants");
    }
}

/// A panic in a host's waker or callback affects neither other waiting tasks nor the device.
#[test]
fn a_host_that_panics_harms_no_other_task() {
    let context = context(Polling::Thread);
    let compiled = context.compile(&model()).build().unwrap();
    let (mut impatient, mut session) = (compiled.session().unwrap(), compiled.session().unwrap());
    let (right, values) = (answer(&mut session), input());
    // Long enough that the first poll is still pending, however busy the machine is.
    impatient.set_timeout(Duration::from_millis(50));
    let mut late = Box::pin(impatient.run_async([(0, TensorView::from(&values))]));
    assert!(late.as_mut().poll(&mut TaskContext::from_waker(&Waker::from(Arc::new(Panics)))).is_pending());
    let mut outcome = None;
    run_all(vec![Box::pin(async { outcome = Some(session.run_async([(0, TensorView::from(&values))]).await) })]);
    assert_eq!(bits(&outcome.unwrap().unwrap()), right);
    drop(late);

    // Called by the polling thread, since nothing else submits or polls before the run is done.
    let mut run = Box::pin(session.run_async([(0, TensorView::from(&values))]));
    assert!(poll(run.as_mut()).is_pending());
    context.queue().on_submitted_work_done(|| panic!("a callback of the host's panics, as this test wants"));
    let mut outcome = None;
    run_all(vec![Box::pin(async { outcome = Some(run.await) })]);
    assert_eq!(bits(&outcome.unwrap().unwrap()), right);
    context.check().expect("the device is there");
    assert_eq!(answer(&mut session), right);
}

/// The polling thread ends when nothing waits.
#[cfg(target_os = "linux")]
#[test]
fn no_thread_is_left_when_nobody_waits() {
    let polls = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.any(|name| name.trim_end() == "texpool wait")
    };
    let context = context(Polling::Thread);
    let mut session = context.compile(&model()).build().unwrap().session().unwrap();
    let values = input();
    let mut run = Box::pin(session.run_async([(0, TensorView::from(&values))]));
    assert!(poll(run.as_mut()).is_pending());
    // A running thread has its name set, and it polls until this task is woken.
    let begun = Instant::now();
    while !polls() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no thread polls the device");
        std::thread::sleep(Duration::from_millis(1));
    }
    run_all(vec![Box::pin(async { drop(run.await.unwrap()) })]);
    // Other tests of this process have such threads, too, but only temporarily.
    let begun = Instant::now();
    while polls() {
        assert!(begun.elapsed() < Duration::from_secs(300), "a thread polls on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waiting for a readback that was never submitted gives an error, not a hang.
#[test]
fn a_readback_that_is_never_submitted_says_so() {
    let context = context(Polling::Thread);
    let mut session = context.compile(&model()).build().unwrap().session().unwrap();
    answer(&mut session);
    let mut readback = || {
        let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        session.encode(&mut encoder).unwrap();
        session.encode_read(&mut encoder, [0]).unwrap()
    };
    let blocking = readback().wait();
    let first = readback();
    let mut awaited = None;
    run_all(vec![Box::pin(async { awaited = Some(first.await) })]);
    for result in [blocking, awaited.unwrap()] {
        let error = result.expect_err("it was read");
        assert!(matches!(error, texpool::Error::Gpu(GpuError::NotSubmitted { .. })), "{error:?}");
    }
    answer(&mut session);
}

/// Futures may be sent to other threads.
#[test]
fn futures_are_send() {
    let context = context(Polling::Thread);
    let compiled = context.compile(&model()).build().unwrap();
    let mut session = compiled.session().unwrap();
    drop(is_send(Context::open_async(&GpuOptions::default())));
    drop(is_send(context.compile(&model()).build_async()));
    drop(is_send(compiled.session_async()));
    drop(is_send(session.restore_async()));
    drop(is_send(session.run_async([(0, TensorView::from(&[0.0f32]))])));
    drop(is_send(session.read_async([0])));
}
