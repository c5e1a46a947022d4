//! CPU reference of top-k.

use crate::ops::reference::view::View;

/// Returns the `k` greatest or least channels of each pixel in order, as values or as indices.
pub(crate) fn top_k(x: &View<'_>, k: usize, largest: bool, indices: bool) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.data.len());
    for pixel in x.data.chunks(x.shape.c.max(1)) {
        let mut order: Vec<usize> = (0..pixel.len()).collect();
        // The sort is stable, so equal values stay in channel order.
        order.sort_by(|&a, &b| {
            let (a, b) = if largest { (b, a) } else { (a, b) };
            // Both zeros compare equal, and NaN of either sign is greater than all other values.
            let [a, b] = [pixel[a], pixel[b]].map(|x| if x.is_nan() { f32::NAN } else { x + 0.0 });
            a.total_cmp(&b)
        });
        values.extend(order.iter().take(k).map(|&c| if indices { c as f32 } else { pixel[c] }));
    }
    values
}
