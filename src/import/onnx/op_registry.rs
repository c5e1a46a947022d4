//! ONNX's operators as they are read: the row of each stands beside the function that lowers it (`lower/`), and
//! `lower/mod.rs` is the only place where a node's operator is looked up.
//!
//! Names no operator.

use super::node_lowering::NodeLowering;
use crate::import::{
    error::Problem,
    op_registry::{Support, Types},
};

/// Adds the nodes that compute a node's results, or states them as known.
type Lower = fn(&mut NodeLowering<'_>) -> Result<(), Problem>;
/// Computes results from operands that are all known.
type Fold = fn(&mut NodeLowering<'_>) -> Result<(), Problem>;

/// What an operator says of the layout in which a graph input that it reads is best held. The host brings inputs to any
/// layout for nothing, so the first operator with a preference decides (`preferred_input_layout.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputLayout {
    /// Channels, the second axis, on C: what convolutions and all that slides over images computes in.
    ChannelsSecond,
    /// No preference of its own, and a result that lies as the operand does: its readers are asked.
    LikeOperand,
    /// Likewise, with the axes in another order.
    Transposed,
    /// No preference, and its readers are not asked.
    Any,
}

/// How operator sets up to 6 write an operator otherwise than 7 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BeforeOpset7 {
    /// The same.
    Same,
    /// Operands do not broadcast by themselves: the second's extents lie at the attribute `axis` of the first's.
    BroadcastAtAxis,
    /// One slope a channel, without ones behind.
    SlopePerChannel,
    /// It trains unless the attribute `is_test` is set.
    TrainsUnlessIsTest,
}

/// An operator.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct OnnxOpEntry {
    pub(in crate::import) name: &'static str,
    /// Empty for the format's own.
    pub(in crate::import) domain: &'static str,
    /// The operator set of the oldest definition that is read.
    pub(in crate::import) since: i64,
    pub(in crate::import) support: Support,
    pub(super) preferred_input_layout: InputLayout,
    pub(super) before_opset7: BeforeOpset7,
    pub(super) lower: Lower,
    pub(in crate::import) fold: Option<Fold>,
    /// Whether folding reads elements one by one, so that an operand that is one value over and over is written out first.
    pub(super) fold_reads_elements: bool,
}

impl OnnxOpEntry {
    /// An operator of the format's own domain, without limits.
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

    /// With what operator sets up to 6 say otherwise.
    pub(super) const fn before_opset7(self, before_opset7: BeforeOpset7) -> Self {
        Self { before_opset7, ..self }
    }

    /// With its limits.
    pub(super) const fn limits(self, limits: &'static str) -> Self {
        Self { support: self.support.limits(limits), ..self }
    }

    /// With what computes it where all operands are known.
    pub(super) const fn fold(self, fold: Fold) -> Self {
        Self { fold: Some(fold), ..self }
    }

    /// With what computes it where all operands are known, which keeps one value over and over as that.
    pub(super) const fn fold_repeated(self, fold: Fold) -> Self {
        Self { fold: Some(fold), fold_reads_elements: false, ..self }
    }

    /// Of another domain.
    pub(super) const fn domain(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }

    /// Its name with its domain.
    pub(in crate::import) fn full_name(&self) -> String {
        if self.domain.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.domain, self.name) }
    }
}

/// A domain by one name: the format's own has two.
pub(super) fn own_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
