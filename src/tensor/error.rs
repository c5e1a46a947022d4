//! Why values are no tensor, or not the one that is wanted.

use crate::{graph::ElementType, plan::TexelFormat};

/// Why values cannot be seen as a tensor, or handed out as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// Extents of another number of elements than there are.
    #[error("{dims:?} is {expected} elements, but there are {found}")]
    Count {
        /// The extents.
        dims: Vec<usize>,
        /// Their product.
        expected: usize,
        /// Number of elements that were given.
        found: usize,
    },
    /// More elements than can be counted.
    #[error("{dims:?} is more elements than can be counted")]
    TooLarge {
        /// The extents.
        dims: Vec<usize>,
    },
    /// More axes than a view has.
    #[error("a view has at most {most} axes, not {rank}; dense values need no extents")]
    Rank {
        /// Number of axes that were asked for.
        rank: usize,
        /// How many there may be.
        most: usize,
    },
    /// Another number of strides than of axes.
    #[error("the strides {strides:?} are not one for each axis of {dims:?}")]
    Strides {
        /// The extents.
        dims: Vec<usize>,
        /// The strides.
        strides: Vec<usize>,
    },
    /// Elements beyond those that were given.
    #[error("{dims:?} with strides {strides:?} needs {needed} elements, but there are {found}")]
    Outside {
        /// The extents.
        dims: Vec<usize>,
        /// Elements between neighbours along each axis.
        strides: Vec<usize>,
        /// How many elements there must be.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// Axes that are not each of the tensor's once.
    #[error("{axes:?} is no order of {rank} axes")]
    Axes {
        /// The order that was asked for.
        axes: Vec<usize>,
        /// Number of the tensor's axes.
        rank: usize,
    },
    /// Axes were to be put in another order, but there are no extents.
    #[error("values without extents have no axes to be put in another order")]
    NoExtents,
    /// Rows of a picture that would lie in one another.
    #[error("rows of {row} bytes cannot begin every {pitch} bytes")]
    Pitch {
        /// Bytes of a row.
        row: usize,
        /// Bytes from the beginning of a row to the next one's.
        pitch: usize,
    },
    /// The elements are of another type.
    #[error("the elements are {found}, not {asked}")]
    ElementType {
        /// The type that was asked for.
        asked: ElementType,
        /// The one that they are.
        found: ElementType,
    },
}

/// Why values cannot be those of an input, or an output be given as what it is. Says nothing of which: whoever knows the
/// tensor's name adds it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The elements are neither of the model's type nor 32-bit floats.
    #[error("expected elements of type {expected}{}, found {found}", or_f32(*.expected))]
    ElementType {
        /// The model's.
        expected: ElementType,
        /// What was given.
        found: ElementType,
    },
    /// The extents are not the model's.
    #[error("expected {expected:?}, found {found:?}")]
    Extents {
        /// The model's.
        expected: Vec<usize>,
        /// What was given.
        found: Vec<usize>,
    },
    /// Values without extents are another number than the model's.
    #[error("expected {expected:?}, which is {} elements, found {found}", .expected.iter().product::<usize>())]
    Count {
        /// The model's extents.
        expected: Vec<usize>,
        /// Number of values.
        found: usize,
    },
    /// A whole number that texels do not hold.
    #[error(
        "element {index} is {value}, but texels of {}-bit floats hold whole numbers without gaps only up to {}",
        .format.float_bits(),
        .format.max_exact_integer()
    )]
    Inexact {
        /// Index in the model's order of elements, the last axis fastest.
        index: usize,
        /// The number.
        value: i128,
        /// What the texels are.
        format: TexelFormat,
    },
    /// An integer of which the model would compute integers that floats do not hold.
    #[error(
        "element {index} is {value}, but what the model computes of this input is exact only from {least} to {greatest}: \
         texels are floats, which do not hold every integer beyond that"
    )]
    Range {
        /// Index in the model's order of elements, the last axis fastest.
        index: usize,
        /// The number.
        value: f64,
        /// The least that it may be.
        least: i32,
        /// The greatest that it may be.
        greatest: i32,
    },
    /// A value that is no number, of an output that has integers.
    #[error("element {index} is NaN, which {element_type} cannot say")]
    NotANumber {
        /// Index in the model's order of elements, the last axis fastest.
        index: usize,
        /// The output's type.
        element_type: ElementType,
    },
}

/// The other type that is taken.
fn or_f32(expected: ElementType) -> &'static str {
    match expected {
        ElementType::F32 => "",
        _ => ", or their values as f32",
    }
}
