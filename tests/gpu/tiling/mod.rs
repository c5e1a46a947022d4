//! Runs every network of the catalogue on the device, in both formats. Compares the answers with other runtimes, and
//! their bits with the naïve plan's under the optimum, banks, the best plan, and plans in stripes from the knee of the
//! front to its end, with rows poisoned as they die.

mod answers;
mod models;
mod zoo;

use std::{collections::BTreeSet, time::Instant};

use texpool_compile::{
    CompileError, CompileOptions, CompiledModel, Objective, ParetoFront, StreamedIo, WeightFormat, WeightStorage,
    compile, pareto_front,
};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, Memory, SharedPipelines};
use texpool_ops::{
    graph::{Constant, Graph},
    ops::work,
};
use texpool_plan::{Planner, SearchControl, Strategy, TexelFormat};

use crate::{
    memory::driver_limit,
    planned::planned,
    support::{IN_32_BITS_ALONE, different, hash::bits, models::model, open, zoo as catalogue},
};

/// Size in millions of multiply-adds below which a network is run in stripes with uploads, too. Chosen for the test's
/// duration.
const SMALL: f64 = 350.0;

/// Size in millions of multiply-adds above which a network is run under fewer plans: each run takes seconds.
const LARGE: f64 = 2_000.0;
/// Number of weights above which a network is run under fewer plans: each plan uploads all weights again.
const MANY_WEIGHTS: usize = 20 << 20;

/// Expected effect of tiling on a network.
#[derive(Clone, Copy)]
pub(crate) enum Gain {
    /// The pool becomes smaller by at least this factor.
    Factor(f64),
    /// The front has no point with stripes, for this reason.
    Nothing(&'static str),
}

/// A network that is tested in stripes.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    /// The path of its test in this binary.
    pub(crate) test: &'static str,
    /// Model file, whose inputs are random numbers; if `None`, the catalogue case with the test's name is used.
    file: Option<&'static str>,
    gain: Gain,
}

/// Defines one test per network, so that each can be selected by name, and lists the networks in `NETWORKS`.
macro_rules! tested {
    ($path:literal: $($name:ident, $file:expr, $gain:expr);* $(;)?) => {
        pub(super) const NETWORKS: &[super::Network] = &[$(
            super::Network { test: concat!("tiling::", $path, "::", stringify!($name)), file: $file, gain: $gain }
        ),*];

        $(#[test] fn $name() {
            let test = concat!("tiling::", $path, "::", stringify!($name));
            super::is_invariant(NETWORKS.iter().find(|network| network.test == test).unwrap());
        })*
    };
}
use tested;

/// All networks that are tested in stripes.
pub(crate) fn networks() -> impl Iterator<Item = &'static Network> {
    models::NETWORKS.iter().chain(zoo::NETWORKS)
}

impl Network {
    /// The name of its test, without the path.
    pub(crate) fn name(&self) -> &'static str {
        self.test.rsplit("::").next().unwrap()
    }

    fn load(&self) -> (Graph, Vec<Vec<f32>>) {
        let Some(file) = self.file else {
            let case = catalogue::case(self.name());
            let graph = case.graph().unwrap();
            let inputs = case.inputs(&graph).into_iter().map(<[f32]>::to_vec).collect();
            return (graph, inputs);
        };
        let graph = texpool_model::import::open(model(file)).unwrap();
        let number = |i: usize| (i as f32 * 0.618_034).fract() * 2.0 - 1.0;
        let inputs = graph.inputs.iter().map(|&t| (0..graph.shape(t).len()).map(number).collect()).collect();
        (graph, inputs)
    }
}

/// Millions of multiply-adds in one run.
fn multiply_adds(graph: &Graph) -> f64 {
    graph.nodes.iter().map(|node| work(graph, node).flops / 2e6).sum()
}

/// Returns whether a run of the network, or its preparation, takes seconds.
fn is_large(graph: &Graph) -> bool {
    let weights: usize = graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()).map(Constant::len).sum();
    multiply_adds(graph) > LARGE || weights > MANY_WEIGHTS
}

/// Result of a run.
struct Ran {
    outputs: Vec<Vec<f32>>,
    /// Hash of the outputs' bits.
    bits: u64,
    memory: Memory,
    pipelines: usize,
}

/// A device, and pipelines shared by a network's plans: software devices take longer to compile most kernels than to
/// run them.
struct Device {
    gpu: Gpu,
    pipelines: SharedPipelines,
}

fn run(device: &Device, compiled: &CompiledModel, poison: bool, inputs: &[Vec<f32>]) -> Ran {
    let pipelines = device.pipelines.clone();
    let options = ExecutorOptions { poison, pipelines, ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(&device.gpu, compiled.clone(), &options).unwrap();
    let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    let outputs = session.run(&slices).unwrap();
    Ran { bits: bits(&outputs), outputs, memory: session.memory(), pipelines: session.pipelines().len() }
}

/// Plans of a network in stripes. In texels, 16-bit plans equal those for 32 bits, and their front takes as long to
/// find, so in 16 bits only the choice of `Objective::Balanced` is run.
fn tiled(graph: &Graph, options: &CompileOptions) -> Vec<CompiledModel> {
    match options.format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => {
            let mut plans = chosen(&pareto_front(graph, options, &SearchControl::new()).unwrap());
            if is_large(graph) && plans.len() > 2 {
                // The knee and the smallest.
                plans.drain(1..plans.len() - 1);
            }
            plans
        }
        TexelFormat::Rgba16Float => {
            let options = CompileOptions { objective: Objective::Balanced, ..options.clone() };
            let compiled = compile(graph, &options, &SearchControl::new()).unwrap();
            Some(compiled).filter(|compiled| compiled.tiled().is_some()).into_iter().collect()
        }
    }
}

/// Chooses points with stripes from a front: the knee, at which `Objective::Balanced` aims, one in the middle, one near
/// the end and the smallest; fewer if the front has fewer.
fn chosen(front: &ParetoFront) -> Vec<CompiledModel> {
    let points = front.points();
    let worth = |i: &usize| points[*i].bytes as f64 * points[*i].predicted_us;
    let knee = (0..points.len()).min_by(|a, b| worth(a).total_cmp(&worth(b))).unwrap();
    let last = points.len() - 1;
    let middle = (points.len() / 2).min(last.saturating_sub(2));
    let at = BTreeSet::from([knee, middle, last.saturating_sub(1), last]);
    at.into_iter().filter(|&i| !points[i].cascades.is_empty()).map(|i| front.compiled(i).unwrap()).collect()
}

/// Plans of a network that stream weights, inputs and outputs through the pool in every run. Only in 32 bits, since
/// 16 bits do not change anything in the plan; weights as floats and as words as in the file. In stripes if planning
/// and running are quick.
fn streamed(graph: &Graph, options: &CompileOptions) -> Vec<CompiledModel> {
    let whole = [(Objective::Fastest, WeightFormat::F32), (Objective::Fastest, WeightFormat::File)];
    let tiled = whole.map(|(_, format)| (Objective::Balanced, format)).into_iter();
    let all = whole
        .into_iter()
        .skip(usize::from(is_large(graph)))
        .chain(tiled.filter(|_| multiply_adds(graph) < SMALL))
        .filter(|_| options.format != TexelFormat::Rgba16Float);
    let weights = WeightStorage::Streamed { resident_below: 1 << 10, tile_bytes: 256 << 10 };
    let planner = Planner::Strategy(Strategy::GreedyBySize);
    let compiled = |(objective, weight_format)| {
        let stream_io = StreamedIo::BOTH;
        let streamed = CompileOptions { objective, planner, weights, weight_format, stream_io, ..options.clone() };
        compile(graph, &streamed, &SearchControl::new()).unwrap()
    };
    all.map(compiled).collect()
}

fn is_invariant(network: &Network) {
    let device = Device { gpu: open(), pipelines: SharedPipelines::default() };
    let name = network.name();
    let (graph, inputs) = network.load();
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let options = CompileOptions { format, limits: device.gpu.texture_limits(), ..CompileOptions::default() };
        let naive = CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..options.clone() };
        let naive = match compile(&graph, &naive, &SearchControl::new()) {
            Err(why @ CompileError::Indices { .. }) if format == TexelFormat::Rgba16Float => {
                assert!(IN_32_BITS_ALONE.contains(&name), "{name}: {why}");
                println!("{name} {format:?}: {why}");
                continue;
            }
            naive => run(&device, &naive.unwrap(), false, &inputs),
        };
        let finite = naive.outputs.iter().flatten().all(|v| v.is_finite());
        assert!(finite, "{name}, {format:?}: not every output is finite");
        if network.file.is_none() && format == TexelFormat::Rgba32Float {
            answers::are_as_of_other_runtimes(&catalogue::case(name), &graph, &naive.outputs);
        }
        let began = Instant::now();
        let others: &[Planner] = match format {
            TexelFormat::Rgba16Float => &[Planner::Best],
            _ if is_large(&graph) => &[Planner::Best],
            TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => {
                &[Planner::Optimum, Planner::Banks, Planner::Best]
            }
        };
        let plans = |which: &str, search: &dyn Fn() -> Vec<CompiledModel>| {
            planned(&format!("{name} {format:?} {which}"), &graph, options.limits, search)
        };
        let untiled = plans("untiled", &|| {
            different(&graph, &options, others.iter().copied()).into_iter().map(|(_, compiled)| compiled).collect()
        });
        let streamed = plans("streamed", &|| streamed(&graph, &options));
        let tiled = plans("tiled", &|| tiled(&graph, &options));
        let searched = began.elapsed();
        let mut whole = naive.memory.planned.pool;
        let allocated = |ran: &Ran| ran.memory.allocated.unwrap().sum();
        let mut least_taken = allocated(&naive);
        for compiled in &untiled {
            let result = run(&device, compiled, true, &inputs);
            assert_eq!(naive.bits, result.bits, "{name}: {} with poison, {format:?}", compiled.plan().strategy);
            whole = result.memory.planned.pool.min(whole);
            least_taken = allocated(&result).min(least_taken);
        }
        for compiled in &streamed {
            let result = run(&device, compiled, true, &inputs);
            assert_eq!(naive.bits, result.bits, "{name}: streamed, {:?}, {format:?}", compiled.objective());
            assert!(result.memory.planned.weights <= naive.memory.planned.weights, "{name}");
        }
        let answered = began.elapsed() - searched;
        for compiled in &tiled {
            let result = run(&device, compiled, true, &inputs);
            let (bytes, pool_driver) = (result.memory.planned.pool, result.memory.allocated.unwrap().pool);
            assert_eq!(bytes, compiled.plan().bytes(), "{name}, {format:?}");
            assert_eq!(naive.bits, result.bits, "{name}: {bytes} bytes, {format:?}");
            // A plan with a smaller pool must not take more device memory in total. Plans are chosen by an estimate
            // of the driver's count, which is right to a few kilobytes.
            let allocated_bytes = allocated(&result);
            assert!(
                allocated_bytes < least_taken + (8 << 10) || bytes > whole,
                "{name}, {format:?}: {allocated_bytes} bytes for a pool of {bytes}, with whole tensors {least_taken}"
            );
            let most = driver_limit(bytes, compiled.plan().textures.len());
            assert!(
                (bytes..=most).contains(&pool_driver),
                "{name}: {bytes} bytes planned, {pool_driver} by the driver"
            );
            // Stripes need no extra pipelines. Poison needs one, and different means in other steps a few.
            let (few, many) = (naive.pipelines, result.pipelines);
            assert!(many <= few + 5, "{name}: {few} pipelines with whole tensors, {many} with");
        }
        let least = tiled.last().map_or(whole, |compiled| compiled.plan().bytes());
        println!(
            "{name} {format:?}: {whole} bytes with whole tensors, {least} with; the same bits in {} plans with stripes; {:.1} s \
             searched, {:.1} s run on whole tensors, {:.1} s with",
            tiled.len(),
            searched.as_secs_f32(),
            answered.as_secs_f32(),
            (began.elapsed() - searched - answered).as_secs_f32(),
        );
        match network.gain {
            Gain::Factor(factor) if format == TexelFormat::Rgba32Float => {
                assert!(!tiled.is_empty(), "{name}: no point with stripes");
                assert!(least as f64 * factor < whole as f64, "{name}: {least} bytes of {whole}");
            }
            Gain::Factor(_) => {}
            Gain::Nothing(why) => {
                println!("{name} gains nothing from tiling: {why}");
                assert!(tiled.is_empty(), "{name} gains from tiling after all: {least} bytes of {whole}");
            }
        }
    }
}

#[test]
fn every_network_of_the_catalogue_is_tested() {
    let tested: BTreeSet<String> = zoo::NETWORKS.iter().map(|network| network.name().to_owned()).collect();
    assert_eq!(tested, catalogue::names().into_iter().collect());
    assert!(tested.iter().any(|name| answers::quantum(name).is_some()), "no network answers in 8 bits");
    let listed: serde_json::Value = serde_json::from_str(texpool_models::CATALOG).unwrap();
    for entry in listed["files"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "model") {
        let [name, file] = ["name", "file"].map(|key| entry[key].as_str().unwrap());
        // One file of the catalogue is part of two packages; the tests have a third copy of it.
        let fed = models::NETWORKS.iter().any(|network| network.file == Some(file)) || name.starts_with("blazeface");
        assert!(fed || tested.contains(name), "{name} is not run in stripes");
    }
}

#[test]
fn no_test_is_skipped_by_the_name_of_another() {
    for one in networks() {
        let others = networks().filter(|other| other.test.contains(one.test)).count();
        assert_eq!(others, 1, "{}", one.test);
    }
}
