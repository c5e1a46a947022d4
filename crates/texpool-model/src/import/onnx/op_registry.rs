//! Types for the table of supported ONNX operators. The row of each operator is next to the function that lowers it
//! (`lower/`). Only `lower/mod.rs` looks up operators.
//!
//! Contains no specific operators.

use super::node_lowering::NodeLowering;
use crate::import::{
    error::Problem,
    op_registry::{Support, Types},
};

/// Domain of ONNX Runtime's own operators.
pub(super) const OF_RUNTIME: &str = "com.microsoft";

/// Adds the graph nodes that compute a node's results, or sets the results as known.
type Lower = fn(&mut NodeLowering<'_>) -> Result<(), Problem>;
/// Computes results from operands that are all known.
pub(super) type Fold = fn(&mut NodeLowering<'_>) -> Result<(), Problem>;

/// An operator's preferred layout for a graph input that it reads. The host converts inputs to any layout at no cost,
/// so the first operator with a preference decides (`preferred_input_layout.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputLayout {
    /// Channels (the second axis) on C. Used by convolutions and all other operators with sliding windows.
    ChannelsSecond,
    /// No preference, but the result has the layout of the operand, so the readers of the result decide.
    LikeOperand,
    /// Like `LikeOperand`, with permuted axes.
    Transposed,
    /// No preference, and readers of the result do not matter.
    Any,
}

/// Difference between an operator in sets up to 6 and in set 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BeforeOpset7 {
    /// No difference.
    Same,
    /// Broadcasting is explicit: the attribute `axis` gives the axis of the first operand where the second one
    /// begins.
    BroadcastAtAxis,
    /// The slopes are a plain list with one per channel, without trailing ones.
    SlopePerChannel,
    /// Operates in training mode unless the attribute `is_test` is set.
    TrainsUnlessIsTest,
}

/// An operator.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct OnnxOpEntry {
    pub(in crate::import) name: &'static str,
    /// Empty for ONNX's own domain.
    pub(in crate::import) domain: &'static str,
    /// Operator set of the oldest supported definition.
    pub(in crate::import) since: i64,
    pub(in crate::import) support: Support,
    pub(super) preferred_input_layout: InputLayout,
    pub(super) before_opset7: BeforeOpset7,
    pub(super) lower: Lower,
    pub(in crate::import) fold: Option<Fold>,
    /// True if folding reads all elements, so that operands that repeat one value are written out first.
    pub(super) fold_reads_elements: bool,
}

impl OnnxOpEntry {
    /// A row for an operator of ONNX's own domain, without limitations.
    pub(super) const fn new(
        name: &'static str,
        since: i64,
        types: Types,
        kernels: &'static str,
        preferred_input_layout: InputLayout,
        lower: Lower,
    ) -> Self {
        let support = Support::new(types, kernels);
        Self {
            name,
            domain: "",
            since,
            support,
            preferred_input_layout,
            before_opset7: BeforeOpset7::Same,
            lower,
            fold: None,
            fold_reads_elements: true,
        }
    }

    /// Adds the difference to operator sets up to 6.
    pub(super) const fn before_opset7(self, before_opset7: BeforeOpset7) -> Self {
        Self { before_opset7, ..self }
    }

    /// Adds limitations.
    pub(super) const fn limits(self, limits: &'static str) -> Self {
        Self { support: self.support.limits(limits), ..self }
    }

    /// Adds a function that computes the results if all operands are known.
    pub(super) const fn fold(self, fold: Fold) -> Self {
        Self { fold: Some(fold), ..self }
    }

    /// Like `fold`, for a function that need not write out repeated values.
    pub(super) const fn fold_repeated(self, fold: Fold) -> Self {
        Self { fold: Some(fold), fold_reads_elements: false, ..self }
    }

    /// Sets the domain.
    pub(super) const fn domain(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }

    /// The name, prefixed with the domain if it is not ONNX's own.
    pub(in crate::import) fn full_name(&self) -> String {
        if self.domain.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.domain, self.name) }
    }
}
