//! Processes the bytes of a saved plan, for the fuzz target and for the test that runs the committed inputs. Loading
//! must return an error, or a model whose plan passes the checkers. It must take little memory, whatever the bytes
//! claim.

use std::sync::LazyLock;

use allocation_counter::measure;
use texpool_compile::{CompileOptions, CompiledModel, Objective, SavedPlanError, compile, load};
use texpool_ops::graph::{BuildError, Graph, GraphBuilder, Padding, Pool2d, PoolKind, Unary};
use texpool_plan::{SearchControl, TextureLimits, check, check_rows};

pub(crate) const LIMITS: TextureLimits = TextureLimits { max_extent: 8192 };
/// Upper limit on the memory of a load, in bytes. The graphs below have tens of rows, so their plans take kilobytes.
const MOST_MEMORY: u64 = 4 << 20;
/// Size of the header before the hashed part of a saved plan: magic, version, length, checksum.
const HEADER: usize = 26;
/// Size of the part that is prepended to inputs: the header and the fingerprint.
pub(crate) const BEGIN: usize = HEADER + 8;

/// The graphs that inputs are loaded for, each with the first bytes of its saved plan. The first byte of an input
/// selects one.
pub(crate) static GRAPHS: LazyLock<Vec<(Graph, Vec<u8>)>> = LazyLock::new(|| {
    let graphs = graphs().unwrap_or_default();
    let begun = |graph: Graph| Some((plan(&graph, Objective::Fastest)?[..BEGIN].to_vec(), graph));
    graphs.into_iter().filter_map(begun).map(|(begun, graph)| (graph, begun)).collect()
});

/// Returns two graphs: one with concatenated parts that can be written in place and a view, and one with windows that
/// slide over rows.
fn graphs() -> Result<Vec<Graph>, BuildError> {
    let mut net = GraphBuilder::new("joined");
    let x = net.input("x", &[1, 6, 4, 4])?;
    let parts = [net.unary("sin", Unary::Sin, x)?, net.unary("cos", Unary::Cos, x)?];
    let both = net.concat("both", 3, &parts)?;
    let tan = net.unary("tan", Unary::Tan, both)?;
    let flat = net.reshape("flat", tan, &[1, 3, 8, 8])?;
    let out = net.unary("exp", Unary::Exp, flat)?;
    let joined = net.finish(&[out])?;

    let mut net = GraphBuilder::new("slid");
    let mut x = net.input("x", &[1, 16, 4, 4])?;
    for name in ["one", "two", "three"] {
        x = net.pool(name, Pool2d::plain(PoolKind::Max, [3, 1], [1, 1], Padding::default()), x)?;
    }
    let out = net.unary("exp", Unary::Exp, x)?;
    Ok(vec![joined, net.finish(&[out])?])
}

/// Returns a saved plan of a graph.
pub(crate) fn plan(graph: &Graph, objective: Objective) -> Option<Vec<u8>> {
    let options = CompileOptions { objective, limits: LIMITS, ..CompileOptions::default() };
    Some(compile(graph, &options, &SearchControl::new()).ok()?.save())
}

/// Fixes the length and checksum of a saved plan, so that the rest of it is read.
pub(crate) fn sealed(plan: &[u8]) -> Vec<u8> {
    let mut sealed = plan.to_vec();
    if let Some((header, body)) = sealed.split_at_mut_checked(HEADER) {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let checksum = body.iter().fold(0xcbf2_9ce4_8422_2325, step);
        header[10..18].copy_from_slice(&(plan.len() as u64).to_le_bytes());
        header[18..26].copy_from_slice(&checksum.to_le_bytes());
    }
    sealed
}

/// Loads an input unchanged, and then appended to the beginning of a valid plan. Returns the second result.
pub(crate) fn drive(input: &[u8]) -> Option<Result<CompiledModel, SavedPlanError>> {
    let (number, body) = input.split_first()?;
    let (graph, begun) = GRAPHS.get(usize::from(*number) % GRAPHS.len().max(1))?;
    let _ = loaded(graph, input);
    Some(loaded(graph, &sealed(&[begun, body].concat())))
}

/// Loads a plan, and checks the result again.
pub(crate) fn loaded(graph: &Graph, bytes: &[u8]) -> Result<CompiledModel, SavedPlanError> {
    let mut answer = None;
    let counted = measure(|| answer = Some(load(graph, bytes, LIMITS)));
    assert!(counted.bytes_max <= MOST_MEMORY, "loading takes {} bytes at a time", counted.bytes_max);
    let loaded = answer.unwrap_or(Err(SavedPlanError::NotAPlan))?;
    holds(&loaded);
    let again = load(graph, &loaded.save(), LIMITS);
    assert_eq!(again.map(|again| again.plan().clone()).ok().as_ref(), Some(loaded.plan()), "what is saved is loaded");
    Ok(loaded)
}

/// Checks the plan again, with the checker for its kind.
pub(crate) fn holds(model: &CompiledModel) {
    let (schedule, plan, limits) = (model.schedule(), model.plan(), model.limits());
    let found = match model.tiled() {
        Some(_) => check_rows(&schedule.tensors(), &schedule.whole(model.graph()), &schedule.row_steps(), plan, limits),
        None => check(&schedule.records, &schedule.tensors(), &schedule.uses(), plan, limits),
    };
    assert_eq!(found, Ok(()));
}
