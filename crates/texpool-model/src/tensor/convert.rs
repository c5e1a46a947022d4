//! Converts the caller's elements to the floats that kernels compute with, and back. Handles element types and
//! quantisation, and reports values that neither can represent.

use std::borrow::Cow;

use super::{
    ConvertError, Element, Tensor, TensorView, TensorViewMut,
    number::Number,
    storage::{Storable, Values},
};
use texpool_ops::graph::{self, ElementType, Quantization};
use texpool_plan::TexelFormat;

/// Specification of a model's input or output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorSpec<'a> {
    /// Extents as in the model's file.
    pub dims: &'a [usize],
    /// Type of the elements.
    pub element_type: ElementType,
    /// Quantisation of integer elements; `None` if integers stand for themselves.
    pub quantization: Option<Quantization>,
    /// Smallest and largest integer that an input may hold, if the model's arithmetic requires a range.
    pub integer_range: Option<[i32; 2]>,
}

impl TensorSpec<'_> {
    /// Returns the number of elements.
    fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Checks that there are as many values as elements.
    fn check_count(&self, count: usize) -> Result<(), ConvertError> {
        let expected = || self.dims.to_vec();
        if count == self.len() { Ok(()) } else { Err(ConvertError::Count { expected: expected(), found: count }) }
    }

    /// Checks that no value is NaN if the elements are integers.
    fn check_numbers(&self, values: &[f32]) -> Result<(), ConvertError> {
        let element_type = self.element_type;
        if element_type.is_float() {
            return Ok(());
        }
        let nan = values.iter().position(|value| value.is_nan());
        nan.map_or(Ok(()), |index| Err(ConvertError::NotANumber { index, element_type }))
    }

    /// Checks that integers are within their range, whatever their type.
    fn check_range(&self, view: &TensorView<'_>) -> Result<(), ConvertError> {
        let Some([least, greatest]) = self.integer_range else { return Ok(()) };
        let outside = view.first_outside([least, greatest]);
        outside.map_or(Ok(()), |(index, value)| Err(ConvertError::Range { index, value, least, greatest }))
    }

    /// Checks that the number of values matches the model, and the extents if the caller gives any. Leading ones make
    /// no difference.
    fn check_extents(&self, view: &TensorView<'_>) -> Result<(), ConvertError> {
        let expected = || self.dims.to_vec();
        match view.dims() {
            Some(dims) if without_ones(dims) != without_ones(self.dims) => {
                Err(ConvertError::Extents { expected: expected(), found: dims.to_vec() })
            }
            Some(_) => Ok(()),
            None => self.check_count(view.len()),
        }
    }
}

impl<'a> From<&'a graph::Tensor> for TensorSpec<'a> {
    fn from(tensor: &'a graph::Tensor) -> Self {
        let &graph::Tensor { ref dims, element_type, quantization, integer_range, .. } = tensor;
        Self { dims, element_type, quantization, integer_range }
    }
}

/// Returns the extents from the first that is not one.
fn without_ones(dims: &[usize]) -> &[usize] {
    let first = dims.iter().position(|&extent| extent != 1);
    &dims[first.unwrap_or(dims.len())..]
}

/// Writes a caller's values into `out`, in the model's order of elements, as the floats that become texels of `format`.
/// What `out` held goes; its memory is used again.
///
/// Elements are of the model's type, or 32-bit floats, which are the real numbers whatever the model's type: 16-bit floats
/// become wider, truth values one and zero, integers the numbers that they are or, quantised, stand for. Of the latter and
/// of floats the texel is the nearest that there is, but integers that stand for themselves are never rounded.
///
/// # Errors
/// If the values are of another type or of other extents, or if one is an integer that such texels do not hold. `out` is
/// empty then.
pub fn write_reals(
    view: &TensorView<'_>,
    spec: TensorSpec<'_>,
    format: TexelFormat,
    out: &mut Vec<f32>,
) -> Result<(), ConvertError> {
    out.clear();
    let (expected, element_type) = (spec.element_type, view.element_type());
    if element_type != expected && element_type != ElementType::F32 {
        return Err(ConvertError::ElementType { expected, found: element_type });
    }
    spec.check_extents(view)?;
    if spec.quantization.is_none()
        && let Some((index, value)) = view.first_beyond(format.max_exact_integer())
    {
        return Err(ConvertError::Inexact { index, value, format });
    }
    spec.check_range(view)?;
    view.append_to(out, spec.quantization);
    Ok(())
}

/// Like [`write_reals`], but returns dense 32-bit floats without a copy, because they already are the reals. Other
/// elements are written into `out`.
///
/// # Errors
/// As [`write_reals`].
pub fn borrow_reals<'v>(
    view: &TensorView<'v>,
    spec: TensorSpec<'_>,
    format: TexelFormat,
    out: &mut Vec<f32>,
) -> Result<Option<&'v [f32]>, ConvertError> {
    match view.as_floats() {
        Some(floats) => spec.check_extents(view).and_then(|()| spec.check_range(view)).map(|()| Some(floats)),
        None => write_reals(view, spec, format, out).map(|()| None),
    }
}

/// The tensor that an output is, of the floats that were computed for it, in the model's order of elements.
///
/// Integers are the nearest ones, the even one of two and none beyond their type; quantised ones stand for the nearest
/// value, halves away from zero as TensorFlow Lite rounds them. Truth values are whether the float is not zero; 16-bit
/// floats are rounded to the nearest. Owned values of an output of 32-bit floats become the tensor's without a copy.
///
/// # Errors
/// If there are more or fewer values than elements, or if one is NaN where the output has no floats.
pub fn read_reals<'v>(values: impl Into<Cow<'v, [f32]>>, spec: TensorSpec<'_>) -> Result<Tensor, ConvertError> {
    let values = values.into();
    let TensorSpec { dims, element_type, quantization, .. } = spec;
    spec.check_count(values.len())?;
    spec.check_numbers(&values)?;
    let read = match element_type {
        ElementType::F32 => f32::store(values.into_owned()),
        ElementType::F16 => read_as::<half::f16>(&values, quantization),
        ElementType::I8 => read_as::<i8>(&values, quantization),
        ElementType::U8 => read_as::<u8>(&values, quantization),
        ElementType::I16 => read_as::<i16>(&values, quantization),
        ElementType::U16 => read_as::<u16>(&values, quantization),
        ElementType::I32 => read_as::<i32>(&values, quantization),
        ElementType::U32 => read_as::<u32>(&values, quantization),
        ElementType::I64 => read_as::<i64>(&values, quantization),
        ElementType::U64 => read_as::<u64>(&values, quantization),
        ElementType::Bool => read_as::<bool>(&values, quantization),
    };
    Ok(Tensor::of(read, dims, quantization))
}

/// Checks that a caller's room is for an output: for its elements, as many as it has, or for the floats that are computed
/// for them.
///
/// # Errors
/// If it is for elements of another type, or for fewer or more.
pub fn check_room(room: &TensorViewMut<'_>, spec: TensorSpec<'_>) -> Result<(), ConvertError> {
    let (expected, element_type) = (spec.element_type, room.element_type());
    if element_type != expected && element_type != ElementType::F32 {
        return Err(ConvertError::ElementType { expected, found: element_type });
    }
    spec.check_count(room.len())
}

/// Writes the elements that an output is into room that was [checked](check_room): what [`read_reals`] makes a tensor of.
///
/// # Errors
/// If a value is NaN where the output has no floats.
pub fn read_reals_into(values: &[f32], spec: TensorSpec<'_>, room: &mut TensorViewMut<'_>) -> Result<(), ConvertError> {
    spec.check_numbers(values)?;
    room.fill(values, spec.quantization);
    Ok(())
}

fn read_as<T: Element + Number>(values: &[f32], quantization: Option<Quantization>) -> Values {
    T::store(match quantization {
        None => values.iter().map(|&value| T::from_f32(value)).collect(),
        Some(stated) => values.iter().map(|&value| T::quantized(value, stated)).collect(),
    })
}
