//! `texpool csdf`: converts a model to cyclo-static dataflow, and computes its smallest buffers, throughput and order of
//! phases.

use std::{ffi::OsString, path::PathBuf};

use super::{
    args::{AdapterArgs, DeadlineArgs},
    error::CliError,
    help::RESEARCH,
    hint, lines,
    model_source::DimArgs,
    out, picture,
    plan::TYPICAL,
    plan_device::Device,
    progress, published, setup_model,
};
use crate::{
    io::DistinctFiles,
    report::{CsdfReport, ExampleOrder, PhaseOrderReport, ThroughputReport, order_svg},
};
use texpool_compile::{BlockChoice, CompileOptions, DeviceProfile};
use texpool_dataflow::{
    Bands, Buffers, Csdf, DataflowError, Network, Order, Phasing, SEARCH_LIMIT, Sequence, convert,
    least_buffers_within, phase_times, predicted_times, published::ELEMENT_BYTES, repetition, self_timed_period,
    serial_time, to_sdf3,
};
use texpool_ops::graph::Graph;
use texpool_plan::SearchControl;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A model file, or a name from `texpool models list`.
    #[arg(required_unless_present_any = ["published", "order"])]
    model: Option<OsString>,
    #[command(flatten)]
    dims: DimArgs,
    /// Maximum number of phases per layer, with bands of rows as even as possible; 1 executes without phases.
    /// Default: a phase per row.
    #[arg(long, value_name = "N", value_parser = phases, help_heading = "Plan")]
    phases: Option<usize>,
    /// Write the graph as SDF3's XML, with execution times of phases in nanoseconds.
    #[arg(short, long, value_name = "FILE.xml", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Print the order in which phases execute within the least buffers, and the contents of buffers on the way. Without
    /// a model: for the examples of Table II of Minakova and Stefanov (2020).
    #[arg(long, conflicts_with = "published", help_heading = "Output")]
    order: bool,
    /// With --order: draw the contents of buffers as SVG.
    #[arg(long, value_name = "FILE", requires = "order", help_heading = "Output")]
    picture: Option<PathBuf>,
    /// Predict times from measurements of this machine's device. With --published: also run the networks on it.
    #[arg(long, help_heading = "Device")]
    measure: bool,
    #[command(flatten)]
    adapter: AdapterArgs,
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
        let device = args.measure.then(|| plain_device(args)).transpose()?;
        let tables = published::csdf_tables(device.as_ref(), args.deadline.time())?;
        if json { out::json(&tables) } else { out::text(&format!("{tables}{}", hint::stopped(tables.stopped))) }?;
        return setup_model::check_answered();
    }
    let mut files = DistinctFiles::default();
    args.picture.as_deref().map_or(Ok(()), |picture| picture::check(picture, &mut files))?;
    let Some(model) = &args.model else {
        return match args {
            Args { measure: true, .. } => {
                Err(CliError::Usage("--measure goes with a model, or with --published".into()))
            }
            Args { order: true, .. } => example_orders(args, &files, json),
            _ => Err(CliError::Usage(NO_MODEL.into())),
        };
    };
    args.output.as_deref().map_or(Ok(()), |output| files.writes("the graph", output))?;
    let mut graph = args.dims.find(model)?.import_apart(&mut files)?;
    let network = Network::from_graph(&graph).map_err(DataflowError::from)?;
    let phasing = Phasing { bands: args.phases.map_or(Bands::Rows, Bands::AtMost), ..Phasing::default() };
    let csdf = convert(&network, &phasing)?;
    let (profile, predicted_for) = device(args, &mut graph)?;
    let times = phase_times(&network, &phasing, &csdf, predicted_times(&graph, &profile))?;
    let outcome = progress::with_progress(args.deadline.time(), |control| -> Result<_, DataflowError> {
        let buffers = least_buffers_within(&csdf, SEARCH_LIMIT, control)?;
        let throughput = throughput(&csdf, &times, &buffers, control)?;
        Ok((buffers, throughput))
    });
    // Checked first, because Ctrl-C also makes the search fail, and this error states that nothing was written.
    setup_model::check_interrupted("the search for the least buffers")?;
    let (buffers, throughput) = outcome?;
    let mut report = CsdfReport::new(&csdf, &repetition(&csdf)?, &buffers, ELEMENT_BYTES);
    report.throughput = throughput.map(|throughput| ThroughputReport { predicted_for, ..throughput });
    if args.order {
        let order = Order::new(&csdf, &buffers.capacities)?.ok_or(DataflowError::Capacities)?;
        let order = PhaseOrderReport::new(&csdf, &order, ELEMENT_BYTES)?;
        picture::write(args.picture.as_deref(), &files, || {
            let heading = format!("{} phases, bytes in each buffer", order.steps.len());
            Ok(order_svg(&format!("{}: contents of buffers", graph.name), &[(heading, &order)]))
        })?;
        report.order = Some(order);
    }
    if let Some(to) = &args.output {
        let xml = to_sdf3(&csdf, &buffers.capacities, &times, ELEMENT_BYTES);
        files.write(to, xml.as_bytes())?;
    }
    if json { out::json(&report) } else { out::text(&lines::fitted(&report.to_string())) }
}

const NO_MODEL: &str = "say which model to convert, or --order, or --published";

/// Prints the orders of Table II.
fn example_orders(args: &Args, files: &DistinctFiles, json: bool) -> Result<(), CliError> {
    let orders = published::example_orders()?;
    picture::write(args.picture.as_deref(), files, || {
        let heading = |example: &ExampleOrder| format!("{}: {} phases", example.name, example.order.steps.len());
        let drawn: Vec<_> = orders.examples.iter().map(|example| (heading(example), &example.order)).collect();
        Ok(order_svg("Minakova and Stefanov 2020, Table II: bytes in each buffer", &drawn))
    })?;
    if json { out::json(&orders) } else { out::text(&lines::fitted(&orders.to_string())) }
}

/// Returns the device that times are predicted for, and its name. Sets the blocks of its kernels.
fn device(args: &Args, graph: &mut Graph) -> Result<(DeviceProfile, String), CliError> {
    if !args.measure {
        return Ok((DeviceProfile::default(), TYPICAL.to_owned()));
    }
    let device = plain_device(args)?;
    let options = device.adapt(CompileOptions::default());
    graph.blocks = options.blocks.blocks();
    Ok((options.device_profile, device.name))
}

/// Opens the device with the default options.
fn plain_device(args: &Args) -> Result<Device, CliError> {
    Device::open(&args.adapter, CompileOptions::default().format, BlockChoice::Auto)
}

/// Returns the predicted times, or `None` if the analysis was stopped.
fn throughput(
    csdf: &Csdf,
    times: &[Sequence],
    buffers: &Buffers,
    control: &SearchControl<'_>,
) -> Result<Option<ThroughputReport>, DataflowError> {
    let ms = |nanoseconds: f64| nanoseconds / 1e6;
    let period = |sizes| self_timed_period(csdf, times, sizes, control).map(|period| ms(period.value()));
    let both = period(Some(&buffers.capacities)).and_then(|bounded| Ok((bounded, period(None)?)));
    let (self_timed_ms, unlimited_ms) = match both {
        Err(DataflowError::ThroughputStopped { .. }) => return Ok(None),
        other => other?,
    };
    let serial_ms = ms(serial_time(csdf, times)? as f64);
    Ok(Some(ThroughputReport { predicted_for: String::new(), serial_ms, self_timed_ms, unlimited_ms }))
}
