//! `texpool plan`: what memory a model would take, without a device.

use super::{CliError, args::ModelArgs, out};
use crate::{
    prepare::{frontier, prepare},
    report::{Front, MemoryReport},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Print instead which rewriting rules fired, and why others did not.
    #[arg(long, conflicts_with = "json")]
    why: bool,
    /// Print instead the front of pool bytes against predicted time: no plan of it is beaten in both by another.
    #[arg(long, conflicts_with_all = ["why", "budget", "phases"])]
    frontier: bool,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let graph = ModelArgs::import(&args.model.path()?)?;
    if args.frontier {
        let front = Front::of(&graph.name, &frontier(&graph, &args.model.prepare_options())?);
        return if json { out::json(&front) } else { out::text(&front.to_string()) };
    }
    let prepared = prepare(&graph, &args.model.prepare_options())?;
    if args.why {
        return out::text(&prepared.rewriting.to_string());
    }
    let report = MemoryReport::of(&prepared, args.model.format());
    if json { out::json(&report) } else { out::text(&report.to_string()) }
}
