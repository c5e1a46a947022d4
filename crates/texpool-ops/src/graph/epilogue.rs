//! Cheap operations that a node applies to its result before storing it.

use super::{Requantize, TensorId, Unary};

/// One step of an [`Epilogue`].
///
/// ```
/// use texpool::graph::{Act, GraphBuilder};
///
/// let mut b = GraphBuilder::new("activated");
/// let x = b.input("x", &[16, 2])?;
/// let (weights, alpha) = (b.constant("weights", &[8, 2], &[0.1; 16])?, b.constant("alpha", &[8], &[0.25; 8])?);
/// let y = b.fully_connected("y", x, weights, None, Act::Prelu(alpha))?;
/// // The layer applies the function before it stores its result, so there is no second node.
/// assert_eq!(b.finish(&[y])?.nodes.len(), 1);
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Act {
    /// No operation.
    #[default]
    None,
    /// A function of the value alone.
    Unary(Unary),
    /// `x < 0 ? alpha[c] * x : x`, where `alpha` is a constant with one value per channel of the result.
    Prelu(TensorId),
    /// `x + shift[c]`, where `shift` is such a constant, too.
    Plus(TensorId),
    /// `x * scale[c]`, where `scale` is such a constant, too.
    Times(TensorId),
    /// `x / divisor[c]`, where `divisor` is such a constant, too.
    DividedBy(TensorId),
    /// From sums of products of integers to the integers of the result.
    Requantize(Requantize),
}

impl Act {
    /// Returns the name of the operator that computes the same, or `None` for no operation.
    ///
    /// ```
    /// use texpool::graph::{Act, Unary};
    ///
    /// assert_eq!((Act::None.name(), Act::Unary(Unary::Tanh).name()), (None, Some("TANH")));
    /// ```
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Unary(function) => Some(function.name()),
            Self::Prelu(_) => Some("PRELU"),
            Self::Plus(_) => Some("ADD"),
            Self::Times(_) => Some("MUL"),
            Self::DividedBy(_) => Some("DIV"),
            Self::Requantize(_) => Some("REQUANTIZE"),
        }
    }

    /// Returns the constant with values per channel that the function reads, if it reads one.
    pub const fn constant(self) -> Option<TensorId> {
        match self {
            Self::Prelu(values) | Self::Plus(values) | Self::Times(values) | Self::DividedBy(values) => Some(values),
            Self::Requantize(Requantize { factors, .. }) => Some(factors),
            Self::None | Self::Unary(_) => None,
        }
    }

    /// Returns the place of that constant.
    pub const fn constant_mut(&mut self) -> Option<&mut TensorId> {
        match self {
            Self::Prelu(values) | Self::Plus(values) | Self::Times(values) | Self::DividedBy(values) => Some(values),
            Self::Requantize(Requantize { factors, .. }) => Some(factors),
            Self::None | Self::Unary(_) => None,
        }
    }

    /// Returns the number of values per channel of that constant.
    pub(crate) const fn constant_rows(self) -> usize {
        match self {
            Self::Requantize(_) => Requantize::ROWS,
            Self::Prelu(_) | Self::Plus(_) | Self::Times(_) | Self::DividedBy(_) | Self::None | Self::Unary(_) => 1,
        }
    }
}

/// Operations applied to a node's result before it is stored: `then(first(result) + add)`.
///
/// Importers put the file's fused activation into `first`; the rewriter fills the rest.
///
/// ```
/// use texpool::graph::{Act, Epilogue, GraphBuilder, NodeId, Softmax, Unary};
///
/// let mut b = GraphBuilder::new("epilogues");
/// let x = b.input("x", &[1, 10])?;
/// let y = b.node("y", Softmax { beta: 1.0, log: false }.into(), &[x], Act::None)?;
/// let z = b.node("z", Softmax { beta: 2.0, log: false }.into(), &[y], Act::Unary(Unary::Sqrt))?;
/// let graph = b.finish(&[z])?;
/// assert!(graph.nodes[NodeId::new(0)].epilogue.is_empty());
/// assert_eq!(graph.nodes[NodeId::new(1)].epilogue, Epilogue::of(Act::Unary(Unary::Sqrt)));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
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
