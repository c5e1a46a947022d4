//! Min-cost Flow (Lee et al. 2019): an assignment of least cost decides which tensor takes over the object of which
//! other tensor.
//!
//! A tensor either gets a new object, at the cost of its size, or takes over the object of a dead tensor, at the cost
//! of the difference if it is larger. The assignment is optimal, but its cost is not the size of the plan: an object
//! that changes hands twice is compared only with its last tensor, not with the largest it has held.

use std::collections::VecDeque;

use super::naive::naive;
use crate::{
    bounds::naive_total,
    control::SearchControl,
    error::{PlanError, UnsupportedError},
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// An arc of capacity one; `open` while it carries no flow. Arc `i ^ 1` is its reverse in the residual network.
struct Arc {
    to: usize,
    open: bool,
    cost: i128,
}

#[derive(Default)]
struct Network {
    arcs: Vec<Arc>,
    from: Vec<Vec<usize>>,
}

impl Network {
    fn add_arcs(&mut self, from: usize, to: usize, cost: u64) {
        self.from[from].push(self.arcs.len());
        self.arcs.push(Arc { to, open: true, cost: cost.into() });
        self.from[to].push(self.arcs.len());
        self.arcs.push(Arc { to: from, open: false, cost: -i128::from(cost) });
    }

    /// Sends one unit along the cheapest path, found by Bellman and Ford's algorithm. Returns false if no path
    /// exists, or if `control` stops it.
    fn augment(&mut self, source: usize, sink: usize, control: &SearchControl<'_>) -> bool {
        let mut distance: Vec<Option<i128>> = vec![None; self.from.len()];
        let mut arc_into = vec![0; self.from.len()];
        let mut queued_in = vec![0usize; self.from.len()];
        distance[source] = Some(0);
        let mut round = VecDeque::from([source]);
        let mut count = 0;
        while !round.is_empty() {
            count += 1;
            let mut next = VecDeque::new();
            for at in round {
                if control.should_stop() {
                    return false;
                }
                let Some(from_source) = distance[at] else { continue };
                for &id in &self.from[at] {
                    let arc = &self.arcs[id];
                    let length = from_source + arc.cost;
                    if arc.open && distance[arc.to].is_none_or(|old| length < old) {
                        distance[arc.to] = Some(length);
                        arc_into[arc.to] = id;
                        if queued_in[arc.to] != count {
                            queued_in[arc.to] = count;
                            next.push_back(arc.to);
                        }
                    }
                }
            }
            round = next;
        }
        if distance[sink].is_none() {
            return false;
        }
        let mut at = sink;
        while at != source {
            let id = arc_into[at];
            self.arcs[id].open = false;
            self.arcs[id ^ 1].open = true;
            at = self.arcs[id ^ 1].to;
        }
        true
    }
}

/// Upper limit on tensors for building a network. Each pair of tensors may have an arc and its reverse, 112 bytes, so
/// the limit corresponds to 0.2 GB.
const MAX_TENSORS: usize = 2_000;

/// Assigns tensors to the dead tensors whose objects they take over. Takes `O(n^3)` and more, so it serves for
/// comparison and for small sets only. If `control` stops it, the plan shares no memory, because a flow that is not
/// maximal does not give a plan.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
/// [`PlanError::Unsupported`] for more than two thousand records.
pub fn min_cost_flow(records: &[UsageRecord], control: &SearchControl<'_>) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let n = records.len();
    if n > MAX_TENSORS {
        return Err(
            UnsupportedError::TooManyRecords { strategy: "min_cost_flow", records: n, limit: MAX_TENSORS }.into()
        );
    }
    let mut births: Vec<usize> = (0..n).collect();
    births.sort_by_key(|&i| records[i].first);
    let mut deaths = births.clone();
    deaths.sort_by_key(|&i| (records[i].last, i));
    let (source, sink) = (2 * n, 2 * n + 1);
    let mut network = Network { from: vec![Vec::new(); 2 * n + 2], ..Network::default() };
    let mut dead = 0;
    let mut opens = vec![0; n];
    for &i in &births {
        while records[deaths[dead]].last < records[i].first {
            dead += 1;
        }
        // Node `i` is the tensor as a previous owner, node `n + i` as the next one. Each gets either a previous owner
        // or a new object.
        network.add_arcs(source, i, 0);
        network.add_arcs(n + i, sink, 0);
        opens[i] = network.arcs.len();
        network.add_arcs(source, n + i, records[i].size);
        for &owner in &deaths[..dead] {
            network.add_arcs(owner, n + i, records[i].size.saturating_sub(records[owner].size));
        }
    }
    while network.augment(source, sink, control) {}
    if control.stopped().is_some() {
        return naive(records);
    }

    let mut regions = Vec::new();
    let mut places = vec![Place { region: 0, offset: 0 }; n];
    for &i in births.iter().filter(|&&i| !network.arcs[opens[i]].open) {
        let mut size = 0;
        let mut holder = Some(i);
        while let Some(tensor) = holder {
            size = records[tensor].size.max(size);
            places[tensor].region = regions.len();
            let successor = |&id: &usize| (n..2 * n).contains(&network.arcs[id].to) && !network.arcs[id].open;
            holder = network.from[tensor].iter().copied().find(successor).map(|id| network.arcs[id].to - n);
        }
        regions.push(size);
    }
    Ok(Layout { problem: LayoutKind::SharedObjects, regions, places })
}
