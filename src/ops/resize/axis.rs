//! Resizes: where an output pixel lies in the input, and which input pixels it is made of. Knows one axis at a time.

use super::{CoordMode, Resize, ResizeMode, Rounding};

/// The input pixels that an output pixel is made of: `weights[j]` of pixel `first + j`, held inside the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taps {
    /// First pixel; it may lie outside, as may those that follow.
    pub first: isize,
    /// Parts of the pixels; those of no part are zero.
    pub weights: [f32; 4],
}

impl Taps {
    /// The pixel of tap `tap` in an image of `extent`.
    pub fn pixel(&self, tap: usize, extent: usize) -> usize {
        (self.first + tap as isize).clamp(0, extent as isize - 1).unsigned_abs()
    }
}

/// A resize along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResizeAxis {
    mode: ResizeMode,
    coords: CoordMode,
    /// 0 for height, 1 for width.
    axis: usize,
    from: usize,
    to: usize,
    scale: f64,
}

impl ResizeAxis {
    /// The resize along height (`axis` 0) or width (1), from so many pixels to so many.
    pub fn new(resize: &Resize, axis: usize, from: usize, to: usize) -> Self {
        let Resize { mode, coords, scale } = *resize;
        let scale = scale.map_or(to as f64 / from as f64, |scale| f64::from(scale[axis]));
        Self { mode, coords, axis, from, to, scale }
    }

    /// How many taps an output pixel has.
    pub const fn taps(&self) -> usize {
        match self.mode {
            ResizeMode::Nearest(_) => 1,
            ResizeMode::Linear => 2,
            ResizeMode::Cubic { .. } => 4,
        }
    }

    /// What output pixel `i` is made of; `None` where it lies outside the image and is extrapolated.
    pub fn at(&self, i: usize) -> Option<Taps> {
        let position = self.position(i as f64)?;
        let floor = position.floor();
        let part = position - floor;
        let mut weights = [0.0; 4];
        let first = match self.mode {
            ResizeMode::Nearest(rounding) => {
                weights[0] = 1.0;
                match rounding {
                    Rounding::Floor => floor,
                    Rounding::Ceil => position.ceil(),
                    Rounding::PreferFloor if part <= 0.5 => floor,
                    Rounding::PreferCeil if part < 0.5 => floor,
                    Rounding::PreferFloor | Rounding::PreferCeil => floor + 1.0,
                }
            }
            ResizeMode::Linear => {
                weights[..2].copy_from_slice(&[(1.0 - part) as f32, part as f32]);
                floor
            }
            ResizeMode::Cubic { a, exclude_outside } => {
                let mut parts = cubic(f64::from(a), part);
                if exclude_outside {
                    for (tap, weight) in parts.iter_mut().enumerate() {
                        let pixel = floor - 1.0 + tap as f64;
                        if pixel < 0.0 || pixel >= self.from as f64 {
                            *weight = 0.0;
                        }
                    }
                    let sum: f64 = parts.iter().sum();
                    parts = parts.map(|weight| weight / sum);
                }
                weights = parts.map(|weight| weight as f32);
                floor - 1.0
            }
        };
        // However far outside, the pixel is the border's, so holding it nearer changes nothing and fits 32 bits.
        Some(Taps { first: (first.clamp(-4.0, self.from as f64 + 4.0)) as isize, weights })
    }

    /// Where output pixel `i` lies; `None` where it is extrapolated.
    fn position(&self, i: f64) -> Option<f64> {
        let from = self.from as f64;
        let to = self.scale * from;
        let half_pixel = (i + 0.5) / self.scale - 0.5;
        let position = match self.coords {
            CoordMode::Asymmetric => i / self.scale,
            CoordMode::HalfPixel => half_pixel,
            CoordMode::PytorchHalfPixel if self.to == 1 => 0.0,
            CoordMode::PytorchHalfPixel => half_pixel,
            // The formula would divide by zero.
            CoordMode::AlignCorners if to == 1.0 => 0.0,
            CoordMode::AlignCorners => i * (from - 1.0) / (to - 1.0),
            CoordMode::HalfPixelSymmetric => from / 2.0 * (1.0 - self.to as f64 / to) + half_pixel,
            CoordMode::TfCropAndResize { start, end, .. } => {
                let (start, end) = (f64::from(start[self.axis]), f64::from(end[self.axis]));
                let along = if to == 1.0 { (from - 1.0) / 2.0 } else { i * (from - 1.0) / (to - 1.0) };
                let position = start * (from - 1.0) + (end - start) * along;
                return (0.0..=from - 1.0).contains(&position).then_some(position);
            }
        };
        Some(position)
    }
}

/// Keys's cubic convolution at the distances `1 + t`, `t`, `1 - t` and `2 - t`.
fn cubic(a: f64, t: f64) -> [f64; 4] {
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}
