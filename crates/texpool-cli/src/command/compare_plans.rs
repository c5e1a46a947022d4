//! `texpool bench --plans` and `--strategies`: compares plans of a model in alternating runs, so that other load on the
//! machine affects them equally.

use super::{
    args::Search,
    error::CliError,
    inputs::random,
    out, setup_model,
    stats::{ms, percentile},
    timed_work::for_time,
};
use crate::report::size;
use cpu_time::ProcessTime;
use serde::Serialize;
use std::time::{Duration, Instant};
use texpool::{
    compile::CompileOptions,
    gpu::{Executor, ExecutorOptions, Gpu},
    graph::Graph,
};

/// Minimum number of rounds, however short the given time is.
const MIN_ROUNDS: usize = 5;

#[derive(Serialize)]
struct Answer {
    model: String,
    /// Name of the device and its driver.
    device: String,
    rounds: usize,
    plans: Vec<Plan>,
}

#[derive(Serialize)]
struct Plan {
    #[serde(flatten)]
    compared: Compared,
    pool_bytes: u64,
    /// Device memory of the plan, as budgets are compared with it.
    device_bytes: u64,
    dispatches: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_ms: Option<f64>,
    wall_ms: Times,
    cpu_ms: Times,
    /// Median over the rounds of the ratio of wall time to that of the first plan.
    wall_ratio: f64,
    /// Median over the rounds of the ratio of processor times.
    cpu_ratio: f64,
    /// Ratio of the fastest run to the fastest run of the first plan.
    fastest_ratio: f64,
    same_bits: bool,
}

#[derive(Serialize)]
struct Times {
    fastest: f64,
    median: f64,
}

struct TimedPlan {
    session: Executor,
    outputs: Vec<Vec<f32>>,
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

/// What distinguishes a plan from the others, as the user wrote it.
#[derive(Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Compared {
    Objective(String),
    Strategy(String),
}

impl Compared {
    fn name(&self) -> &str {
        match self {
            Self::Objective(name) | Self::Strategy(name) => name,
        }
    }
}

/// Returns the name of the device with its driver.
pub(super) fn device_name(gpu: &Gpu) -> String {
    let info = gpu.device.adapter_info();
    format!("{}, {} {}", info.name, info.driver, info.driver_info).trim_end_matches([' ', ',']).to_owned()
}

/// Plans to compare, duration, and settings of the searches.
pub(super) struct Comparison<'a> {
    pub(super) settings: &'a [(Compared, CompileOptions)],
    pub(super) time: Duration,
    pub(super) search: Search,
}

pub(super) fn run(
    gpu: &Gpu,
    graph: &Graph,
    Comparison { settings, time, search }: &Comparison<'_>,
    json: bool,
) -> Result<(), CliError> {
    let inputs = random(graph);
    let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    let timed_plan = |(_, options): &(Compared, CompileOptions)| -> Result<TimedPlan, CliError> {
        let options = ExecutorOptions { compile: options.clone(), ..ExecutorOptions::default() };
        let (mut session, _) = setup_model::session(gpu, graph, &options, search)?;
        let outputs = session.run(&slices)?;
        Ok(TimedPlan { session, outputs, wall: Vec::new(), cpu: Vec::new() })
    };
    let mut timed = settings.iter().map(timed_plan).collect::<Result<Vec<_>, _>>()?;
    let mut rounds = 0;
    for_time("measuring plans in turns", *time, MIN_ROUNDS, || {
        for timed_plan in &mut timed {
            let (begun, cpu_begun) = (Instant::now(), ProcessTime::now());
            timed_plan.session.run_into(&slices, &mut timed_plan.outputs)?;
            timed_plan.wall.push(ms(begun.elapsed()));
            timed_plan.cpu.push(ms(cpu_begun.elapsed()));
        }
        rounds += 1;
        Ok(true)
    })?;
    let plans =
        settings.iter().zip(&timed).map(|((compared, _), timed_plan)| plan(compared, timed_plan, &timed[0])).collect();
    let answer = Answer { model: graph.name.clone(), device: device_name(gpu), rounds, plans };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

fn plan(compared: &Compared, timed_plan: &TimedPlan, first: &TimedPlan) -> Plan {
    let fastest = |values: &[f64]| percentile(values, 0.0);
    let times = |values: &[f64]| Times { fastest: fastest(values), median: percentile(values, 0.5) };
    let ratio = |mine: &[f64], others: &[f64]| {
        // Compared within each round, so that a temporary slowdown of the machine affects both plans.
        let ratios: Vec<f64> = mine.iter().zip(others).map(|(a, b)| a / b).collect();
        percentile(&ratios, 0.5)
    };
    // Compares bits, because NaN equals nothing and -0 equals 0.
    let bits = |outputs: &[Vec<f32>]| outputs.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
    let memory = timed_plan.session.memory();
    Plan {
        compared: compared.clone(),
        pool_bytes: memory.planned.pool,
        device_bytes: timed_plan.session.compiled().device_bytes(),
        dispatches: timed_plan.session.dispatches(),
        predicted_ms: timed_plan.session.compiled().tiled().map(|tiled| tiled.predicted_us / 1e3),
        wall_ms: times(&timed_plan.wall),
        cpu_ms: times(&timed_plan.cpu),
        wall_ratio: ratio(&timed_plan.wall, &first.wall),
        cpu_ratio: ratio(&timed_plan.cpu, &first.cpu),
        fastest_ratio: fastest(&timed_plan.wall) / fastest(&first.wall),
        same_bits: bits(&timed_plan.outputs) == bits(&first.outputs),
    }
}

fn text(answer: &Answer) -> String {
    let mut text = format!("{}\n{}: {} rounds, plans in turns\n\n", answer.device, answer.model, answer.rounds);
    let width = answer.plans.iter().map(|plan| plan.compared.name().len()).max().unwrap_or(0).max(8);
    text += &format!(
        "  {:<width$} {:>11} {:>11} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7}  {}\n",
        "plan", "pool", "device", "dispatches", "fastest ms", "median ms", "cpu ms", "wall", "cpu", "same bits"
    );
    for p in &answer.plans {
        text += &format!(
            "  {:<width$} {:>11} {:>11} {:>10} {:>10.2} {:>10.2} {:>10.2} {:>6.3}x {:>6.3}x  {}\n",
            p.compared.name(),
            size(p.pool_bytes),
            size(p.device_bytes),
            p.dispatches,
            p.wall_ms.fastest,
            p.wall_ms.median,
            p.cpu_ms.median,
            p.wall_ratio,
            p.cpu_ratio,
            if p.same_bits { "yes" } else { "NO" }
        );
    }
    text
}
