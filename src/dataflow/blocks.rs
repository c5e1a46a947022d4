//! The blocks of a graph: sets of channels that share no undirected cycle with any other set.
//!
//! Actors that wait for one another do so in a circle, and a circle lies in one block. So a graph whose blocks end their
//! iterations each by itself ends its own, and the least capacities of a block are its own affair.

use super::Csdf;

/// The channels of each block, in order of their first; a loop is a block alone.
pub(super) fn blocks(csdf: &Csdf) -> Vec<Vec<usize>> {
    let mut touching = vec![Vec::new(); csdf.actors.len()];
    let mut found = Vec::new();
    for (index, channel) in csdf.channels.iter().enumerate() {
        if channel.is_loop() {
            found.push(vec![index]);
        } else {
            touching[channel.from].push(index);
            touching[channel.to].push(index);
        }
    }
    let mut walk = Walk { csdf, touching, depth: vec![0; csdf.actors.len()], low: vec![0; csdf.actors.len()], found };
    for actor in 0..csdf.actors.len() {
        if walk.depth[actor] == 0 {
            walk.from(actor);
        }
    }
    for block in &mut walk.found {
        block.sort_unstable();
    }
    walk.found.sort_unstable();
    walk.found
}

/// A depth-first walk: where a subtree reaches no higher than its root, a block ends (Hopcroft and Tarjan 1973).
struct Walk<'a> {
    csdf: &'a Csdf,
    touching: Vec<Vec<usize>>,
    depth: Vec<usize>,
    low: Vec<usize>,
    found: Vec<Vec<usize>>,
}

/// An actor on the way down: the channel it was reached by, channels looked at, channels found before it.
struct Visit {
    actor: usize,
    by: Option<usize>,
    next: usize,
    before: usize,
}

impl Walk<'_> {
    fn from(&mut self, root: usize) {
        let mut open: Vec<usize> = Vec::new();
        // A stack of its own instead of recursion, which would go as deep as the network is long.
        let mut path = vec![Visit { actor: root, by: None, next: 0, before: 0 }];
        (self.depth[root], self.low[root]) = (1, 1);
        while let Some(visit) = path.last_mut() {
            let actor = visit.actor;
            if let Some(&channel) = self.touching[actor].get(visit.next) {
                visit.next += 1;
                // Only the channel that led here is passed over: another one between the same two actors closes a
                // circle.
                if visit.by == Some(channel) {
                    continue;
                }
                let ends = &self.csdf.channels[channel];
                let other = if ends.from == actor { ends.to } else { ends.from };
                if self.depth[other] == 0 {
                    // Depths count from one, since zero says that an actor was not visited yet.
                    let depth = path.len() + 1;
                    (self.depth[other], self.low[other]) = (depth, depth);
                    path.push(Visit { actor: other, by: Some(channel), next: 0, before: open.len() });
                    open.push(channel);
                // Channels to actors further down were looked at from there.
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
                    // Blocks further down were split off before, so what is left since then belongs to this one.
                    self.found.push(open.split_off(before));
                }
            }
        }
    }
}
