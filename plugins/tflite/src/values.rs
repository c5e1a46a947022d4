//! Views of the runtime's memory as inputs and outputs of a model.

use std::slice;

use texpool::{ElementType, TensorInfo, TensorView, TensorViewMut, half::f16};

use crate::{
    abi::{TfLiteTensor, allocation},
    host::{Host, text},
};

/// Memory of a tensor, checked to exist, to have the right size and to be aligned.
struct Memory {
    data: *mut u8,
    elements: usize,
}

impl Memory {
    fn of(host: &Host, index: i32, info: &TensorInfo) -> Result<Self, String> {
        let tensor: &TfLiteTensor = host.tensor(index).ok_or_else(|| format!("the runtime has no tensor {index}"))?;
        // SAFETY: the name comes from the runtime.
        let name = || unsafe { text(tensor.name) };
        let data = tensor.data.cast::<u8>();
        if data.is_null() || tensor.allocation_type == allocation::NON_CPU {
            return Err(format!("tensor `{}` has no memory that a processor reaches", name()));
        }
        if tensor.bytes != info.bytes() {
            return Err(format!("tensor `{}` has {} bytes, not {}", name(), tensor.bytes, info.bytes()));
        }
        if !data.addr().is_multiple_of(info.element_type.size()) {
            return Err(format!("memory of tensor `{}` is not aligned to its elements", name()));
        }
        Ok(Self { data, elements: info.len() })
    }

    /// # Safety
    /// Nobody changes the memory during `'a`, and all bit patterns are valid for `T`.
    unsafe fn slice<'a, T>(&self) -> &'a [T] {
        // SAFETY: `Memory::of` has checked the memory, and the caller of this function promises the rest.
        unsafe { slice::from_raw_parts(self.data.cast::<T>(), self.elements) }
    }

    /// # Safety
    /// Nobody else uses the memory during `'a`, and all bit patterns are valid for `T`.
    unsafe fn slice_mut<'a, T>(&self) -> &'a mut [T] {
        // SAFETY: `Memory::of` has checked the memory, and the caller of this function promises the rest.
        unsafe { slice::from_raw_parts_mut(self.data.cast::<T>(), self.elements) }
    }
}

/// Checks that the memory of outputs does not overlap other tensors, since programs may pass custom memory to the
/// runtime.
pub(crate) fn check_apart(host: &Host, inputs: &[i32], outputs: &[i32]) -> Result<(), String> {
    let range = |index: i32| {
        let tensor = host.tensor(index)?;
        let start = tensor.data.addr();
        Some(start..start.saturating_add(tensor.bytes))
    };
    for (position, &output) in outputs.iter().enumerate() {
        let Some(written) = range(output) else { continue };
        for &other in inputs.iter().chain(&outputs[..position]) {
            if range(other).is_some_and(|other| written.start < other.end && other.start < written.end) {
                return Err(format!("memory of tensors {output} and {other} overlaps"));
            }
        }
    }
    Ok(())
}

/// Expands the first body for the Rust type of each numeric element type, and the second for booleans.
macro_rules! of_type {
    ($element_type:expr, $T:ident => $body:expr, bool => $of_bool:expr) => {
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
    (@ $type:ty, $T:ident, $body:expr) => {{
        type $T = $type;
        $body
    }};
}

/// Returns a view of an input's values.
///
/// # Safety
/// The runtime does not change the memory during `'a`.
pub(crate) unsafe fn view<'a>(host: &Host, index: i32, info: &TensorInfo) -> Result<TensorView<'a>, String> {
    let memory = Memory::of(host, index, info)?;
    of_type!(info.element_type, T => {
        // SAFETY: all bit patterns are valid numbers, and the caller of this function promises the rest.
        Ok(TensorView::dense(unsafe { memory.slice::<T>() }))
    }, bool => {
        // SAFETY: all bit patterns are valid bytes, and the caller of this function promises the rest.
        if let Some(byte) = unsafe { memory.slice::<u8>() }.iter().find(|&&byte| byte > 1) {
            return Err(format!("input `{}` is of truth values and holds a byte of {byte}", info.name));
        }
        // SAFETY: every byte is 0 or 1, and the caller of this function promises the rest.
        Ok(TensorView::dense(unsafe { memory.slice::<bool>() }))
    })
}

/// Returns a view for writing an output's values.
///
/// # Safety
/// Nobody else uses the tensor's memory during `'a`.
pub(crate) unsafe fn room<'a>(host: &Host, index: i32, info: &TensorInfo) -> Result<TensorViewMut<'a>, String> {
    let memory = Memory::of(host, index, info)?;
    of_type!(info.element_type, T => {
        // SAFETY: all bit patterns are valid numbers, and the caller of this function promises the rest.
        Ok(TensorViewMut::dense(unsafe { memory.slice_mut::<T>() }))
    }, bool => {
        // SAFETY: all bit patterns are valid bytes, and the caller of this function promises the rest.
        unsafe { memory.slice_mut::<u8>() }.fill(0);
        // SAFETY: every byte was just set to 0, and the caller of this function promises the rest.
        Ok(TensorViewMut::dense(unsafe { memory.slice_mut::<bool>() }))
    })
}
