//! Winograd's transforms, between which a 3 by 3 convolution is a product per tile (Lavin and Gray, "Fast Algorithms
//! for Convolutional Neural Networks", 2015, arXiv:1509.09308).
//!
//! The image is cut into tiles of `m` by `m` pixels of the result. With `d` for the `m + 2` by `m + 2` pixels that a
//! tile reads and `g` for the weights, the result is `A^T [(G g G^T) * (B^T d B)] A`, where `*` multiplies element by
//! element and sums over the channels. [`WinogradInput`] computes `B^T d B`, a convolution with `(m + 2)^2` groups
//! computes the products, and [`WinogradOutput`] multiplies by `A`. The weights `G g G^T` are constants
//! ([`WinogradTile::weights`]). `rewrite` replaces convolutions by these three nodes if the rule `winograd` is on.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{multiple, only, same, times},
    window::slide,
};
use crate::graph::{Padding, Shape};

/// Size of the tiles of Winograd's algorithm.
///
/// ```
/// use texpool::graph::WinogradTile;
///
/// // Multiplications for a tile, where a direct convolution needs nine for each pixel.
/// assert_eq!(WinogradTile::Two.products(), 16);
/// assert_eq!((WinogradTile::Four.pixels(), WinogradTile::Four.products()), (4, 36));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WinogradTile {
    /// F(2x2, 3x3): 4 multiplications for each pixel of the result instead of 9, and 16/9 of the weights.
    Two,
    /// F(4x4, 3x3): 2.25 multiplications for each pixel of the result, and 4 times the weights. Results differ from a
    /// direct convolution's by about ten times as much as with [`Two`](Self::Two).
    Four,
}

impl WinogradTile {
    /// Height and width of a tile of the result, in pixels.
    pub const fn pixels(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Height and width of the pixels that a tile reads.
    const fn edge(self) -> usize {
        self.pixels() + 2
    }

    /// Number of products of a tile, for each channel.
    pub const fn products(self) -> usize {
        self.edge() * self.edge()
    }

    /// Rows of the matrix `G`, which transforms weights.
    const fn weight_matrix(self) -> &'static [[f64; 3]] {
        match self {
            Self::Two => &[[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]],
            Self::Four => &[
                [1.0 / 4.0, 0.0, 0.0],
                [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
                [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
                [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
                [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
                [0.0, 0.0, 1.0],
            ],
        }
    }

    /// Returns `G g G^T` for the nine weights `g` of one input and output channel, row by row.
    ///
    /// ```
    /// use texpool::graph::WinogradTile;
    ///
    /// // A window whose only weight is in the middle.
    /// let mut identity = [0.0; 9];
    /// identity[4] = 1.0;
    /// let weights = WinogradTile::Two.weights(identity);
    /// assert_eq!(weights[..6], [0.0, 0.0, 0.0, 0.0, 0.0, 0.25]);
    /// ```
    pub fn weights(self, g: [f32; 9]) -> Vec<f32> {
        let matrix = self.weight_matrix();
        let dot = |row: &[f64; 3], column: [f64; 3]| row.iter().zip(column).map(|(a, b)| a * b).sum::<f64>();
        let columns = [0, 1, 2].map(|column| [g[column], g[3 + column], g[6 + column]].map(f64::from));
        let rows = matrix.iter().map(|row| columns.map(|column| dot(row, column)));
        rows.flat_map(|row| matrix.iter().map(move |column| dot(column, row) as f32)).collect()
    }

    /// Product that contributes to each pixel of a tile with a factor of one, so that a bias added to it is added to
    /// all of them.
    pub const fn bias_product(self) -> usize {
        self.edge() + 1
    }
}

/// Transforms the input of a 3 by 3 convolution of stride 1: `x [B, H, W, C]` becomes `[B, TH, TW, products * C]`, with a
/// pixel for each tile and the channels of the products one after another. `C` is a multiple of four.
///
/// ```
/// use texpool::graph::{Padding, Shape, WinogradInput, WinogradTile, infer};
///
/// let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
/// let op = WinogradInput { tile: WinogradTile::Two, padding };
/// let x = Shape::new(1, 55, 56, 16);
/// assert_eq!(infer(&op.into(), &[x], x)?, Shape::new(1, 28, 28, 256));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WinogradInput {
    /// Size of the tiles.
    pub tile: WinogradTile,
    /// Zeros around the convolution's input.
    pub padding: Padding,
}

impl OpSchema for WinogradInput {
    fn name(&self) -> &'static str {
        "WINOGRAD_INPUT"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        multiple("channels", x.c, 4)?;
        let tiles = |extent: usize| extent.div_ceil(self.tile.pixels());
        let [h, w] = slide(x, [3, 3], [1, 1], [1, 1], self.padding)?.map(tiles);
        Ok(Shape { h, w, c: times(x.c, self.tile.products())?, ..x })
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}

/// Transforms the products of tiles to the result of a 3 by 3 convolution: `[B, TH, TW, products * C]` becomes
/// `[B, H, W, C]`. `H` and `W` are stated, since the last tiles may extend beyond the image. `C` is a multiple of four.
///
/// ```
/// use texpool::graph::{Shape, WinogradOutput, WinogradTile, infer};
///
/// let op = WinogradOutput { tile: WinogradTile::Two };
/// let (products, y) = (Shape::new(1, 28, 28, 256), Shape::new(1, 55, 56, 16));
/// assert_eq!(infer(&op.into(), &[products], y)?, y);
/// let error = infer(&op.into(), &[products], Shape::new(1, 54, 56, 16)).unwrap_err();
/// assert_eq!(error.to_string(), "rows of tiles: expected 27, found 28");
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WinogradOutput {
    /// Size of the tiles.
    pub tile: WinogradTile,
}

impl OpSchema for WinogradOutput {
    fn name(&self) -> &'static str {
        "WINOGRAD_OUTPUT"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        multiple("channels", stated.c, 4)?;
        same("channels of the products", times(stated.c, self.tile.products())?, x.c)?;
        same("batches", stated.b, x.b)?;
        same("rows of tiles", stated.h.div_ceil(self.tile.pixels()), x.h)?;
        same("columns of tiles", stated.w.div_ceil(self.tile.pixels()), x.w)?;
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
