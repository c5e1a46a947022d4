//! One pool shared by sessions of several models, with one session in it at a time.

use std::sync::OnceLock;

use texpool::{CompiledModel, Context, Error, GpuError, MemoryParts, Model, Pool, PooledSession, Session, TensorView};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder, Unary};
use texpool_plan::TexelFormat;

use super::{answer, bits, both_plans, compiled, context, encoder, idle, model, run, submit, values};

/// Values of the other network's input.
const OTHER: usize = 24 * 20 * 7;

/// A network with larger tensors of other extents, without weights.
fn other() -> Graph {
    let mut b = GraphBuilder::new("other");
    let x = b.input("x", &[1, 24, 20, 7]).unwrap();
    let a = b.unary("a", Unary::Sin, x).unwrap();
    let c = b.unary("c", Unary::Tanh, a).unwrap();
    let sum = b.binary("sum", Binary::Add, a, c, Act::None).unwrap();
    let d = b.unary("d", Unary::Sin, sum).unwrap();
    let y = b.binary("y", Binary::Mul, d, a, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

fn run_other(session: &mut Session, seed: usize) -> Vec<u32> {
    bits(&session.run([("x", TensorView::from(&values(seed, OTHER)))]).unwrap())
}

/// Two plans for each network: one stripe per operator, and the smallest pool.
fn both(context: &Context) -> [[CompiledModel; 2]; 2] {
    static SAVED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let [other, small_other] = both_plans(context, &Model::from_graph(other()).unwrap(), &SAVED);
    let [net, small] = compiled(context);
    [[net, other], [small, small_other]]
}

/// Bytes that the driver has allocated for pools.
fn pools(context: &Context) -> u64 {
    idle(context);
    let report = context.device().generate_allocator_report().unwrap();
    let pools = report.allocations.iter().filter(|one| one.name.contains("/pool "));
    pools.map(|one| one.size).sum()
}

#[test]
fn two_models_in_turns_answer_as_alone() {
    let context = context();
    for [net, other] in both(&context) {
        let right = (answer(&net, 0), run_other(&mut other.session().unwrap(), 1));
        let mut pool = context.pool([&net, &other]).unwrap();
        let (mut nets, mut others) = (net.session_in(&pool).unwrap(), other.session_in(&pool).unwrap());
        // NaN fills everything that one session leaves behind for the other.
        let nan = vec![f32::NAN; OTHER];
        for _ in 0..3 {
            assert!(run(pool.enter(&mut nets).unwrap(), 0) == right.0);
            pool.enter(&mut others).unwrap().run([("x", TensorView::from(&nan))]).unwrap();
            assert!(run(pool.enter(&mut nets).unwrap(), 0) == right.0);
            assert!(run_other(pool.enter(&mut others).unwrap(), 1) == right.1);
        }
        // Both are encoded into one command encoder, and once more.
        let mut encoder = encoder(&context);
        let mut readbacks = Vec::new();
        for _ in 0..2 {
            for session in [&mut nets, &mut others] {
                let session = pool.enter(session).unwrap();
                session.encode(&mut encoder).unwrap();
                let all = 0..session.outputs().len();
                readbacks.push(session.encode_read(&mut encoder, all).unwrap());
            }
        }
        submit(&context, encoder);
        for (i, readback) in readbacks.into_iter().enumerate() {
            let right = if i % 2 == 0 { &right.0 } else { &right.1 };
            assert!(bits(&readback.wait().unwrap()) == *right, "run {i}");
        }
    }
}

/// A pool has, rank by rank, the largest textures of its models, and the driver allocates it once.
#[test]
fn a_pool_takes_the_bytes_of_the_largest_textures() {
    let context = context();
    for [net, other] in both(&context) {
        let pool = context.pool([&net, &other]).unwrap();
        let sorted = |model: &CompiledModel| {
            let mut bytes: Vec<u64> = model.plan().textures.iter().map(|texture| texture.bytes()).collect();
            bytes.sort_unstable_by(|a, b| b.cmp(a));
            bytes
        };
        let (a, b) = (sorted(&net), sorted(&other));
        let at = |bytes: &[u64], rank: usize| bytes.get(rank).copied().unwrap_or(0);
        let expected: u64 = (0..a.len().max(b.len())).map(|rank| at(&a, rank).max(at(&b, rank))).sum();
        assert_eq!(pool.bytes(), expected);
        assert!(pool.bytes() < net.pool_bytes() + other.pool_bytes(), "nothing is saved");
        let (nets, others) = (net.session_in(&pool).unwrap(), other.session_in(&pool).unwrap());
        assert!(pool.driver_bytes().unwrap() >= expected);
        assert_eq!(pools(&context), pool.driver_bytes().unwrap(), "there is another pool");
        for session in [&nets, &others] {
            let memory = session.memory();
            let allocated = memory.allocated.unwrap();
            assert_eq!((memory.planned.pool, Some(allocated.pool)), (expected, pool.driver_bytes()));
            assert!(memory.shared >= expected && allocated.sum() >= memory.planned.sum(), "{memory:?}");
        }
        drop((nets, others, pool));
        assert_eq!(pools(&context), 0);
    }
}

#[test]
fn a_pool_that_is_trimmed_is_there_again_for_who_enters() {
    let context = context();
    for [net, other] in both(&context) {
        let right = (answer(&net, 0), run_other(&mut other.session().unwrap(), 1));
        let mut pool = context.pool([&net, &other]).unwrap();
        let (mut nets, mut others) = (net.session_in(&pool).unwrap(), other.session_in(&pool).unwrap());
        let bytes = pool.bytes();
        for _ in 0..2 {
            assert!(run(pool.enter(&mut nets).unwrap(), 0) == right.0);
            pool.trim();
            pool.trim();
            idle(&context);
            assert_eq!((pool.bytes(), pool.driver_bytes(), pools(&context)), (0, Some(0), 0));
            assert_eq!((nets.memory().planned.pool, others.memory().planned.pool), (0, 0));
            // Written inputs survive: the session's own textures are not part of the pool.
            let outputs = pool.enter(&mut nets).unwrap().run::<&str>([]).unwrap();
            assert!(bits(&outputs) == right.0);
            assert_eq!(pool.bytes(), bytes);
            assert!(pool.driver_bytes() >= Some(bytes));
            assert!(run_other(pool.enter(&mut others).unwrap(), 1) == right.1);
        }
        // `trim` frees a session's memory outside the pool; the pool stays.
        nets.trim();
        let memory = nets.memory();
        assert_eq!((memory.planned.pool, memory.planned.sum(), memory.shared), (bytes, bytes, bytes));
        let MemoryParts { pool: of_pool, other: of_wgpu, .. } = memory.allocated.unwrap();
        assert_eq!((Some(of_pool), memory.allocated.unwrap().sum()), (pool.driver_bytes(), of_pool + of_wgpu));
        let entered = pool.enter(&mut nets).unwrap();
        assert!(entered.is_trimmed());
        assert!(run(entered, 0) == right.0);
        // Both trimmed together.
        nets.trim();
        pool.trim();
        assert_eq!((nets.memory().planned.sum(), nets.memory().allocated.unwrap().sum()), (0, of_wgpu));
        assert!(run(pool.enter(&mut nets).unwrap(), 0) == right.0);
    }
}

/// Work submitted before a pool is trimmed still completes.
#[test]
fn a_submission_before_a_pools_trim_is_read_after_it() {
    let context = context();
    for [net, _] in both(&context) {
        let right = answer(&net, 2);
        let mut pool = context.pool([&net]).unwrap();
        let mut pooled = net.session_in(&pool).unwrap();
        let session = pool.enter(&mut pooled).unwrap();
        run(session, 2);
        let mut encoder = encoder(&context);
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [0, 1]).unwrap();
        submit(&context, encoder);
        pool.trim();
        assert!(bits(&readback.wait().unwrap()) == right);
    }
}

/// A session that was swapped out of its pool is no longer in it, whoever holds it.
#[test]
fn a_session_outside_its_pool_does_nothing() {
    let context = context();
    let compiled = &compiled(&context)[0];
    let mut pool = context.pool([compiled]).unwrap();
    let (mut one, mut two) = (compiled.session_in(&pool).unwrap(), compiled.session_in(&pool).unwrap());
    let mut swapped = compiled.session().unwrap();
    let right = run(&mut swapped, 0);
    run(pool.enter(&mut one).unwrap(), 0);
    std::mem::swap(pool.enter(&mut one).unwrap(), &mut swapped);
    assert!(run(pool.enter(&mut two).unwrap(), 0) == right);
    let mut encoder = encoder(&context);
    for error in [
        swapped.run::<&str>([]).unwrap_err(),
        swapped.encode(&mut encoder).unwrap_err(),
        swapped.submit().unwrap_err(),
        swapped.restore().unwrap_err(),
        swapped.profile().unwrap_err(),
        pool.enter(&mut one).unwrap_err(),
    ] {
        assert!(matches!(error, Error::OtherPool), "{error:?}");
        assert_eq!(error.to_string(), "the session belongs to another pool, or another session has entered it since");
    }
    // Runs again once it is swapped back.
    std::mem::swap(session_of(&mut pool, &mut two), &mut swapped);
    let mut two_of_one = two;
    assert!(run(pool.enter(&mut two_of_one).unwrap(), 0) == right);
}

fn session_of<'a>(pool: &'a mut Pool, session: &'a mut PooledSession) -> &'a mut Session {
    pool.enter(session).unwrap()
}

/// A session enters only its own pool, and a pool takes only models of its device and texel format that fit.
#[test]
fn sessions_and_models_of_others_are_refused() {
    let (context, stranger) = (context(), context());
    let [[net, other], _] = both(&context);
    let mut pool = context.pool([&net]).unwrap();
    let mut elsewhere = context.pool([&net]).unwrap();
    let mut session = net.session_in(&pool).unwrap();
    assert!(matches!(elsewhere.enter(&mut session), Err(Error::OtherPool)));
    run(pool.enter(&mut session).unwrap(), 0);

    let text = "the models of a pool must be compiled by its context, for texels of one format";
    let half = context.compile(&model()).texels(TexelFormat::Rgba16Float).build().unwrap();
    for error in [
        stranger.pool([&net]).unwrap_err(),
        net.session_in(&stranger.pool([]).unwrap()).unwrap_err(),
        context.pool([&net, &half]).unwrap_err(),
    ] {
        assert!(matches!(error, Error::OtherContext), "{error:?}");
        assert_eq!(error.to_string(), text);
    }
    let text = "the pool has no room for the model; make one that names it";
    for model in [&other, &half] {
        let error = model.session_in(&pool).unwrap_err();
        assert!(matches!(error, Error::Gpu(GpuError::PoolTooSmall)), "{error:?}");
        assert_eq!(error.to_string(), text);
    }
    // Clones of a context count as the same context.
    drop(net.session_in(&context.clone().pool([&net]).unwrap()).unwrap());
}
