//! Discrete Fourier transforms as products with a matrix of sines and cosines. A transform of n values takes n times n
//! products, which a GPU does faster than the many small steps of a fast transform as long as n is a thousand.

use std::f64::consts::TAU;

/// A transform of `points` values to some of its `bins`.
#[derive(Clone, Copy)]
pub(in crate::import) struct Transform {
    pub(in crate::import) points: usize,
    pub(in crate::import) bins: usize,
    inverse: bool,
}

impl Transform {
    pub(in crate::import) fn new(points: usize, one_sided: bool, inverse: bool) -> Self {
        Self { points, bins: if one_sided { points / 2 + 1 } else { points }, inverse }
    }

    /// Returns the factors of one value in one bin: row `from` is the real or imaginary part of the value, column `to`
    /// that of the bin.
    pub(in crate::import) fn factors(self, value: usize, bin: usize) -> [[f64; 2]; 2] {
        let waves = self.waves(value, bin);
        if self.inverse { waves.map(|row| row.map(|factor| factor / self.points as f64)) } else { waves }
    }

    pub(in crate::import) fn is_inverse(self) -> bool {
        self.inverse
    }

    /// Returns the factors of a value in a bin for a sum that is not divided by the number of points.
    pub(in crate::import) fn waves(self, value: usize, bin: usize) -> [[f64; 2]; 2] {
        // Reduced as whole numbers first, so that large products lose no digits.
        let turns = (value as u128 * bin as u128 % self.points as u128) as f64 / self.points as f64;
        let (sin, cos) = (TAU * turns).sin_cos();
        match self.inverse {
            false => [[cos, -sin], [sin, cos]],
            true => [[cos, sin], [-sin, cos]],
        }
    }
}
