//! Reading outputs after a run that the caller encoded, and the buffers used for that.

use texpool::{Context, GpuError, Session, TensorView};

use super::{answer, bits, compiled, context, encoder, frames, gain, idle, image, submit};

/// A session whose inputs are in its own textures, written through the queue without a staging buffer.
fn session(compiled: &texpool::CompiledModel) -> Session {
    let mut session = compiled.session().unwrap();
    for (name, values) in [("image", image(0)), ("gain", gain())] {
        let texture = session.input_texture(name).unwrap();
        super::fill(compiled, name, &texture, &values);
    }
    session
}

#[test]
fn outputs_are_read_after_a_run_of_the_callers_without_a_texture_of_its_own() {
    let compiled = &compiled(&context())[0];
    let mut session = session(compiled);
    let mut encoder = encoder(compiled.context());
    session.encode(&mut encoder).unwrap();
    let readback = session.encode_read(&mut encoder, ["scores", "features"]).unwrap();
    submit(compiled.context(), encoder);
    let outputs = readback.wait().unwrap();
    // In the requested order.
    let names: Vec<&str> = outputs.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["scores", "features"]);
    let right = compiled.session().unwrap().run([(0, TensorView::from(&image(0))), (1, (&gain()).into())]).unwrap();
    assert_eq!((&outputs["features"], &outputs[1]), (&right[0], &right["scores"]));
    // Reading again gives the same values.
    assert_eq!(session.read([0, 0, 1]).unwrap(), right);
}

/// Several readbacks can be in flight at once, and be waited for in another order than that of their runs.
#[test]
fn outputs_of_several_runs_are_read_in_any_order() {
    for compiled in compiled(&context()) {
        let textures = frames(&compiled, 4);
        let mut session = session(&compiled);
        let mut readbacks = Vec::new();
        for texture in &textures {
            session.bind_input("image", texture).unwrap();
            let mut encoder = encoder(compiled.context());
            session.encode(&mut encoder).unwrap();
            readbacks.push(Some(session.encode_read(&mut encoder, [0, 1]).unwrap()));
            submit(compiled.context(), encoder);
        }
        for seed in [2, 0, 3, 1] {
            let outputs = readbacks[seed].take().unwrap().wait().unwrap();
            assert!(bits(&outputs) == answer(&compiled, seed), "run {seed}");
        }
    }
}

/// Bytes of the readback buffer for an output.
fn buffer(session: &Session, output: &str) -> u64 {
    session.compiled().output_layout(output).unwrap().bytes()
}

/// Runs the network and reads some outputs, with `at_once` readbacks in flight.
fn read(context: &Context, session: &mut Session, outputs: &[&str], at_once: usize) {
    let mut encoder = encoder(context);
    session.encode(&mut encoder).unwrap();
    let reads: Vec<_> =
        (0..at_once).map(|_| session.encode_read(&mut encoder, outputs.iter().copied()).unwrap()).collect();
    submit(context, encoder);
    reads.into_iter().for_each(|read| drop(read.wait().unwrap()));
}

#[test]
fn buffers_are_made_for_outputs_that_are_read_and_used_again() {
    let compiled = &compiled(&context())[0];
    let context = compiled.context();
    let mut session = session(compiled);
    let (features, scores) = (buffer(&session, "features"), buffer(&session, "scores"));
    session.submit().unwrap().wait().unwrap();
    read(context, &mut session, &[], 1);
    assert_eq!(session.memory().planned.transfer, 0, "nobody reads anything");
    for (outputs, at_once, staging) in [
        (&["scores"][..], 1, scores),
        (&["scores"], 1, scores),
        (&["scores"], 3, 3 * scores),
        (&["scores"], 2, 3 * scores),
        (&["features", "scores"], 1, 3 * scores + features),
        (&["features"], 1, 3 * scores + features),
    ] {
        read(context, &mut session, outputs, at_once);
        assert_eq!(session.memory().planned.transfer, staging, "{at_once} of {outputs:?}");
    }
    session.read(["features"]).unwrap();
    assert_eq!(session.memory().planned.transfer, 3 * scores + features, "`read` makes its own");
}

/// A readback that is never waited for, or whose encoder is dropped, frees its buffer and does no harm.
#[test]
fn readbacks_that_are_given_up_leave_nothing() {
    let compiled = &compiled(&context())[0];
    let context = compiled.context();
    let mut session = session(compiled);
    for submitted in [true, false] {
        let mut encoder = encoder(context);
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [0, 1]).unwrap();
        assert!(session.memory().planned.transfer > 0);
        drop(readback);
        if submitted {
            submit(context, encoder);
        }
        idle(context);
        assert_eq!(session.memory().planned.transfer, 0);
        session.submit().unwrap().wait().unwrap();
        assert!(bits(&session.read([0, 1]).unwrap()) == answer(compiled, 0));
        // Dropping the session frees its buffers.
        session = self::session(compiled);
    }
}

/// An output in a caller's texture can be read if the texture allows copies.
#[test]
fn a_bound_output_is_read_where_it_may_be_copied() {
    let compiled = &compiled(&context())[0];
    let mut session = session(compiled);
    let layout = compiled.output_layout("scores").unwrap();
    let texture = |usage| compiled.context().device().create_texture(&layout.descriptor(usage));
    session.bind_output("scores", &texture(wgpu::TextureUsages::TEXTURE_BINDING)).unwrap();
    session.submit().unwrap().wait().unwrap();
    let mut encoder = encoder(compiled.context());
    for error in [session.read(["scores"]).unwrap_err(), session.encode_read(&mut encoder, [1]).unwrap_err()] {
        let text = "output `scores` is bound to a texture: to be read it needs the usage COPY_SRC";
        assert_eq!(error.to_string(), text);
    }
    // The other output can still be read.
    session.read(["features"]).unwrap();
    session.bind_output("scores", &texture(wgpu::TextureUsages::COPY_SRC)).unwrap();
    session.submit().unwrap().wait().unwrap();
    assert!(bits(&session.read(["features", "scores"]).unwrap()) == answer(compiled, 0));
}

/// The session's timeout also applies to waits for submitted runs and readbacks.
#[test]
fn waits_for_what_a_session_submitted_end_with_its_timeout() {
    let context = context();
    let model = texpool::Model::from_graph(crate::recovery::slow()).unwrap();
    let mut session = context.compile(&model).build().unwrap().session().unwrap();
    session.write(0, TensorView::from(&crate::recovery::input())).unwrap();
    session.set_timeout(std::time::Duration::ZERO);
    let late = |error: texpool::Error| assert!(error.is_timeout(), "{error}");
    let mut runs = Vec::new();
    late((0..50).find_map(|_| session.submit().unwrap().wait().err()).expect("the device was always done at once"));
    for _ in 0..50 {
        let mut encoder = encoder(&context);
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [1]).unwrap();
        submit(&context, encoder);
        runs.push(readback.wait());
        if runs.last().is_some_and(Result::is_err) {
            break;
        }
    }
    let error = runs.pop().unwrap().expect_err("the device was always done at once");
    assert_eq!(error.to_string(), "the device has not finished reading outputs within 0.0 seconds");
    assert!(matches!(error, texpool::Error::Gpu(GpuError::Timeout { .. })));
    idle(&context);
}
