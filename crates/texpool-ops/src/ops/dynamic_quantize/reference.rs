//! CPU reference of quantisation with a scale that a run computes.

use super::{DynamicQuantize, DynamicScale, Extremes, STEPS};
use crate::{
    graph::{
        Shape,
        evaluate::{bounded, greater, lesser},
    },
    ops::reference::{Operands, Reference, ReferenceError, each},
};

/// Returns the least and the greatest of values and zero.
fn ends(values: &[f32]) -> [f32; 2] {
    [lesser, greater].map(|end| values.iter().copied().fold(0.0, end))
}

impl Reference for Extremes {
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(x.data.chunks(x.shape.c.max(1)).flat_map(ends).collect())
    }
}

impl Reference for DynamicScale {
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let [least, greatest] = ends(&operands.get(0)?.data);
        let width = greatest - least;
        let scale = if width == 0.0 { 1.0 } else { width / STEPS };
        Ok(vec![scale, bounded(-(least / scale), 0.0, STEPS).round_ties_even()])
    }
}

impl Reference for DynamicQuantize {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let (x, by) = (operands.get(0)?, operands.get(1)?);
        let [scale, zero] = [0, 1].map(|channel| by.at([0, 0, 0, channel]));
        Ok(each(out, |index| {
            let integer = bounded((x.at(index) / scale).round_ties_even() + zero, 0.0, STEPS);
            if self.from_zero { integer - zero } else { integer }
        }))
    }
}
