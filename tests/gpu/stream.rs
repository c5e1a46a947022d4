//! Long lives of a device: after any operations in any order, answers are right and nothing is left behind.

use std::time::Duration;

use texpool::{Context, Model, TensorView};
use texpool_compile::{CompileOptions, Objective};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, GpuOptions, SharedPipelines, TIMEOUT};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder, Padding, Pool2d, PoolKind, ReduceKind, Unary};
use texpool_plan::TexelFormat;

use crate::support::open_with;

/// Operations for each seed.
const OPERATIONS: usize = 60;
/// Maximum number of sessions at a time.
const SESSIONS: usize = 4;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Small networks of several shapes, with one output and with two, with operators without weights and with two
/// operands.
fn networks() -> [Graph; 3] {
    let mut b = GraphBuilder::new("pools");
    let x = b.input("x", &[1, 24, 20, 5]).unwrap();
    let around = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let mut y = x;
    for kind in [PoolKind::Max, PoolKind::Average, PoolKind::Max] {
        y = b.pool("pool", Pool2d::plain(kind, [3, 3], [1, 1], around), y).unwrap();
    }
    let pools = b.finish(&[y]).unwrap();

    let mut b = GraphBuilder::new("two");
    let (x, z) = (b.input("x", &[1, 6, 7, 9]).unwrap(), b.input("z", &[1, 1, 1, 9]).unwrap());
    let product = b.binary("product", Binary::Mul, x, z, Act::Unary(Unary::Tanh)).unwrap();
    let sum = b.reduce("sum", ReduceKind::Sum, [false, true, false, false], product).unwrap();
    let two = b.finish(&[product, sum]).unwrap();

    let mut b = GraphBuilder::new("weights");
    let x = b.input("x", &[1, 1, 8, 12]).unwrap();
    let values: Vec<f32> = (0..12 * 12).map(|i| (i % 17) as f32 / 17.0 - 0.4).collect();
    let weights = b.constant("w", &[12, 12], &values).unwrap();
    let y = b.fully_connected("dense", x, weights, None, Act::Unary(Unary::Relu)).unwrap();
    let y = b.binary("residual", Binary::Add, y, x, Act::None).unwrap();
    [pools, two, b.finish(&[y]).unwrap()]
}

/// A session, its inputs, and its expected outputs.
struct Lane {
    session: Executor,
    inputs: Vec<Vec<f32>>,
    answer: Vec<Vec<f32>>,
}

impl Lane {
    /// Creates a session with shared or fresh pipelines.
    fn new(gpu: &Gpu, pipelines: &SharedPipelines, random: &mut Random) -> Self {
        let graph = &networks()[random.below(3)];
        let compile = CompileOptions {
            format: [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float, TexelFormat::Rgba32Uint][random.below(3)],
            objective: [Objective::Fastest, Objective::Smallest][random.below(2)],
            ..CompileOptions::default()
        };
        let poison = random.below(2) == 0;
        let pipelines = if random.below(4) == 0 { SharedPipelines::default() } else { pipelines.clone() };
        let options = ExecutorOptions { compile, poison, pipelines, ..ExecutorOptions::default() };
        let mut session = Executor::new(gpu, graph, &options).unwrap();
        let values = |len: usize| (0..len).map(|i| ((i * 29 + 7) % 64) as f32 / 64.0 - 0.5).collect();
        let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| values(graph.shape(t).len())).collect();
        let answer = session.run(&slices(&inputs)).unwrap();
        Self { session, inputs, answer }
    }

    fn run(&mut self) -> Result<(), GpuError> {
        let outputs = self.session.run(&slices(&self.inputs))?;
        assert_eq!(outputs, self.answer, "another answer than at first");
        Ok(())
    }

    /// Performs a random operation of a caller, possibly an invalid one.
    fn operate(&mut self, random: &mut Random) {
        let timely = |result: Result<(), GpuError>| match result {
            Ok(()) | Err(GpuError::Timeout { .. }) => {}
            Err(error) => panic!("{error:?}"),
        };
        match random.below(7) {
            0 | 1 => self.run().unwrap(),
            2 => {
                let mut outputs = vec![vec![0.0; 1]; self.answer.len()];
                let error = self.session.run_into(&slices(&self.inputs), &mut outputs).unwrap_err();
                assert!(matches!(error, GpuError::TensorLength { .. }), "{error:?}");
            }
            3 => assert!(matches!(self.session.run(&[] as &[&[f32]]), Err(GpuError::TensorCount { .. }))),
            4 => {
                self.session.set_timeout(Duration::ZERO);
                timely(self.run());
                timely(self.session.profile().map(drop));
                self.session.set_timeout(TIMEOUT);
            }
            5 => drop(self.session.profile().unwrap()),
            _ => {
                let mut remaining = random.below(3);
                let seen = |_: usize, _: &[f32]| {
                    remaining = remaining.saturating_sub(1);
                    remaining > 0
                };
                self.session.run_stepwise(&slices(&self.inputs), seen).unwrap();
            }
        }
    }
}

fn slices(inputs: &[Vec<f32>]) -> Vec<&[f32]> {
    inputs.iter().map(Vec::as_slice).collect()
}

/// Counts of the objects and bytes that the device holds once all its work is done.
fn live_resources(gpu: &Gpu) -> [(&'static str, isize); 8] {
    gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let hal = gpu.device.get_internal_counters().hal;
    [
        ("buffers", hal.buffers.read()),
        ("bytes of buffers", hal.buffer_memory.read()),
        ("bytes of textures", hal.texture_memory.read()),
        ("texture views", hal.texture_views.read()),
        ("bind groups", hal.bind_groups.read()),
        ("compute pipelines", hal.compute_pipelines.read()),
        ("shader modules", hal.shader_modules.read()),
        ("query sets", hal.query_sets.read()),
    ]
}

/// Asserts that every allocation on the device is either counted once by a session or internal to wgpu.
fn is_accounted_for(gpu: &Gpu, lanes: &[Lane]) {
    gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let report = gpu.device.generate_allocator_report().unwrap();
    let own = report.allocations.iter().filter(|one| one.name.starts_with("(wgpu internal)"));
    let of_wgpu: u64 = own.map(|one| one.size).sum();
    let mut sum = of_wgpu;
    for lane in lanes {
        let memory = lane.session.memory();
        let (allocated, peak) = (memory.allocated.unwrap(), memory.peak.unwrap());
        assert!(peak.allocated >= allocated.sum() && peak.reserved >= memory.reserved.unwrap(), "{memory:?}");
        sum += allocated.sum() - of_wgpu;
    }
    assert_eq!(sum, report.total_allocated_bytes, "{report:?}");
}

/// The memory of dropped sessions is freed: a service creates thousands.
#[test]
fn nothing_is_left_of_sessions_that_are_gone() {
    let gpu = open_with(&GpuOptions { timestamps: true, ..GpuOptions::default() });
    // The first run makes the device's permanent allocations.
    drop(Lane::new(&gpu, &SharedPipelines::default(), &mut Random(0)));
    let empty = live_resources(&gpu);
    for seed in 1..=3 {
        let mut random = Random(seed);
        let pipelines = SharedPipelines::default();
        let mut lanes: Vec<Lane> = Vec::new();
        for _ in 0..OPERATIONS {
            is_accounted_for(&gpu, &lanes);
            match random.below(6) {
                0 if lanes.len() < SESSIONS => lanes.push(Lane::new(&gpu, &pipelines, &mut random)),
                1 if !lanes.is_empty() => drop(lanes.swap_remove(random.below(lanes.len()))),
                _ if lanes.is_empty() => lanes.push(Lane::new(&gpu, &pipelines, &mut random)),
                _ => {
                    let at = random.below(lanes.len());
                    lanes[at].operate(&mut random);
                }
            }
        }
        lanes.iter_mut().for_each(|lane| lane.run().unwrap());
        drop((lanes, pipelines));
        assert_eq!(live_resources(&gpu), empty, "seed {seed}");
    }
}

/// Number of sessions to create, run and drop in sequence, unless [`HOW_MANY`] sets another.
const PASSING: usize = 100;
/// Environment variable with the number of sessions.
pub(crate) const HOW_MANY: &str = "TEXPOOL_TESTS_SESSIONS";
/// Prefix of the line with the bytes by which the process grew.
pub(crate) const GROWN: &str = "bytes more in the process: ";

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// Many sessions leave no objects on the device. `witness::growth` checks how much memory a thousand leave in the
/// process.
#[test]
fn nothing_is_left_of_many_sessions() {
    let passing = std::env::var(HOW_MANY).map_or(PASSING, |many| many.parse().unwrap());
    let gpu = open_with(&GpuOptions::default());
    let mut b = GraphBuilder::new("small");
    let x = b.input("x", &[1, 3, 5, 7]).unwrap();
    let y = b.unary("exp", Unary::Sin, x).unwrap();
    let model = Model::from_graph(b.finish(&[y]).unwrap()).unwrap();
    let input = vec![0.5f32; 105];
    // Everything that an embedding program creates, with two ways to read the outputs.
    let one = || {
        let context = Context::from_wgpu(gpu.device.clone(), gpu.queue.clone()).unwrap();
        let compiled = context.compile(&model).build().unwrap();
        let mut session = compiled.session().unwrap();
        let outputs = session.run([("x", TensorView::from(&input))]).unwrap();
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        session.encode(&mut encoder).unwrap();
        let readback = session.encode_read(&mut encoder, [0]).unwrap();
        gpu.queue.submit([encoder.finish()]);
        assert_eq!(readback.wait().unwrap(), outputs);
    };
    // The first sessions fill the caches of the driver and the allocator.
    (0..passing / 4).for_each(|_| one());
    let (empty, before) = (live_resources(&gpu), resident());
    (0..passing).for_each(|_| one());
    let grown = resident().saturating_sub(before);
    println!("{GROWN}{grown}");
    assert_eq!(live_resources(&gpu), empty);
}
