//! What is done to a node's result before it is stored.

use super::{TensorId, Unary};

/// One step of an [`Epilogue`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Act {
    /// Nothing.
    #[default]
    None,
    /// A function of the value alone.
    Unary(Unary),
    /// `x < 0 ? alpha[c] * x : x` with a constant of one alpha per channel of the result.
    Prelu(TensorId),
}

/// What is done to a node's result before it is stored: `then(first(result) + add)`.
///
/// The file's fused activation is `first`; the rewriter fills the rest.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Epilogue {
    /// Applied to the result.
    pub first: Act,
    /// A tensor added then: same B, H, W as the result, and at most its channels (missing ones count as zero).
    pub add: Option<TensorId>,
    /// Applied last.
    pub then: Act,
}

impl Epilogue {
    /// An epilogue that is an activation alone.
    pub const fn of(first: Act) -> Self {
        Self { first, add: None, then: Act::None }
    }

    /// Whether the epilogue does nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
