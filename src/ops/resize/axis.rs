//! Resizes: where an output pixel lies in the input, and which input pixels it is made of. Knows one axis at a time.
//!
//! Positions are computed in 32 bits, in the order in which ONNX Runtime does: where a position is a whole number or the
//! middle between two, another rounding would take another pixel.

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

/// How far from the middle between two pixels a position still counts as the middle: 32 bits seldom meet it. Measured of
/// ONNX Runtime 1.32, which takes positions up to 7.2e-7 from it so, and none from 1.01e-6 on.
const TIE: f32 = 1e-6;

/// A resize along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResizeAxis {
    mode: ResizeMode,
    coords: CoordMode,
    /// 0 for height, 1 for width.
    axis: usize,
    from: usize,
    to: usize,
    scale: f32,
}

impl ResizeAxis {
    /// The resize along height (`axis` 0) or width (1), from so many pixels to so many.
    pub fn new(resize: &Resize, axis: usize, from: usize, to: usize) -> Self {
        let Resize { mode, coords, scale } = *resize;
        let scale = scale.map_or(to as f32 / from as f32, |scale| scale[axis]);
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
        let position = self.position(i as f32)?;
        let floor = position.floor();
        let part = position - floor;
        let mut weights = [0.0; 4];
        let first = match self.mode {
            ResizeMode::Nearest(rounding) => {
                weights[0] = 1.0;
                match rounding {
                    Rounding::Floor => floor,
                    Rounding::Ceil => position.ceil(),
                    Rounding::PreferFloor if part <= 0.5 + TIE => floor,
                    Rounding::PreferCeil if part < 0.5 - TIE => floor,
                    Rounding::PreferFloor | Rounding::PreferCeil => floor + 1.0,
                }
            }
            ResizeMode::Linear => {
                weights[..2].copy_from_slice(&[1.0 - part, part]);
                floor
            }
            ResizeMode::Cubic { a, exclude_outside } => {
                let mut parts = cubic(f64::from(a), f64::from(part));
                if exclude_outside {
                    for (tap, weight) in parts.iter_mut().enumerate() {
                        let pixel = floor - 1.0 + tap as f32;
                        if pixel < 0.0 || pixel >= self.from as f32 {
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
        Some(Taps { first: (first.clamp(-4.0, self.from as f32 + 4.0)) as isize, weights })
    }

    /// Where output pixel `i` lies; `None` where it is extrapolated.
    fn position(&self, i: f32) -> Option<f32> {
        let (scale, from, to) = (self.scale, self.from as f32, self.to as f32);
        // An axis of scale 1 is not resized, not even cropped.
        if scale == 1.0 {
            return Some(i);
        }
        let half_pixel = (i + 0.5) / scale - 0.5;
        let position = match self.coords {
            CoordMode::Asymmetric => i / scale,
            CoordMode::HalfPixel => half_pixel,
            CoordMode::PytorchHalfPixel if self.to == 1 => 0.0,
            CoordMode::PytorchHalfPixel => half_pixel,
            // The formula would divide by zero.
            CoordMode::AlignCorners if self.to == 1 => 0.0,
            CoordMode::AlignCorners => i * (from - 1.0) / (to - 1.0),
            CoordMode::HalfPixelSymmetric => {
                let offset = from / 2.0 * (1.0 - to / (scale * from));
                // Summed in 64 bits and rounded once.
                (f64::from(offset) + (f64::from(i) + 0.5) / f64::from(scale) - 0.5) as f32
            }
            CoordMode::TfCropAndResize { start, end, .. } => {
                let (start, end) = (start[self.axis], end[self.axis]);
                let position = if self.to == 1 {
                    (0.5 * f64::from(start + end) * f64::from(from - 1.0)) as f32
                } else {
                    start * (from - 1.0) + i * (end - start) * (from - 1.0) / (to - 1.0)
                };
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
