//! The caller's memory for outputs.

use std::fmt;

use super::{
    Element,
    element::type_of,
    number::Number,
    storage::{SliceMut, of_each},
};
use texpool_ops::graph::{ElementType, Quantization};

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
    /// Memory for as many values as the slice has.
    pub fn dense<T: Element>(values: &'a mut [T]) -> Self {
        Self { elements: T::borrow_mut(values) }
    }

    /// Returns the type of the elements.
    pub fn element_type(&self) -> ElementType {
        type_of(self.elements.as_slice())
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.as_slice().len()
    }

    /// Returns true if the memory is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the slice if its elements are 32-bit floats, and otherwise the view unchanged.
    ///
    /// ```
    /// use texpool::TensorViewMut;
    /// use texpool::graph::ElementType;
    ///
    /// let mut classes = [0u8; 4];
    /// let view = TensorViewMut::dense(&mut classes).into_f32().unwrap_err();
    /// assert_eq!((view.element_type(), view.len()), (ElementType::U8, 4));
    /// let mut scores = [0.0f32; 4];
    /// assert!(TensorViewMut::dense(&mut scores).into_f32().is_ok());
    /// ```
    pub fn into_f32(self) -> Result<&'a mut [f32], Self> {
        match self.elements {
            SliceMut::F32(values) => Ok(values),
            elements => Err(Self { elements }),
        }
    }

    /// Converts floats to the elements. There must be as many floats as elements.
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
