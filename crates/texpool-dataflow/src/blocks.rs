//! The blocks of a graph: sets of channels such that no undirected cycle has channels of two sets.
//!
//! Actors that wait for each other form a cycle, and a cycle lies within one block. So a graph completes its
//! iteration if each block completes its iteration separately, and the least capacities of a block do not depend on
//! other blocks.

use super::Csdf;

/// Returns the channels of each block, ordered by its first channel. A loop is a separate block.
pub(super) fn blocks(csdf: &Csdf) -> Vec<Vec<usize>> {
    let mut touching = vec![Vec::new(); csdf.actors.len()];
    let mut blocks = Vec::new();
    for (index, channel) in csdf.channels.iter().enumerate() {
        if channel.is_loop() {
            blocks.push(vec![index]);
        } else {
            touching[channel.from].push(index);
            touching[channel.to].push(index);
        }
    }
    let mut walk = Walk { csdf, touching, depth: vec![0; csdf.actors.len()], low: vec![0; csdf.actors.len()], blocks };
    for actor in 0..csdf.actors.len() {
        if walk.depth[actor] == 0 {
            walk.from(actor);
        }
    }
    for block in &mut walk.blocks {
        block.sort_unstable();
    }
    walk.blocks.sort_unstable();
    walk.blocks
}

/// A depth-first walk: a block is complete when a subtree reaches no actor above its root (Hopcroft and Tarjan 1973).
struct Walk<'a> {
    csdf: &'a Csdf,
    touching: Vec<Vec<usize>>,
    depth: Vec<usize>,
    low: Vec<usize>,
    blocks: Vec<Vec<usize>>,
}

/// An actor on the current path: the channel that led to it, the next channel to visit, and the number of channels
/// that were open before it.
struct Visit {
    actor: usize,
    by: Option<usize>,
    next: usize,
    before: usize,
}

impl Walk<'_> {
    fn from(&mut self, root: usize) {
        let mut open: Vec<usize> = Vec::new();
        // Uses an explicit stack, because recursion would go as deep as the network is long.
        let mut path = vec![Visit { actor: root, by: None, next: 0, before: 0 }];
        (self.depth[root], self.low[root]) = (1, 1);
        while let Some(visit) = path.last_mut() {
            let actor = visit.actor;
            if let Some(&channel) = self.touching[actor].get(visit.next) {
                visit.next += 1;
                // Skips only the channel that led here: a second channel between the same two actors closes a cycle.
                if visit.by == Some(channel) {
                    continue;
                }
                let ends = &self.csdf.channels[channel];
                let other = if ends.from == actor { ends.to } else { ends.from };
                if self.depth[other] == 0 {
                    // Depths start at 1, since 0 means that an actor was not visited yet.
                    let depth = path.len() + 1;
                    (self.depth[other], self.low[other]) = (depth, depth);
                    path.push(Visit { actor: other, by: Some(channel), next: 0, before: open.len() });
                    open.push(channel);
                // Channels to actors further down were visited from there.
                } else if self.depth[other] < self.depth[actor] {
                    open.push(channel);
                    self.low[actor] = self.low[actor].min(self.depth[other]);
                }
                continue;
            }
            let before = visit.before;
            path.pop();
            if let Some(above) = path.last().map(|visit| visit.actor) {
                self.low[above] = self.low[above].min(self.low[actor]);
                if self.low[actor] >= self.depth[above] {
                    // Blocks further down were split off earlier, so the remaining channels belong to this one.
                    self.blocks.push(open.split_off(before));
                }
            }
        }
    }
}
