//! Errors of values that are not a tensor, or not the expected one.

use texpool_ops::graph::ElementType;
use texpool_plan::TexelFormat;

/// Reasons for which values cannot be viewed as a tensor, or cannot be returned in the requested form.
///
/// ```
/// use texpool::{TensorError, TensorView};
///
/// let error = TensorView::new(&[0.0f32; 10], &[3, 4]).unwrap_err();
/// assert!(matches!(error, TensorError::Count { expected: 12, found: 10, .. }));
/// assert_eq!(error.to_string(), "[3, 4] is 12 elements, but there are 10");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The extents do not match the number of elements.
    #[error("{dims:?} is {expected} elements, but there are {found}")]
    Count {
        /// The extents.
        dims: Vec<usize>,
        /// Product of the extents.
        expected: usize,
        /// Number of elements given.
        found: usize,
    },
    /// The number of elements overflows.
    #[error("{dims:?} is more elements than can be counted")]
    TooLarge {
        /// The extents.
        dims: Vec<usize>,
    },
    /// More axes than a view supports.
    #[error("a view has at most {most} axes, not {rank}; dense values need no extents")]
    Rank {
        /// Number of axes requested.
        rank: usize,
        /// Maximum number of axes.
        most: usize,
    },
    /// The number of strides differs from the number of axes.
    #[error("the strides {strides:?} are not one for each axis of {dims:?}")]
    Strides {
        /// The extents.
        dims: Vec<usize>,
        /// The strides.
        strides: Vec<usize>,
    },
    /// The strides lead beyond the elements given.
    #[error("{dims:?} with strides {strides:?} needs {needed} elements, but there are {found}")]
    Outside {
        /// The extents.
        dims: Vec<usize>,
        /// Elements between neighbours along each axis.
        strides: Vec<usize>,
        /// Number of elements needed.
        needed: usize,
        /// Number of elements given.
        found: usize,
    },
    /// The order does not name each axis exactly once.
    #[error("{axes:?} is no order of {rank} axes")]
    Axes {
        /// The requested order.
        axes: Vec<usize>,
        /// Number of the tensor's axes.
        rank: usize,
    },
    /// The axes of values without extents cannot be reordered.
    #[error("values without extents have no axes to be put in another order")]
    NoExtents,
    /// Rows of a picture would overlap.
    #[error("rows of {row} bytes cannot begin every {pitch} bytes")]
    Pitch {
        /// Bytes of a row.
        row: usize,
        /// Bytes from the start of a row to the start of the next.
        pitch: usize,
    },
    /// The elements have another type.
    #[error("the elements are {found}, not {asked}")]
    ElementType {
        /// The requested type.
        asked: ElementType,
        /// Type of the elements.
        found: ElementType,
    },
}

/// Reasons for which values do not fit an input, or an output cannot be returned in its type. The errors do not name
/// the tensor: the caller adds its name.
///
/// ```
/// use texpool::ConvertError;
/// use texpool::graph::ElementType;
///
/// let error = ConvertError::ElementType { expected: ElementType::U8, found: ElementType::I64 };
/// assert_eq!(error.to_string(), "expected elements of type u8, or their values as f32, found i64");
/// let error = ConvertError::Count { expected: vec![1, 8, 8, 3], found: 64 };
/// assert_eq!(error.to_string(), "expected [1, 8, 8, 3], which is 192 elements, found 64");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The elements have neither the model's type nor 32-bit floats.
    #[error("expected elements of type {expected}{}, found {found}", or_f32(*.expected))]
    ElementType {
        /// Type in the model.
        expected: ElementType,
        /// Type of the values given.
        found: ElementType,
    },
    /// The extents differ from the model's.
    #[error("expected {expected:?}, found {found:?}")]
    Extents {
        /// Extents in the model.
        expected: Vec<usize>,
        /// Extents of the values given.
        found: Vec<usize>,
    },
    /// The number of values without extents differs from the model's.
    #[error("expected {expected:?}, which is {} elements, found {found}", .expected.iter().product::<usize>())]
    Count {
        /// Extents in the model.
        expected: Vec<usize>,
        /// Number of values.
        found: usize,
    },
    /// An integer that texels cannot represent.
    #[error(
        "element {index} is {value}, but texels of {}-bit floats hold whole numbers without gaps only up to {}",
        .format.float_bits(),
        .format.max_exact_integer()
    )]
    Inexact {
        /// Index in the model's order of elements, the last axis fastest.
        index: usize,
        /// The integer.
        value: i128,
        /// Format of the texels.
        format: TexelFormat,
    },
    /// An integer for which the model would compute integers that floats cannot represent.
    #[error(
        "element {index} is {value}, but what the model computes of this input is exact only from {least} to {greatest}: \
         texels are floats, which do not hold every integer beyond that"
    )]
    Range {
        /// Index in the model's order of elements, the last axis fastest.
        index: usize,
        /// The integer.
        value: f64,
        /// Smallest value allowed.
        least: i32,
        /// Largest value allowed.
        greatest: i32,
    },
    /// NaN in an output of integers.
    #[error("element {index} is NaN, which {element_type} cannot say")]
    NotANumber {
        /// Index in the model's order of elements, the last axis fastest.
        index: usize,
        /// Type of the output.
        element_type: ElementType,
    },
}

/// Returns the alternative type for the message.
fn or_f32(expected: ElementType) -> &'static str {
    match expected {
        ElementType::F32 => "",
        _ => ", or their values as f32",
    }
}
