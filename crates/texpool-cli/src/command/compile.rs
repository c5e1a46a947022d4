//! `texpool compile`: writes a model's plan to a file, so that later runs need no search.

use super::{
    args::{AdapterArgs, ModelArgs},
    error::CliError,
    hint, out,
    setup_model::{self, PlanSource},
};
use crate::{
    io::{DistinctFiles, printable},
    report::{MemoryReport, grouped},
};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Write the plan to this file, whole or not at all.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    report: MemoryReport,
    plan_source: PlanSource,
    file: String,
    file_bytes: usize,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let mut files = DistinctFiles::default();
    files.writes("the plan", &args.output)?;
    let graph = args.model.find()?.import_apart(&mut files)?;
    let gpu = args.adapter.open(false)?;
    let options = setup_model::options_for(&gpu, args.model.compile_options())?;
    let (compiled, plan_source) = setup_model::kept_or_compiled(&graph, &options, &args.model.search())?;
    setup_model::check_interrupted("planning")?;
    let bytes = compiled.save();
    files.write(&args.output, &bytes)?;
    let report = setup_model::report(&graph, &compiled, args.model.search().deadline);
    let (file, file_bytes) = (args.output.display().to_string(), bytes.len());
    let answer = Answer { report, plan_source, file, file_bytes };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

fn text(Answer { report, file, file_bytes, .. }: &Answer) -> String {
    let stopped = hint::stopped(report.stopped);
    format!("{report}{stopped}\nthe plan is in {}, {} bytes\n", printable(file), grouped(*file_bytes as u64))
}
