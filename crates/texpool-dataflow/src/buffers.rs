//! Least buffers, determined by executing the graph.
//!
//! **Objective**: the smallest sum of channel capacities under which an iteration completes. Among sets with equal
//! sums the first in channel order is chosen. A capacity counts the tokens on a channel;
//! [`executes`](super::executes) defines where the tokens of a firing are counted while it fires. The published
//! example uses the same definition, channel by channel: its graph is a chain, in which each channel reaches its
//! separate minimum, so the order of minimisation does not matter.
//!
//! **Method**, applied to each block separately, since no undirected cycle crosses blocks and none can stall another.
//! A channel must hold at least the tokens that its source has to produce before the sink's next firing, if all
//! actors fire only on the sink's demand. Usually these capacities suffice together; an execution confirms that, and
//! then they are least. Otherwise the deadlock shows the actors that lack only space, and any working set must give
//! more space to at least one of them. The search branches over these choices in order of increasing sum, so the
//! first set that completes its iteration is least.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
};

use super::{
    Csdf, DataflowError,
    blocks::blocks,
    check_live,
    execute::{Machine, State},
};
use texpool_plan::{Progress, SearchControl};

/// Executions of one block before the search gives up. A chosen value: a block usually takes one execution, but the
/// number can grow exponentially with its channels.
pub const SEARCH_LIMIT: u64 = 20_000;

/// Least capacities, and the work needed to compute them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Tokens per channel.
    pub capacities: Vec<u64>,
    /// Number of executions of a block. It equals the number of blocks if the first capacities suffice in each.
    pub executions: u64,
}

/// Returns the least capacities of a graph's channels.
///
/// # Errors
/// Those of [`check_live`]; [`DataflowError::SearchLimit`] if a block takes more than [`SEARCH_LIMIT`] executions.
pub fn least_buffers(csdf: &Csdf) -> Result<Buffers, DataflowError> {
    least_buffers_within(csdf, SEARCH_LIMIT, &SearchControl::new())
}

/// Like [`least_buffers`], with a different limit on the executions per block, and a `control` that can stop the
/// search.
///
/// # Errors
/// Those of [`least_buffers`]; [`DataflowError::Stopped`] if the search is stopped, since capacities not proven least
/// would be wrong.
pub fn least_buffers_within(csdf: &Csdf, limit: u64, control: &SearchControl<'_>) -> Result<Buffers, DataflowError> {
    // `satisfy` fires until the sink has its tokens, which terminates only in a live graph.
    check_live(csdf)?;
    let whole = Machine::new(csdf)?;
    let mut buffers = Buffers { capacities: vec![0; csdf.channels.len()], executions: 0 };
    let blocks = blocks(csdf);
    let count = blocks.len() as u64;
    for (done, channels) in (0..).zip(blocks) {
        let progress = BlockProgress { control, done, count };
        progress.check()?;
        let block = Machine::of_block(csdf, &whole, &channels);
        let (capacities, executions) = search(&block, limit, &progress)?;
        for (channel, capacity) in channels.into_iter().zip(capacities) {
            buffers.capacities[channel] = capacity;
        }
        buffers.executions += executions;
    }
    Ok(buffers)
}

/// Number of firings between two checks of the deadline; each check reads the clock.
const CHECK_INTERVAL: u64 = 256;

/// Reports progress by blocks, and checks the deadline.
struct BlockProgress<'a, 'c> {
    control: &'a SearchControl<'c>,
    done: u64,
    count: u64,
}

impl BlockProgress<'_, '_> {
    /// Reports the progress, and fails if the search is stopped.
    fn check(&self) -> Result<(), DataflowError> {
        self.control.report(Progress::new("finding the least buffers", self.done, self.count));
        match (self.control.should_stop(), self.control.stopped()) {
            (true, Some(reason)) => Err(DataflowError::Stopped { reason }),
            _ => Ok(()),
        }
    }
}

impl Machine {
    /// Builds the machine of some channels and their actors. Firings are those of an iteration of the whole graph.
    fn of_block(csdf: &Csdf, whole: &Machine, channels: &[usize]) -> Self {
        let mut actors: Vec<usize> =
            channels.iter().flat_map(|&c| [csdf.channels[c].from, csdf.channels[c].to]).collect();
        actors.sort_unstable();
        actors.dedup();
        // Every end is in the list, because the list was built from these channels.
        let local = |actor: usize| actors.binary_search(&actor).unwrap_or_default();
        let renamed: Vec<_> = channels
            .iter()
            .map(|&c| {
                let channel = csdf.channels[c].clone();
                super::Channel { from: local(channel.from), to: local(channel.to), ..channel }
            })
            .collect();
        Self::of(renamed.iter(), actors.len(), actors.iter().map(|&actor| whole.firings[actor]).collect())
    }

    /// For each channel, returns the most tokens on it when its sink fires, with all other actors firing only when
    /// they have to.
    fn demanded(&self, progress: &BlockProgress<'_, '_>) -> Result<Vec<u64>, DataflowError> {
        let mut least: Vec<u64> = self.links.iter().map(|link| link.initial).collect();
        for sink in 0..self.firings.len() {
            if self.inputs[sink].is_empty() {
                continue;
            }
            let mut state = self.start();
            while state.fired[sink] < self.firings[sink] {
                if state.fired[sink].is_multiple_of(CHECK_INTERVAL) {
                    progress.check()?;
                }
                self.satisfy(sink, &mut state);
                // Only required firings have happened, so with less room the sink could not fire at all.
                for &channel in &self.inputs[sink] {
                    least[channel] = least[channel].max(state.tokens[channel]);
                }
                self.fire(sink, &mut state);
                // On a loop the sink is also the source, so its own output needs room after it has fired.
                for &channel in self.inputs[sink].iter().filter(|&&channel| self.links[channel].from == sink) {
                    least[channel] = least[channel].max(state.tokens[channel]);
                }
            }
        }
        Ok(least)
    }

    /// Fires only the actors that the sink's next firing waits for. This terminates, because the graph is live.
    fn satisfy(&self, sink: usize, state: &mut State) {
        let mut waiting = vec![sink];
        while let Some(&actor) = waiting.last() {
            match self.lacking(actor, state) {
                Some(channel) => waiting.push(self.links[channel].from),
                None => {
                    waiting.pop();
                    // The sink itself is at the bottom of the stack; the caller fires it.
                    if !waiting.is_empty() {
                        self.fire(actor, state);
                    }
                }
            }
        }
    }

    /// Returns, for each actor that lacks only space, the larger capacities that its outputs need.
    fn short_of_space(&self, state: &State, capacities: &[u64]) -> Vec<Vec<(usize, u64)>> {
        // An actor that has all its tokens and cannot fire must lack space.
        let waits = |&actor: &usize| state.fired[actor] < self.firings[actor] && self.lacking(actor, state).is_none();
        let needs = |actor: usize| {
            let after = self.outputs[actor].iter().map(|&channel| (channel, self.after(channel, state)));
            after.filter(|&(channel, after)| after > capacities[channel]).collect()
        };
        (0..self.firings.len()).filter(waits).map(needs).collect()
    }
}

/// Returns the least capacities of a block's channels, and the number of executions needed.
fn search(block: &Machine, limit: u64, progress: &BlockProgress<'_, '_>) -> Result<(Vec<u64>, u64), DataflowError> {
    let sum = |sizes: &[u64]| sizes.iter().map(|&size| u128::from(size)).sum::<u128>();
    let first = block.demanded(progress)?;
    // Ordered by sum first and then by capacities, so among sets with equal sums the first in channel order is
    // chosen.
    let mut next = BinaryHeap::from([Reverse((sum(&first), first.clone()))]);
    let mut seen = HashSet::from([first.clone()]);
    let mut executions = 0;
    let mut at_least = sum(&first);
    while let Some(Reverse((total, capacities))) = next.pop() {
        at_least = total;
        if executions == limit {
            break;
        }
        executions += 1;
        progress.check()?;
        let state = block.run(Some(&capacities));
        if block.ended(&state) {
            return Ok((capacities, executions));
        }
        for raises in block.short_of_space(&state, &capacities) {
            let mut larger = capacities.clone();
            for (channel, size) in raises {
                larger[channel] = size;
            }
            // Raising the same channels in a different order gives the same set.
            if seen.insert(larger.clone()) {
                next.push(Reverse((sum(&larger), larger)));
            }
        }
    }
    Err(DataflowError::SearchLimit { limit, at_least })
}
