//! Shared test helpers: a model, and calls made the way C makes them.

use std::{ffi::CStr, mem, ptr};

use texpool::*;

use crate::sine::sine;

/// Number of elements in the model's input and output.
pub(crate) const ELEMENTS: usize = 105;

/// Opens a device that only this test uses.
pub(crate) fn device() -> *mut texpool_device {
    let mut device = ptr::null_mut();
    // SAFETY: there is room for the device.
    ok(|error| unsafe { texpool_device_open(ptr::null(), 0, &mut device, error) });
    device
}

/// Creates a session of the sine model.
pub(crate) fn session(device: *mut texpool_device) -> *mut texpool_session {
    // SAFETY: zeros request nothing.
    let mut descriptor: texpool_session_descriptor = unsafe { mem::zeroed() };
    descriptor.struct_size = size_of::<texpool_session_descriptor>();
    descriptor.device = device;
    let model = sine();
    descriptor.model_data = model.as_ptr().cast();
    descriptor.model_bytes = model.len();
    let mut session = ptr::null_mut();
    // SAFETY: all pointers that are set are valid.
    ok(|error| unsafe { texpool_session_create(&descriptor, &mut session, error) });
    session
}

/// Runs the session, and returns its output or the error.
pub(crate) fn run(session: *mut texpool_session) -> Result<Vec<f32>, (texpool_status, String)> {
    let (values, mut sines) = ([0.5f32; ELEMENTS], vec![0.0f32; ELEMENTS]);
    // SAFETY: zeros request nothing.
    let (mut input, mut output): (texpool_input, texpool_output) = unsafe { (mem::zeroed(), mem::zeroed()) };
    (input.data, input.bytes) = (values.as_ptr().cast(), size_of_val(&values));
    (output.data, output.bytes) = (sines.as_mut_ptr().cast(), size_of_val(&sines[..]));
    input.element_type = texpool_element_type::TEXPOOL_F32 as u32;
    output.element_type = texpool_element_type::TEXPOOL_F32 as u32;
    // SAFETY: session, values and output memory are valid.
    status_of(|error| unsafe { texpool_session_run(session, &input, 1, &output, 1, error) }).map(|()| sines)
}

/// Makes a call, and returns its status and message if it fails.
pub(crate) fn status_of(
    call: impl FnOnce(*mut *mut texpool_error) -> texpool_status,
) -> Result<(), (texpool_status, String)> {
    let mut error = ptr::null_mut();
    let status = call(&mut error);
    // SAFETY: the error was just made, or is NULL.
    unsafe {
        assert_eq!(texpool_error_status(error), status);
        let message = CStr::from_ptr(texpool_error_message(error)).to_str().unwrap().to_owned();
        texpool_error_release(error);
        if status == texpool_status::TEXPOOL_OK { Ok(()) } else { Err((status, message)) }
    }
}

pub(crate) fn ok(call: impl FnOnce(*mut *mut texpool_error) -> texpool_status) {
    status_of(call).unwrap();
}
