//! Values of the file's names while the graph is built.

use super::{array::Array, layout::AtomLayout};
use crate::import::error::Problem;
use texpool_ops::graph::{ElementType, TensorId};

/// Greatest extent that 32-bit floats hold with all smaller ones.
pub(super) const MOST_PLACES: usize = 1 << f32::MANTISSA_DIGITS;

/// A value that is already known, or one that is computed by a run.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Known(Array),
    Computed(Computed),
}

/// A tensor of the graph, with its extents as in the file.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    pub(super) tensor: TensorId,
    /// Extents in the file's order.
    pub(super) dims: Vec<usize>,
    pub(super) layout: AtomLayout,
    pub(super) elem: ElementType,
}

impl Value {
    /// Returns a known list of integers.
    pub(super) fn integers(list: Vec<i64>) -> Self {
        Self::Known(Array::of_ints(vec![list.len()], ElementType::I64, list))
    }

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

    /// Returns the type of results that are rounded to the type of this value. Fails if the file has it in 4 bits, because
    /// those are held in 8.
    pub(super) fn type_of_results(&self) -> Result<ElementType, Problem> {
        match self {
            Self::Known(array) if array.has_four_bits() => Err(Problem::unsupported("it gives integers of 4 bits")),
            other => Ok(other.element_type()),
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
    /// Permutes the logical axes to the order `perm`. No element moves.
    pub(super) fn transposed(&self, perm: &[usize]) -> Self {
        Self {
            dims: perm.iter().map(|&axis| self.dims[axis]).collect(),
            layout: self.layout.transposed(&self.dims, perm),
            ..self.clone()
        }
    }
}

/// An extent that a run gives or finds.
#[derive(Clone, Debug)]
pub(super) struct Size {
    /// The extent: one number.
    pub(super) count: Computed,
    /// The least that the extent can be.
    pub(super) least: usize,
    /// The most that the extent can be.
    pub(super) bound: usize,
}

impl Size {
    /// Returns whether both are the same extent in each run.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.count.tensor == other.count.tensor
    }
}

/// The elements of a known value that are extents of a run; `None` for numbers that are the same in each run. Empty if
/// all of them are. The value itself has the bounds.
pub(super) type Sizes = Vec<Option<Size>>;

/// An axis whose extent a run gives or finds. The bound is the axis's extent in the tensor.
#[derive(Clone, Debug)]
pub(super) struct BoundedAxis {
    /// Axis in the file's order.
    pub(super) axis: usize,
    pub(super) size: Size,
}

impl BoundedAxis {
    /// Returns the axis's record for another place among the axes.
    pub(super) fn on(&self, axis: usize) -> Self {
        Self { axis, ..self.clone() }
    }

    /// Returns whether two lists have axes at the same places, with the same extents in each run.
    pub(super) fn are_alike(a: &[Self], b: &[Self]) -> bool {
        a.len() == b.len() && a.iter().all(|own| b.iter().any(|other| other.is_like(own)))
    }

    /// Returns whether two axes are at the same place and have the same extent in each run.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.axis == other.axis && self.size.is_like(&other.size)
    }
}
