//! Lists whose length stands in front of their elements.

use std::slice;

/// `TfLiteIntArray`: `int size` and as many `int`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct IntArray {
    size: i32,
    data: [i32; 0],
}

/// `TfLiteFloatArray`: `int size` and as many `float`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct FloatArray {
    size: i32,
    data: [f32; 0],
}

const _: () = assert!(size_of::<IntArray>() == 4 && size_of::<FloatArray>() == 4);

impl IntArray {
    /// The numbers; none of NULL.
    ///
    /// # Safety
    /// The pointer is NULL, or to a list that nobody changes for as long as `'a`.
    pub(crate) unsafe fn numbers<'a>(list: *const Self) -> &'a [i32] {
        // SAFETY: as the caller of this function promises; the elements follow the length.
        unsafe { elements(list.is_null(), || (*list).size, || (&raw const (*list).data).cast()) }
    }
}

impl FloatArray {
    /// The numbers; none of NULL.
    ///
    /// # Safety
    /// The pointer is NULL, or to a list that nobody changes for as long as `'a`.
    pub(crate) unsafe fn numbers<'a>(list: *const Self) -> &'a [f32] {
        // SAFETY: as the caller of this function promises; the elements follow the length.
        unsafe { elements(list.is_null(), || (*list).size, || (&raw const (*list).data).cast()) }
    }
}

/// # Safety
/// Where the list is not NULL, `data` gives as many elements as `size`, which nobody changes for as long as `'a`.
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

/// A list of ours, handed to the runtime, which copies it.
#[derive(Debug)]
pub(crate) struct OwnedIntArray(Vec<i32>);

impl OwnedIntArray {
    /// The numbers behind their count.
    pub(crate) fn new(numbers: &[i32]) -> Option<Self> {
        let count = i32::try_from(numbers.len()).ok()?;
        Some(Self([&[count], numbers].concat()))
    }

    pub(crate) fn as_ptr(&self) -> *const IntArray {
        self.0.as_ptr().cast()
    }
}
