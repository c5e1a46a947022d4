//! Row dependencies: the operand rows that an operator reads to write one row of its result. Tiling is based on
//! these.
//!
//! Rows are numbered over `B * H`: row `r` is image row `r % H` of batch `r / H`. An operator that needs all rows
//! reports all rows, so its operands are complete before it starts. This module contains helpers that operators
//! share; each operator reports its rows in [`Operator::input_rows`](super::Operator::input_rows).

use std::ops::Range;

use crate::graph::{Graph, Node, Shape};

/// An operand of a node, and the context for computing the rows that each row of the result reads.
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
    /// Returns the shape of another operand.
    pub(super) fn shape(&self, operand: usize) -> Option<Shape> {
        self.node.inputs.get(operand).map(|&tensor| self.graph.shape(tensor))
    }

    /// Returns the rows given by `rows` for each image row of the result, within the operand's image of the same
    /// batch and clipped to that image.
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

    /// Returns the same row, or the only row if the operand is repeated.
    pub(super) fn same(&self) -> Vec<Range<u32>> {
        let repeated = self.from.h == 1;
        self.each(|y| {
            let y = if repeated { 0 } else { y as isize };
            y..y + 1
        })
    }

    /// Returns the rows under a window with `taps` taps.
    pub(super) fn window(&self, taps: usize, [stride, dilation, above]: [usize; 3]) -> Vec<Range<u32>> {
        // Shape inference already rejected windows whose reach overflows.
        let reach = taps.saturating_sub(1) * dilation + 1;
        self.each(|y| {
            let top = (y * stride) as isize - above as isize;
            top..top + reach as isize
        })
    }

    /// Returns all rows that are reduced to one, depending on the reduced axes.
    pub(super) fn reduced(&self, [batch, height, ..]: [bool; 4]) -> Vec<Range<u32>> {
        if batch && self.from.b > 1 {
            return self.everything();
        }
        let rows = self.from.h as isize;
        self.each(|y| if height { 0..rows } else { y as isize..y as isize + 1 })
    }

    /// Returns the rows for units that keep their dense order; a row has `from` units in the operand and `to` in the
    /// result.
    pub(super) fn dense_order(&self, from: usize, to: usize) -> Vec<Range<u32>> {
        let row = |row: usize| (row * to / from) as u32..((row * to + to).div_ceil(from)) as u32;
        (0..self.to.rows()).map(row).collect()
    }

    /// Returns the rows given by `source`, which maps batch and row of the result to those of the operand, if any.
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

    /// Returns the rows for batch and row `i` of the result reading `first + i * stride`; positions outside are not
    /// read.
    pub(super) fn shifted(&self, first: [isize; 2], stride: [isize; 2]) -> Vec<Range<u32>> {
        let extents = [self.from.b, self.from.h];
        self.mapped(|at| {
            let from = [0, 1].map(|axis| {
                usize::try_from(first[axis] + at[axis] as isize * stride[axis]).ok().filter(|&i| i < extents[axis])
            });
            Some([from[0]?, from[1]?])
        })
    }

    /// Returns the rows if every `from` rows of the operand give `to` rows of the result.
    pub(super) fn per_block(&self, to: usize, from: usize) -> Vec<Range<u32>> {
        self.each(|y| {
            let first = (y / to * from) as isize;
            first..first + from as isize
        })
    }
}
