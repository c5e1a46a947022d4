//! `texpool bench --plans` and `--strategies`: compares plans of a model in alternating runs, so that other load on the
//! machine affects them equally.

use super::{
    args::Search,
    device::Device,
    error::CliError,
    in_turns::{self, ComparedTimes, TimedSession},
    inputs::random,
    out, setup_model,
};
use crate::report::size;
use serde::Serialize;
use std::time::Duration;
use texpool_compile::CompileOptions;
use texpool_gpu::{ExecutorOptions, Gpu};
use texpool_ops::graph::{Graph, InputValues};

#[derive(Serialize)]
struct Answer {
    model: String,
    device: Device,
    rounds: usize,
    plans: Vec<Plan>,
}

#[derive(Serialize)]
struct Plan {
    #[serde(flatten)]
    compared: PlanChoice,
    pool_bytes: u64,
    /// Device memory of the plan, as budgets are compared with it.
    device_bytes: u64,
    dispatches: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_ms: Option<f64>,
    #[serde(flatten)]
    times: ComparedTimes,
    same_bits: bool,
}

/// What distinguishes a plan from the others, as the user wrote it.
#[derive(Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PlanChoice {
    Objective(String),
    Strategy(String),
}

impl PlanChoice {
    fn name(&self) -> &str {
        match self {
            Self::Objective(name) | Self::Strategy(name) => name,
        }
    }
}

/// Plans to compare, duration, and settings of the searches.
pub(super) struct Comparison<'a> {
    pub(super) settings: &'a [(PlanChoice, CompileOptions)],
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
    let given: Vec<InputValues<'_>> = inputs.iter().map(InputValues::from).collect();
    let with = |(_, options): &(PlanChoice, CompileOptions)| {
        let options = ExecutorOptions { compile: options.clone(), ..ExecutorOptions::default() };
        let (session, _) = setup_model::session(gpu, graph, &options, search)?;
        TimedSession::new(session, &given)
    };
    let mut timed = settings.iter().map(with).collect::<Result<Vec<_>, CliError>>()?;
    let rounds = in_turns::run(&mut timed, &given, *time)?;
    let plans = settings.iter().zip(&timed).map(|((choice, _), mine)| plan(choice, mine, &timed[0])).collect();
    let answer = Answer { model: graph.name.clone(), device: Device::of(gpu), rounds, plans };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

fn plan(choice: &PlanChoice, timed: &TimedSession, first: &TimedSession) -> Plan {
    let memory = timed.session.memory();
    Plan {
        compared: choice.clone(),
        pool_bytes: memory.planned.pool,
        device_bytes: timed.session.compiled().device_bytes(),
        dispatches: timed.session.dispatches(),
        predicted_ms: timed.session.compiled().tiled().map(|tiled| tiled.predicted_us / 1e3),
        times: timed.times.compared(&first.times),
        same_bits: timed.has_bits_of(first),
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
            p.times.wall_ms.fastest,
            p.times.wall_ms.median,
            p.times.cpu_ms.median,
            p.times.wall_ratio,
            p.times.cpu_ratio,
            if p.same_bits { "yes" } else { "NO" }
        );
    }
    text
}
