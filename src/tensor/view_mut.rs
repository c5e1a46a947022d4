//! Room of a caller's for values.

use std::fmt;

use super::{
    Element,
    element::type_of,
    number::Number,
    storage::{SliceMut, of_each},
};
use crate::graph::{ElementType, Quantization};

/// Room of a caller's for the values of an output: dense, in the model's order, the last axis fastest.
///
/// ```
/// use texpool::TensorViewMut;
///
/// let mut scores = vec![0.0f32; 1001];
/// assert_eq!(TensorViewMut::from(&mut scores).len(), 1001);
/// ```
pub struct TensorViewMut<'a> {
    elements: SliceMut<'a>,
}

impl<'a> TensorViewMut<'a> {
    /// Room for as many values as the slice has.
    pub fn dense<T: Element>(values: &'a mut [T]) -> Self {
        Self { elements: T::borrow_mut(values) }
    }

    /// Type of the elements.
    pub fn element_type(&self) -> ElementType {
        type_of(self.elements.as_slice())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.as_slice().len()
    }

    /// Whether there is room for none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The room itself if it is for 32-bit floats; else it is given back.
    #[cfg(feature = "gpu")]
    pub(crate) fn into_f32(self) -> Result<&'a mut [f32], Self> {
        match self.elements {
            SliceMut::F32(values) => Ok(values),
            elements => Err(Self { elements }),
        }
    }

    /// Fills it with the elements that floats are or stand for; there are as many.
    pub(super) fn fill(&mut self, reals: &[f32], quantization: Option<Quantization>) {
        fn each<T: Number>(values: &mut [T], reals: &[f32], quantization: Option<Quantization>) {
            let pairs = values.iter_mut().zip(reals);
            match quantization {
                None => pairs.for_each(|(value, &real)| *value = T::from_f32(real)),
                Some(stated) => pairs.for_each(|(value, &real)| *value = T::quantized(real, stated)),
            }
        }
        of_each!(SliceMut, &mut self.elements, values => each(values, reals, quantization));
    }
}

impl<'a, T: Element> From<&'a mut [T]> for TensorViewMut<'a> {
    fn from(values: &'a mut [T]) -> Self {
        Self::dense(values)
    }
}

impl<'a, T: Element> From<&'a mut Vec<T>> for TensorViewMut<'a> {
    fn from(values: &'a mut Vec<T>) -> Self {
        Self::dense(values)
    }
}

impl<'a, T: Element, const N: usize> From<&'a mut [T; N]> for TensorViewMut<'a> {
    fn from(values: &'a mut [T; N]) -> Self {
        Self::dense(values)
    }
}

impl fmt::Debug for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorViewMut").field("elements", &self.elements.as_slice()).finish()
    }
}
