//! Comparison of networks: results of planning for each, and published figures.

use std::fmt;

use serde::{Deserialize, Serialize};

use texpool_compile::CompiledModel;
use texpool_ops::graph::Graph;
use texpool_plan::{LayoutKind, StrategyComparison, TexelFormat};

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkRow {
    /// Its name.
    pub network: String,
    /// Number of operators in the file.
    pub operators: usize,
    /// Steps of a run.
    pub steps: usize,
    /// Bytes of all intermediate tensors, each in separate memory.
    pub naive: u64,
    /// Lower bound of Shared Objects (the sum of positional maxima).
    pub bound: u64,
    /// The strategy with the smallest result, and its bytes.
    pub strategy: (String, u64),
    /// The optimum of Shared Objects, and a flag that is true if it is proven.
    pub optimum: (u64, bool),
    /// Banks: several live tensors in a texture.
    pub banks: u64,
    /// Device memory of a session with the plan that the options select.
    #[serde(default)]
    pub device_bytes: u64,
    /// Median milliseconds of a run; `None` if nothing was run.
    pub milliseconds: Option<f64>,
    /// Figures of Pisarchyk and Lee (2020).
    pub shared_objects: Option<PublishedFigures>,
    /// Figures of Minakova and Stefanov (2020), and the same quantity for this file.
    pub dataflow: Option<DataflowFigures>,
}

/// Figures of Tables 1 and 2 of Pisarchyk and Lee, in thousandths of a MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedFigures {
    /// Lower bound of Shared Objects.
    pub bound: u64,
    /// The lowest strategy for Shared Objects.
    pub objects: u64,
    /// The lowest strategy for one arena.
    pub offsets: u64,
}

/// Memory of parameters and buffers in megabytes, without phases and with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataflowFigures {
    /// Table III.
    pub published: [u64; 2],
    /// This file's figures in their convention; `None` if the file cannot be converted.
    pub found: Option<[f64; 2]>,
}

impl NetworkRow {
    /// Creates the row of a network from its file, its compiled model and all plans of its records. The caller fills
    /// in the published figures and the time of a run.
    pub fn new(
        name: &str,
        graph: &Graph,
        compiled: &CompiledModel,
        comparison: &StrategyComparison,
        format: TexelFormat,
    ) -> Self {
        let bytes = |texels: u64| texels * format.texel_bytes();
        let lowest = |problem: LayoutKind| {
            comparison.candidates.iter().filter(move |c| c.problem == problem).min_by_key(|c| c.total)
        };
        let by_strategy =
            // The optimum has a separate column.
            comparison.candidates.iter().filter(|c| c.problem == LayoutKind::SharedObjects && c.name != "optimum");
        let strategy = by_strategy.min_by_key(|c| c.total);
        let optimum = bytes(comparison.optimum.layout.total());
        Self {
            network: name.to_owned(),
            operators: graph.nodes.len(),
            steps: compiled.schedule().steps.len(),
            naive: bytes(comparison.best.bounds.naive),
            bound: bytes(comparison.best.bounds.shared_objects),
            strategy: strategy.map(|c| (c.name.clone(), bytes(c.total))).unwrap_or_default(),
            optimum: (optimum, comparison.optimum.proven),
            // A plan of shared objects is a plan of banks in which each bank holds one tensor at a time. The minimum
            // for banks is therefore at most the optimum.
            banks: lowest(LayoutKind::Banks).map_or(optimum, |c| bytes(c.total).min(optimum)),
            device_bytes: compiled.device_bytes(),
            milliseconds: None,
            shared_objects: None,
            dataflow: None,
        }
    }
}

/// Rows under one head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkTable {
    /// The networks.
    pub networks: Vec<NetworkRow>,
    /// Networks that could not be imported, planned or run, with the error.
    pub failed: Vec<(String, String)>,
}

impl fmt::Display for NetworkTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<30} {:>5} {:>5} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}  strategy, published (PL: bound, objects, offsets; MS: without > with phases)",
            "network, MiB", "ops", "steps", "naive", "bound", "greedy", "optimum", "banks", "device", "ms"
        )?;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        for n in &self.networks {
            let (proven, time) = (if n.optimum.1 { ' ' } else { '?' }, n.milliseconds);
            let time = time.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
            let [naive, bound, greedy, optimum, banks, device] =
                [n.naive, n.bound, n.strategy.1, n.optimum.0, n.banks, n.device_bytes].map(mib);
            write!(
                f,
                "{:<30} {:>5} {:>5} {naive:>9.3} {bound:>8.3} {greedy:>8.3} {optimum:>7.3}{proven} {banks:>8.3} {device:>8.3} {time:>9}  {}",
                n.network, n.operators, n.steps, n.strategy.0
            )?;
            if let Some(PublishedFigures { bound, objects, offsets }) = n.shared_objects {
                let [bound, objects, offsets] = [bound, objects, offsets].map(|t| t as f64 / 1e3);
                write!(f, "; PL {bound:.3}, {objects:.3}, {offsets:.3}")?;
            }
            if let Some(DataflowFigures { published: [without, with], found }) = n.dataflow {
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
