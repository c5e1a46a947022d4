//! Returns results as NumPy arrays without copying them.

use std::{
    any::Any,
    ffi::{CStr, c_int, c_void},
    ptr,
};

use pyo3::{exceptions::PyBufferError, ffi, intern, prelude::*, sync::PyOnceLock};
use texpool::{Element, ElementType, Tensor, TensorError, half::f16};

/// Dense values that back a NumPy array, and that the array keeps alive.
#[pyclass(frozen)]
pub(crate) struct Values {
    first: *mut c_void,
    bytes: isize,
    item: isize,
    format: &'static CStr,
    shape: Vec<isize>,
    strides: Vec<isize>,
    /// The `Vec` that owns the elements. It is only stored so that it is dropped with this object.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the elements are plain numbers, and whoever writes them holds the interpreter's lock, as with any other
// array.
#[expect(unsafe_code, reason = "a pointer to elements whose owner is sent with it")]
unsafe impl Send for Values {}
// SAFETY: the same.
#[expect(unsafe_code, reason = "the same")]
unsafe impl Sync for Values {}

impl Values {
    fn new(tensor: Tensor) -> Result<Self, TensorError> {
        let kind = tensor.element_type();
        match kind {
            ElementType::F16 => Self::of::<f16>(tensor, c"e"),
            ElementType::I8 => Self::of::<i8>(tensor, c"b"),
            ElementType::U8 => Self::of::<u8>(tensor, c"B"),
            ElementType::I16 => Self::of::<i16>(tensor, c"h"),
            ElementType::U16 => Self::of::<u16>(tensor, c"H"),
            ElementType::I32 => Self::of::<i32>(tensor, c"i"),
            ElementType::U32 => Self::of::<u32>(tensor, c"I"),
            ElementType::I64 => Self::of::<i64>(tensor, LONG),
            ElementType::U64 => Self::of::<u64>(tensor, UNSIGNED_LONG),
            ElementType::Bool => Self::of::<bool>(tensor, c"?"),
            ElementType::F32 => Self::of::<f32>(tensor, c"f"),
        }
    }

    fn of<T: Element>(tensor: Tensor, format: &'static CStr) -> Result<Self, TensorError> {
        let item = size_of::<T>().cast_signed();
        let shape: Vec<isize> = tensor.dims().iter().map(|extent| extent.cast_signed()).collect();
        let mut strides = vec![item; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1);
        }
        let mut values: Vec<T> = tensor.into_vec()?;
        let (first, bytes) = (values.as_mut_ptr().cast(), size_of_val(&values[..]).cast_signed());
        Ok(Self { first, bytes, item, format, shape, strides, _owner: Box::new(values) })
    }
}

/// Formats of the 64-bit integers that NumPy calls `int64` and `uint64`. If both C types have 64 bits, NumPy prefers
/// `long`.
const LONG: &CStr = if size_of::<std::ffi::c_long>() == 8 { c"l" } else { c"q" };
const UNSIGNED_LONG: &CStr = if size_of::<std::ffi::c_ulong>() == 8 { c"L" } else { c"Q" };

#[pymethods]
#[expect(unsafe_code, reason = "Python's buffer protocol hands out pointers")]
impl Values {
    /// # Safety
    /// Python calls this with a view to fill, and releases the view before it drops the object.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let fortran = flags & ffi::PyBUF_F_CONTIGUOUS == ffi::PyBUF_F_CONTIGUOUS;
        if view.is_null() || fortran && this.shape.len() > 1 {
            return Err(PyBufferError::new_err("the values are dense, the last axis fastest"));
        }
        let requests = |flag| flags & flag == flag;
        let when = |requested: bool, list: &[isize]| if requested { list.as_ptr().cast_mut() } else { ptr::null_mut() };
        let format = if requests(ffi::PyBUF_FORMAT) { this.format.as_ptr().cast_mut() } else { ptr::null_mut() };
        let filled = ffi::Py_buffer {
            buf: this.first,
            obj: slf.clone().into_any().into_ptr(),
            len: this.bytes,
            itemsize: this.item,
            readonly: 0,
            ndim: c_int::try_from(this.shape.len())?,
            format,
            shape: when(requests(ffi::PyBUF_ND), &this.shape),
            strides: when(requests(ffi::PyBUF_STRIDES), &this.strides),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        };
        // SAFETY: Python passes the view to be filled. It points to memory of `slf`, which is never modified and
        // which the view keeps alive.
        unsafe { view.write(filled) };
        Ok(())
    }
}

/// Converts a tensor into a NumPy array without copying.
pub(crate) fn array_of(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let values = Values::new(tensor).map_err(|error| PyBufferError::new_err(error.to_string()))?;
    let asarray = ASARRAY
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr(intern!(py, "asarray"))?.unbind()))?;
    asarray.bind(py).call1((values,))
}
