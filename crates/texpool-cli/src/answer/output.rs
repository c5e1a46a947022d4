//! Outputs of a network, and the reasons why they cannot be decoded.

/// An output of a network.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its extents.
    pub dims: &'a [usize],
    /// Its values in dense row-major order.
    pub values: &'a [f32],
}

/// Reasons why outputs have no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The outputs have other extents than the decoding is for.
    #[error("the catalogue's decoding is for {expected}, and the outputs are {found}")]
    Extents {
        /// Extents that the decoding expects.
        expected: String,
        /// The extents that the outputs have.
        found: String,
    },
    /// Values are NaN or infinite.
    #[error("output `{name}` has values that are not finite")]
    NotFinite {
        /// Name of the first such output.
        name: String,
    },
    /// There are as many names as another network has classes.
    #[error("there are {names} labels for {classes} classes")]
    Labels {
        /// Number of names.
        names: usize,
        /// Number of classes.
        classes: usize,
    },
}

impl DecodeError {
    /// Creates the error for outputs with other extents.
    pub(super) fn extents(expected: impl Into<String>, outputs: &[Output<'_>]) -> Self {
        let dims: Vec<String> = outputs.iter().map(|output| format!("{:?}", output.dims)).collect();
        Self::Extents { expected: expected.into(), found: dims.join(", ") }
    }
}

/// A batch's first picture of a planar output: `[N, channels, height, width]`.
pub(super) struct Planes<'a> {
    values: &'a [f32],
    pub(super) height: usize,
    pub(super) width: usize,
}

impl<'a> Planes<'a> {
    /// Returns the planes of an output with this number of channels.
    pub(super) fn of(output: Output<'a>, channels: usize) -> Option<Self> {
        let &[batch, planes, height, width] = output.dims else { return None };
        let fits = batch > 0 && planes == channels && output.values.len() >= planes * height * width;
        fits.then_some(Self { values: output.values, height, width })
    }

    /// Returns a value.
    pub(super) fn at(&self, channel: usize, y: usize, x: usize) -> f32 {
        self.values[(channel * self.height + y) * self.width + x]
    }

    /// Returns every place, row by row.
    pub(super) fn places(&self) -> impl Iterator<Item = [usize; 2]> {
        let width = self.width;
        (0..self.height).flat_map(move |y| (0..width).map(move |x| [x, y]))
    }
}

/// The logistic function.
pub(super) fn sigmoid(value: f32) -> f32 {
    // Limited as MediaPipe does, so that the power stays finite.
    1.0 / (1.0 + (-value.clamp(-100.0, 100.0)).exp())
}

/// Converts values to probabilities by softmax.
pub(super) fn softmax(values: &[f32]) -> Vec<f32> {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = values.iter().map(|value| (value - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Returns the index of the largest value, the first of equals; 0 for none.
pub(super) fn largest(values: impl IntoIterator<Item = f32>) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (index, value) in values.into_iter().enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}
