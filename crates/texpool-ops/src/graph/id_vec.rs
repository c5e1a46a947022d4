//! Tables with one entry per tensor or per node of a graph.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut, Index, IndexMut},
    slice, vec,
};

use super::ids::Id;

/// A vector that is indexed by ids. Dereferences to [`Vec`].
///
/// ```
/// use texpool::graph::{IdVec, TensorId};
///
/// let mut names: IdVec<TensorId, &str> = IdVec::new();
/// let x = names.push("x");
/// assert_eq!((names[x], names.len()), ("x", 1));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    entries: Vec<T>,
    ids: PhantomData<I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// Creates an empty table.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), ids: PhantomData }
    }

    /// Creates a table with a copy of `entry` for each id of another table.
    ///
    /// ```
    /// use texpool::graph::{IdVec, TensorId};
    ///
    /// let names: IdVec<TensorId, &str> = vec!["x", "y"].into();
    /// let mut used = IdVec::from_elem(false, &names);
    /// used[TensorId::new(1)] = true;
    /// let unused: Vec<&str> = names.ids().filter(|&id| !used[id]).map(|id| names[id]).collect();
    /// assert_eq!(unused, ["x"]);
    /// ```
    pub fn from_elem<U>(entry: T, like: &IdVec<I, U>) -> Self
    where
        T: Clone,
    {
        vec![entry; like.len()].into()
    }

    /// Appends an entry and returns its id.
    pub fn push(&mut self, entry: T) -> I {
        let id = I::new(self.len());
        self.entries.push(entry);
        id
    }

    /// Returns the entry of an id, or `None` if the id is out of range.
    ///
    /// ```
    /// use texpool::graph::{IdVec, TensorId};
    ///
    /// let names: IdVec<TensorId, &str> = vec!["x", "y"].into();
    /// assert_eq!((names.get(TensorId::new(1)), names.get(TensorId::new(2))), (Some(&"y"), None));
    /// assert!(!names.contains_id(TensorId::new(2)));
    /// ```
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// Returns whether the table has an entry for the id.
    pub fn contains_id(&self, id: I) -> bool {
        id.index() < self.len()
    }

    /// The ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.len()).map(I::new)
    }

    /// The entries with their ids, in order.
    ///
    /// ```
    /// use texpool::graph::{GraphBuilder, Unary};
    ///
    /// let mut b = GraphBuilder::new("by name");
    /// let x = b.input("x", &[4])?;
    /// let y = b.unary("y", Unary::Sqrt, x)?;
    /// let graph = b.finish(&[y])?;
    /// let found = graph.tensors.iter_enumerated().find(|(_, tensor)| tensor.name == "y");
    /// assert_eq!(found.map(|(id, _)| id), Some(y));
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn iter_enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.entries.iter().enumerate().map(|(index, entry)| (I::new(index), entry))
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.fmt(f)
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(entries: Vec<T>) -> Self {
        Self { entries, ids: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Vec::from_iter(entries).into()
    }
}

impl<I, T> Deref for IdVec<I, T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.entries
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.entries
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter_mut()
    }
}
