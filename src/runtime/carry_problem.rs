//! Reasons why an output's values cannot become those of an input.

use std::fmt;

use super::TensorInfo;
use texpool_ops::graph::{ElementType, Quantization};
use texpool_plan::printable;

/// Mismatch between an output and the input to which its values shall be [carried](crate::Session::carry).
///
/// ```
/// use texpool::{CarryProblem, Error};
///
/// let problem = CarryProblem::Extents { output: vec![1, 64], input: vec![1, 128] };
/// assert_eq!(problem.to_string(), "their extents are [1, 64] and [1, 128]");
/// let error = Error::Carry { output: "state_out".to_owned(), input: "state_in".to_owned(), problem };
/// assert!(error.to_string().starts_with("output `state_out` cannot be carried to input `state_in`: their extents"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CarryProblem {
    /// The extents differ.
    Extents {
        /// Extents of the output.
        output: Vec<usize>,
        /// Extents of the input.
        input: Vec<usize>,
    },
    /// The element types differ.
    ElementType {
        /// Type of the output.
        output: ElementType,
        /// Type of the input.
        input: ElementType,
    },
    /// The quantisations differ.
    Quantization {
        /// Quantisation of the output.
        output: Option<Quantization>,
        /// Quantisation of the input.
        input: Option<Quantization>,
    },
    /// The extent of the output along this axis is found in each run.
    Bounded(usize),
    /// The input already gets the values of this output.
    Carried(String),
}

impl CarryProblem {
    /// Returns the first mismatch.
    pub(super) fn between(output: &TensorInfo, input: &TensorInfo) -> Option<Self> {
        if let Some(&axis) = output.bounded_axes.first() {
            return Some(Self::Bounded(axis));
        }
        if output.dims != input.dims {
            return Some(Self::Extents { output: output.dims.clone(), input: input.dims.clone() });
        }
        if output.element_type != input.element_type {
            return Some(Self::ElementType { output: output.element_type, input: input.element_type });
        }
        let (output, input) = (output.quantization, input.quantization);
        (output != input).then_some(Self::Quantization { output, input })
    }
}

impl fmt::Display for CarryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantization = |q: &Option<Quantization>| match q {
            Some(q) => format!("quantised with scale {} and zero point {}", q.scale, q.zero_point),
            None => "not quantised".to_owned(),
        };
        match self {
            Self::Extents { output, input } => write!(f, "their extents are {output:?} and {input:?}"),
            Self::ElementType { output, input } => write!(f, "their types are {output} and {input}"),
            Self::Quantization { output, input } => {
                write!(f, "one is {}, the other {}", quantization(output), quantization(input))
            }
            Self::Bounded(axis) => write!(f, "the output's extent along axis {axis} is found in each run"),
            Self::Carried(output) => write!(f, "the input already carries output `{}`", printable(output)),
        }
    }
}
