//! Element types, descriptions of inputs and outputs, and views of the caller's memory.

use std::{
    ffi::{c_char, c_void},
    mem,
};

use texpool_rust::{ElementType, TensorError, TensorView, TensorViewMut, half::f16};

use crate::{
    arguments::{SizedStruct, values, values_mut},
    error::{Failure, no_tensor},
    session::NamedTensor,
};

/// The type of a tensor's elements.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_element_type {
    /// 32-bit float.
    TEXPOOL_F32 = 1,
    /// IEEE 754 16-bit float.
    TEXPOOL_F16 = 2,
    /// int8_t.
    TEXPOOL_I8 = 3,
    /// uint8_t.
    TEXPOOL_U8 = 4,
    /// int16_t.
    TEXPOOL_I16 = 5,
    /// uint16_t.
    TEXPOOL_U16 = 6,
    /// int32_t.
    TEXPOOL_I32 = 7,
    /// uint32_t.
    TEXPOOL_U32 = 8,
    /// int64_t.
    TEXPOOL_I64 = 9,
    /// uint64_t.
    TEXPOOL_U64 = 10,
    /// One byte, 0 or 1, like bool.
    TEXPOOL_BOOL = 11,
}

use texpool_element_type::*;

/// Pairs each element type with its C enum, in numerical order.
const TYPES: [(texpool_element_type, ElementType); 11] = [
    (TEXPOOL_F32, ElementType::F32),
    (TEXPOOL_F16, ElementType::F16),
    (TEXPOOL_I8, ElementType::I8),
    (TEXPOOL_U8, ElementType::U8),
    (TEXPOOL_I16, ElementType::I16),
    (TEXPOOL_U16, ElementType::U16),
    (TEXPOOL_I32, ElementType::I32),
    (TEXPOOL_U32, ElementType::U32),
    (TEXPOOL_I64, ElementType::I64),
    (TEXPOOL_U64, ElementType::U64),
    (TEXPOOL_BOOL, ElementType::Bool),
];

/// Returns the element type with this number, or fails if there isn't one.
fn type_of(number: u32, what: &str) -> Result<ElementType, Failure> {
    let entry = TYPES.iter().find(|(code, _)| *code as u32 == number);
    let none = || Failure::argument(format!("{what}: {number} is no texpool_element_type"));
    entry.map(|(_, element_type)| *element_type).ok_or_else(none)
}

fn number_of(element_type: ElementType) -> u32 {
    // 0 is not a valid `texpool_element_type`. It is never returned in this version, because the table is complete.
    TYPES.iter().find(|(_, other)| *other == element_type).map_or(0, |(number, _)| *number as u32)
}

/// Description of an input or output.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_tensor_info {
    /// sizeof(texpool_tensor_info), set by the caller.
    pub struct_size: usize,
    /// Name in the file, in UTF-8. Owned by the session, and valid as long as the session.
    pub name: *const c_char,
    /// The extents, `rank` of them. Owned by the session, and valid as long as the session.
    pub dims: *const usize,
    /// Number of extents.
    pub rank: usize,
    /// Number of elements.
    pub elements: usize,
    /// Total size of the elements, in bytes.
    pub bytes: usize,
    /// The type of the elements: a texpool_element_type.
    pub element_type: u32,
    /// True if the integers are quantized: each represents the real number (integer - zero_point) * scale.
    pub quantized: bool,
    /// See quantized.
    pub scale: f32,
    /// See quantized.
    pub zero_point: i32,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are valid pointers, numbers and `false`.
unsafe impl SizedStruct for texpool_tensor_info {
    const NAME: &'static str = "texpool_tensor_info";
}

impl texpool_tensor_info {
    /// Describes a tensor. The pointers refer to the tensor's own name and extents.
    pub(crate) fn new(struct_size: usize, tensor: &NamedTensor) -> Self {
        let NamedTensor { name, info } = tensor;
        let quantization = info.quantization;
        Self {
            struct_size,
            name: name.as_ptr(),
            dims: info.dims.as_ptr(),
            rank: info.dims.len(),
            elements: info.len(),
            bytes: info.bytes(),
            element_type: number_of(info.element_type),
            quantized: quantization.is_some(),
            scale: quantization.map_or(0.0, |q| q.scale),
            zero_point: quantization.map_or(0, |q| q.zero_point),
        }
    }
}

/// Expands the first body for the Rust type of each numeric element type, and the second for booleans:
/// `of_type!(element_type, what, T => ..., bool => ...)`.
macro_rules! of_type {
    ($element_type:expr, $what:expr, $T:ident => $body:expr, bool => $of_bool:expr) => {
        match $element_type {
            ElementType::F32 => of_type!(@ f32, $T, $body),
            ElementType::F16 => of_type!(@ f16, $T, $body),
            ElementType::I8 => of_type!(@ i8, $T, $body),
            ElementType::U8 => of_type!(@ u8, $T, $body),
            ElementType::I16 => of_type!(@ i16, $T, $body),
            ElementType::U16 => of_type!(@ u16, $T, $body),
            ElementType::I32 => of_type!(@ i32, $T, $body),
            ElementType::U32 => of_type!(@ u32, $T, $body),
            ElementType::I64 => of_type!(@ i64, $T, $body),
            ElementType::U64 => of_type!(@ u64, $T, $body),
            ElementType::Bool => $of_bool,
        }
    };
    (@ $rust:ty, $T:ident, $body:expr) => {{
        type $T = $rust;
        $body
    }};
}

/// A region of the caller's memory and its element type.
#[derive(Clone, Copy)]
pub(crate) struct Memory<P> {
    pub(crate) data: P,
    pub(crate) bytes: usize,
    pub(crate) element_type: u32,
}

/// Returns the number of elements in a region of `bytes` bytes.
fn count<T>(bytes: usize, what: &str) -> Result<usize, Failure> {
    let size = mem::size_of::<T>();
    if bytes.is_multiple_of(size) {
        return Ok(bytes / size);
    }
    let message = format!("{what}: {bytes} bytes are no whole number of elements of {size}");
    Err(Failure::new(crate::texpool_status::TEXPOOL_ERROR_SHAPE, message))
}

impl Memory<*const c_void> {
    /// Returns a view of the elements in place. Without `dims`, the view takes the model's extents; without
    /// `strides`, it is dense.
    ///
    /// # Safety
    /// The pointer is NULL, or it points to `bytes` bytes that nobody changes during `'a`.
    pub(crate) unsafe fn view<'a>(
        self,
        dims: Option<&[usize]>,
        strides: Option<&[usize]>,
        what: &str,
    ) -> Result<TensorView<'a>, Failure> {
        let Self { data, bytes, element_type } = self;
        let seen = of_type!(type_of(element_type, what)?, what, T => {
            let elements = count::<T>(bytes, what)?;
            // SAFETY: all bit patterns are valid elements, and the caller of this function promises the rest.
            layout(unsafe { values(data.cast::<T>(), elements, what) }?, dims, strides)
        }, bool => {
            // SAFETY: as the caller of this function promises.
            let flags = unsafe { values(data.cast::<u8>(), bytes, what) }?;
            if let Some(at) = flags.iter().position(|&byte| byte > 1) {
                let message = format!("{what}: byte {at} is {}, and truth values are 0 or 1", flags[at]);
                return Err(Failure::new(crate::texpool_status::TEXPOOL_ERROR_VALUE, message));
            }
            // SAFETY: every byte is 0 or 1, so it is a valid `bool`, and the caller promises the rest.
            layout(unsafe { values(data.cast::<bool>(), bytes, what) }?, dims, strides)
        });
        seen.map_err(|error| no_tensor(what, &error))
    }
}

fn layout<'a, T: texpool_rust::Element>(
    elements: &'a [T],
    dims: Option<&[usize]>,
    strides: Option<&[usize]>,
) -> Result<TensorView<'a>, TensorError> {
    match (dims, strides) {
        (None, _) => Ok(TensorView::dense(elements)),
        (Some(dims), None) => TensorView::new(elements, dims),
        (Some(dims), Some(strides)) => TensorView::strided(elements, dims, strides),
    }
}

impl Memory<*mut c_void> {
    /// Returns a view for writing elements.
    ///
    /// # Safety
    /// The pointer is NULL, or it points to `bytes` bytes that nobody else uses during `'a`. The bytes may be
    /// uninitialized in C: memory from outside of Rust counts as initialized for the compiler.
    pub(crate) unsafe fn room<'a>(self, what: &str) -> Result<TensorViewMut<'a>, Failure> {
        let Self { data, bytes, element_type } = self;
        of_type!(type_of(element_type, what)?, what, T => {
            let elements = count::<T>(bytes, what)?;
            // SAFETY: all bit patterns are valid elements, and the caller of this function promises the rest.
            Ok(TensorViewMut::dense(unsafe { values_mut(data.cast::<T>(), elements, what) }?))
        }, bool => {
            // SAFETY: as the caller of this function promises.
            unsafe { values_mut(data.cast::<u8>(), bytes, what) }?.fill(0);
            // SAFETY: every byte was just set to 0, so it is a valid `bool`, and the caller promises the rest.
            Ok(TensorViewMut::dense(unsafe { values_mut(data.cast::<bool>(), bytes, what) }?))
        })
    }
}
