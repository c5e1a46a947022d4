//! Least buffers, found by executing the graph.
//!
//! **What is minimal**: the sum over all channels of the capacities under which an iteration ends. Of several such sets
//! the first in order of channels is taken. A capacity counts the tokens on a channel; where a firing's tokens lie
//! while it fires is said in [`executes`](super::executes). The published example's figures are these, channel by
//! channel: its graph is a chain, on which every channel is as small as it can be alone and no order of minimisation
//! matters.
//!
//! **How it is found.** Per block (no two blocks share an undirected cycle, and none can stop another): a channel holds
//! at least what its source must have produced when the sink fires next, if everything fires only on the sink's demand.
//! Mostly those capacities suffice together, which an execution shows, and then nothing less is possible. Where they do
//! not, the deadlock names the actors that lack only space; one of them must be given it in every set that works. Sets
//! are tried from the smallest sum upwards along these choices, so the first that ends its iteration is least.

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
use crate::plan::{Progress, SearchControl};

/// Executions of one block before the search gives up. Chosen: a block mostly takes one, but their number can grow
/// exponentially with its channels.
pub const SEARCH_LIMIT: u64 = 20_000;

/// Least capacities, and what finding them took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Tokens by channel.
    pub capacities: Vec<u64>,
    /// Executions of a block that were needed; as many as there are blocks if no channel stands in another's way.
    pub executions: u64,
}

/// The least capacities of a graph's channels.
///
/// # Errors
/// As [`check_live`]; [`DataflowError::SearchLimit`] if a block takes more than [`SEARCH_LIMIT`] executions.
pub fn least_buffers(csdf: &Csdf) -> Result<Buffers, DataflowError> {
    least_buffers_within(csdf, SEARCH_LIMIT, &SearchControl::new())
}

/// The same with another limit of executions a block, until `control` stops the search.
///
/// # Errors
/// As [`least_buffers`]; [`DataflowError::Stopped`] where the search is stopped: what is not proven least is no answer.
pub fn least_buffers_within(csdf: &Csdf, limit: u64, control: &SearchControl<'_>) -> Result<Buffers, DataflowError> {
    // `satisfy` fires until the sink has its tokens, which ends only in a live graph.
    check_live(csdf)?;
    let whole = Machine::new(csdf)?;
    let mut found = Buffers { capacities: vec![0; csdf.channels.len()], executions: 0 };
    let blocks = blocks(csdf);
    let count = blocks.len() as u64;
    for (done, channels) in (0..).zip(blocks) {
        let progress = BlockProgress { control, done, count };
        progress.check()?;
        let block = Machine::of_block(csdf, &whole, &channels);
        let (capacities, executions) = search(&block, limit, &progress)?;
        for (channel, capacity) in channels.into_iter().zip(capacities) {
            found.capacities[channel] = capacity;
        }
        found.executions += executions;
    }
    Ok(found)
}

/// Firings between two checks of the deadline, each of which reads the clock.
const CHECK_INTERVAL: u64 = 256;

/// Reports progress by blocks, and checks the deadline.
struct BlockProgress<'a, 'c> {
    control: &'a SearchControl<'c>,
    done: u64,
    count: u64,
}

impl BlockProgress<'_, '_> {
    /// Tells how far the search is; an error where it is stopped.
    fn check(&self) -> Result<(), DataflowError> {
        self.control.report(Progress::new("finding the least buffers", self.done, self.count));
        match (self.control.should_stop(), self.control.stopped()) {
            (true, Some(reason)) => Err(DataflowError::Stopped { reason }),
            _ => Ok(()),
        }
    }
}

impl Machine {
    /// Some channels and their actors alone; an iteration is the whole graph's.
    fn of_block(csdf: &Csdf, whole: &Machine, channels: &[usize]) -> Self {
        let mut actors: Vec<usize> =
            channels.iter().flat_map(|&c| [csdf.channels[c].from, csdf.channels[c].to]).collect();
        actors.sort_unstable();
        actors.dedup();
        // Every end is found, since the list was made of these channels.
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

    /// For each channel, the most that lies on it when its sink fires if all others fire only where that must be.
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
                // Only what had to fire has fired, so with less room the sink could not fire at all.
                for &channel in &self.inputs[sink] {
                    least[channel] = least[channel].max(state.tokens[channel]);
                }
                self.fire(sink, &mut state);
                // On a loop the sink is the source, too: what it puts there needs room after it has fired.
                for &channel in self.inputs[sink].iter().filter(|&&channel| self.links[channel].from == sink) {
                    least[channel] = least[channel].max(state.tokens[channel]);
                }
            }
        }
        Ok(least)
    }

    /// Fires what the sink's next firing waits for, and nothing else. The graph is live, so this ends.
    fn satisfy(&self, sink: usize, state: &mut State) {
        let mut wanted = vec![sink];
        while let Some(&actor) = wanted.last() {
            match self.lacking(actor, state) {
                Some(channel) => wanted.push(self.links[channel].from),
                None => {
                    wanted.pop();
                    // The sink itself lies at the bottom, and is for the caller to fire.
                    if !wanted.is_empty() {
                        self.fire(actor, state);
                    }
                }
            }
        }
    }

    /// What the actors that lack only space need: a larger capacity for each output that has too little.
    fn short_of_space(&self, state: &State, capacities: &[u64]) -> Vec<Vec<(usize, u64)>> {
        // Who has all its tokens and does not fire can only lack space.
        let waits = |&actor: &usize| state.fired[actor] < self.firings[actor] && self.lacking(actor, state).is_none();
        let needs = |actor: usize| {
            let after = self.outputs[actor].iter().map(|&channel| (channel, self.after(channel, state)));
            after.filter(|&(channel, after)| after > capacities[channel]).collect()
        };
        (0..self.firings.len()).filter(waits).map(needs).collect()
    }
}

/// The least capacities of a block's channels, and how many executions it took to know.
fn search(block: &Machine, limit: u64, progress: &BlockProgress<'_, '_>) -> Result<(Vec<u64>, u64), DataflowError> {
    let sum = |sizes: &[u64]| sizes.iter().map(|&size| u128::from(size)).sum::<u128>();
    let first = block.demanded(progress)?;
    // Sums come before capacities, so among sets of equal sum the first in order of channels is taken.
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
            // Raising the same channels in another order comes to the same set.
            if seen.insert(larger.clone()) {
                next.push(Reverse((sum(&larger), larger)));
            }
        }
    }
    Err(DataflowError::SearchLimit { limit, at_least })
}
