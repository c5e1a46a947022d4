//! Views of the runtime's tensors for texpool, for reading inputs and writing outputs in place.

use std::slice;

use texpool::{ElementType, TensorView, TensorViewMut, half::f16};

use crate::{api::types::ErrorCode, failure::Failure};

/// Expands the first body for the Rust type of each numeric element type, and the second for booleans.
macro_rules! of_type {
    ($element_type:expr, $name:expr, $T:ident => $body:expr, bool => $of_bool:expr) => {
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

fn wrong(name: &str, message: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::InvalidArgument, format!("`{name}`: {message}"))
}

/// Checks the alignment. No runtime violates it, but if one did, this would be undefined behavior.
fn check_alignment<T>(name: &str, data: *const u8) -> Result<(), Failure> {
    match data.cast::<T>().is_aligned() {
        true => Ok(()),
        false => Err(wrong(name, format!("its elements are not aligned to {} bytes", align_of::<T>()))),
    }
}

/// Returns a view of an input's values.
pub(crate) fn view<'t>(
    name: &str,
    element_type: ElementType,
    bytes: &'t [u8],
    dims: &[usize],
) -> Result<TensorView<'t>, Failure> {
    let seen = of_type!(element_type, name, T => {
        check_alignment::<T>(name, bytes.as_ptr())?;
        // SAFETY: the pointer is aligned, all bit patterns are valid elements, and the bytes are borrowed for the
        // same lifetime.
        TensorView::new(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<T>(), bytes.len() / size_of::<T>()) }, dims)
    }, bool => {
        if let Some(at) = bytes.iter().position(|&byte| byte > 1) {
            return Err(wrong(name, format!("element {at} is {}, and truth values are 0 or 1", bytes[at])));
        }
        // SAFETY: every byte is 0 or 1, so it is a valid `bool`, and the bytes are borrowed for the same lifetime.
        TensorView::new(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<bool>(), bytes.len()) }, dims)
    });
    seen.map_err(|error| wrong(name, error))
}

/// Returns a view for writing an output's elements.
///
/// # Safety
/// The pointer is to memory for this number of elements that nobody else uses during `'r`.
pub(crate) unsafe fn room<'r>(
    name: &str,
    element_type: ElementType,
    data: *mut u8,
    elements: usize,
) -> Result<TensorViewMut<'r>, Failure> {
    of_type!(element_type, name, T => {
        check_alignment::<T>(name, data)?;
        // SAFETY: the pointer is aligned, all bit patterns are valid elements, and the caller promises the rest.
        Ok(TensorViewMut::dense(unsafe { slice::from_raw_parts_mut(data.cast::<T>(), elements) }))
    }, bool => {
        // SAFETY: zeros are valid booleans, and the caller promises the rest.
        unsafe {
            data.write_bytes(0, elements);
            Ok(TensorViewMut::dense(slice::from_raw_parts_mut(data.cast::<bool>(), elements)))
        }
    })
}

#[cfg(test)]
mod tests {
    use texpool::ElementType;

    use super::view;

    #[test]
    fn values_that_are_no_tensors_are_refused() {
        let words = [0u32, 1, 2, 3];
        // SAFETY: four words have sixteen bytes.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 16) };
        assert_eq!(view("x", ElementType::F32, bytes, &[2, 2]).unwrap().len(), 4);
        assert!(view("x", ElementType::F32, bytes, &[3]).is_err());
        let message = view("x", ElementType::F32, &bytes[1..9], &[2]).unwrap_err().message;
        assert_eq!(message, "`x`: its elements are not aligned to 4 bytes");
        let message = view("x", ElementType::Bool, bytes, &[16]).unwrap_err().message;
        assert_eq!(message, "`x`: element 8 is 2, and truth values are 0 or 1");
    }
}
