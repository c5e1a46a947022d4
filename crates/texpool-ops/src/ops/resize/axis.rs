//! Maps an output pixel of a resize to its position in the input and to the input pixels it depends on, one axis at a
//! time.
//!
//! Positions are computed in 32 bits, in the same order as in ONNX Runtime. If a position is a whole number or
//! halfway between two, a different rounding would select a different pixel.

use super::{CoordMode, Resize, ResizeMode, Rounding};

/// The input pixels of an output pixel: `weights[j]` of pixel `first + j`, clamped to the image.
///
/// ```
/// use texpool::graph::Taps;
///
/// let taps = Taps { first: -1, weights: [0.25, 0.75, 0.0, 0.0] };
/// // The pixel left of the image repeats its first one.
/// assert_eq!((taps.pixel(0, 8), taps.pixel(1, 8)), (0, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taps {
    /// First pixel; this and the following pixels may be outside the image.
    pub first: isize,
    /// Weights of the pixels; zero for pixels without influence.
    pub weights: [f32; 4],
}

impl Taps {
    /// Returns the pixel of tap `tap`, clamped to an image of `extent`.
    pub fn pixel(&self, tap: usize, extent: usize) -> usize {
        (self.first + tap as isize).clamp(0, extent as isize - 1).unsigned_abs()
    }
}

/// Distance from the middle between two pixels within which a position counts as the middle, because 32-bit positions
/// rarely meet it exactly. Measured with ONNX Runtime 1.32: it treats positions up to 7.2e-7 away as the middle, but
/// no position that is 1.01e-6 or more away.
const TIE: f32 = 1e-6;

/// A resize along one axis.
///
/// ```
/// use texpool::graph::{CoordMode, Resize, ResizeAxis, ResizeMode, Taps};
///
/// let resize = Resize { mode: ResizeMode::Linear, coords: CoordMode::AlignCorners, scale: None };
/// let height = ResizeAxis::new(&resize, 0, 3, 5);
/// assert_eq!(height.taps(), 2);
/// assert_eq!(height.at(3), Some(Taps { first: 1, weights: [0.5, 0.5, 0.0, 0.0] }));
/// ```
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
    /// Sum of the weights of a resize of integers.
    pub(super) const PARTS: f32 = 1024.0;

    /// Creates the resize along height (`axis` 0) or width (1), from `from` to `to` pixels.
    pub fn new(resize: &Resize, axis: usize, from: usize, to: usize) -> Self {
        let Resize { mode, coords, scale } = *resize;
        let scale = scale.map_or(to as f32 / from as f32, |scale| scale[axis]);
        Self { mode, coords, axis, from, to, scale }
    }

    /// Returns the number of taps per output pixel.
    pub const fn taps(&self) -> usize {
        match self.mode {
            ResizeMode::Nearest(_) => 1,
            ResizeMode::Linear | ResizeMode::LinearInteger => 2,
            ResizeMode::Cubic { .. } => 4,
        }
    }

    /// Returns the taps of output pixel `i`, or `None` if it is outside the image and extrapolated.
    pub fn at(&self, i: usize) -> Option<Taps> {
        let mut position = self.position(i as f32)?;
        let last = self.from as f32 - 1.0;
        if self.taps() == 2 {
            position = position.clamp(0.0, last);
        }
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
            ResizeMode::Linear | ResizeMode::LinearInteger => {
                let (whole, part) = match self.mode {
                    ResizeMode::LinearInteger => (Self::PARTS, (part * Self::PARTS).floor()),
                    _ => (1.0, part),
                };
                // ONNX Runtime takes the last pixel twice, which rounds other sums than taking it once.
                let pair = if floor == last { [whole / 2.0; 2] } else { [whole - part, part] };
                weights[..2].copy_from_slice(&pair);
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
        // Pixels far outside are clamped to the border anyway, so a tighter range changes nothing and fits 32 bits.
        Some(Taps { first: (first.clamp(-4.0, self.from as f32 + 4.0)) as isize, weights })
    }

    /// Returns the position of output pixel `i` in the input, or `None` if it is extrapolated.
    fn position(&self, i: f32) -> Option<f32> {
        let (scale, from, to) = (self.scale, self.from as f32, self.to as f32);
        // An axis with scale 1 is neither resized nor cropped.
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
                // Computed in 64 bits and rounded once.
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

/// Returns the weights of Keys's cubic convolution at the distances `1 + t`, `t`, `1 - t` and `2 - t`.
fn cubic(a: f64, t: f64) -> [f64; 4] {
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}
