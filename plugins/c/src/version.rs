//! Which interface this is.

use std::ffi::{CStr, c_char};

/// The version of this interface. Programs that were compiled with one version work with every library of that version,
/// older and newer: see "What stays the same" in the README.
pub const TEXPOOL_ABI_VERSION: u32 = 1;

/// The version of the interface that the library has, to be compared with TEXPOOL_ABI_VERSION, with which the program was
/// compiled.
#[unsafe(no_mangle)]
pub extern "C" fn texpool_abi_version() -> u32 {
    TEXPOOL_ABI_VERSION
}

/// The version of the library, such as "0.1.0". Never NULL; it is the library's and stays.
#[unsafe(no_mangle)]
pub extern "C" fn texpool_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}
