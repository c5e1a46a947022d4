//! What a name of the file stands for while the graph is made.

use super::{array::Array, layout::AtomLayout};
use crate::graph::{ElementType, TensorId};

/// A value that is known now, or that a run will compute.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Known(Array),
    Computed(Computed),
}

/// A tensor of the graph, seen as the file sees it.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    pub(super) tensor: TensorId,
    /// Extents in the file's order.
    pub(super) dims: Vec<usize>,
    pub(super) layout: AtomLayout,
    pub(super) elem: ElementType,
}

impl Value {
    pub(super) fn dims(&self) -> &[usize] {
        match self {
            Self::Known(array) => array.dims(),
            Self::Computed(computed) => &computed.dims,
        }
    }

    pub(super) fn element_type(&self) -> ElementType {
        match self {
            Self::Known(array) => array.element_type(),
            Self::Computed(computed) => computed.elem,
        }
    }

    pub(super) fn known(&self) -> Option<&Array> {
        match self {
            Self::Known(array) => Some(array),
            Self::Computed(_) => None,
        }
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.dims().iter().product()
    }
}

impl Computed {
    /// The same elements with the logical axes in the order `perm`.
    pub(super) fn transposed(&self, perm: &[usize]) -> Self {
        Self {
            dims: perm.iter().map(|&axis| self.dims[axis]).collect(),
            layout: self.layout.transposed(&self.dims, perm),
            ..self.clone()
        }
    }
}
