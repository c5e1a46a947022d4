//! Inputs passed as values and as textures, and their lifetimes.

use texpool::{Context, Error, GpuError, Model, Session, TensorView};
use texpool_ops::graph::GraphBuilder;

use super::{answer, bits, compiled, context, encoder, fill, filled, gain, image, submit};
use crate::support::callers_device;

#[test]
fn a_submission_is_read_later() {
    for compiled in compiled(&context()) {
        let mut session = compiled.session().unwrap();
        session.write("gain", TensorView::from(&gain())).unwrap();
        for seed in 0..3 {
            session.write("image", TensorView::from(&image(seed))).unwrap();
            let submission = session.submit().unwrap();
            // The caller decides whether to wait.
            if seed == 1 {
                drop(submission);
            } else {
                submission.wait().unwrap();
            }
            assert!(bits(&session.read([0, 1]).unwrap()) == answer(&compiled, seed));
        }
    }
}

#[test]
fn an_input_that_was_written_stays_until_it_is_written_again() {
    for compiled in compiled(&context()) {
        let mut session = compiled.session().unwrap();
        session.write("gain", TensorView::from(&gain())).unwrap();
        session.write("image", TensorView::from(&image(1))).unwrap();
        let again = |session: &mut Session| bits(&session.run::<usize>([]).unwrap());
        for _ in 0..3 {
            assert!(again(&mut session) == answer(&compiled, 1));
        }
        // The next run still has the inputs passed to `run`.
        assert!(bits(&session.run([("image", TensorView::from(&image(2)))]).unwrap()) == answer(&compiled, 2));
        assert!(again(&mut session) == answer(&compiled, 2));
        // After many writes without waiting, the last one counts.
        (0..20).for_each(|seed| session.write("image", TensorView::from(&image(seed))).unwrap());
        assert!(again(&mut session) == answer(&compiled, 19));
        // A refused call changes nothing.
        let (other, short) = (image(3), [0.0f32; 2]);
        let refused = session.run([("image", TensorView::from(&other)), ("gain", TensorView::from(&short))]);
        assert!(matches!(refused, Err(Error::Tensor { .. })));
        assert!(again(&mut session) == answer(&compiled, 19));
    }
}

/// Runs see their own values in the order of submission.
#[test]
fn runs_see_what_was_written_before_their_submission() {
    let compiled = &compiled(&context())[0];
    let mut session = compiled.session().unwrap();
    session.write("gain", TensorView::from(&gain())).unwrap();
    let mut readbacks = Vec::new();
    for seed in 0..10 {
        session.write("image", TensorView::from(&image(seed))).unwrap();
        let mut encoder = encoder(compiled.context());
        session.encode(&mut encoder).unwrap();
        readbacks.push(session.encode_read(&mut encoder, [0, 1]).unwrap());
        submit(compiled.context(), encoder);
    }
    for (seed, readback) in readbacks.into_iter().enumerate() {
        assert!(bits(&readback.wait().unwrap()) == answer(compiled, seed), "run {seed}");
    }
}

#[test]
fn the_texture_of_an_input_is_written_by_the_caller() {
    for compiled in compiled(&context()) {
        let mut session = compiled.session().unwrap();
        session.write("gain", TensorView::from(&gain())).unwrap();
        let own = session.input_texture("image").unwrap();
        let other = filled(&compiled, "image", &image(4));
        assert_ne!(own, other);
        // Written by the queue, and by a copy in the run's encoder.
        fill(&compiled, "image", &own, &image(3));
        assert!(bits(&session.run::<&str>([]).unwrap()) == answer(&compiled, 3));
        let mut encoder = encoder(compiled.context());
        encoder.copy_texture_to_texture(other.as_image_copy(), own.as_image_copy(), own.size());
        session.encode(&mut encoder).unwrap();
        submit(compiled.context(), encoder);
        assert!(bits(&session.read([0, 1]).unwrap()) == answer(&compiled, 4));
        assert_eq!(session.input_texture("image").unwrap(), own, "it stays the same");
        session.bind_input("image", &other).unwrap();
        assert_eq!(session.input_texture("image").unwrap(), other);
        session.unbind_input("image").unwrap();
        assert_ne!(session.input_texture("image").unwrap(), own, "it was given up for another one");
    }
}

/// An input counts as written only once its values have been submitted.
#[test]
fn values_of_a_run_that_did_not_begin_are_not_there() {
    const MOST: u64 = 1 << 17;
    let required_limits =
        wgpu::Limits { max_buffer_size: MOST, max_storage_buffer_binding_size: MOST, ..wgpu::Limits::default() };
    let (device, queue) = callers_device(required_limits);
    let context = Context::from_wgpu(device, queue).unwrap();
    let mut b = GraphBuilder::new("net");
    // The second input has no room in a buffer, and is too small to be streamed in pieces.
    let (x, y) = (b.input("small", &[1, 1, 1, 1]).unwrap(), b.input("large", &[1, 60, 256, 1]).unwrap());
    let sum = b.binary("sum", texpool_ops::graph::Binary::Add, x, y, texpool_ops::graph::Act::None).unwrap();
    let mean = b.mean("mean", [false, true, true, false], sum).unwrap();
    let model = Model::from_graph(b.finish(&[mean]).unwrap()).unwrap();
    let compiled = context.compile(&model).build().unwrap();
    let mut session = compiled.session().unwrap();
    let (small, large) = ([2.0f32], vec![1.0f32; 60 * 256]);
    let error = session.run([("small", TensorView::from(&small)), ("large", TensorView::from(&large))]).unwrap_err();
    assert!(matches!(error, Error::Gpu(GpuError::Limit { limit: "maxBufferSize", .. })), "{error:?}");
    let text = "input 1 (`large`) needs 245760 bytes, but the device's limit maxBufferSize is 131072";
    assert_eq!(error.to_string(), text);
    session.bind_input("large", &filled(&compiled, "large", &large)).unwrap();
    let error = session.run::<&str>([]).unwrap_err();
    assert!(matches!(&error, Error::MissingInputs { names } if names == &["small"]), "{error:?}");
    let outputs = session.run([("small", TensorView::from(&small))]).unwrap();
    assert_eq!(outputs["mean"].as_slice::<f32>().unwrap(), [3.0]);
}
