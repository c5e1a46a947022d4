//! `texpool fits`: says which models run within a size, at what cost, and by which flags.

use super::{
    args::{PlanArgs, Search},
    each_model::{self, FailedModels},
    error::CliError,
    fitting::{self, Plain, PlanRequest},
    out,
    progress::{self, Deadline},
    setup_model,
};
use crate::{
    fetch::{Bar, Fetcher, Kind},
    io::printable,
    report::{Fit, PlanRow, size},
};
use serde::Serialize;
use std::{
    ffi::{OsStr, OsString},
    fmt::Write,
};
use texpool_compile::{Objective, parse_size};
use texpool_plan::{Planner, StopReason};

/// Exit codes if a model does not fit, and if that is undecided for one.
const DOES_NOT_FIT: u8 = 3;
const UNDECIDED: u8 = 4;

/// A size as the user wrote it, and its bytes.
#[derive(Clone, Debug)]
struct Size {
    text: String,
    bytes: u64,
}

fn size_arg(text: &str) -> Result<Size, String> {
    Ok(Size { text: text.to_owned(), bytes: parse_size(text)? })
}

/// Arguments that choose a plan. They are refused and not shown, because the question is which plan fits.
const CHOICES: [&str; 5] = ["objective", "budget", "stream", "stripes", "weight_tile"];

#[derive(Debug, clap::Args)]
#[command(mut_args(|arg| if CHOICES.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg }))]
pub(super) struct Args {
    /// Limit on all device memory of a model, such as 8MiB, 512KiB or 1500000.
    #[arg(
        value_parser = size_arg,
        conflicts_with_all = CHOICES,
        help_heading = "Input"
    )]
    size: Size,
    /// Model files, or names from `texpool models list`; every model of the list that is fetched if none is given.
    #[arg(help_heading = "Input")]
    models: Vec<OsString>,
    #[command(flatten)]
    plan: PlanArgs,
    /// Limit the search for each model to this time; `none` searches to the end.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = progress::deadline, help_heading = "Search")]
    deadline: Deadline,
    /// Do not use or write the cache of plans.
    #[arg(long, help_heading = "Search")]
    no_cache: bool,
}

#[derive(Serialize)]
struct Answer {
    /// The size in bytes.
    size: u64,
    models: Vec<PlanRow>,
    failed: FailedModels,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let models = if args.models.is_empty() { fetched()? } else { args.models.clone() };
    let (rows, failed) = each_model::rows(&models, |model| row(args, model));
    let answer = Answer { size: args.size.bytes, models: rows, failed };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }?;
    setup_model::check_answered()?;
    each_model::check(&answer.failed)?;
    let any = |fits: &[Fit]| answer.models.iter().any(|row| fits.contains(&row.fit));
    match (any(&[Fit::Impossible, Fit::NotFound]), any(&[Fit::Undecided])) {
        (true, _) => Err(CliError::Answered(DOES_NOT_FIT)),
        (false, true) => Err(CliError::Answered(UNDECIDED)),
        (false, false) => Ok(()),
    }
}

/// Returns the models of the catalogue that need no download.
fn fetched() -> Result<Vec<OsString>, CliError> {
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    let models = fetcher.catalog.files.iter().filter(|entry| entry.kind == Kind::Model);
    let names: Vec<OsString> =
        models.filter(|entry| fetcher.find(entry).is_some()).map(|entry| entry.name.clone().into()).collect();
    if names.is_empty() {
        let what = "no model of the list is fetched: name one, or fetch some by `texpool models fetch NAME`";
        return Err(CliError::Usage(what.into()));
    }
    Ok(names)
}

fn row(args: &Args, model: &OsStr) -> Result<PlanRow, CliError> {
    let graph = args.plan.dims.find(model)?.import()?;
    let options = args.plan.plain_options();
    let whole = setup_model::compiled(&graph, &options, args.deadline.0)?;
    let plain = Plain::new(&whole, &options.device_profile);
    let name = printable(model).to_string();
    if plain.device_bytes <= args.size.bytes {
        return Ok(plain.row(&name, "", &whole, &options.device_profile));
    }
    // The search compiles the model again, and two copies of large weights would lie in memory.
    drop(whole);
    let objective = Objective::Device(args.size.bytes);
    let request = PlanRequest { name, flags: format!("--budget {}", args.size.text), objective };
    let search = Search::new(args.deadline.0, args.no_cache);
    let options = args.plan.options_for(Planner::Best, objective);
    let (row, _) = fitting::search(&graph, &request, &options, &plain, (&search, search.deadline))?;
    Ok(row)
}

fn text(answer: &Answer) -> String {
    let width = answer.models.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(5);
    let mut text = format!("  {:<width$} {:<9} {:>11} {:>15}\n", "model", "fits", "device", "predicted time");
    for row in &answer.models {
        let word = match row.fit {
            Fit::Fits => "yes",
            Fit::Impossible => "no",
            Fit::NotFound => "not found",
            Fit::Undecided => "undecided",
        };
        let line = match row.figures {
            Some(figures) => {
                let (device, time) = (size(figures.device_bytes), figures.ratio());
                format!("  {:<width$} {word:<9} {device:>11} {time:>15}  {}", row.name, row.flags)
            }
            None => format!("  {:<width$} {word:<9}   {}", row.name, row.missing()),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for (model, why) in &answer.failed {
        let _ = writeln!(text, "  {model}: {why}");
    }
    let fitting = answer.models.iter().filter(|row| row.fit == Fit::Fits).count();
    let (all, limit) = (answer.models.len() + answer.failed.len(), size(answer.size));
    let _ = writeln!(
        text,
        "\n{fitting} of {all} fit within {limit}; times are predicted for a typical software device, relative to the plain plan"
    );
    if answer.models.iter().any(|row| row.fit == Fit::Undecided && row.stopped != Some(StopReason::Cancelled)) {
        text += "--deadline SECONDS gives the search for each model more time\n";
    }
    if let Some(row) = answer.models.iter().find(|row| row.fit == Fit::Fits && !row.flags.is_empty()) {
        let _ = writeln!(text, "next: `texpool run {} {}` runs one", row.name, row.flags);
    }
    text
}
