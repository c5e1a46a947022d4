//! The phase model: which rows of an operand an operator reads to write one row of its result.
//!
//! Rows are `B * H`: row `r` is image row `r % H` of batch `r / H`. An operator that needs everything says so, and
//! whatever it reads is then complete before it starts. Here stands what operators share; each states its own rows in
//! [`Operator::input_rows`](super::Operator::input_rows).

use std::ops::Range;

use crate::graph::{Graph, Node, Shape};

/// An operand of a node, for which the rows are asked that each row of the result reads.
pub(crate) struct RowMap<'a> {
    pub(super) graph: &'a Graph,
    pub(super) node: &'a Node,
    /// Index of the operand.
    pub(super) operand: usize,
    /// Extents of the operand.
    pub(super) from: Shape,
    /// Extents of the result.
    pub(super) to: Shape,
}

impl RowMap<'_> {
    /// Shape of another operand.
    pub(super) fn shape(&self, operand: usize) -> Option<Shape> {
        self.node.inputs.get(operand).map(|&tensor| self.graph.shape(tensor))
    }

    /// `rows` of the operand's image of the same batch, cut to the image, by the image row of the result.
    pub(super) fn each(&self, rows: impl Fn(usize) -> Range<isize>) -> Vec<Range<u32>> {
        let height = self.from.h as isize;
        let cut = |row: usize| {
            let (b, y) = (row / self.to.h, row % self.to.h);
            let Range { start, end } = rows(y);
            let start = start.clamp(0, height);
            let end = end.clamp(start, height);
            // A single image is repeated for every batch.
            let base = if self.from.b == 1 { 0 } else { b as isize * height };
            (base + start) as u32..(base + end) as u32
        };
        (0..self.to.rows()).map(cut).collect()
    }

    pub(super) fn everything(&self) -> Vec<Range<u32>> {
        vec![0..self.from.rows() as u32; self.to.rows()]
    }

    /// The same row; the only one where the operand is repeated.
    pub(super) fn same(&self) -> Vec<Range<u32>> {
        let repeated = self.from.h == 1;
        self.each(|y| {
            let y = if repeated { 0 } else { y as isize };
            y..y + 1
        })
    }

    /// The rows under a window of so many taps.
    pub(super) fn window(&self, taps: usize, [stride, dilation, above]: [usize; 3]) -> Vec<Range<u32>> {
        // The operator's shape was inferred, which refuses a reach that overflows.
        let reach = taps.saturating_sub(1) * dilation + 1;
        self.each(|y| {
            let top = (y * stride) as isize - above as isize;
            top..top + reach as isize
        })
    }

    /// All rows of what is reduced to one, by the axes that are.
    pub(super) fn reduced(&self, [batch, height, ..]: [bool; 4]) -> Vec<Range<u32>> {
        if batch && self.from.b > 1 {
            return self.everything();
        }
        let rows = self.from.h as isize;
        self.each(|y| if height { 0..rows } else { y as isize..y as isize + 1 })
    }

    /// Units keep their dense order, and a row has `from` of them in the operand and `to` in the result.
    pub(super) fn dense_order(&self, from: usize, to: usize) -> Vec<Range<u32>> {
        let row = |row: usize| (row * to / from) as u32..((row * to + to).div_ceil(from)) as u32;
        (0..self.to.rows()).map(row).collect()
    }

    /// The batch and row that each batch and row of the result reads, if it reads any.
    pub(super) fn mapped(&self, source: impl Fn([usize; 2]) -> Option<[usize; 2]>) -> Vec<Range<u32>> {
        let row = |row: usize| match source([row / self.to.h, row % self.to.h]) {
            Some([b, y]) => {
                let start = (b * self.from.h + y) as u32;
                start..start + 1
            }
            None => 0..0,
        };
        (0..self.to.rows()).map(row).collect()
    }

    /// Batch and row `i` of the result read `first + i * stride`; what lies outside is read nowhere.
    pub(super) fn shifted(&self, first: [isize; 2], stride: [isize; 2]) -> Vec<Range<u32>> {
        let extents = [self.from.b, self.from.h];
        self.mapped(|at| {
            let from = [0, 1].map(|axis| {
                usize::try_from(first[axis] + at[axis] as isize * stride[axis]).ok().filter(|&i| i < extents[axis])
            });
            Some([from[0]?, from[1]?])
        })
    }

    /// `to` rows of the result for every `from` rows of the operand.
    pub(super) fn per_block(&self, to: usize, from: usize) -> Vec<Range<u32>> {
        self.each(|y| {
            let first = (y / to * from) as isize;
            first..first + from as isize
        })
    }
}
