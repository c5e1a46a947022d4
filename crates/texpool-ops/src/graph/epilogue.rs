//! Cheap operations that a node applies to its result before storing it.

use super::{TensorId, Unary};

/// One step of an [`Epilogue`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Act {
    /// No operation.
    #[default]
    None,
    /// A function of the value alone.
    Unary(Unary),
    /// `x < 0 ? alpha[c] * x : x`, where `alpha` is a constant with one value per channel of the result.
    Prelu(TensorId),
}

/// Operations applied to a node's result before it is stored: `then(first(result) + add)`.
///
/// Importers put the file's fused activation into `first`; the rewriter fills the rest.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Epilogue {
    /// Applied to the result.
    pub first: Act,
    /// A tensor that is added next. It has the same B, H and W as the result, and at most as many channels (missing
    /// ones count as zero).
    pub add: Option<TensorId>,
    /// Applied last.
    pub then: Act,
}

impl Epilogue {
    /// An epilogue with only an activation.
    pub const fn of(first: Act) -> Self {
        Self { first, add: None, then: Act::None }
    }

    /// Returns whether the epilogue does nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
