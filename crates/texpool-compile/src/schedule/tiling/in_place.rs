//! Selects the concatenations and pads that are worth writing in place. If its parts are computed long before the
//! whole is complete, the whole reserves space for the missing rest all that time. This is free as long as it stays
//! below the peak of the schedule.

use std::collections::BTreeMap;

use super::{RowDependencies, Stripe};
use crate::schedule::Schedule;
use texpool_ops::graph::{Graph, NodeId, NodeSet, SubtensorOffset, TensorId, subtensor_offsets};
use texpool_plan::SearchControl;

/// Returns the nodes of `in_place` that can be written in place without raising the peak number of live texels of
/// `stripes`. `schedule` and `model` must be the ones without in-place writing. If `control` stops the search, this
/// returns the nodes found up to then.
pub fn select_in_place(
    graph: &Graph,
    schedule: &Schedule,
    model: &RowDependencies,
    stripes: &[Stripe],
    in_place: &NodeSet,
    control: &SearchControl<'_>,
) -> NodeSet {
    let mut blocks = Blocks::new(model, stripes);
    let most = blocks.alive.iter().copied().max().unwrap_or(0);
    let mut ids: Vec<NodeId> = in_place.iter().collect();
    // Each join uses up some of the room below the peak. Outer joins come first, since they are at least as large as
    // the ones inside them.
    ids.reverse();
    let ids = ids.into_iter().take_while(|_| !control.should_stop());
    ids.filter(|&id| blocks.merge_parts(graph, schedule, id, most).is_some()).collect()
}

/// First and last stripe that touch a row; `None` if no stripe does.
type LiveRange = Option<(usize, usize)>;

/// Unit of placement: a storage, or a storage together with its parts.
#[derive(Clone)]
struct Block {
    row_texels: u64,
    whole: bool,
    live: Vec<LiveRange>,
}

impl Block {
    /// Widens the live ranges of the rows from `first` on by those of another block.
    fn merge(&mut self, first: usize, other: &Self) {
        for (range, more) in self.live.iter_mut().skip(first).zip(&other.live) {
            *range = hull(*range, *more);
        }
        self.live_as_a_whole();
    }

    /// If the block is placed whole, every row is live whenever any row is.
    fn live_as_a_whole(&mut self) {
        if self.whole {
            let all = self.live.iter().copied().fold(None, hull);
            self.live.fill(all);
        }
    }

    fn count(&self, change: &mut [i64], sign: i64) {
        for (first, last) in self.live.iter().copied().flatten() {
            change[first] += sign * self.row_texels as i64;
            change[last + 1] -= sign * self.row_texels as i64;
        }
    }
}

fn hull(a: LiveRange, b: LiveRange) -> LiveRange {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

struct Blocks {
    blocks: Vec<Block>,
    /// For each storage, the block that contains it, and the row of the block where the storage begins.
    block_of: Vec<(usize, usize)>,
    /// Texels alive at each stripe.
    alive: Vec<i64>,
}

impl Blocks {
    fn new(model: &RowDependencies, stripes: &[Stripe]) -> Self {
        let mut blocks: Vec<Block> = model
            .storages
            .iter()
            .map(|info| Block { row_texels: info.row_texels, whole: info.whole, live: vec![None; info.rows as usize] })
            .collect();
        for (number, stripe) in stripes.iter().enumerate() {
            let op = &model.operators[stripe.operator];
            let reads = op.reads.iter().map(|read| (read.storage, read.rows(&stripe.rows)));
            for (storage, rows) in reads.chain([(op.writes, op.written(&stripe.rows))]) {
                for range in &mut blocks[storage].live[rows.start as usize..rows.end as usize] {
                    *range = hull(*range, Some((number, number)));
                }
            }
        }
        let mut change = vec![0; stripes.len() + 1];
        for block in &mut blocks {
            block.live_as_a_whole();
            block.count(&mut change, 1);
        }
        let block_of = (0..blocks.len()).map(|block| (block, 0)).collect();
        Self { blocks, block_of, alive: sums(&change) }
    }

    /// Joins a concatenation with its parts, or a pad with its operand, unless a stripe would then have more than
    /// `most` texels alive.
    fn merge_parts(&mut self, graph: &Graph, schedule: &Schedule, id: NodeId, most: i64) -> Option<()> {
        let node = graph.nodes.get(id)?;
        let place = |tensor: TensorId| Some(self.block_of[schedule.storage_of[tensor]?]);
        let (outer, first) = place(node.output)?;
        let mut change = vec![0; self.alive.len()];
        let mut block = self.blocks[outer].clone();
        block.count(&mut change, -1);
        let mut moved = BTreeMap::new();
        for (&part, SubtensorOffset { row, .. }) in node.inputs.iter().zip(subtensor_offsets(graph, node).ok()?) {
            let (inner, _) = place(part)?;
            self.blocks[inner].count(&mut change, -1);
            block.merge(first + row, &self.blocks[inner]);
            moved.insert(inner, first + row);
        }
        block.count(&mut change, 1);
        let alive: Vec<i64> = self.alive.iter().zip(sums(&change)).map(|(alive, more)| alive + more).collect();
        if alive.iter().any(|&alive| alive > most) {
            return None;
        }
        self.alive = alive;
        self.blocks[outer] = block;
        // Storages that were joined into `inner` earlier move along with it: each is now located by its row in
        // `outer`.
        for of in &mut self.block_of {
            if let Some(first) = moved.get(&of.0) {
                *of = (outer, first + of.1);
            }
        }
        Some(())
    }
}

/// Returns the running sums of the changes.
fn sums(change: &[i64]) -> Vec<i64> {
    let sum = |all: &mut i64, change: &i64| {
        *all += change;
        Some(*all)
    };
    change.iter().scan(0, sum).collect()
}
