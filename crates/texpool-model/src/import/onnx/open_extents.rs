//! Tensors that are made for extents which a run gives or finds, for reuse.

use std::collections::HashMap;

use super::{
    layout::AtomLayout,
    value::{Computed, Size, Value},
};
use texpool_ops::graph::TensorId;

/// A computed value: the tensor, its extents in the file's order, and its layout.
pub(super) type View = (TensorId, Vec<usize>, AtomLayout);

/// Returns the view of a computed value.
pub(super) fn view(value: &Value) -> Option<View> {
    match value {
        Value::Computed(x) => Some((x.tensor, x.dims.clone(), x.layout.clone())),
        Value::Known(_) => None,
    }
}

/// Tensors that are made for extents of a run.
#[derive(Debug, Default)]
pub(super) struct OpenExtents {
    /// Places before extents, by each extent, its bound, and the number of axes behind.
    pub(super) masks: HashMap<Vec<(TensorId, usize, usize)>, Computed>,
    /// Extents `(factor * n + more) / stride`, by the extent `n` and these numbers.
    pub(super) derived: HashMap<(TensorId, [i64; 3]), TensorId>,
    /// Extents `factor * n + more`: the extent `n`, and these numbers.
    pub(super) sources: HashMap<TensorId, (Size, [i64; 2])>,
    /// Sums of two extents.
    pub(super) sums: HashMap<[TensorId; 2], TensorId>,
    /// Values with zeros behind their extents, by the value.
    pub(super) zeroed: HashMap<View, Value>,
    /// Places of a value that are not zero, and their number.
    pub(super) non_zero: HashMap<View, (Computed, Size)>,
    /// Extents that a run computes, by name, each with the most that the caller allows.
    pub(super) limits: Vec<(String, TensorId, usize)>,
}

impl OpenExtents {
    /// Records the tensor with `(factor * n + more) / stride` for an extent `n`, so that it is computed once.
    pub(super) fn record(&mut self, from: &Size, formula: [i64; 3], tensor: TensorId) {
        self.derived.insert((from.count.tensor, formula), tensor);
        if let [factor, more, 1] = formula {
            self.sources.insert(tensor, (from.clone(), [factor, more]));
        }
    }
}
