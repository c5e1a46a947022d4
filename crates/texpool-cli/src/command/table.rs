//! `texpool table`: compares the networks of the catalogue in a table.

use super::{
    args::{AdapterArgs, DeadlineArgs, PlanArgs},
    each_model,
    error::CliError,
    inputs::random,
    out, progress, published, setup_model,
};
use crate::{
    fetch::{Catalog, Kind},
    io::printable,
    report::{NetworkRow, NetworkTable},
};
use std::{
    ffi::{OsStr, OsString},
    time::Instant,
};
use texpool_compile::{CompileOptions, CompiledModel};
use texpool_gpu::{Executor, ExecutorOptions, Gpu};
use texpool_ops::graph::{Graph, InputValues};
use texpool_plan::{Planner, SearchBudget, compare_strategies};

/// Number of runs for the median.
const RUNS: usize = 5;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Model files, or names from `texpool models list`; every model that is listed if none is given.
    models: Vec<OsString>,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Only plan; needs no device.
    #[arg(long, help_heading = "Device")]
    plan_only: bool,
    #[command(flatten)]
    deadline: DeadlineArgs,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let models = if args.models.is_empty() {
        let all = Catalog::builtin()?.files.into_iter().filter(|entry| entry.kind == Kind::Model);
        all.map(|entry| entry.name.into()).collect()
    } else {
        args.models.clone()
    };
    let gpu = if args.plan_only { None } else { Some(args.adapter.open(false)?) };
    let (networks, failed) = each_model::rows(&models, |model| row(args, model, gpu.as_ref()));
    let table = NetworkTable { networks, failed };
    if json { out::json(&table) } else { out::text(&format!("{table}{FITS}")) }?;
    each_model::check(&table.failed)?;
    setup_model::check_answered()
}

/// What to do next.
const FITS: &str = "\n`texpool fits 8MiB` says which of these fit within a size, and by which flags\n";

fn row(args: &Args, model: &OsStr, gpu: Option<&Gpu>) -> Result<NetworkRow, CliError> {
    let graph = args.plan.dims.find(model)?.import()?;
    let options = args.plan.published_options(Planner::Best);
    let options = match gpu {
        Some(gpu) => setup_model::options_for(gpu, options)?,
        None => options,
    };
    let compiled = setup_model::compiled(&graph, &options, args.deadline.time())?;
    let schedule = compiled.schedule();
    let comparison = progress::with_progress(args.deadline.time(), |control| {
        compare_strategies(&schedule.records, &schedule.uses(), SearchBudget::default(), control)
    })?;
    let name = printable(model).to_string();
    let mut row = NetworkRow::new(&name, &graph, &compiled, &comparison, args.plan.format());
    row.shared_objects = published::tables_1_and_2(&name)?;
    row.dataflow = published::table_3(&name, &graph);
    row.milliseconds = gpu.map(|gpu| time(gpu, &graph, compiled, options)).transpose()?;
    Ok(row)
}

/// Measures the time of a run in milliseconds: the median of a few runs after a first one that does not count.
fn time(gpu: &Gpu, graph: &Graph, compiled: CompiledModel, compile: CompileOptions) -> Result<f64, CliError> {
    let options = ExecutorOptions { compile, ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(gpu, compiled, &options)?;
    let inputs = random(graph);
    let given: Vec<InputValues<'_>> = inputs.iter().map(InputValues::from).collect();
    let mut outputs = session.run(&given)?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begun = Instant::now();
        session.run_into(&given, &mut outputs)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}
