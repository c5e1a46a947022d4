//! Memory that a session frees, and allocates again on its next run.

use texpool::{CompiledModel, Error, GpuError, MemoryParts, TensorView};

use super::{answer, bits, compiled, context, encoder, filled, gain, idle, image, run};

/// Bytes on the device in allocations labelled by texpool, as counted by the driver.
fn labelled(compiled: &CompiledModel) -> u64 {
    idle(compiled.context());
    let report = compiled.context().device().generate_allocator_report().unwrap();
    let own = report.allocations.iter().filter(|one| one.name.starts_with("texpool ") && one.name != "texpool probe");
    own.map(|one| one.size).sum()
}

/// Bytes on the device in wgpu's internal allocations.
fn of_wgpu(compiled: &CompiledModel) -> u64 {
    let report = compiled.context().device().generate_allocator_report().unwrap();
    report.allocations.iter().filter(|one| one.name.starts_with("(wgpu internal)")).map(|one| one.size).sum()
}

#[test]
fn a_session_that_is_trimmed_takes_nothing_and_runs_again_by_itself() {
    for compiled in compiled(&context()) {
        let right = answer(&compiled, 0);
        let mut session = compiled.session().unwrap();
        assert!(run(&mut session, 0) == right);
        let full = session.memory();
        assert!(full.planned.sum() > 0 && full.allocated.unwrap().sum() >= full.planned.sum(), "{full:?}");
        for _ in 0..2 {
            session.trim();
            assert!(session.is_trimmed());
            assert_eq!(labelled(&compiled), 0);
            let memory = session.memory();
            // wgpu's internal allocations remain on the device.
            let MemoryParts { other, .. } = memory.allocated.unwrap();
            assert_eq!((memory.planned.sum(), memory.allocated.unwrap().sum()), (0, other));
            assert_eq!(other, of_wgpu(&compiled));
            let [then, now] = [full, memory].map(|memory| memory.peak.unwrap());
            assert!(now.allocated >= then.allocated && now.reserved >= then.reserved, "{memory:?}");
            assert!(run(&mut session, 0) == right);
            assert!(!session.is_trimmed());
            assert_eq!(session.memory().planned, full.planned);
        }
        // A second `trim` changes nothing.
        session.trim();
        session.trim();
        session.restore().unwrap();
        session.restore().unwrap();
        assert_eq!(session.memory().planned.pool, full.planned.pool);
        assert!(run(&mut session, 0) == right);
        drop(session);
        assert_eq!(labelled(&compiled), 0);
    }
}

/// Written values are lost with the memory, the caller's textures stay bound, and a run can be encoded once the
/// memory is back.
#[test]
fn a_session_that_is_trimmed_encodes_nothing_before_it_is_restored() {
    for compiled in compiled(&context()) {
        let mut session = compiled.session().unwrap();
        let texture = filled(&compiled, "image", &image(5));
        session.bind_input("image", &texture).unwrap();
        session.write("gain", TensorView::from(&gain())).unwrap();
        session.submit().unwrap().wait().unwrap();
        session.trim();
        let error = session.submit().unwrap_err();
        assert!(matches!(&error, Error::MissingInputs { names } if names == &["gain"]), "{error:?}");
        session.write("gain", TensorView::from(&gain())).unwrap();
        let mut encoder = encoder(compiled.context());
        for error in [
            session.encode(&mut encoder).unwrap_err(),
            session.submit().unwrap_err(),
            session.encode_read(&mut encoder, [0]).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Gpu(GpuError::Trimmed)), "{error:?}");
            assert_eq!(error.to_string(), "the session has given its memory back; restore it first");
        }
        session.restore().unwrap();
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [0, 1]).unwrap();
        compiled.context().queue().submit([encoder.finish()]);
        assert!(bits(&readback.wait().unwrap()) == answer(&compiled, 5));
    }
}

/// Weights that another session uses stay, and the trimmed session uses them again.
#[test]
fn weights_that_another_session_uses_stay() {
    let compiled = &compiled(&context())[0];
    let right = answer(compiled, 0);
    let mut sessions = [compiled.session().unwrap(), compiled.session().unwrap()];
    let [first, second] = &mut sessions;
    let weights = first.memory().planned.weights;
    assert!(weights > 0);
    assert_eq!((first.memory().shared, second.memory().shared), (weights, weights));
    first.trim();
    let (of_first, of_second) = (first.memory(), second.memory());
    assert_eq!((of_first.planned.sum(), of_second.planned.weights, of_second.shared), (0, weights, 0));
    assert!(run(second, 0) == right);
    let before = labelled(compiled);
    assert_eq!(second.memory().allocated.unwrap().sum(), before + of_wgpu(compiled));
    first.restore().unwrap();
    assert_eq!((first.memory().shared, second.memory().shared), (weights, weights));
    assert!(labelled(compiled) < before + first.memory().planned.sum(), "the weights are there twice");
    assert!(run(first, 0) == right);
}

/// Work submitted before a `trim` still completes.
#[test]
fn a_submission_before_a_trim_is_read_after_it() {
    for compiled in compiled(&context()) {
        let mut session = compiled.session().unwrap();
        session.write("gain", TensorView::from(&gain())).unwrap();
        session.write("image", TensorView::from(&image(1))).unwrap();
        let mut encoder = encoder(compiled.context());
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [0, 1]).unwrap();
        // An encoded run keeps its resources alive.
        session.trim();
        compiled.context().queue().submit([encoder.finish()]);
        assert!(bits(&readback.wait().unwrap()) == answer(&compiled, 1));
    }
}
