//! Runs in the page: sessions on the browser's device, where blocking is impossible. Outputs are compared with the
//! same reference outputs as native runs.

#![cfg(target_arch = "wasm32")]

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::{Context as TaskContext, Poll, Waker},
    time::Duration,
};

use texpool::{
    Context, Error, GpuError, GpuOptions, Model, Outputs, Session, TensorView,
    wgpu::{CommandEncoderDescriptor, DeviceLostReason},
};
use wasm_bindgen::prelude::*;

const MODEL: &[u8] = include_bytes!("../../data/models/face_detection_front_2019.tflite");
const IMAGE: &[u8] = include_bytes!("../../data/goldens/blazeface_front_2019_f32/input_u8.npy");
/// Each output's name, its expected values, and the tolerance: as in `support/goldens.rs`, a 100,000th of the largest
/// value.
const OUTPUTS: [(&str, &[u8], f32); 2] = [
    ("regressors", include_bytes!("../../data/goldens/blazeface_front_2019_f32/out_regressors.npy"), 1.08e-3),
    ("classificators", include_bytes!("../../data/goldens/blazeface_front_2019_f32/out_classificators.npy"), 2.19e-4),
];

#[wasm_bindgen]
extern "C" {
    /// Sends a line to the program that started the browser.
    fn report(line: &str);
}

/// The bytes behind the header of a `.npy` file.
fn body(npy: &[u8]) -> &[u8] {
    let header = usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    &npy[10 + header..]
}

fn floats(npy: &[u8]) -> Vec<f32> {
    body(npy).chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn image() -> Vec<f32> {
    body(IMAGE).iter().map(|&byte| f32::from(byte) / 127.5 - 1.0).collect()
}

fn view(image: &[f32]) -> [(usize, TensorView<'_>); 1] {
    [(0, TensorView::new(image, &[1, 128, 128, 3]).unwrap())]
}

fn bits(outputs: &Outputs) -> Vec<u32> {
    outputs.iter().flat_map(|(_, tensor)| tensor.as_slice::<f32>().unwrap()).map(|v| v.to_bits()).collect()
}

/// Runs every check, each on a fresh device, and reports the results.
#[wasm_bindgen]
pub async fn run() {
    std::panic::set_hook(Box::new(|panic| report(&format!("FAILED: {panic}"))));
    let model = Model::from_bytes(MODEL).unwrap();
    report("a model runs as it does natively");
    let (context, right) = numbers(&model).await;
    report("plans are found by a deadline, saved and loaded");
    plans(&context, &model, &right).await;
    report("sessions run beside each other, and on after futures that were given up");
    beside(&context, &model, &right).await;
    report("outputs are read by an encoder of the caller's");
    encoded(&context, &model, &right).await;
    report("memory is given back and taken again");
    trimmed(&context, &model, &right).await;
    report("a lost device is an error, also if it is a caller's");
    lost(&context, &model).await;
    let opened = Context::open_async(&GpuOptions::default()).await.unwrap();
    let callers = Context::from_wgpu(opened.device().clone(), opened.queue().clone()).unwrap();
    lost(&callers, &model).await;
    report("PASSED");
}

async fn session(context: &Context, model: &Model) -> Session {
    context.compile(model).build_async().await.unwrap().session_async().await.unwrap()
}

async fn numbers(model: &Model) -> (Context, Vec<u32>) {
    let context = Context::open_async(&GpuOptions::default()).await.unwrap();
    let mut session = session(&context, model).await;
    let outputs = session.run_async(view(&image())).await.unwrap();
    for (name, npy, tolerance) in OUTPUTS {
        let (actual, expected) = (outputs[name].as_slice::<f32>().unwrap(), floats(npy));
        assert_eq!(actual.len(), expected.len(), "{name}");
        let most = actual.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        report(&format!("  {name}: {most:e} off at most, of {tolerance:e} that are allowed"));
        // The comparison is written so that NaN fails it, too.
        assert!(actual.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= tolerance), "{name} is off");
    }
    (context, bits(&outputs))
}

async fn plans(context: &Context, model: &Model, right: &[u32]) {
    let compiled = context.compile(model).smallest().deadline(Duration::from_secs(2)).build_async().await.unwrap();
    report(&format!("  {} bytes of pool, search ended early: {:?}", compiled.pool_bytes(), compiled.stopped()));
    let loaded = context.load(model, &compiled.save()).unwrap();
    assert_eq!(loaded.pool_bytes(), compiled.pool_bytes());
    let outputs = loaded.session_async().await.unwrap().run_async(view(&image())).await.unwrap();
    assert!(bits(&outputs) == right, "another plan answers otherwise");
}

async fn beside(context: &Context, model: &Model, right: &[u32]) {
    let (mut one, mut other) = (session(context, model).await, session(context, model).await);
    let image = image();
    {
        let mut runs = [pin!(one.run_async(view(&image))), pin!(other.run_async(view(&image)))];
        let mut results = [None, None];
        poll_fn(|cx| {
            for (run, result) in runs.iter_mut().zip(&mut results).filter(|(_, result)| result.is_none()) {
                if let Poll::Ready(outputs) = run.as_mut().poll(cx) {
                    *result = Some(outputs);
                }
            }
            if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        for outputs in results {
            assert!(bits(&outputs.unwrap().unwrap()) == right, "beside another it answers otherwise");
        }
    }
    for _ in 0..3 {
        {
            let run = pin!(one.run_async(view(&image)));
            assert!(run.poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
        }
        let outputs = one.run_async(view(&image)).await.unwrap();
        assert!(bits(&outputs) == right, "after a run that was given up it answers otherwise");
    }
}

async fn encoded(context: &Context, model: &Model, right: &[u32]) {
    let mut session = session(context, model).await;
    session.write(0, view(&image())[0].1.clone()).unwrap();
    let mut encode = || {
        let mut encoder = context.device().create_command_encoder(&CommandEncoderDescriptor::default());
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [0, 1]).unwrap();
        (encoder.finish(), readback)
    };
    let (commands, readback) = encode();
    context.queue().submit([commands]);
    assert!(bits(&readback.await.unwrap()) == right, "encoded it answers otherwise");
    let (commands, readback) = encode();
    drop(commands);
    let error = readback.await.expect_err("it was never submitted");
    assert!(matches!(error, Error::Gpu(GpuError::NotSubmitted { .. })), "{error}");
    session.submit().unwrap().await.unwrap();
}

async fn trimmed(context: &Context, model: &Model, right: &[u32]) {
    let mut session = session(context, model).await;
    session.trim();
    session.restore_async().await.unwrap();
    session.trim();
    assert!(bits(&session.run_async(view(&image())).await.unwrap()) == right, "restored it answers otherwise");
    assert!(bits(&session.read_async([0, 1]).await.unwrap()) == right, "it reads otherwise");
}

async fn lost(context: &Context, model: &Model) {
    let mut session = session(context, model).await;
    let image = image();
    {
        let mut run = pin!(session.run_async(view(&image)));
        assert!(poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx))).await.is_pending());
        context.device().destroy();
        let error = run.await.expect_err("a lost device answered");
        report(&format!("  {error}"));
        assert!(matches!(error, Error::Gpu(GpuError::Lost { .. })), "{error:?}");
    }
    match session.run_async(view(&image)).await {
        Err(Error::Gpu(GpuError::Lost { reason: Some(DeviceLostReason::Destroyed), .. })) => {}
        other => panic!("{other:?}"),
    }
}
