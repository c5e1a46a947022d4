//! `texpool csdf`: converts a model to cyclo-static dataflow and computes its smallest buffers, without a device.

use std::{ffi::OsString, path::PathBuf};

use super::{
    args::DeadlineArgs, error::CliError, help::RESEARCH, hint, lines, model_source::DimArgs, out, progress, published,
    setup_model,
};
use crate::{io::DistinctFiles, report::CsdfReport};
use texpool_dataflow::{
    Bands, DataflowError, Network, Phasing, SEARCH_LIMIT, convert, least_buffers_within, published::ELEMENT_BYTES,
    repetition, to_sdf3,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A model file, or a name from `texpool models list`.
    #[arg(required_unless_present = "published")]
    model: Option<OsString>,
    #[command(flatten)]
    dims: DimArgs,
    /// Maximum number of phases per layer, with bands of rows as even as possible; 1 executes without phases.
    /// Default: a phase per row.
    #[arg(long, value_name = "N", value_parser = phases, help_heading = "Plan")]
    phases: Option<usize>,
    /// Write the graph as SDF3's XML.
    #[arg(short, long, value_name = "FILE.xml", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Print Tables II and III of Minakova and Stefanov (2020) beside the results of this program.
    #[arg(long, conflicts_with_all = ["model", "phases", "output"], help_heading = RESEARCH)]
    published: bool,
    #[command(flatten)]
    deadline: DeadlineArgs,
}

/// Parses a number of phases.
fn phases(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "it is no whole number; 1 is the execution without phases")?;
    if number == 0 { Err("there is no layer without a phase; 1 is the execution without".into()) } else { Ok(number) }
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    if args.published {
        let tables = progress::with_progress(args.deadline.time(), published::csdf_tables)?;
        if json { out::json(&tables) } else { out::text(&format!("{tables}{}", hint::stopped(tables.stopped))) }?;
        return setup_model::check_answered();
    }
    let Some(model) = &args.model else {
        return Err(CliError::Usage("say which model to convert, or --published".into()));
    };
    let mut files = DistinctFiles::default();
    args.output.as_deref().map_or(Ok(()), |output| files.writes("the graph", output))?;
    let graph = args.dims.find(model)?.import_apart(&mut files)?;
    let network = Network::from_graph(&graph).map_err(DataflowError::from)?;
    let bands = args.phases.map_or(Bands::Rows, Bands::AtMost);
    let csdf = convert(&network, &Phasing { bands, ..Phasing::default() })?;
    let outcome =
        progress::with_progress(args.deadline.time(), |control| least_buffers_within(&csdf, SEARCH_LIMIT, control));
    // Checked first, because Ctrl-C also makes the search fail, and this error states that nothing was written.
    setup_model::check_interrupted("the search for the least buffers")?;
    let buffers = outcome?;
    let report = CsdfReport::new(&csdf, &repetition(&csdf)?, &buffers, ELEMENT_BYTES);
    if let Some(to) = &args.output {
        let xml = to_sdf3(&csdf, &buffers.capacities, ELEMENT_BYTES);
        files.write(to, xml.as_bytes())?;
    }
    if json { out::json(&report) } else { out::text(&lines::fitted(&report.to_string())) }
}
