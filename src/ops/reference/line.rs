//! Operators that look along axes and keep them: selections, normalizations, running sums.

use super::view::{View, each};
use crate::graph::Shape;

/// The `k` greatest or least channels of each pixel in order; their values, or their numbers.
pub(crate) fn top_k(x: &View<'_>, k: usize, largest: bool, indices: bool) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.data.len());
    for pixel in x.data.chunks(x.shape.c.max(1)) {
        let mut order: Vec<usize> = (0..pixel.len()).collect();
        // The sort is stable, so equal ones stay in the order of their channels.
        order.sort_by(|&a, &b| {
            let (a, b) = if largest { (b, a) } else { (a, b) };
            // Both zeros are one, and NaN of either sign is above all.
            let [a, b] = [pixel[a], pixel[b]].map(|x| if x.is_nan() { f32::NAN } else { x + 0.0 });
            a.total_cmp(&b)
        });
        values.extend(order.iter().take(k).map(|&c| if indices { c as f32 } else { pixel[c] }));
    }
    values
}

/// `x / (bias + alpha / size * sum of squares)^beta` over a window of channels.
pub(crate) fn lrn(x: &View<'_>, size: usize, [alpha, beta, bias]: [f32; 3]) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.data.len());
    for pixel in x.data.chunks(x.shape.c.max(1)) {
        for (c, &value) in pixel.iter().enumerate() {
            let first = c.saturating_sub((size - 1) / 2);
            let window = &pixel[first..(c + size / 2 + 1).min(pixel.len())];
            let squares: f32 = window.iter().map(|v| v * v).sum();
            values.push(value / (bias + alpha / size as f32 * squares).powf(beta));
        }
    }
    values
}

/// `(x - mean) / sqrt(variance + epsilon)` over the axes marked.
pub(crate) fn normalize(x: &View<'_>, axes: [bool; 4], epsilon: f32) -> Vec<f32> {
    let kept = |index: [usize; 4]| std::array::from_fn::<_, 4, _>(|axis| if axes[axis] { 0 } else { index[axis] });
    let extents = x.shape.dims();
    let group: Shape = std::array::from_fn(|axis| if axes[axis] { 1 } else { extents[axis] }).into();
    let count = (x.shape.len() / group.len()) as f64;
    let place = |index| {
        let [b, h, w, c] = kept(index);
        group.index(b, h, w, c)
    };
    let mut sums = vec![0.0; group.len()];
    let mut squares = vec![0.0; group.len()];
    each(x.shape, |index| {
        sums[place(index)] += f64::from(x.at(index));
        0.0
    });
    each(x.shape, |index| {
        squares[place(index)] += (f64::from(x.at(index)) - sums[place(index)] / count).powi(2);
        0.0
    });
    each(x.shape, |index| {
        let mean = sums[place(index)] / count;
        let variance = squares[place(index)] / count;
        ((f64::from(x.at(index)) - mean) / (variance + f64::from(epsilon)).sqrt()) as f32
    })
}

/// The sum of all elements up to each along an axis.
pub(crate) fn cum_sum(x: &View<'_>, axis: usize, exclusive: bool, reverse: bool) -> Vec<f32> {
    let extent = x.shape.dims()[axis];
    each(x.shape, |index| {
        let at = index[axis];
        let own = usize::from(!exclusive);
        let before: Vec<usize> = match reverse {
            true => (at + 1 - own..extent).rev().collect(),
            false => (0..at + own).collect(),
        };
        before.into_iter().fold(0.0, |sum, i| {
            let mut from = index;
            from[axis] = i;
            sum + x.at(from)
        })
    })
}
