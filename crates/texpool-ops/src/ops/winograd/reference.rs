//! CPU references of Winograd's transforms, by their matrices.

use super::{WinogradInput, WinogradOutput, WinogradTile};
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each, inside},
};

/// Rows of the matrix `B^T`, which transforms the pixels that a tile reads.
const fn input_matrix(tile: WinogradTile) -> &'static [&'static [f32]] {
    match tile {
        WinogradTile::Two => {
            &[&[1.0, 0.0, -1.0, 0.0], &[0.0, 1.0, 1.0, 0.0], &[0.0, -1.0, 1.0, 0.0], &[0.0, 1.0, 0.0, -1.0]]
        }
        WinogradTile::Four => &[
            &[4.0, 0.0, -5.0, 0.0, 1.0, 0.0],
            &[0.0, -4.0, -4.0, 1.0, 1.0, 0.0],
            &[0.0, 4.0, -4.0, -1.0, 1.0, 0.0],
            &[0.0, -2.0, -1.0, 2.0, 1.0, 0.0],
            &[0.0, 2.0, -1.0, -2.0, 1.0, 0.0],
            &[0.0, 4.0, 0.0, -5.0, 0.0, 1.0],
        ],
    }
}

/// Rows of the matrix `A^T`, which transforms products.
const fn output_matrix(tile: WinogradTile) -> &'static [&'static [f32]] {
    match tile {
        WinogradTile::Two => &[&[1.0, 1.0, 1.0, 0.0], &[0.0, 1.0, -1.0, -1.0]],
        WinogradTile::Four => &[
            &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
            &[0.0, 1.0, -1.0, 2.0, -2.0, 0.0],
            &[0.0, 1.0, 1.0, 4.0, 4.0, 0.0],
            &[0.0, 1.0, -1.0, 8.0, -8.0, 1.0],
        ],
    }
}

/// Returns the element of `M v M^T` that rows `row` and `column` of `M` give. Terms whose factor is zero are skipped.
fn transformed(row: &[f32], column: &[f32], v: impl Fn(usize, usize) -> f32) -> f32 {
    let mut sum = 0.0;
    for (i, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
        for (j, b) in column.iter().enumerate().filter(|(_, b)| **b != 0.0) {
            sum += a * b * v(i, j);
        }
    }
    sum
}

impl Reference for WinogradInput {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let (matrix, pixels) = (input_matrix(self.tile), self.tile.pixels());
        Ok(each(out, |[b, h, w, c]| {
            let (product, channel) = (c / x.shape.c, c % x.shape.c);
            let pixel = |i: usize, j: usize| {
                let y = inside(h * pixels, i, self.padding.top, x.shape.h);
                let column = inside(w * pixels, j, self.padding.left, x.shape.w);
                y.zip(column).map_or(0.0, |(y, column)| x.at([b, y, column, channel]))
            };
            transformed(matrix[product / matrix.len()], matrix[product % matrix.len()], pixel)
        }))
    }
}

impl Reference for WinogradOutput {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let (matrix, pixels, edge) = (output_matrix(self.tile), self.tile.pixels(), self.tile.edge());
        Ok(each(out, |[b, h, w, c]| {
            let product = |i: usize, j: usize| x.at([b, h / pixels, w / pixels, (i * edge + j) * out.c + c]);
            transformed(matrix[h % pixels], matrix[w % pixels], product)
        }))
    }
}
