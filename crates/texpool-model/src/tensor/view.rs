//! Views of the caller's values.

use super::{
    Element, TensorError,
    axes::{Axes, Run},
    element::type_of,
    number::Number,
    storage::{Slice, Storable, of_each},
};
use texpool_ops::graph::{ElementType, Quantization};

/// Values of a caller's, which are not copied: their type, their extents, and how far neighbours along each axis lie
/// apart.
///
/// Dense values in the model's order need no more than a reference:
///
/// ```
/// use texpool::TensorView;
///
/// let image = vec![0.5f32; 128 * 128 * 3];
/// let view = TensorView::from(&image);
/// assert_eq!((view.len(), view.dims()), (49152, None));
/// ```
///
/// Values that lie otherwise are seen in the model's order. Here planes of colours are seen as pixels, `[1, 3, 4, 4]` as
/// `[1, 4, 4, 3]`:
///
/// ```
/// use texpool::TensorView;
///
/// let planes = vec![0u8; 3 * 4 * 4];
/// let pixels = TensorView::new(&planes, &[1, 3, 4, 4])?.permuted(&[0, 2, 3, 1])?;
/// assert_eq!(pixels.dims(), Some(&[1, 4, 4, 3][..]));
/// # Ok::<(), texpool::TensorError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    elements: Slice<'a>,
    axes: Option<Axes>,
}

impl<'a> TensorView<'a> {
    /// Dense values in the model's extents, the last axis fastest.
    ///
    /// ```
    /// use texpool::TensorView;
    ///
    /// let view = TensorView::dense(&[1u8, 2, 3]);
    /// assert_eq!((view.len(), view.dims()), (3, None)); // the extents are those of the input
    /// assert!(view.permuted(&[0]).is_err());
    /// ```
    pub fn dense<T: Element>(values: &'a [T]) -> Self {
        Self { elements: T::borrow(values), axes: None }
    }

    /// Dense values with these extents, the last axis fastest.
    ///
    /// # Errors
    /// [`TensorError::Count`] if there are fewer or more values than the extents say, [`TensorError::Rank`] if there are more
    /// than eight axes, [`TensorError::TooLarge`].
    pub fn new<T: Element>(values: &'a [T], dims: &[usize]) -> Result<Self, TensorError> {
        let axes = Axes::dense(dims)?;
        if axes.len() != values.len() {
            return Err(TensorError::Count { dims: dims.to_vec(), expected: axes.len(), found: values.len() });
        }
        Ok(Self { elements: T::borrow(values), axes: Some(axes) })
    }

    /// Values with explicit `strides`: the distance between neighbours along each axis, in elements. A stride of 0
    /// repeats the same values along its axis. A stride larger than the inner extents skips the elements between.
    ///
    /// ```
    /// use texpool::TensorView;
    ///
    /// // Two rows of three values each, in a buffer whose rows have room for four.
    /// let padded = [1.0f32, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0];
    /// let view = TensorView::strided(&padded, &[2, 3], &[4, 1])?;
    /// assert_eq!(view.len(), 6);
    /// # Ok::<(), texpool::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// [`TensorError::Outside`] if that leads beyond the values, [`TensorError::Strides`] if there is not a stride for each
    /// axis, [`TensorError::Rank`] if there are more than eight axes, [`TensorError::TooLarge`].
    pub fn strided<T: Element>(values: &'a [T], dims: &[usize], strides: &[usize]) -> Result<Self, TensorError> {
        let axes = Axes::strided(dims, strides, values.len())?;
        Ok(Self { elements: T::borrow(values), axes: Some(axes) })
    }

    /// Reorders the axes, like NumPy's `transpose`: axis `i` of the result is axis `axes[i]` of this view. For
    /// example, the order `[0, 2, 3, 1]` turns `[N, C, H, W]` into `[N, H, W, C]`.
    ///
    /// # Errors
    /// [`TensorError::NoExtents`] if the view has none, [`TensorError::Axes`] if `axes` does not name each axis once.
    pub fn permuted(self, axes: &[usize]) -> Result<Self, TensorError> {
        let permuted = self.axes.ok_or(TensorError::NoExtents)?.permuted(axes)?;
        Ok(Self { axes: Some(permuted), ..self })
    }

    /// A picture of 8 bits a channel whose rows begin `pitch` bytes apart, as `[1, height, width, channels]`. Behind the
    /// last row nothing needs to follow.
    ///
    /// # Errors
    /// [`TensorError::Pitch`] if rows would lie in one another, [`TensorError::Outside`] if there are too few bytes,
    /// [`TensorError::TooLarge`].
    ///
    /// ```
    /// use texpool::TensorView;
    ///
    /// // Two rows of three grey pixels, the second 8 bytes after the first, and nothing behind its last pixel.
    /// let view = TensorView::picture(&[0; 11], [2, 3, 1], 8)?;
    /// assert_eq!(view.dims(), Some(&[1, 2, 3, 1][..]));
    /// let error = TensorView::picture(&[0; 11], [2, 3, 1], 2).unwrap_err();
    /// assert_eq!(error.to_string(), "rows of 3 bytes cannot begin every 2 bytes");
    /// # Ok::<(), texpool::TensorError>(())
    /// ```
    pub fn picture(bytes: &'a [u8], [height, width, channels]: [usize; 3], pitch: usize) -> Result<Self, TensorError> {
        let dims = [1, height, width, channels];
        let row = width.checked_mul(channels).ok_or_else(|| TensorError::TooLarge { dims: dims.to_vec() })?;
        if pitch < row {
            return Err(TensorError::Pitch { row, pitch });
        }
        Self::strided(bytes, &dims, &[0, pitch, channels, 1])
    }

    /// Elements of any type that are dense; those of more axes than a view has are seen without extents.
    pub(super) fn of_dense(elements: Slice<'a>, dims: &[usize]) -> Self {
        Self { elements, axes: Axes::dense(dims).ok() }
    }

    /// Returns the type of the elements.
    pub fn element_type(&self) -> ElementType {
        type_of(self.elements)
    }

    /// Returns the extents, or `None` if they are the model's.
    pub fn dims(&self) -> Option<&[usize]> {
        self.axes.as_ref().map(Axes::dims)
    }

    /// Returns the number of visible elements.
    pub fn len(&self) -> usize {
        self.axes.as_ref().map_or(self.elements.len(), Axes::len)
    }

    /// Returns whether no element is visible.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements if they are contiguous 32-bit floats.
    pub(super) fn as_floats(&self) -> Option<&'a [f32]> {
        let floats = f32::borrowed(self.elements)?;
        match &self.axes {
            None => Some(floats),
            Some(axes) if axes.is_dense() => floats.get(..axes.len()),
            Some(_) => None,
        }
    }

    /// Appends the real numbers that the elements stand for, the last axis fastest.
    pub(super) fn append_to(&self, out: &mut Vec<f32>, quantization: Option<Quantization>) {
        match quantization {
            None => of_each!(Slice, self.elements, values => self.append(values, out, Number::to_f32)),
            Some(q) => of_each!(Slice, self.elements, values => self.append(values, out, |v| v.dequantized(q))),
        }
    }

    fn append<T: Copy>(&self, values: &[T], out: &mut Vec<f32>, real: impl Fn(T) -> f32) {
        out.reserve(self.len());
        self.runs(|Run { first, count, step }| match step {
            0 => out.extend(std::iter::repeat_n(real(values[first]), count)),
            1 => out.extend(values[first..first + count].iter().map(|&value| real(value))),
            _ => out.extend(values[first..].iter().step_by(step).take(count).map(|&value| real(value))),
        });
    }

    /// Returns the first integer of larger magnitude than `most`, with its index.
    pub(super) fn first_beyond(&self, most: u32) -> Option<(usize, i128)> {
        let exact = -i64::from(most)..=i64::from(most);
        let (least, greatest) = self.element_type().range();
        // For most types the range of the type decides, without a look at the elements.
        if self.element_type().is_float() || exact.contains(&least) && exact.contains(&greatest) {
            return None;
        }
        of_each!(Slice, self.elements, values => self.first(values, |value| value.beyond(most)))
    }

    /// Returns the first element outside `least..=greatest`, with its index.
    pub(super) fn first_outside(&self, [least, greatest]: [i32; 2]) -> Option<(usize, f64)> {
        let within = f64::from(least)..=f64::from(greatest);
        let (type_least, type_greatest) = self.element_type().range();
        // For most types the range of the type decides, without a look at the elements.
        if !self.element_type().is_float()
            && within.contains(&(type_least as f64))
            && within.contains(&(type_greatest as f64))
        {
            return None;
        }
        let outside = |value: f32| Some(f64::from(value)).filter(|value| !within.contains(value));
        of_each!(Slice, self.elements, values => self.first(values, |value| outside(value.to_f32())))
    }

    /// Returns the first result of `find`, with the index of its element.
    fn first<T: Copy, R>(&self, values: &[T], find: impl Fn(T) -> Option<R>) -> Option<(usize, R)> {
        let (mut before, mut first_match) = (0, None);
        self.runs(|Run { first, count, step }| {
            if first_match.is_none() {
                let at = |i: usize| find(values[first + i * step]).map(|value| (before + i, value));
                first_match = (0..count).find_map(at);
                before += count;
            }
        });
        first_match
    }

    /// Visits the elements in order.
    fn runs(&self, mut visit: impl FnMut(Run)) {
        match &self.axes {
            Some(axes) => axes.runs(visit),
            None => visit(Run { first: 0, count: self.elements.len(), step: 1 }),
        }
    }
}

impl<'a, T: Element> From<&'a [T]> for TensorView<'a> {
    fn from(values: &'a [T]) -> Self {
        Self::dense(values)
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for TensorView<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        Self::dense(values)
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for TensorView<'a> {
    fn from(values: &'a [T; N]) -> Self {
        Self::dense(values)
    }
}
