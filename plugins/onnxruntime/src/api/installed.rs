//! Tests the declared tables against the installed runtime: each member that works without a session must behave as
//! declared.
//!
//! Members for graphs, nodes and values are tested by every session of the Python tests.

use std::{
    ffi::{CStr, CString},
    ptr,
};

use super::{
    tables::{OrtApi, OrtApiBase},
    types::{ErrorCode, ORT_API_VERSION},
};
use crate::{
    failure::Failure,
    host::{Host, string},
};

/// Loads the runtime named by the environment variable. It is never unloaded.
fn installed() -> &'static OrtApiBase {
    let path = std::env::var("TEXPOOL_ONNXRUNTIME_LIBRARY");
    let path = path.expect("TEXPOOL_ONNXRUNTIME_LIBRARY names the runtime's library; plugins/onnxruntime/test sets it");
    // SAFETY: any program that loads the runtime runs its constructors, and the symbol has this type.
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(path).unwrap()));
        let get = library.get::<unsafe extern "system" fn() -> *const OrtApiBase>(b"OrtGetApiBase").unwrap();
        get().as_ref().unwrap()
    }
}

fn api() -> (&'static OrtApi, Host) {
    let base = installed();
    // SAFETY: the pointer comes from the runtime.
    let host = unsafe { Host::new(base) }.unwrap();
    (host.api, host)
}

#[test]
fn the_runtime_is_the_one_that_is_pinned() {
    // SAFETY: the runtime's tables and strings are never freed.
    unsafe {
        let base = installed();
        assert_eq!(string((base.get_version_string)()), "1.32.0");
        assert!(!(base.get_api)(ORT_API_VERSION).is_null());
        // The runtime logs this to standard error, and returns NULL.
        assert!((base.get_api)(u32::MAX).is_null());
    }
}

#[test]
fn errors_go_there_and_back() {
    let (api, host) = api();
    let status = host.answer(|| Err(Failure::new(ErrorCode::DeviceReset, "the device was lost")));
    // SAFETY: the status was just made, and is released once.
    unsafe {
        assert_eq!((api.get_error_code)(status), ErrorCode::DeviceReset as i32);
        assert_eq!(string((api.get_error_message)(status)), "texpool: the device was lost");
        let failure = host.check(status).unwrap_err();
        assert_eq!(failure.message, "texpool: the device was lost");
        let status = host.answer(|| panic!("no room"));
        assert_eq!(host.check(status).unwrap_err().message, "texpool: a defect of texpool: no room");
        assert_eq!(host.check(host.answer(|| Ok(()))), Ok(()));
    }
}

#[test]
fn lists_of_pairs_keep_what_they_are_given() {
    let (api, _) = api();
    let (key, value) = (c"ep.texpoolexecutionprovider.budget", c"2MiB");
    // SAFETY: the list was just created, and is released once after its strings are used.
    unsafe {
        let mut pairs = ptr::null_mut();
        (api.create_key_value_pairs)(&mut pairs);
        (api.add_key_value_pair)(pairs, key.as_ptr(), value.as_ptr());
        assert_eq!(CStr::from_ptr((api.get_key_value)(pairs, key.as_ptr())), value);
        assert!((api.get_key_value)(pairs, c"other".as_ptr()).is_null());
        let (mut keys, mut values, mut count) = (ptr::null(), ptr::null(), 0);
        (api.get_key_value_pairs)(pairs, &mut keys, &mut values, &mut count);
        assert_eq!(count, 1);
        assert_eq!((CStr::from_ptr(*keys), CStr::from_ptr(*values)), (key, value));
        (api.release_key_value_pairs)(pairs);
    }
}

/// A runtime that is too old lacks the required table, and must return an error through its first table.
#[test]
fn an_old_runtime_gets_an_error_of_its_own_making() {
    unsafe extern "system" fn get_api(version: u32) -> *const OrtApi {
        // SAFETY: any version may be requested.
        if version == ORT_API_VERSION { ptr::null() } else { unsafe { (installed().get_api)(version) } }
    }
    unsafe extern "system" fn get_version_string() -> *const std::ffi::c_char {
        c"1.20.0".as_ptr()
    }
    let base = OrtApiBase { get_api, get_version_string };
    // SAFETY: the base exists, and the status was just made.
    unsafe {
        let status = Host::new(&base).unwrap_err();
        let message = CString::from(CStr::from_ptr((api().0.get_error_message)(status)));
        assert_eq!((api().0.get_error_code)(status), ErrorCode::NotImplemented as i32);
        let expected =
            "texpool: this ONNX Runtime, 1.20.0, has no plugin interface of version 24; install 1.24 or newer";
        assert_eq!(message.to_str(), Ok(expected));
        (api().0.release_status)(status);
    }
}
