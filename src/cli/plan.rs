//! `texpool plan`: what memory a model would take, without a device.

use super::{CliError, args::ModelArgs, out};
use crate::{prepare::prepare, report::MemoryReport};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Print instead which rewriting rules fired, and why others did not.
    #[arg(long, conflicts_with = "json")]
    why: bool,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let graph = ModelArgs::import(&args.model.path()?)?;
    let prepared = prepare(&graph, &args.model.prepare_options())?;
    if args.why {
        return out::text(&prepared.rewriting.to_string());
    }
    let report = MemoryReport::of(&prepared, args.model.format());
    if json { out::json(&report) } else { out::text(&report.to_string()) }
}
