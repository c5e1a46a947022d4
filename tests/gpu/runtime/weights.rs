//! Sessions of one model on a shared device: each counts its own bytes, and weights are stored once.

use std::{
    fs::{self, File},
    path::PathBuf,
};

use texpool::{CompiledModel, Context, Memory, MemoryParts, Model, Session, TensorView};
use texpool_ops::graph::{Act, Conv2d, GraphBuilder, Padding, TensorId};

use super::{bits, compiled, context, idle, model, run, values};

/// Bytes that the driver has allocated for weights, and the number of weight textures.
fn weights(compiled: &CompiledModel) -> (u64, usize) {
    idle(compiled.context());
    let report = compiled.context().device().generate_allocator_report().unwrap();
    let sizes = report.allocations.iter().filter(|one| one.name.ends_with("/weights")).map(|one| one.size);
    let sizes: Vec<u64> = sizes.collect();
    (sizes.iter().sum(), sizes.len())
}

#[test]
fn sessions_of_one_model_share_its_weights() {
    let [compiled, other] = compiled(&context());
    let mut sessions: Vec<Session> = Vec::new();
    let mut right = Vec::new();
    for count in 1..=4 {
        sessions.push(compiled.clone().session().unwrap());
        let answers: Vec<_> = sessions.iter_mut().map(|session| run(session, 0)).collect();
        right = answers[0].clone();
        assert!(answers.iter().all(|answer| *answer == right));
        let (bytes, textures) = weights(&compiled);
        assert_eq!(textures, 1);
        for session in &sessions {
            let Memory { planned: MemoryParts { weights, .. }, shared, .. } = session.memory();
            assert!(weights <= bytes && weights > 0);
            assert_eq!(shared, if count > 1 { weights } else { 0 });
        }
    }
    // Another plan of the same model has separate weights.
    let mut one_more = other.session().unwrap();
    assert!(run(&mut one_more, 0) == right);
    assert_eq!((weights(&compiled).1, one_more.memory().shared), (2, 0));
    drop(one_more);
    sessions.truncate(1);
    assert!(run(&mut sessions[0], 0) == right);
    assert_eq!((weights(&compiled).1, sessions[0].memory().shared), (1, 0));
    drop(sessions);
    assert_eq!(weights(&compiled), (0, 0));
}

/// Each session counts the bytes that it would take alone, whatever else is on the device, and even if it shares its
/// weights.
#[test]
fn sessions_that_share_report_what_each_would_alone() {
    let [compiled, other] = compiled(&context());
    let of = |session: &mut Session| {
        run(session, 0);
        session.memory()
    };
    let alone = of(&mut compiled.session().unwrap());
    let MemoryParts { pool, io, tables, transfer, .. } = alone.planned;
    assert!(transfer > 0 && tables > 0 && io > 0 && pool > 0, "{alone:?}");
    let mut sessions = [&compiled, &other, &compiled].map(|compiled| compiled.session().unwrap());
    let memories = sessions.each_mut().map(of);
    for memory in [memories[0], memories[2]] {
        assert_eq!(memory.planned, alone.planned);
        // The driver counts alignment gaps for each allocation, too.
        let [now, then] = [memory, alone].map(|memory| memory.allocated.unwrap().sum());
        assert!(now.abs_diff(then) <= 16 * 256, "{now} bytes by the driver, {then} alone");
    }
    let pools = |memory: Memory| (memory.planned.pool, memory.allocated.unwrap().pool);
    let (least, most) = (pools(memories[1]), pools(alone));
    assert!(least.0 < most.0 && least.1 < most.1, "{memories:?}");
}

/// A session that keeps its packed weights in a folder and uploads them in every run, with its first answer and the
/// file.
fn session_with_weights(folder: &std::path::Path) -> (Session, Vec<u32>, PathBuf) {
    let context: Context = context().with_weights_folder(folder);
    let mut session = context.compile(&model()).stream_weights(256).build().unwrap().session().unwrap();
    let right = run(&mut session, 0);
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    (session, right, file.clone())
}

/// Overwrites a file once the system's clock for file times has advanced; it ticks every few milliseconds.
fn overwrite(file: &std::path::Path, bytes: &[u8]) {
    std::thread::sleep(std::time::Duration::from_millis(50));
    fs::write(file, bytes).unwrap();
}

/// Whatever happens to the file between two runs, the answers stay right and the file is written again.
#[test]
fn damage_to_kept_weights_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, right, file) = session_with_weights(folder.path());
    let whole = fs::read(&file).unwrap();
    // The session opens the new file when the old one is replaced, so each kind of damage gets a fresh session.
    drop(session);
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    for bytes in
        [flipped(40), flipped(whole.len() / 2), whole[..whole.len() / 2].to_vec(), Vec::new(), vec![0; whole.len()]]
    {
        (session, ..) = session_with_weights(folder.path());
        // Written in place, as if someone truncates the file or copies over it.
        overwrite(&file, &bytes);
        assert!(run(&mut session, 0) == right);
        assert!(fs::read(&file).unwrap() == whole, "it is not made again");
        // Damaged again in the same session, which then keeps the weights in memory.
        overwrite(&file, &bytes);
        assert!(run(&mut session, 0) == right);
        fs::remove_file(&file).unwrap();
        assert!(run(&mut session, 0) == right);
    }
}

/// If many sessions find the damage at once, only one packs the weights, and no answer is wrong.
#[test]
fn sessions_that_find_damage_at_once_answer_right() {
    let folder = tempfile::tempdir().unwrap();
    let (session, right, file) = session_with_weights(folder.path());
    let compiled = session.compiled().clone();
    let mut sessions: Vec<Session> = (0..3).map(|_| compiled.session().unwrap()).chain([session]).collect();
    File::options().write(true).open(&file).unwrap().set_len(100).unwrap();
    std::thread::scope(|scope| {
        for session in &mut sessions {
            scope.spawn(|| assert!(run(session, 0) == right));
        }
    });
    assert!(fs::metadata(&file).unwrap().len() > 100);
}

/// Convolutions of one weight, each with a bias of its own.
fn alike(count: usize) -> Model {
    let mut b = GraphBuilder::new("alike");
    let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 };
    let x = b.input("image", &[1, 4, 4, 64]).unwrap();
    let weights = b.constant("weights", &[64, 1, 1, 64], &values(5, 64 * 64)).unwrap();
    let one = |i: usize| {
        let bias = b.constant("bias", &[64], &values(i, 64)).unwrap();
        b.conv2d("convolution", conv, x, weights, Some(bias), Act::None).unwrap()
    };
    let outputs: Vec<TensorId> = (0..count).map(one).collect();
    Model::from_graph(b.finish(&outputs).unwrap()).unwrap()
}

/// The file holds weights that several operators read once, and is packed again with the same contents after damage.
#[test]
fn kept_weights_that_are_shared_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let context: Context = context().with_weights_folder(folder.path());
    let image = values(7, 16 * 64);
    let answers = |session: &mut Session| bits(&session.run([("image", TensorView::from(&image))]).unwrap());
    let resident = &mut context.compile(&alike(6)).build().unwrap().session().unwrap();
    let right = answers(resident);
    let mut session = context.compile(&alike(6)).stream_weights(256).build().unwrap().session().unwrap();
    assert!(answers(&mut session) == right);
    let files: Vec<PathBuf> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let whole = fs::read(file).unwrap();
    let (weights, biases) = (64 * 64 * 4, 6 * 64 * 4);
    assert!((weights + biases..weights + biases + 256).contains(&whole.len()), "{} bytes", whole.len());
    overwrite(file, &vec![0; whole.len()]);
    assert!(answers(&mut session) == right);
    assert!(fs::read(file).unwrap() == whole);
    // Damaged again, so that the session keeps them in memory.
    overwrite(file, &vec![0; whole.len()]);
    assert!(answers(&mut session) == right);
}
