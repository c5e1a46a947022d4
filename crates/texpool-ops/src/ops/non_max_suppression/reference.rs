//! CPU reference of non-maximum suppression.

use super::NonMaxSuppression;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError},
};

impl Reference for NonMaxSuppression {
    /// Takes the boxes in the order of their scores, and keeps each that overlaps none that was kept before.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let (boxes, scores) = (operands.get(0)?, operands.get(1)?);
        let mut result = Vec::with_capacity(out.len());
        for row in 0..out.b * out.h {
            let (b, h) = (row / out.h, row % out.h);
            let scores = scores.pixel(b, h, 0);
            let mut order: Vec<usize> = (0..scores.len()).filter(|&i| self.score.is_exceeded_by(scores[i])).collect();
            // The sort is stable, so equal scores stay in the order of the boxes.
            order.sort_by(|&i, &j| (scores[j] + 0.0).total_cmp(&(scores[i] + 0.0)));
            let mut kept: Vec<usize> = Vec::new();
            for index in order {
                let is_left_out = |&other: &usize| {
                    let shared = overlap(boxes.pixel(b, 0, index), boxes.pixel(b, 0, other));
                    self.overlap.is_exceeded_by(shared)
                };
                if kept.len() < self.places && !kept.iter().any(is_left_out) {
                    kept.push(index);
                }
            }
            for place in 0..self.places {
                result.extend(kept.get(place).map_or(self.unused, |&index| [index as f32, scores[index]]));
            }
            result.extend([kept.len() as f32, 0.0]);
        }
        Ok(result)
    }
}

/// Returns the area that two boxes share, divided by the area that they cover together.
fn overlap(a: &[f32], b: &[f32]) -> f32 {
    if !a.iter().chain(b).all(|coordinate| coordinate.is_finite()) {
        return 0.0;
    }
    let low = |corners: &[f32], axis: usize| corners[axis].min(corners[axis + 2]);
    let high = |corners: &[f32], axis: usize| corners[axis].max(corners[axis + 2]);
    let area = |corners: &[f32]| (high(corners, 0) - low(corners, 0)) * (high(corners, 1) - low(corners, 1));
    let side = |axis: usize| (high(a, axis).min(high(b, axis)) - low(a, axis).max(low(b, axis))).max(0.0);
    if area(a) <= 0.0 || area(b) <= 0.0 {
        return 0.0;
    }
    let shared = side(0) * side(1);
    let overlap = shared / (area(a) + area(b) - shared);
    // Areas beyond the range of floats.
    if overlap.is_nan() { 0.0 } else { overlap }
}
