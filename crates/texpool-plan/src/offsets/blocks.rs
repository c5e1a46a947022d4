//! Joins tensors to blocks: rectangles of steps and units that their members fill without a gap.
//!
//! A block is placed like a single tensor, and fewer tensors are easier to place well. Nothing says that the smallest
//! arena contains these blocks, so a layout of blocks is one more candidate. Three forms are known:
//!
//! ```text
//! stack      row        pinwheel
//! +-----+    +--+---+   +--+-----+
//! |     |    |  |   |   |  |     |
//! +-----+    |  |   |   |  +--+--+
//! |     |    |  |   |   |  |  |  |
//! +-----+    +--+---+   +--+--+  |
//!                       |     |  |
//!                       +-----+--+
//! ```
//!
//! The pinwheel is the smallest block that no straight cut divides (Arenales and Morabito 1995, first order
//! non-guillotine patterns).

use std::collections::HashMap;

use crate::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Upper limit on compared tensors for each tensor: many that begin or end at the same step are not compared with all
/// others.
const MAX_COMPARED: usize = 64;

/// A tensor or a block.
struct Block {
    from: usize,
    /// One past the last step.
    to: usize,
    size: u64,
    /// Members with their offsets within the block; empty for a tensor.
    members: Vec<(usize, u64)>,
    /// Set if it is not a member of a larger block.
    free: bool,
}

/// Blocks of the tensors of a list.
pub(super) struct Blocks {
    /// The tensors come first, in the order of the records.
    blocks: Vec<Block>,
    by_from: HashMap<usize, Vec<usize>>,
    by_to: HashMap<usize, Vec<usize>>,
}

impl Blocks {
    /// Joins as many tensors as possible; `None` if no two of them form a block.
    pub(super) fn new(records: &[UsageRecord]) -> Option<Self> {
        let mut blocks = Self { blocks: Vec::new(), by_from: HashMap::new(), by_to: HashMap::new() };
        for r in records {
            let (to, free) = (r.last.saturating_add(1), r.size > 0);
            blocks.add(Block { from: r.first, to, size: r.size, members: Vec::new(), free });
        }
        // A pinwheel demands the most coincidences, so it is the least likely to be one by chance.
        while blocks.join(Self::pinwheel) || blocks.join(Self::stack) || blocks.join(Self::row) {}
        (blocks.blocks.len() > records.len()).then_some(blocks)
    }

    /// Returns the blocks that are not members of others, and their records.
    pub(super) fn outermost(&self) -> (Vec<usize>, Vec<UsageRecord>) {
        let is_free = |&index: &usize| self.blocks[index].free;
        let indices: Vec<usize> = (0..self.blocks.len()).filter(is_free).collect();
        let record = |&index: &usize| {
            let Block { from, to, size, .. } = self.blocks[index];
            UsageRecord::new(from, to - 1, size)
        };
        let records = indices.iter().map(record).collect();
        (indices, records)
    }

    /// Converts a layout of the outermost blocks to one of the tensors, of which there are `count`.
    pub(super) fn expand(&self, outermost: &[usize], layout: &Layout, count: usize) -> Layout {
        let mut offsets = vec![0; self.blocks.len()];
        for (&index, place) in outermost.iter().zip(&layout.places) {
            offsets[index] = place.offset;
        }
        // Members were added before their block.
        for (index, block) in self.blocks.iter().enumerate().rev() {
            block.members.iter().for_each(|&(member, offset)| offsets[member] = offsets[index] + offset);
        }
        let places = offsets[..count].iter().map(|&offset| Place { region: 0, offset }).collect();
        Layout { problem: LayoutKind::Offsets, regions: vec![layout.total()], places }
    }

    /// Forms blocks of one kind around each free block. Returns whether there were any.
    fn join(&mut self, form: fn(&Self, usize) -> Option<Block>) -> bool {
        let before = self.blocks.len();
        let mut index = 0;
        while index < self.blocks.len() {
            if self.blocks[index].free
                && let Some(block) = form(self, index)
            {
                block.members.iter().for_each(|&(member, _)| self.remove(member));
                self.add(block);
            }
            index += 1;
        }
        self.blocks.len() > before
    }

    fn add(&mut self, block: Block) {
        if block.free {
            self.by_from.entry(block.from).or_default().push(self.blocks.len());
            self.by_to.entry(block.to).or_default().push(self.blocks.len());
        }
        self.blocks.push(block);
    }

    fn remove(&mut self, index: usize) {
        self.blocks[index].free = false;
        let Block { from, to, .. } = self.blocks[index];
        for list in [self.by_from.get_mut(&from), self.by_to.get_mut(&to)].into_iter().flatten() {
            list.retain(|&other| other != index);
        }
    }

    /// Returns free blocks that begin at `step`.
    fn beginning(&self, step: usize) -> impl Iterator<Item = (usize, &Block)> {
        let indices = self.by_from.get(&step).into_iter().flatten().take(MAX_COMPARED);
        indices.map(|&index| (index, &self.blocks[index]))
    }

    /// Returns free blocks that end before `step`.
    fn ending(&self, step: usize) -> impl Iterator<Item = (usize, &Block)> {
        let indices = self.by_to.get(&step).into_iter().flatten().take(MAX_COMPARED);
        indices.map(|&index| (index, &self.blocks[index]))
    }

    /// Stacks a block and another that is alive at the same steps.
    fn stack(&self, lower: usize) -> Option<Block> {
        let Block { from, to, size, .. } = self.blocks[lower];
        let (upper, above) = self.beginning(from).find(|&(other, b)| other != lower && b.to == to)?;
        Some(Block { from, to, size: size + above.size, members: vec![(lower, 0), (upper, size)], free: true })
    }

    /// Joins a block and another of the same size that begins as it ends.
    fn row(&self, left: usize) -> Option<Block> {
        let Block { from, to, size, .. } = self.blocks[left];
        let (right, next) = self.beginning(to).find(|&(_, b)| b.size == size)?;
        Some(Block { from, to: next.to, size, members: vec![(left, 0), (right, 0)], free: true })
    }

    /// Joins a block and four others around it: left and right, each beside one that lies below or above the centre.
    fn pinwheel(&self, centre: usize) -> Option<Block> {
        let c = &self.blocks[centre];
        for (left, l) in self.ending(c.from).filter(|(_, l)| l.size > c.size) {
            for (top, t) in self.beginning(c.from).filter(|(_, t)| t.size == l.size - c.size && t.to > c.to) {
                for (right, r) in self.beginning(c.to).filter(|(_, r)| r.to == t.to && r.size > c.size) {
                    let below = r.size - c.size;
                    let mut bottoms = self.ending(c.to).filter(|(_, b)| b.from == l.from && b.size == below);
                    if let Some((bottom, _)) = bottoms.next() {
                        return Some(Block {
                            from: l.from,
                            to: r.to,
                            size: below + l.size,
                            members: vec![(bottom, 0), (right, 0), (left, below), (centre, below), (top, r.size)],
                            free: true,
                        });
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SearchControl, check_layout, random::Random};

    fn joined(records: &[UsageRecord]) -> (usize, u64) {
        let blocks = Blocks::new(records).expect("some block");
        let (outermost, joined) = blocks.outermost();
        let layout = super::super::greedy_by_size(&joined, 1, &SearchControl::new()).expect("small sizes");
        let layout = blocks.expand(&outermost, &layout, records.len());
        check_layout(records, &[], &layout).expect("no two tensors overlap");
        (joined.len(), layout.total())
    }

    #[test]
    fn stacks_rows_and_pinwheels_become_one_block() {
        let record = UsageRecord::new;
        assert_eq!(joined(&[record(0, 3, 2), record(0, 3, 5)]), (1, 7));
        assert_eq!(joined(&[record(4, 5, 3), record(0, 3, 3)]), (1, 3));
        let wheel = [record(0, 5, 2), record(6, 8, 7), record(0, 2, 6), record(3, 5, 5), record(3, 8, 1)];
        assert_eq!(joined(&wheel), (1, 8));
        assert!(Blocks::new(&[record(0, 3, 2), record(2, 5, 2)]).is_none());
    }

    #[test]
    fn no_two_tensors_of_random_blocks_overlap() {
        let mut random = Random::new();
        for _ in 0..500 {
            let record = |_| {
                let first = random.below(8);
                UsageRecord::new(first, first + random.below(5), random.below(4) as u64)
            };
            let records: Vec<UsageRecord> = (0..30).map(record).collect();
            assert!(joined(&records).0 < records.len());
        }
    }
}
