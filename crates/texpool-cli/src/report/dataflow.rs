//! A network as a dataflow graph: actors, channels and minimum buffers. Also the published tables next to the results
//! of this program.

use super::{PhaseOrderReport, grouped, rounded};
use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_dataflow::{Buffers, Csdf};
use texpool_plan::{StopReason, printable};

/// A dataflow graph and its minimum buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CsdfReport {
    /// Name of the model.
    pub model: String,
    /// Bytes of a token.
    pub token_bytes: u64,
    /// The actors.
    pub actors: Vec<ActorReport>,
    /// The channels.
    pub channels: Vec<ChannelReport>,
    /// Bytes of the buffers between actors.
    pub edge_bytes: u64,
    /// Bytes of the buffers in which actors keep rows for their next phase.
    pub loop_bytes: u64,
    /// Sum of both.
    pub total_bytes: u64,
    /// Predicted throughput; absent if its analysis was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ThroughputReport>,
    /// The order of phases; present on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<PhaseOrderReport>,
}

/// Predicted times of an inference, from the execution times of phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputReport {
    /// The device that times are predicted for.
    pub predicted_for: String,
    /// Milliseconds if one phase executes at a time.
    pub serial_ms: f64,
    /// Milliseconds from one inference to the next if each actor has a processor of its own, in the least buffers.
    pub self_timed_ms: f64,
    /// Milliseconds from one inference to the next in buffers of unlimited size.
    pub unlimited_ms: f64,
}

impl fmt::Display for ThroughputReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = |ms: f64| rounded(1e3 / ms, 4);
        writeln!(f, "\n  frames per second, predicted for {}", self.predicted_for)?;
        writeln!(f, "  {:>12}  one phase at a time", frames(self.serial_ms))?;
        writeln!(f, "  {:>12}  a processor for each actor, in these buffers", frames(self.self_timed_ms))?;
        writeln!(f, "  {:>12}  a processor for each actor, in buffers of any size", frames(self.unlimited_ms))
    }
}

/// An actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorReport {
    /// Its name.
    pub name: String,
    /// Description of the computation.
    pub op: String,
    /// Phases of a cycle.
    pub phases: u64,
    /// Cycles of an iteration: its entry in the repetition vector.
    pub cycles: u64,
}

/// A channel and its buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelReport {
    /// Index of the actor that produces.
    pub from: usize,
    /// Index of the actor that consumes; the same one for a loop.
    pub to: usize,
    /// Tokens by phase of the source, in runs: `[3*128, 1*0]`.
    pub production: String,
    /// Tokens by phase of the sink.
    pub consumption: String,
    /// Minimum capacity in tokens.
    pub tokens: u64,
    /// Minimum capacity in bytes.
    pub bytes: u64,
}

impl CsdfReport {
    /// The report of a graph with its [repetition vector](texpool_dataflow::repetition) and its
    /// [least buffers](texpool_dataflow::least_buffers).
    pub fn new(csdf: &Csdf, cycles: &[u64], buffers: &Buffers, token_bytes: u64) -> Self {
        let actors = csdf.actors.iter().zip(cycles).map(|(actor, &cycles)| ActorReport {
            name: actor.name.clone(),
            op: actor.op.clone(),
            phases: actor.phases,
            cycles,
        });
        let channels = csdf.channels.iter().zip(&buffers.capacities).map(|(channel, &tokens)| ChannelReport {
            from: channel.from,
            to: channel.to,
            production: channel.production.to_string(),
            consumption: channel.consumption.to_string(),
            tokens,
            bytes: tokens.saturating_mul(token_bytes),
        });
        let channels: Vec<ChannelReport> = channels.collect();
        let bytes = |is_loop: bool| {
            let some = channels.iter().filter(|channel| (channel.from == channel.to) == is_loop);
            some.fold(0, |sum: u64, channel| sum.saturating_add(channel.bytes))
        };
        let (edge_bytes, loop_bytes) = (bytes(false), bytes(true));
        let total_bytes = edge_bytes.saturating_add(loop_bytes);
        let (model, actors) = (csdf.name.clone(), actors.collect());
        let (throughput, order) = (None, None);
        Self { model, token_bytes, actors, channels, edge_bytes, loop_bytes, total_bytes, throughput, order }
    }
}

impl fmt::Display for CsdfReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |index: usize| printable(self.actors.get(index).map_or("", |actor| actor.name.as_str()));
        writeln!(f, "{}: {} actors, {} channels", printable(&self.model), self.actors.len(), self.channels.len())?;
        writeln!(f, "\n  {:>4} {:>7} {:>7} {:>8}  actor", "", "phases", "cycles", "firings")?;
        for (index, actor) in self.actors.iter().enumerate() {
            let firings = actor.phases.saturating_mul(actor.cycles);
            let ActorReport { name, op, phases, cycles } = actor;
            // Numbered from 1, as in the order of phases.
            let (name, number) = (printable(name), format!("n{}", index + 1));
            writeln!(f, "  {number:>4} {phases:>7} {cycles:>7} {firings:>8}  {op} {name}")?;
        }
        writeln!(f, "\n  {:>12}  channel", "bytes")?;
        for channel in &self.channels {
            let (bytes, from, to) = (grouped(channel.bytes), name(channel.from), name(channel.to));
            if channel.from == channel.to {
                writeln!(f, "  {bytes:>12}  {from} keeps {} {}", channel.production, channel.consumption)?;
            } else {
                writeln!(f, "  {bytes:>12}  {from} {} -> {to} {}", channel.production, channel.consumption)?;
            }
        }
        writeln!(f, "\n  {:>12}  between actors", grouped(self.edge_bytes))?;
        writeln!(f, "  {:>12}  kept from phase to phase", grouped(self.loop_bytes))?;
        writeln!(f, "  {:>12}  in all", grouped(self.total_bytes))?;
        self.throughput.iter().try_for_each(|throughput| throughput.fmt(f))?;
        self.order.iter().try_for_each(|order| write!(f, "\n{order}"))
    }
}

/// Tables II and III of Minakova and Stefanov (2020), beside the results of this program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedCsdf {
    /// Table II.
    pub examples: Vec<ExampleReport>,
    /// Table III.
    pub networks: Vec<NetworkReport>,
    /// Reason why the search for pools was stopped early, if it was.
    pub stopped: Option<StopReason>,
}

/// A row of Table II: sizes of the buffers b12, b23, b34 and b45 in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExampleReport {
    /// Its name in the paper.
    pub name: String,
    /// Published value.
    pub published: Vec<u64>,
    /// Value found by execution.
    pub found: Vec<u64>,
    /// The published order of phases.
    pub published_order: String,
    /// The order found by execution.
    pub found_order: String,
    /// Published frames per second.
    pub published_frames: u64,
    /// Frames per second with costs that are inferred from the table: one for each phase, and one for all arithmetic.
    pub inferred_frames: f64,
}

/// A row of Table III. Each pair holds the figure without phases, then the figure with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// Its name in the paper.
    pub network: String,
    /// Memory of parameters and buffers as published, in megabytes of 10^6 bytes.
    pub published_megabytes: [u64; 2],
    /// Value found by execution, in bytes.
    pub found_bytes: [u64; 2],
    /// Reason for the difference, if one exists.
    pub differs: Option<String>,
    /// Bytes of the parameters and of this program's pool, for the fastest plan and for the smallest. `None` if the
    /// search was stopped before it finished this network.
    pub pool_bytes: Option<[u64; 2]>,
    /// Bytes of the parameters, counted in both pairs.
    pub parameter_bytes: u64,
    /// Published throughput with phases, as a fraction of the throughput without.
    pub published_throughput: f64,
    /// Predicted throughput of this program's smallest plan, as a fraction of the fastest plan's. `None` if the
    /// search was stopped earlier.
    pub predicted_throughput: Option<f64>,
    /// Frames per second of this program's fastest and smallest plan on the device, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_frames: Option<[f64; 2]>,
}

impl NetworkReport {
    /// Returns true if a column matches in all published digits.
    pub fn agrees(&self, column: usize) -> bool {
        // Rounded to the nearest megabyte, as in the papers.
        (self.found_bytes[column] + 500_000) / 1_000_000 == self.published_megabytes[column]
    }
}

/// Placeholder for a pool that the search did not reach.
const UNKNOWN: &str = "not in time";

const NOTE: &str = "
`found` is by execution, in a convention inferred from their totals: 4 bytes an
element, a buffer for each edge and loop, nothing fused, layers with several
inputs put their result out whole. The pool holds no inputs and outputs; its
throughput is predicted for an assumed device, or with --measure that of this
one; theirs comes from measurements on a board. `inferred`: a phase costs 5.1
us and all arithmetic 2966.5 us, one phase at a time; `csdf --order` prints the
orders.
";

impl fmt::Display for PublishedCsdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Minakova and Stefanov 2020, Table II: bytes of b12, b23, b34, b45 and their sum\n")?;
        for example in &self.examples {
            let ExampleReport { name, published, found, .. } = example;
            let text = |sizes: &[u64]| {
                let each: Vec<String> = sizes.iter().map(u64::to_string).collect();
                format!("{:<18} {:>4}", each.join(" "), sizes.iter().sum::<u64>())
            };
            let verdict = if published == found { "exact" } else { "differs" };
            writeln!(f, "  {name}  published {}  found {}  {verdict}", text(published), text(found))?;
            let verdict = if example.published_order == example.found_order { "as published" } else { "differs" };
            let (frames, inferred) = (example.published_frames, example.inferred_frames);
            writeln!(f, "       order of phases {verdict}; frames per second {frames}, inferred {inferred:.1}")?;
        }
        writeln!(f, "\nTable III: parameters and buffers in MB (10^6 bytes), without phases and with")?;
        writeln!(f, "them; throughput with phases as a part of that without")?;
        writeln!(f, "\n  {:<14}{:>12}{:>16}{:>16}{:>17}", "", "published", "found", "our pool", "throughput")?;
        for row in &self.networks {
            let mb = |bytes: [u64; 2]| bytes.map(|bytes| format!("{:.1}", bytes as f64 / 1e6)).join(" -> ");
            let published = row.published_megabytes.map(|mb| mb.to_string()).join(" -> ");
            let measured = row.measured_frames.map(|[fastest, smallest]| smallest / fastest);
            let here = measured.or(row.predicted_throughput);
            let here = here.map_or_else(|| "-".to_owned(), |here| format!("{here:.2}"));
            let throughput = format!("{:.2}, here {here}", row.published_throughput);
            let (buffers, pool) = (mb(row.found_bytes), row.pool_bytes.map_or_else(|| UNKNOWN.to_owned(), mb));
            let verdict = [0, 1].map(|column| {
                let published = row.published_megabytes[column] as f64 * 1e6;
                let off = (row.found_bytes[column] as f64 - published) / published * 100.0;
                if row.agrees(column) { "exact".to_owned() } else { format!("{off:+.1} %") }
            });
            let why = row.differs.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let verdict = format!("{}, {}{why}", verdict[0], verdict[1]);
            writeln!(f, "  {:<14}{published:>12}{buffers:>16}{pool:>16}{throughput:>17}", row.network)?;
            writeln!(f, "    found: {verdict}")?;
            if let Some([fastest, smallest]) = row.measured_frames {
                writeln!(f, "    measured here: {fastest:.2} -> {smallest:.2} frames per second")?;
            }
        }
        if let Some(reason) = self.stopped {
            writeln!(f, "\n  search stopped: {reason}; `{UNKNOWN}`: that pool was not found")?;
        }
        f.write_str(NOTE)
    }
}
