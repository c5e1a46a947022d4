//! What C hands over, looked at before it is followed: pointers that are NULL or not aligned, lengths that no memory has,
//! structs of another size, texts that are none. Whether memory is there that a pointer names nobody can see.

use std::{
    ffi::{CStr, c_char},
    mem, slice,
};

use crate::error::Failure;

/// A pointer that may be followed, as far as can be seen.
fn checked<T>(pointer: *const T, what: &str) -> Result<*const T, Failure> {
    if pointer.is_null() {
        Err(Failure::argument(format!("{what} is NULL")))
    } else if !pointer.is_aligned() {
        Err(Failure::argument(format!("{what} is not aligned to {} bytes", mem::align_of::<T>())))
    } else {
        Ok(pointer)
    }
}

/// Something of the library's that the caller holds.
///
/// # Safety
/// The pointer is NULL, or one that the library gave and that is not released for as long as `'a`.
pub(crate) unsafe fn held<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller of this function promises.
    checked(pointer, what).map(|pointer| unsafe { &*pointer })
}

/// Room for one value.
///
/// # Safety
/// The pointer is NULL, or to memory of a `T` that nobody else uses for as long as `'a`.
pub(crate) unsafe fn room<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller of this function promises.
    checked(pointer, what).map(|_| unsafe { &mut *pointer })
}

/// Values one behind the other; none where there are none, whatever the pointer.
///
/// # Safety
/// The pointer is NULL, or to as many values that nobody changes for as long as `'a`.
pub(crate) unsafe fn values<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check_length::<T>(count, what)?;
    // SAFETY: as the caller of this function promises, and no object is larger than was checked.
    checked(pointer, what).map(|pointer| unsafe { slice::from_raw_parts(pointer, count) })
}

/// Room for values one behind the other.
///
/// # Safety
/// The pointer is NULL, or to memory of as many values that nobody else uses for as long as `'a`.
pub(crate) unsafe fn values_mut<'a, T>(pointer: *mut T, count: usize, what: &str) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_length::<T>(count, what)?;
    // SAFETY: as the caller of this function promises, and no object is larger than was checked.
    checked(pointer, what).map(|_| unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// No object has more bytes than an `isize` counts.
fn check_length<T>(count: usize, what: &str) -> Result<(), Failure> {
    let bytes = count.checked_mul(mem::size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.map(drop).ok_or_else(|| Failure::argument(format!("{what}: no memory has {count} elements")))
}

/// A text in UTF-8.
///
/// # Safety
/// The pointer is NULL, or to bytes up to a zero that nobody changes for as long as `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller of this function promises.
    let text = unsafe { bytes_of(pointer, what) }?;
    str::from_utf8(text).map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// The bytes of a text, without the zero.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn bytes_of<'a>(pointer: *const c_char, what: &str) -> Result<&'a [u8], Failure> {
    // SAFETY: as the caller of this function promises.
    checked(pointer, what).map(|pointer| unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// A struct that begins with its own size.
///
/// # Safety
/// `Self` is `repr(C)`, begins with a `usize`, and all its bytes may be zero.
pub(crate) unsafe trait SizedStruct: Copy {
    /// Its name in C.
    const NAME: &'static str;
}

/// The size that a struct states, which must be that of all its fields or more.
///
/// # Safety
/// The pointer is NULL, or to a struct with as many bytes as it says.
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

/// Bytes by which later versions may make a struct longer; more is a number that nobody set.
const LARGEST_GROWTH: usize = 1024;

/// Reads a struct. A program that was compiled with a later header may have more fields than are known here: they must
/// be zero, which asks for nothing.
///
/// # Safety
/// The pointer is NULL, or to a struct with as many bytes as it says.
pub(crate) unsafe fn read<T: SizedStruct>(pointer: *const T) -> Result<T, Failure> {
    // SAFETY: as the caller of this function promises.
    let size = unsafe { stated(pointer) }?;
    let more = size - mem::size_of::<T>();
    // SAFETY: the struct has as many bytes, those of the fields that are known and more behind them.
    let rest = unsafe { slice::from_raw_parts(pointer.add(1).cast::<u8>(), more) };
    if rest.iter().any(|&byte| byte != 0) {
        let version = env!("CARGO_PKG_VERSION");
        return Err(Failure::argument(format!("{}: a field is set that texpool {version} does not have", T::NAME)));
    }
    // SAFETY: the pointer was checked, and the struct is as large.
    Ok(unsafe { pointer.read() })
}

/// Fills a struct in; of fields that are not known here every byte is zero. `make` gets the size to put in front.
///
/// # Safety
/// The pointer is NULL, or to a struct with as many bytes as it says that nobody else uses.
pub(crate) unsafe fn write<T: SizedStruct>(
    pointer: *mut T,
    make: impl FnOnce(usize) -> Result<T, Failure>,
) -> Result<(), Failure> {
    // SAFETY: as the caller of this function promises.
    let size = unsafe { stated(pointer) }?;
    let value = make(size)?;
    // SAFETY: the pointer was checked, and the struct is as large as it says.
    unsafe {
        pointer.write(value);
        pointer.add(1).cast::<u8>().write_bytes(0, size - mem::size_of::<T>());
    }
    Ok(())
}
