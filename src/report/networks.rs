//! Networks side by side: what planning makes of each, and what was published of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    compile::CompiledModel,
    dataflow::{Footprint, Network, footprint, published as dataflow},
    graph::Graph,
    plan::{Budget, LayoutKind, PlanError, SearchControl, TexelFormat, published, survey},
};

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkRow {
    /// Its name.
    pub network: String,
    /// Operators in the file, and steps that are left of them.
    pub operators: usize,
    /// Steps of a run.
    pub steps: usize,
    /// Bytes of all intermediate tensors, each in memory of its own.
    pub naive: u64,
    /// Lower bound of Shared Objects (the sum of positional maxima).
    pub bound: u64,
    /// The strategy that comes lowest, and its bytes.
    pub strategy: (String, u64),
    /// The optimum of Shared Objects, and whether it is proven.
    pub optimum: (u64, bool),
    /// Banks: several live tensors in a texture.
    pub banks: u64,
    /// Median milliseconds of a run; none where nothing was run.
    pub milliseconds: Option<f64>,
    /// What Pisarchyk and Lee (2020) have of it.
    pub shared_objects: Option<Published>,
    /// What Minakova and Stefanov (2020) have of it, and the same quantity of this file.
    pub dataflow: Option<Phased>,
}

/// DeviceProfile of Tables 1 and 2 of Pisarchyk and Lee, in thousandths of a MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Lower bound of Shared Objects.
    pub bound: u64,
    /// The lowest strategy for Shared Objects.
    pub objects: u64,
    /// The lowest strategy for one arena.
    pub offsets: u64,
}

/// Memory of parameters and buffers in megabytes, without phases and with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phased {
    /// Table III.
    pub published: [u64; 2],
    /// This file in their convention; none where it cannot be converted.
    pub found: Option<[f64; 2]>,
}

/// Names of the catalogue beside those of Tables 1 and 2, and of Table III.
const PUBLISHED: [(&str, Option<&str>, Option<&str>); 11] = [
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

impl NetworkRow {
    /// The row of a network that is called `name` in the catalogue.
    ///
    /// # Errors
    /// What planning says.
    pub fn of(name: &str, graph: &Graph, compiled: &CompiledModel, format: TexelFormat) -> Result<Self, PlanError> {
        let schedule = &compiled.schedule;
        let all = survey(&schedule.records, &schedule.uses, Budget::default(), &SearchControl::new())?;
        let bytes = |texels: u64| texels * format.texel_bytes();
        let lowest =
            |problem: LayoutKind| all.candidates.iter().filter(move |c| c.problem == problem).min_by_key(|c| c.total);
        let by_strategy =
            all.candidates.iter().filter(|c| c.problem == LayoutKind::SharedObjects && c.name != "optimum");
        let strategy = by_strategy.min_by_key(|c| c.total);
        let optimum = bytes(all.optimum.layout.total());
        let names = PUBLISHED.iter().find(|(ours, ..)| *ours == name);
        Ok(Self {
            network: name.to_owned(),
            operators: graph.nodes.len(),
            steps: schedule.steps.len(),
            naive: bytes(all.best.bounds.naive),
            bound: bytes(all.best.bounds.shared_objects),
            strategy: strategy.map(|c| (c.name.clone(), bytes(c.total))).unwrap_or_default(),
            optimum: (optimum, all.optimum.proven),
            banks: lowest(LayoutKind::Banks).map_or(optimum, |c| bytes(c.total).min(optimum)),
            milliseconds: None,
            shared_objects: names.and_then(|(_, theirs, _)| *theirs).map(tables_1_and_2).transpose()?.flatten(),
            dataflow: names.and_then(|(.., theirs)| *theirs).and_then(|theirs| table_3(theirs, graph)),
        })
    }
}

fn tables_1_and_2(network: &str) -> Result<Option<Published>, PlanError> {
    let cells: Vec<published::Cell> = published::tables()?.into_iter().filter(|c| c.network == network).collect();
    let least = |table: LayoutKind| {
        let strategies = cells.iter().filter(|c| c.table == table && c.row != "Lower Bound" && c.row != "Naive");
        strategies.map(|c| c.published).min()
    };
    let bound = cells.iter().find(|c| c.table == LayoutKind::SharedObjects && c.row == "Lower Bound");
    Ok(bound
        .zip(least(LayoutKind::SharedObjects))
        .zip(least(LayoutKind::Offsets))
        .map(|((bound, objects), offsets)| Published { bound: bound.published, objects, offsets }))
}

fn table_3(network: &str, graph: &Graph) -> Option<Phased> {
    let row = dataflow::ROWS.iter().find(|row| row.network == network)?;
    let megabytes = |elements: u64| elements as f64 * 4.0 / 1e6;
    let found = Network::of(graph).ok().and_then(|network| footprint(&network).ok());
    let found = found
        .map(|Footprint { parameters, whole, phased }| [megabytes(parameters + whole), megabytes(parameters + phased)]);
    Some(Phased { published: row.megabytes, found })
}

/// Rows under one head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkTable {
    /// The networks.
    pub networks: Vec<NetworkRow>,
    /// Networks that could not be imported, planned or run, and why.
    pub failed: Vec<(String, String)>,
}

impl fmt::Display for NetworkTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<30} {:>5} {:>5} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9}  strategy, published (PL: bound, objects, offsets; MS: without > with phases)",
            "network, MiB", "ops", "steps", "naive", "bound", "greedy", "optimum", "banks", "ms"
        )?;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        for n in &self.networks {
            let (proven, time) = (if n.optimum.1 { ' ' } else { '?' }, n.milliseconds);
            let time = time.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
            let [naive, bound, greedy, optimum, banks] =
                [n.naive, n.bound, n.strategy.1, n.optimum.0, n.banks].map(mib);
            write!(
                f,
                "{:<30} {:>5} {:>5} {naive:>9.3} {bound:>8.3} {greedy:>8.3} {optimum:>7.3}{proven} {banks:>8.3} {time:>9}  {}",
                n.network, n.operators, n.steps, n.strategy.0
            )?;
            if let Some(Published { bound, objects, offsets }) = n.shared_objects {
                let [bound, objects, offsets] = [bound, objects, offsets].map(|t| t as f64 / 1e3);
                write!(f, "; PL {bound:.3}, {objects:.3}, {offsets:.3}")?;
            }
            if let Some(Phased { published: [without, with], found }) = n.dataflow {
                write!(f, "; MS {without} > {with} MB")?;
                if let Some([without, with]) = found {
                    write!(f, ", this file {without:.1} > {with:.1}")?;
                }
            }
            writeln!(f)?;
        }
        for (network, why) in &self.failed {
            writeln!(f, "{network}: {why}")?;
        }
        Ok(())
    }
}
