//! Validates arguments from C before they are dereferenced. Rejects NULL and misaligned pointers, lengths longer than
//! any object can be, structs with a wrong `struct_size`, and strings that are not UTF-8. It cannot detect a pointer
//! to memory that does not exist.

use std::{
    ffi::{CStr, c_char},
    mem, slice,
};

use crate::error::Failure;

/// Returns the pointer if it is neither NULL nor misaligned; nothing else can be checked.
fn checked<T>(pointer: *const T, what: &str) -> Result<*const T, Failure> {
    if pointer.is_null() {
        Err(Failure::argument(format!("{what} is NULL")))
    } else if !pointer.is_aligned() {
        Err(Failure::argument(format!("{what} is not aligned to {} bytes", mem::align_of::<T>())))
    } else {
        Ok(pointer)
    }
}

/// Borrows an object of the library that the caller holds.
///
/// # Safety
/// The pointer is NULL, or the library returned it and the caller does not release it during `'a`.
pub(crate) unsafe fn borrowed<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller of this function promises.
    checked(pointer, what).map(|pointer| unsafe { &*pointer })
}

/// Borrows memory for one value, which the caller wants written.
///
/// # Safety
/// The pointer is NULL, or it points to memory for a `T` that nobody else uses during `'a`.
pub(crate) unsafe fn room<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller of this function promises.
    checked(pointer, what).map(|_| unsafe { &mut *pointer })
}

/// Borrows an array of `count` values. With a count of 0 the pointer is ignored and the slice is empty.
///
/// # Safety
/// The pointer is NULL, or it points to `count` values that nobody changes during `'a`.
pub(crate) unsafe fn values<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check_length::<T>(count, what)?;
    // SAFETY: as the caller of this function promises, and no object is larger than was checked.
    checked(pointer, what).map(|pointer| unsafe { slice::from_raw_parts(pointer, count) })
}

/// Borrows an array of `count` values for writing. With a count of 0 the pointer is ignored and the slice is empty.
///
/// # Safety
/// The pointer is NULL, or it points to memory for `count` values that nobody else uses during `'a`.
pub(crate) unsafe fn values_mut<'a, T>(pointer: *mut T, count: usize, what: &str) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_length::<T>(count, what)?;
    // SAFETY: as the caller of this function promises, and no object is larger than was checked.
    checked(pointer, what).map(|_| unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// Copies bytes to a buffer of the caller and sets `*bytes` to their number. A capacity of 0 only asks for the number;
/// any other must suffice, or nothing is copied. `what` names the data in that error.
///
/// # Safety
/// `buffer` is NULL, or it points to `capacity` bytes that nobody else uses.
pub(crate) unsafe fn copy_out(
    (data, what): (&[u8], &str),
    (buffer, name): (*mut u8, &str),
    capacity: usize,
    bytes: &mut usize,
) -> Result<(), Failure> {
    *bytes = data.len();
    match capacity {
        0 => Ok(()),
        _ if capacity < data.len() => {
            Err(Failure::argument(format!("{what} has {} bytes, and capacity is {capacity}", data.len())))
        }
        _ => {
            // SAFETY: as the caller of this function promises, and the capacity suffices.
            unsafe { values_mut(buffer, data.len(), name) }?.copy_from_slice(data);
            Ok(())
        }
    }
}

/// Fails if the array would have more than `isize::MAX` bytes, the size limit of any object.
fn check_length<T>(count: usize, what: &str) -> Result<(), Failure> {
    let bytes = count.checked_mul(mem::size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.map(drop).ok_or_else(|| Failure::argument(format!("{what}: no memory has {count} elements")))
}

/// Borrows a UTF-8 string.
///
/// # Safety
/// The pointer is NULL, or it points to a zero-terminated string that nobody changes during `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller of this function promises.
    let text = unsafe { bytes_of(pointer, what) }?;
    str::from_utf8(text).map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// Borrows the bytes of a string, without the terminating zero.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn bytes_of<'a>(pointer: *const c_char, what: &str) -> Result<&'a [u8], Failure> {
    // SAFETY: as the caller of this function promises.
    checked(pointer, what).map(|pointer| unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// A struct whose first field is its own size.
///
/// # Safety
/// `Self` is `repr(C)`, begins with a `usize`, and all its bytes may be zero.
pub(crate) unsafe trait SizedStruct: Copy {
    /// Its name in C.
    const NAME: &'static str;
}

/// Returns the `struct_size` of a struct. It must be at least the size of the fields known here, and at most
/// [`LARGEST_GROWTH`] more.
///
/// # Safety
/// The pointer is NULL, or it points to a struct of `struct_size` bytes.
unsafe fn stated<T: SizedStruct>(pointer: *const T) -> Result<usize, Failure> {
    // SAFETY: such a struct begins with its size.
    let size = unsafe { checked(pointer, T::NAME)?.cast::<usize>().read() };
    let least = mem::size_of::<T>();
    if (least..=least + LARGEST_GROWTH).contains(&size) {
        return Ok(size);
    }
    let message = format!("{0}: struct_size is {size}, not {least}: set it to sizeof({0})", T::NAME);
    Err(Failure::argument(message))
}

/// Maximum number of bytes that later versions may append to a struct. A larger `struct_size` is taken for
/// uninitialized memory.
const LARGEST_GROWTH: usize = 1024;

/// Reads a struct. A program compiled with a later header may have fields that are unknown here; they must be zero,
/// which requests nothing.
///
/// # Safety
/// The pointer is NULL, or it points to a struct of `struct_size` bytes.
pub(crate) unsafe fn read<T: SizedStruct>(pointer: *const T) -> Result<T, Failure> {
    // SAFETY: as the caller of this function promises.
    let size = unsafe { stated(pointer) }?;
    let more = size - mem::size_of::<T>();
    // SAFETY: the struct has `size` bytes: the known fields, then `more` bytes.
    let rest = unsafe { slice::from_raw_parts(pointer.add(1).cast::<u8>(), more) };
    if rest.iter().any(|&byte| byte != 0) {
        let version = env!("CARGO_PKG_VERSION");
        return Err(Failure::argument(format!("{}: a field is set that texpool {version} does not have", T::NAME)));
    }
    // SAFETY: the pointer was checked, and the struct has at least this size.
    Ok(unsafe { pointer.read() })
}

/// Writes a struct, and zeroes the bytes of fields that are unknown here. `make` receives the value for
/// `struct_size`.
///
/// # Safety
/// The pointer is NULL, or it points to a struct of `struct_size` bytes that nobody else uses.
pub(crate) unsafe fn write<T: SizedStruct>(
    pointer: *mut T,
    make: impl FnOnce(usize) -> Result<T, Failure>,
) -> Result<(), Failure> {
    // SAFETY: as the caller of this function promises.
    let size = unsafe { stated(pointer) }?;
    let value = make(size)?;
    // SAFETY: the pointer was checked, and the struct has `struct_size` bytes.
    unsafe {
        pointer.write(value);
        pointer.add(1).cast::<u8>().write_bytes(0, size - mem::size_of::<T>());
    }
    Ok(())
}
