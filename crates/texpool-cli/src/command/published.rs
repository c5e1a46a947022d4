//! Compares published figures of networks with the same quantities computed here.

use super::error::CliError;
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
use texpool_plan::{LayoutKind, PlanError, Progress, SearchControl, published};

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

/// Returns Tables II and III of Minakova and Stefanov with the figures computed here. If `control` stops the search for
/// pools, the pools of the remaining networks are missing.
pub(super) fn csdf_tables(control: &SearchControl<'_>) -> Result<PublishedCsdf, CliError> {
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
    for (done, row) in (0..).zip(&NETWORKS) {
        control.report(Progress::new(row.network, done, NETWORKS.len() as u64));
        tables.networks.push(network(row, control)?);
    }
    tables.stopped = control.stopped();
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

fn network(row: &PublishedNetwork, control: &SearchControl<'_>) -> Result<NetworkReport, CliError> {
    let parameter_bytes = row.network().parameters() * ELEMENT_BYTES;
    // A partial front has other end points, so a stopped search gives no figures.
    let front = match control.should_stop() {
        true => None,
        false => Some(pareto_front(&row.graph(), &CompileOptions::default(), control)?),
    };
    let points = front.as_ref().filter(|front| front.stopped().is_none()).map(ParetoFront::points);
    let ends = points.and_then(|points| points.first().zip(points.last()));
    Ok(NetworkReport {
        network: row.network.to_owned(),
        published_megabytes: row.megabytes,
        found_bytes: row.found()?,
        differs: row.differs.map(str::to_owned),
        pool_bytes: ends.map(|(a, b)| [a.bytes, b.bytes].map(|pool| pool + parameter_bytes)),
        parameter_bytes,
        published_throughput: row.frames[1] / row.frames[0],
        predicted_throughput: ends.map(|(a, b)| a.predicted_us / b.predicted_us),
    })
}
