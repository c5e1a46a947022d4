//! Newtypes for indices of a graph's tensors and nodes.

use std::fmt;

/// An index into an [`IdVec`](super::IdVec).
///
/// ```
/// use texpool::graph::{Id, IdVec, NodeId};
///
/// /// The id of the last entry of any table.
/// fn last<I: Id, T>(table: &IdVec<I, T>) -> Option<I> {
///     table.len().checked_sub(1).map(I::new)
/// }
///
/// let steps: IdVec<NodeId, &str> = vec!["conv", "pool"].into();
/// assert_eq!(last(&steps).map(Id::index), Some(1));
/// ```
pub trait Id: Copy {
    /// Creates the id of an index.
    fn new(index: usize) -> Self;

    /// The index.
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Creates the id of an index. An index that does not fit into 32 bits becomes the greatest id. No graph
            /// has that many tensors or nodes, so [`check`](super::check) reports such an id as unknown.
            pub const fn new(index: usize) -> Self {
                Self(if index < u32::MAX as usize { index as u32 } else { u32::MAX })
            }

            /// The index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            fn new(index: usize) -> Self {
                Self::new(index)
            }

            fn index(self) -> usize {
                self.index()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Index of a tensor in [`Graph::tensors`](super::Graph::tensors) of its graph.
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, TensorId};
    ///
    /// let mut b = GraphBuilder::new("numbered");
    /// let (x, y) = (b.input("x", &[4])?, b.input("y", &[4])?);
    /// assert_eq!((x, y.index()), (TensorId::new(0), 1)); // in the order in which they are added
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    TensorId
}

id! {
    /// Index of a node in [`Graph::nodes`](super::Graph::nodes) of its graph.
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, NodeId, Unary};
    ///
    /// let mut b = GraphBuilder::new("numbered");
    /// let x = b.input("x", &[4])?;
    /// let y = b.unary("y", Unary::Sqrt, x)?;
    /// let graph = b.finish(&[y])?;
    /// let first = NodeId::new(0);
    /// assert_eq!((first.index(), graph.nodes[first].op.name()), (0, "SQRT"));
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    NodeId
}
