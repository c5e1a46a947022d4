//! CPU reference of normalization over axes.

use super::{Normalize, Statistic};
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each},
};

impl Reference for Normalize {
    /// Divides `x`, or its distance from the mean, by the root of its statistic.
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let Normalize { axes, statistic, scale, epsilon, offset, least } = *self;
        let [scale, epsilon, offset, least] = [scale, epsilon, offset, least].map(f64::from);
        let kept = |index: [usize; 4]| std::array::from_fn::<_, 4, _>(|axis| if axes[axis] { 0 } else { index[axis] });
        let extents = x.shape.dims();
        let group: Shape = std::array::from_fn(|axis| if axes[axis] { 1 } else { extents[axis] }).into();
        let count = (x.shape.len() / group.len()) as f64;
        let place = |index| {
            let [b, h, w, c] = kept(index);
            group.index(b, h, w, c)
        };
        // `each` only serves as a loop here; the zeros that it collects are dropped.
        let mut sums = vec![0.0; group.len()];
        let mut squares = vec![0.0; group.len()];
        if statistic == Statistic::Variance {
            each(x.shape, |index| {
                sums[place(index)] += f64::from(x.at(index));
                0.0
            });
        }
        // Sums squared distances like the kernel, because subtracting the squared mean from the mean square would
        // cancel.
        each(x.shape, |index| {
            squares[place(index)] += (f64::from(x.at(index)) - sums[place(index)] / count).powi(2);
            0.0
        });
        Ok(each(x.shape, |index| {
            let mean = sums[place(index)] / count;
            let measured = match statistic {
                Statistic::Variance | Statistic::MeanSquare => squares[place(index)] / count,
                Statistic::SumSquare => squares[place(index)],
            };
            let root = (scale * measured + epsilon).sqrt() + offset;
            // `f64::max` would drop NaN.
            let divisor = if root < least { least } else { root };
            ((f64::from(x.at(index)) - mean) / divisor) as f32
        }))
    }
}
