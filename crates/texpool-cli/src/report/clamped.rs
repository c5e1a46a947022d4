//! Report on values that a run clamped before it stored them or used them as an index.

use serde::Serialize;

use texpool_gpu::{Clamp, RunWarnings};

/// Values beyond the range of the precision and indices outside their axis, in total and per tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClampedReport {
    /// Finite values that were stored as the nearest in the range of the precision.
    pub saturated: u64,
    /// Indices that were replaced by the nearest inside the axis.
    pub indices_outside: u64,
    /// Affected tensors, inputs first, then constants of the model, then nodes in order.
    pub places: Vec<ClampedPlace>,
    /// The report as sentences, with the first place of each kind.
    #[serde(skip)]
    pub sentences: Vec<String>,
}

/// A tensor with such values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClampedPlace {
    /// The tensor's name.
    pub tensor: String,
    /// Index in the file of the node that computes it; `None` for an input and for a constant.
    pub node: Option<usize>,
    /// Operator of that node; `input` for an input, `constant` for a constant.
    pub op: &'static str,
    /// Number of values stored as the nearest in the range.
    pub saturated: u64,
    /// Number of replaced indices.
    pub indices_outside: u64,
}

impl From<&RunWarnings> for ClampedReport {
    fn from(warnings: &RunWarnings) -> Self {
        let of = |clamp: Clamp, kind: Clamp, count: u64| if clamp == kind { count } else { 0 };
        let places = warnings.clamped.iter().map(|place| ClampedPlace {
            tensor: place.tensor.clone(),
            node: place.node,
            op: place.op,
            saturated: of(place.clamp, Clamp::Saturated, place.count),
            indices_outside: of(place.clamp, Clamp::IndexOutside, place.count),
        });
        Self {
            saturated: warnings.count(Clamp::Saturated),
            indices_outside: warnings.count(Clamp::IndexOutside),
            places: places.collect(),
            sentences: warnings.clamped_text(),
        }
    }
}
