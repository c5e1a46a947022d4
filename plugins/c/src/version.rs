//! Versions of the interface and of the library.

use std::ffi::{CStr, c_char};

/// Version of this interface. A program compiled with one version works with every older or newer library of the same
/// version; see "What stays the same" in the README.
pub const TEXPOOL_ABI_VERSION: u32 = 1;

/// Returns the interface version of the library, for comparison with the TEXPOOL_ABI_VERSION that the program was
/// compiled with.
#[unsafe(no_mangle)]
pub extern "C" fn texpool_abi_version() -> u32 {
    TEXPOOL_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0". Never NULL; the string is static.
#[unsafe(no_mangle)]
pub extern "C" fn texpool_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}
