//! The order in which phases execute, with the contents of buffers after each: Table II of Minakova and Stefanov (2020).

use super::grouped;
use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_dataflow::{Csdf, DataflowError, Order};

/// An order of phases, and the buffers while they execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseOrderReport {
    /// The order in the notation of the paper.
    pub notation: String,
    /// Buffers between actors. Rows that a layer keeps count in the buffer of its input, if it has only one.
    pub buffers: Vec<OrderBuffer>,
    /// The phases in order.
    pub steps: Vec<OrderStep>,
    /// Number of steps of each term of the notation, for the table.
    #[serde(skip)]
    terms: Vec<(String, usize)>,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderBuffer {
    /// Its name in the notation of the paper: `b12` lies between the first and the second actor.
    pub name: String,
    /// Indices of its channels.
    pub channels: Vec<usize>,
    /// Largest contents after any phase, in bytes.
    pub largest_bytes: u64,
}

/// Execution of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStep {
    /// Index of the actor.
    pub actor: usize,
    /// Number of the phase within the iteration, from 1.
    pub phase: u64,
    /// Buffers whose contents change, and their bytes after the phase.
    pub changes: Vec<(usize, u64)>,
    /// Bytes in all buffers after the phase.
    pub bytes: u64,
}

impl PhaseOrderReport {
    /// Executes an order and records the contents of buffers.
    ///
    /// # Errors
    /// The errors of [`Order::replay`].
    pub fn new(csdf: &Csdf, order: &Order, token_bytes: u64) -> Result<Self, DataflowError> {
        let mut buffers = buffers(csdf);
        let initial = |channel: &usize| csdf.channels[*channel].initial.saturating_mul(token_bytes);
        let mut contents: Vec<u64> = buffers.iter().map(|buffer| buffer.channels.iter().map(initial).sum()).collect();
        let mut touched = vec![Vec::new(); csdf.actors.len()];
        for (index, buffer) in buffers.iter().enumerate() {
            for channel in buffer.channels.iter().map(|&channel| &csdf.channels[channel]) {
                touched[channel.from].push(index);
                touched[channel.to].push(index);
            }
        }
        touched.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        let mut total = contents.iter().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
        let mut steps = Vec::with_capacity(order.firings.len());
        order.replay(csdf, |firing, tokens| {
            let mut changes = Vec::new();
            for &index in &touched[firing.actor] {
                let held = |&channel: &usize| tokens[channel].saturating_mul(token_bytes);
                let bytes = buffers[index].channels.iter().map(held).fold(0, u64::saturating_add);
                if bytes != contents[index] {
                    total = total.saturating_sub(contents[index]).saturating_add(bytes);
                    contents[index] = bytes;
                    buffers[index].largest_bytes = buffers[index].largest_bytes.max(bytes);
                    changes.push((index, bytes));
                }
            }
            steps.push(OrderStep { actor: firing.actor, phase: firing.phase, changes, bytes: total });
        })?;
        let length =
            |runs: &[texpool_dataflow::Run]| runs.iter().map(|run| run.last + 1 - run.first).sum::<u64>() as usize;
        let terms = order.terms().iter().map(|term| (term.to_string(), length(&term.runs))).collect();
        Ok(Self { notation: order.to_string(), buffers, steps, terms })
    }

    /// Returns the contents of all buffers before the first step.
    fn empty(&self) -> Vec<u64> {
        vec![0; self.buffers.len()]
    }
}

/// Returns the buffers of a graph, without their contents.
fn buffers(csdf: &Csdf) -> Vec<OrderBuffer> {
    let inputs =
        |actor: usize| csdf.channels.iter().filter(|channel| !channel.is_loop() && channel.to == actor).count();
    let mut buffers: Vec<OrderBuffer> = Vec::new();
    // Edges first, because loops may belong to them.
    for pass in [false, true] {
        for (index, channel) in csdf.channels.iter().enumerate().filter(|(_, channel)| channel.is_loop() == pass) {
            let edge_of_loop = |buffer: &&mut OrderBuffer| {
                let edge = &csdf.channels[buffer.channels[0]];
                channel.is_loop() && edge.to == channel.to && inputs(channel.to) == 1
            };
            match buffers.iter_mut().find(edge_of_loop) {
                Some(edge) => edge.channels.push(index),
                None => {
                    let (from, to) = (channel.from + 1, channel.to + 1);
                    let name = if from.max(to) < 10 { format!("b{from}{to}") } else { format!("b{from}-{to}") };
                    buffers.push(OrderBuffer { name, channels: vec![index], largest_bytes: 0 });
                }
            }
        }
    }
    buffers
}

/// Most buffers that have a column each; more are only counted together.
const MAX_COLUMNS: usize = 6;

impl fmt::Display for PhaseOrderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  order of {} phases: {}\n", self.steps.len(), self.notation)?;
        let columns = if self.buffers.len() > MAX_COLUMNS { &[] } else { &self.buffers[..] };
        let width = |buffer: &OrderBuffer| grouped(buffer.largest_bytes).len().max(buffer.name.len());
        let widest = self.steps.iter().map(|step| grouped(step.bytes).len()).max().unwrap_or(0).max("together".len());
        let named = self.terms.iter().map(|(term, _)| term.chars().count()).max().unwrap_or(0).max("largest".len());
        let cells = |cells: &mut dyn Iterator<Item = String>| -> String {
            cells.zip(columns).map(|(cell, buffer)| format!(" {cell:>0$}", width(buffer))).collect()
        };
        let names = cells(&mut columns.iter().map(|buffer| buffer.name.clone()));
        writeln!(f, "  {:<named$}{names} {:>widest$} {:>widest$}", "phases", "together", "most")?;
        let mut contents = self.empty();
        let mut steps = self.steps.iter();
        for (term, length) in &self.terms {
            let (mut most, mut bytes) = (0, 0);
            for step in steps.by_ref().take(*length) {
                step.changes.iter().for_each(|&(buffer, held)| contents[buffer] = held);
                (most, bytes) = (step.bytes.max(most), step.bytes);
            }
            let held = cells(&mut contents.iter().map(|&held| grouped(held)));
            writeln!(f, "  {term:<named$}{held} {:>widest$} {:>widest$}", grouped(bytes), grouped(most))?;
        }
        let sizes = cells(&mut columns.iter().map(|buffer| grouped(buffer.largest_bytes)));
        let sum = self.buffers.iter().map(|buffer| buffer.largest_bytes).fold(0, u64::saturating_add);
        writeln!(f, "  {:<named$}{sizes} {:>widest$}", "largest", grouped(sum))
    }
}

/// Orders of the examples of Table II.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleOrders {
    /// The examples.
    pub examples: Vec<ExampleOrder>,
}

/// The order of an example beside the published one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleOrder {
    /// Its name in the paper.
    pub name: String,
    /// The published order.
    pub published_order: String,
    /// The order that was found, with an element of one byte, as in the paper.
    pub order: PhaseOrderReport,
}

impl fmt::Display for ExampleOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Minakova and Stefanov 2020, Table II: phases in order, and the bytes in buffers after them")?;
        for ExampleOrder { name, published_order, order } in &self.examples {
            let verdict = if *published_order == order.notation { "as published" } else { "differs" };
            write!(f, "\n{name}, {verdict}\n{order}")?;
        }
        Ok(())
    }
}
