//! Views of the caller's arrays without copying: any object with Python's buffer protocol, such as NumPy arrays, and
//! CPU tensors through DLPack.

use pyo3::{
    buffer::{ElementType as BufferType, PyUntypedBuffer},
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::IntoPyDict,
};
use texpool::{Element, ElementType, TensorError, TensorInfo, TensorView, half::f16};

use crate::errors::classes::{TensorTypeError, TensorValueError};

/// Maximum rank of a [`TensorView`].
const MAX_RANK: usize = 8;

/// An array that a run reads. It must not be written during the run.
pub(crate) struct Array {
    /// Keeps the elements alive and at the same address.
    buffer: PyUntypedBuffer,
    element_type: ElementType,
    /// Strides in elements.
    strides: Vec<usize>,
    /// Number of elements from the first to the last in memory.
    reach: usize,
    /// Copy of a boolean array whose bytes are not all 0 or 1.
    truths: Option<Vec<bool>>,
}

impl Array {
    /// Opens the array passed for an input.
    pub(crate) fn new(value: &Bound<'_, PyAny>, input: &TensorInfo) -> PyResult<Self> {
        let buffer = buffer_of(value, input)?;
        let element_type = element_type(&buffer).ok_or_else(|| wrong_type(value, input))?;
        if element_type != input.element_type && element_type != ElementType::F32 {
            return Err(wrong_type(value, input));
        }
        if buffer.dimensions() > MAX_RANK {
            let text = format!(
                "input `{}`: expected {:?}, found an array of {} axes",
                input.name,
                input.dims,
                buffer.dimensions()
            );
            return Err(TensorValueError::new_err(text));
        }
        let (buffer, strides) = match strides(&buffer) {
            Some(strides) => (buffer, strides),
            // Negative strides or misaligned elements: make a dense copy.
            None => {
                let numpy = value.py().import(intern!(value.py(), "numpy"))?;
                let order = [("order", "C")].into_py_dict(value.py())?;
                let dense = numpy.call_method(intern!(value.py(), "array"), (value,), Some(&order))?;
                let buffer = buffer_of(&dense, input)?;
                let strides = strides(&buffer).ok_or_else(|| wrong_type(value, input))?;
                (buffer, strides)
            }
        };
        let shape = buffer.shape();
        let reach = match shape.contains(&0) {
            true => 0,
            false => shape.iter().zip(&strides).map(|(extent, stride)| (extent - 1) * stride).sum::<usize>() + 1,
        };
        let mut array = Self { buffer, element_type, strides, reach, truths: None };
        if element_type == ElementType::Bool {
            let bytes: &[u8] = array.elements();
            if bytes.iter().any(|&byte| byte > 1) {
                array.truths = Some(bytes.iter().map(|&byte| byte != 0).collect());
            }
        }
        Ok(array)
    }

    /// Returns a view of the elements in the array's shape.
    pub(crate) fn view(&self) -> Result<TensorView<'_>, TensorError> {
        match self.element_type {
            ElementType::F16 => self.strided::<f16>(),
            ElementType::I8 => self.strided::<i8>(),
            ElementType::U8 => self.strided::<u8>(),
            ElementType::I16 => self.strided::<i16>(),
            ElementType::U16 => self.strided::<u16>(),
            ElementType::I32 => self.strided::<i32>(),
            ElementType::U32 => self.strided::<u32>(),
            ElementType::I64 => self.strided::<i64>(),
            ElementType::U64 => self.strided::<u64>(),
            ElementType::Bool => match &self.truths {
                Some(truths) => TensorView::strided(truths, self.buffer.shape(), &self.strides),
                None => self.strided::<bool>(),
            },
            ElementType::F32 => self.strided::<f32>(),
        }
    }

    fn strided<T: Element>(&self) -> Result<TensorView<'_>, TensorError> {
        TensorView::strided(self.elements::<T>(), self.buffer.shape(), &self.strides)
    }

    /// Returns all elements from the first to the last in memory, including gaps that do not belong to the array.
    #[expect(unsafe_code, reason = "the memory is another library's")]
    fn elements<T: Copy>(&self) -> &[T] {
        if self.reach == 0 {
            return &[];
        }
        // SAFETY: the buffer guarantees elements of this type over the whole range of its strides, and keeps them
        // alive. They are aligned (checked in `strides`). The caller must not write them during a run; every library
        // that releases the interpreter's lock requires this. Booleans were checked to be 0 or 1; for the other types
        // all bit patterns are valid.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast::<T>(), self.reach) }
    }
}

/// Gets the buffer of any supported object.
fn buffer_of(value: &Bound<'_, PyAny>, input: &TensorInfo) -> PyResult<PyUntypedBuffer> {
    let py = value.py();
    let buffer = PyUntypedBuffer::get(value).or_else(|error| {
        if !value.hasattr(intern!(py, "__dlpack__"))? {
            return Err(error);
        }
        let numpy = py.import(intern!(py, "numpy"))?;
        PyUntypedBuffer::get(&numpy.call_method1(intern!(py, "from_dlpack"), (value,))?)
    });
    buffer.map_err(|cause| {
        let error = wrong_type(value, input);
        error.set_cause(py, Some(cause));
        error
    })
}

/// Creates the error for a value that is not an array of the right type.
fn wrong_type(value: &Bound<'_, PyAny>, input: &TensorInfo) -> PyErr {
    let name = |value: &Bound<'_, PyAny>| {
        let dtype = value.getattr(intern!(value.py(), "dtype"))?;
        Ok::<_, PyErr>(format!("{dtype}"))
    };
    let actual = name(value).unwrap_or_else(|_| {
        value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| format!("a {name}"))
    });
    let expected = match input.element_type {
        ElementType::F32 => "float32".to_owned(),
        other => format!("{}, or their values as float32", numpy_name(other)),
    };
    TensorTypeError::new_err(format!("input `{}`: expected an array of {expected}, found {actual}", input.name))
}

/// Returns NumPy's name of a type.
pub(crate) const fn numpy_name(element_type: ElementType) -> &'static str {
    match element_type {
        ElementType::F16 => "float16",
        ElementType::I8 => "int8",
        ElementType::U8 => "uint8",
        ElementType::I16 => "int16",
        ElementType::U16 => "uint16",
        ElementType::I32 => "int32",
        ElementType::U32 => "uint32",
        ElementType::I64 => "int64",
        ElementType::U64 => "uint64",
        ElementType::Bool => "bool",
        ElementType::F32 => "float32",
    }
}

/// Returns the type of a buffer's elements, or `None` if models do not support it or its byte order is not the
/// machine's.
fn element_type(buffer: &PyUntypedBuffer) -> Option<ElementType> {
    let other_order = if cfg!(target_endian = "little") { b">!" } else { b"<<" };
    if buffer.item_size() > 1 && buffer.format().to_bytes().first().is_some_and(|first| other_order.contains(first)) {
        return None;
    }
    let element_type = match BufferType::from_format(buffer.format()) {
        BufferType::Float { bytes: 2 } => ElementType::F16,
        BufferType::Float { bytes: 4 } => ElementType::F32,
        BufferType::SignedInteger { bytes: 1 } => ElementType::I8,
        BufferType::SignedInteger { bytes: 2 } => ElementType::I16,
        BufferType::SignedInteger { bytes: 4 } => ElementType::I32,
        BufferType::SignedInteger { bytes: 8 } => ElementType::I64,
        BufferType::UnsignedInteger { bytes: 1 } => ElementType::U8,
        BufferType::UnsignedInteger { bytes: 2 } => ElementType::U16,
        BufferType::UnsignedInteger { bytes: 4 } => ElementType::U32,
        BufferType::UnsignedInteger { bytes: 8 } => ElementType::U64,
        BufferType::Bool => ElementType::Bool,
        _ => return None,
    };
    (buffer.item_size() == element_type.size()).then_some(element_type)
}

/// Returns the stride along each axis in elements, or `None` if the library cannot read the array in place.
fn strides(buffer: &PyUntypedBuffer) -> Option<Vec<usize>> {
    let item = buffer.item_size();
    if buffer.suboffsets().is_some() || !(buffer.buf_ptr() as usize).is_multiple_of(item) {
        return None;
    }
    let axis = |(&extent, &stride): (&usize, &isize)| {
        // The stride of an axis with a single element is meaningless and may have any value.
        let stride = if extent > 1 { usize::try_from(stride).ok()? } else { 0 };
        stride.is_multiple_of(item).then_some(stride / item)
    };
    buffer.shape().iter().zip(buffer.strides()).map(axis).collect()
}

/// Converts a dictionary key into the name of an input.
pub(crate) fn name_of(key: &Bound<'_, PyAny>) -> PyResult<String> {
    key.extract().map_err(|_| PyTypeError::new_err(format!("inputs are named by strings, not by {key:?}")))
}
