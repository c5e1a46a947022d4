//! Binding other textures at every run: the bits equal those of runs on values, and after a few frames nothing new is
//! allocated.

use texpool::{CompiledModel, Context, Error, Session, TensorView};

use super::{answer, bits, compiled, context, encoder, filled, frames, gain, idle, image, submit};

/// Counts of the objects that the device holds once all its work is done.
fn live_resources(context: &Context) -> [(&'static str, isize); 5] {
    idle(context);
    let hal = context.device().get_internal_counters().hal;
    [
        ("bind groups", hal.bind_groups.read()),
        ("texture views", hal.texture_views.read()),
        ("bytes of textures", hal.texture_memory.read()),
        ("buffers", hal.buffers.read()),
        ("bytes of buffers", hal.buffer_memory.read()),
    ]
}

/// A session with its gain written, and the expected outputs for `images` images.
fn prepared(compiled: &CompiledModel, images: usize) -> (Session, Vec<Vec<u32>>) {
    let mut session = compiled.session().unwrap();
    session.write("gain", TensorView::from(&gain())).unwrap();
    (session, (0..images).map(|seed| answer(compiled, seed)).collect())
}

/// A frame of a host: the image is in the host's texture, and both outputs are read.
fn frame(session: &mut Session, texture: &wgpu::Texture) -> Vec<u32> {
    let context = session.compiled().context().clone();
    session.bind_input("image", texture).unwrap();
    let mut encoder = encoder(&context);
    session.encode(&mut encoder).unwrap();
    let readback = session.encode_read(&mut encoder, [0, 1]).unwrap();
    submit(&context, encoder);
    bits(&readback.wait().unwrap())
}

#[test]
fn a_hundred_frames_over_three_textures_allocate_nothing() {
    for compiled in compiled(&context()) {
        let textures = frames(&compiled, 3);
        let (mut session, answers) = prepared(&compiled, 3);
        let mut after_three = None;
        for number in 0..100 {
            assert!(frame(&mut session, &textures[number % 3]) == answers[number % 3], "frame {number}");
            if number >= 2 {
                let counts = live_resources(compiled.context());
                assert_eq!(*after_three.get_or_insert(counts), counts, "frame {number}");
            }
        }
    }
}

/// Beyond the number of remembered textures every frame creates new bindings, which do not pile up.
#[test]
fn five_textures_in_turns_are_as_by_value_and_do_not_pile_up() {
    for compiled in compiled(&context()) {
        let textures = frames(&compiled, 5);
        let (mut session, answers) = prepared(&compiled, 5);
        let mut before = None;
        for number in 0..30 {
            assert!(frame(&mut session, &textures[number % 5]) == answers[number % 5], "frame {number}");
            if number >= 9 {
                let counts = live_resources(compiled.context());
                assert_eq!(*before.get_or_insert(counts), counts, "frame {number}");
            }
        }
    }
}

#[test]
fn an_unbound_input_needs_values_or_a_new_binding() {
    for compiled in compiled(&context()) {
        let textures = frames(&compiled, 2);
        let (mut session, answers) = prepared(&compiled, 3);
        for _ in 0..2 {
            assert!(frame(&mut session, &textures[0]) == answers[0]);
            session.unbind_input("image").unwrap();
            let error = session.run::<&str>([]).unwrap_err();
            assert!(matches!(&error, Error::MissingInputs { names } if names == &["image"]), "{error:?}");
            let written = session.run([("image", TensorView::from(&image(2)))]).unwrap();
            assert!(bits(&written) == answers[2]);
            assert!(frame(&mut session, &textures[1]) == answers[1]);
        }
        // Unbinding an input that is not bound changes nothing.
        session.unbind_input("image").unwrap();
        session.write("image", TensorView::from(&image(2))).unwrap();
        session.unbind_input("image").unwrap();
        assert!(bits(&session.run::<&str>([]).unwrap()) == answers[2]);
    }
}

/// A session frees textures that it no longer uses: an unbound one, and its own once another is bound.
#[test]
fn textures_that_a_session_does_not_use_any_more_are_freed() {
    for compiled in compiled(&context()) {
        let context = compiled.context();
        let (mut session, answers) = prepared(&compiled, 1);
        let output = compiled.output_layout("scores").unwrap().descriptor(wgpu::TextureUsages::COPY_SRC);
        assert!(bits(&session.run([("image", TensorView::from(&image(0)))]).unwrap()) == answers[0]);
        let own = live_resources(context);
        let bytes = |counts: [(&str, isize); 5]| counts[2].1;
        for _ in 0..2 {
            let texture = filled(&compiled, "image", &image(0));
            let scores = context.device().create_texture(&output);
            let of_texture = compiled.input_layout("image").unwrap().bytes() as isize;
            session.bind_output("scores", &scores).unwrap();
            assert!(frame(&mut session, &texture) == answers[0]);
            // The bound textures replace the session's own.
            assert!(bytes(live_resources(context)).abs_diff(bytes(own)) < of_texture.unsigned_abs(), "both are kept");
            session.unbind_input("image").unwrap();
            session.unbind_output("scores").unwrap();
            drop((texture, scores));
            assert!(bits(&session.run([("image", TensorView::from(&image(0)))]).unwrap()) == answers[0]);
            assert_eq!(live_resources(context), own);
        }
    }
}

#[test]
fn a_texture_bound_after_encoding_belongs_to_the_next_run() {
    for compiled in compiled(&context()) {
        let context = compiled.context();
        let textures = frames(&compiled, 3);
        let (mut session, answers) = prepared(&compiled, 3);
        let mut encoder = encoder(context);
        let mut readbacks = Vec::new();
        for texture in &textures {
            session.bind_input("image", texture).unwrap();
            session.encode(&mut encoder).unwrap();
            readbacks.push(session.encode_read(&mut encoder, [0, 1]).unwrap());
        }
        session.bind_input("image", &textures[1]).unwrap();
        submit(context, encoder);
        for (readback, answer) in readbacks.into_iter().zip(&answers) {
            assert!(bits(&readback.wait().unwrap()) == *answer);
        }
        assert!(bits(&session.run::<&str>([]).unwrap()) == answers[1]);
    }
}

/// Outputs of two runs in the caller's textures keep their values.
#[test]
fn an_output_lies_in_the_texture_that_was_bound_for_its_run() {
    for compiled in compiled(&context()) {
        let context = compiled.context();
        let textures = frames(&compiled, 2);
        let (mut session, answers) = prepared(&compiled, 2);
        let features = compiled.outputs()[0].len();
        let descriptor = compiled.output_layout("scores").unwrap().descriptor(wgpu::TextureUsages::COPY_SRC);
        let scores = [0, 1].map(|_| context.device().create_texture(&descriptor));
        for (image, scores) in textures.iter().zip(&scores) {
            session.bind_input("image", image).unwrap();
            session.bind_output("scores", scores).unwrap();
            let outputs = session.run::<&str>([]).unwrap();
            // Outputs in the caller's textures are not part of the results.
            let names: Vec<&str> = outputs.iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["features"]);
        }
        for (scores, answer) in scores.iter().zip(&answers) {
            session.bind_output("scores", scores).unwrap();
            assert!(bits(&session.read(["scores"]).unwrap()) == answer[features..]);
        }
    }
}
