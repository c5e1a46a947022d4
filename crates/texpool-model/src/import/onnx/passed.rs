//! Extents of a node's results that a run gives or finds.

use super::value::{BoundedAxis, Sizes, Value};

/// Extents of a node's results that a run gives or finds.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Axes that have one, for each result. Further results are like the last one.
    pub(super) bounds: Vec<Vec<BoundedAxis>>,
    /// Elements of known results that are one.
    pub(super) sizes: Vec<Sizes>,
    /// A number by which the result is multiplied.
    pub(super) factor: Option<Value>,
    /// A number that the result is at most, after the multiplication.
    pub(super) limit: Option<Value>,
    /// The first result, if it has been computed for such extents already.
    pub(super) result: Option<Value>,
}

impl Passed {
    pub(super) fn on(bounds: Vec<BoundedAxis>) -> Self {
        Self { bounds: vec![bounds], ..Self::default() }
    }

    /// Collects the extents of a body's results.
    pub(super) fn of_body(results: Vec<(Vec<BoundedAxis>, Sizes)>) -> Self {
        let (bounds, sizes) = results.into_iter().unzip();
        Self { bounds, sizes, ..Self::default() }
    }

    /// Returns whether all extents are the same in each run.
    pub(super) fn is_empty(&self) -> bool {
        self.bounds.iter().all(Vec::is_empty) && self.sizes.iter().all(Vec::is_empty)
    }

    /// Returns the axes of a result whose extents a run gives or finds.
    pub(super) fn bounds_of(&self, result: usize) -> &[BoundedAxis] {
        self.bounds.get(result).or(self.bounds.last()).map(Vec::as_slice).unwrap_or_default()
    }
}
