//! Dense tensors of one element type.

use std::borrow::Cow;

use super::{Element, TensorError, TensorView, element::type_of, storage::Values};
use texpool_ops::graph::{ElementType, Quantization};

/// Dense values, the last axis fastest: a model's output.
///
/// ```
/// use texpool::Tensor;
/// use texpool::graph::ElementType;
///
/// let tensor = Tensor::new(vec![1u8, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!((tensor.dims(), tensor.len(), tensor.element_type()), (&[2, 3][..], 6, ElementType::U8));
/// assert_eq!((tensor.as_slice::<u8>()?[2], tensor.quantization()), (3, None));
/// assert_eq!(tensor.as_slice::<f32>().unwrap_err().to_string(), "the elements are u8, not f32");
/// assert_eq!(tensor.view().dims(), Some(&[2, 3][..])); // to be the next model's input
/// assert_eq!(tensor.into_vec::<u8>()?, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), texpool::TensorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    dims: Vec<usize>,
    quantization: Option<Quantization>,
    values: Values,
}

impl Tensor {
    /// Values of these extents, the last axis fastest.
    ///
    /// # Errors
    /// [`TensorError::Count`] if there are fewer or more values than the extents say, [`TensorError::TooLarge`].
    ///
    /// ```
    /// use texpool::{Tensor, TensorError};
    ///
    /// let error = Tensor::new(vec![0.0f32; 5], &[2, 3]).unwrap_err();
    /// assert_eq!(error, TensorError::Count { dims: vec![2, 3], expected: 6, found: 5 });
    /// ```
    pub fn new<T: Element>(values: Vec<T>, dims: &[usize]) -> Result<Self, TensorError> {
        let expected = dims.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        match expected {
            None => Err(TensorError::TooLarge { dims: dims.to_vec() }),
            Some(expected) if expected != values.len() => {
                Err(TensorError::Count { dims: dims.to_vec(), expected, found: values.len() })
            }
            Some(_) => Ok(Self::of(T::store(values), dims, None)),
        }
    }

    /// Elements of any type, as many as the extents say.
    pub(super) fn of(values: Values, dims: &[usize], quantization: Option<Quantization>) -> Self {
        Self { dims: dims.to_vec(), quantization, values }
    }

    /// Returns the extents.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns the type of the elements.
    pub fn element_type(&self) -> ElementType {
        type_of(self.values.as_slice())
    }

    /// Returns the quantisation of integer elements; `None` if integers stand for themselves.
    pub const fn quantization(&self) -> Option<Quantization> {
        self.quantization
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.values.as_slice().len()
    }

    /// Returns true if the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements.
    ///
    /// # Errors
    /// [`TensorError::ElementType`] if they are of another type than `T`.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        let element_type = self.element_type();
        T::borrowed(self.values.as_slice()).ok_or(TensorError::ElementType { asked: T::TYPE, found: element_type })
    }

    /// The elements, without a copy.
    ///
    /// # Errors
    /// [`TensorError::ElementType`] if they are of another type than `T`.
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>, TensorError> {
        let element_type = self.element_type();
        T::stored(self.values).ok_or(TensorError::ElementType { asked: T::TYPE, found: element_type })
    }

    /// The elements as real numbers: of quantised integers what they stand for, of other integers the nearest float, of
    /// truth values one and zero. Borrowed where they are 32-bit floats.
    ///
    /// ```
    /// use texpool::Tensor;
    ///
    /// let tensor = Tensor::new(vec![1u8, 2, 3], &[3])?;
    /// assert_eq!(*tensor.to_f32(), [1.0, 2.0, 3.0]);
    /// # Ok::<(), texpool::TensorError>(())
    /// ```
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        if let Ok(values) = self.as_slice() {
            return Cow::Borrowed(values);
        }
        let mut reals = Vec::new();
        self.view().append_to(&mut reals, self.quantization);
        Cow::Owned(reals)
    }

    /// The elements as they are, for instance as what the next model reads. Of a tensor of more than eight axes they are
    /// [dense](TensorView::dense), without extents.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::of_dense(self.values.as_slice(), &self.dims)
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        tensor.view()
    }
}
