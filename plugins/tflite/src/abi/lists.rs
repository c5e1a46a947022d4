//! Lists that begin with their length.

use std::slice;

/// `TfLiteIntArray`: `int size`, followed by `size` elements of type `int`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct IntArray {
    size: i32,
    data: [i32; 0],
}

/// `TfLiteFloatArray`: `int size`, followed by `size` elements of type `float`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct FloatArray {
    size: i32,
    data: [f32; 0],
}

const _: () = assert!(size_of::<IntArray>() == 4 && size_of::<FloatArray>() == 4);

impl IntArray {
    /// Returns the elements. NULL gives an empty slice.
    ///
    /// # Safety
    /// The pointer is NULL, or it points to a list that nobody changes during `'a`.
    pub(crate) unsafe fn numbers<'a>(list: *const Self) -> &'a [i32] {
        // SAFETY: as the caller of this function promises; the elements follow the length.
        unsafe { elements(list.is_null(), || (*list).size, || (&raw const (*list).data).cast()) }
    }
}

impl FloatArray {
    /// Returns the elements. NULL gives an empty slice.
    ///
    /// # Safety
    /// The pointer is NULL, or it points to a list that nobody changes during `'a`.
    pub(crate) unsafe fn numbers<'a>(list: *const Self) -> &'a [f32] {
        // SAFETY: as the caller of this function promises; the elements follow the length.
        unsafe { elements(list.is_null(), || (*list).size, || (&raw const (*list).data).cast()) }
    }
}

/// # Safety
/// If the list is not NULL, `data` returns a pointer to `size` elements, which nobody changes during `'a`.
unsafe fn elements<'a, T>(is_null: bool, size: impl FnOnce() -> i32, data: impl FnOnce() -> *const T) -> &'a [T] {
    if is_null {
        return &[];
    }
    match usize::try_from(size()) {
        Ok(0) | Err(_) => &[],
        // SAFETY: as the caller of this function promises.
        Ok(count) => unsafe { slice::from_raw_parts(data(), count) },
    }
}

/// A list passed to the runtime, which copies it.
#[derive(Debug)]
pub(crate) struct OwnedIntArray(Vec<i32>);

impl OwnedIntArray {
    /// Returns a list of the count followed by the numbers.
    pub(crate) fn new(numbers: &[i32]) -> Option<Self> {
        let count = i32::try_from(numbers.len()).ok()?;
        Some(Self([&[count], numbers].concat()))
    }

    pub(crate) fn as_ptr(&self) -> *const IntArray {
        self.0.as_ptr().cast()
    }
}
