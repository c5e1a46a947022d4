//! Compares published figures of networks with the same quantities computed here.

use std::time::{Duration, Instant};

use super::{error::CliError, plan_device::Device, progress};
use crate::report::{
    DataflowFigures, ExampleOrder, ExampleOrders, ExampleReport, NetworkReport, PhaseOrderReport, PublishedCsdf,
    PublishedFigures,
};
use texpool_compile::{CompileOptions, ParetoFront, pareto_front};
use texpool_dataflow::{
    Footprint, Network, footprint,
    published::{ELEMENT_BYTES, EXAMPLES, Example, NETWORKS, PublishedNetwork},
};
use texpool_ops::graph::Graph;
use texpool_plan::{LayoutKind, PlanError, published};

/// Duration of the measurement of each plan.
const MEASURED: Duration = Duration::from_millis(500);

/// Names in the catalogue, in Tables 1 and 2 of Pisarchyk and Lee, and in Table III of Minakova and Stefanov.
const NAMES: [(&str, Option<&str>, Option<&str>); 11] = [
    ("mobilenet_v1", Some("MobileNet v1"), None),
    ("mobilenet_v2", Some("MobileNet v2"), None),
    ("deeplabv3", Some("DeepLab v3"), None),
    ("inception_v3", Some("Inception v3"), None),
    ("posenet", Some("PoseNet"), None),
    ("blazeface", Some("BlazeFace"), None),
    ("resnet18", None, Some("resnet18")),
    ("tiny_yolo_v2", None, Some("tiny yolo v2")),
    ("light_inception_v1", None, Some("inception v1")),
    ("light_vgg19", None, Some("VGG 19")),
    ("light_densenet121", None, Some("densenet121")),
];

/// Returns the figures of Pisarchyk and Lee for a network of the catalogue.
pub(super) fn tables_1_and_2(name: &str) -> Result<Option<PublishedFigures>, PlanError> {
    let Some(network) = NAMES.iter().find(|(ours, ..)| *ours == name).and_then(|(_, theirs, _)| *theirs) else {
        return Ok(None);
    };
    let cells: Vec<published::Cell> = published::tables()?.into_iter().filter(|c| c.network == network).collect();
    let least = |table: LayoutKind| {
        // These two rows of the tables are not strategies.
        let strategies = cells.iter().filter(|c| c.table == table && c.row != "Lower Bound" && c.row != "Naive");
        strategies.map(|c| c.published).min()
    };
    let bound = cells.iter().find(|c| c.table == LayoutKind::SharedObjects && c.row == "Lower Bound");
    Ok(bound
        .zip(least(LayoutKind::SharedObjects))
        .zip(least(LayoutKind::Offsets))
        .map(|((bound, objects), offsets)| PublishedFigures { bound: bound.published, objects, offsets }))
}

/// Returns the figures of Minakova and Stefanov for a network of the catalogue, and the same quantity for its file.
pub(super) fn table_3(name: &str, graph: &Graph) -> Option<DataflowFigures> {
    let network = NAMES.iter().find(|(ours, ..)| *ours == name).and_then(|(.., theirs)| *theirs)?;
    let row = NETWORKS.iter().find(|row| row.network == network)?;
    let megabytes = |elements: u64| elements as f64 * ELEMENT_BYTES as f64 / 1e6;
    let footprint_mb = Network::from_graph(graph).ok().and_then(|network| footprint(&network).ok());
    let footprint_mb = footprint_mb
        .map(|Footprint { parameters, whole, phased }| [megabytes(parameters + whole), megabytes(parameters + phased)]);
    Some(DataflowFigures { published: row.megabytes, found: footprint_mb })
}

/// Returns Tables II and III of Minakova and Stefanov with the figures computed here, and with a device those measured on
/// it. If the searches for pools take longer than `deadline` together, the pools of the remaining networks are missing.
pub(super) fn csdf_tables(device: Option<&Device>, deadline: Option<Duration>) -> Result<PublishedCsdf, CliError> {
    let mut tables = PublishedCsdf { examples: Vec::new(), networks: Vec::new(), stopped: None };
    for example in &EXAMPLES {
        let (name, published) = (example.name.to_owned(), example.published.to_vec());
        tables.examples.push(ExampleReport {
            name,
            published,
            found: example.found()?,
            published_order: example.order.to_owned(),
            found_order: example.order()?.to_string(),
            published_frames: example.frames,
            inferred_frames: example.inferred_frames(),
        });
    }
    let options = device.map_or_else(CompileOptions::default, |device| device.adapt(CompileOptions::default()));
    let mut left = deadline;
    for row in &NETWORKS {
        let (graph, begun) = (row.graph(), Instant::now());
        let (front, stopped) = progress::for_row(Some(row.network), left, |control| {
            // A partial front has other end points, so a stopped search gives no figures.
            let front = match control.should_stop() {
                true => None,
                false => Some(pareto_front(&graph, &options, control)?).filter(|front| front.stopped().is_none()),
            };
            Ok::<_, CliError>((front, control.stopped()))
        })?;
        left = left.map(|left| left.saturating_sub(begun.elapsed()));
        let measured_frames = match (device, &front) {
            (Some(device), Some(front)) => Some(frames(device, front, &graph, &options)?),
            _ => None,
        };
        tables.networks.push(NetworkReport { measured_frames, ..network(row, front.as_ref())? });
        tables.stopped = tables.stopped.or(stopped);
    }
    Ok(tables)
}

/// Returns the orders of phases of Table II, beside those computed here.
pub(super) fn example_orders() -> Result<ExampleOrders, CliError> {
    let of = |example: &Example| -> Result<ExampleOrder, CliError> {
        let (name, published_order) = (example.name.to_owned(), example.order.to_owned());
        // The paper counts a byte for each element.
        Ok(ExampleOrder {
            name,
            published_order,
            order: PhaseOrderReport::new(&example.csdf()?, &example.order()?, 1)?,
        })
    };
    Ok(ExampleOrders { examples: EXAMPLES.iter().map(of).collect::<Result<_, _>>()? })
}

/// Returns a row of Table III without measurements.
fn network(row: &PublishedNetwork, front: Option<&ParetoFront>) -> Result<NetworkReport, CliError> {
    let parameter_bytes = row.network().parameters() * ELEMENT_BYTES;
    let ends = front.map(ParetoFront::points).and_then(|points| points.first().zip(points.last()));
    Ok(NetworkReport {
        network: row.network.to_owned(),
        published_megabytes: row.megabytes,
        found_bytes: row.found()?,
        differs: row.differs.map(str::to_owned),
        pool_bytes: ends.map(|(a, b)| [a.bytes, b.bytes].map(|pool| pool + parameter_bytes)),
        parameter_bytes,
        published_throughput: row.frames[1] / row.frames[0],
        predicted_throughput: ends.map(|(a, b)| a.predicted_us / b.predicted_us),
        measured_frames: None,
    })
}

/// Runs the fastest plan and the smallest one, and returns the frames per second of both.
fn frames(device: &Device, front: &ParetoFront, graph: &Graph, options: &CompileOptions) -> Result<[f64; 2], CliError> {
    let ends = [0, front.points().len().saturating_sub(1)];
    let plans = (ends.len(), |end: usize| front.compiled(ends[end]));
    let times = device.times(plans, graph, options, MEASURED)?;
    Ok([0, 1].map(|end| times.get(end).map_or(0.0, |times| 1000.0 / times.wall_ms)))
}
