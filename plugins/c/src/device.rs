//! Devices that sessions can share.

use std::sync::Arc;

use texpool_rust::{Context, NamedOptions};

use crate::{
    arguments::{borrowed, room},
    error::{texpool_error, texpool_status},
    guard::{answer, quiet},
    session::{Options, texpool_option},
};

/// An open device. All sessions created with it share it and its compiled shaders; a session created without one
/// opens a private device. Any thread may use it at any time.
pub struct texpool_device {
    context: Context,
}

impl texpool_device {
    /// The device, for tests.
    #[doc(hidden)]
    pub fn context(&self) -> &Context {
        &self.context
    }
}

/// Opens a device. Uses the adapter named in the options, or the one that the system prefers, with a software adapter
/// as the last resort. Options: "adapter" and "timeout". Release the device with texpool_device_release.
///
/// Errors: OPTION, NO_ADAPTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_device_open(
    options: *const texpool_option,
    option_count: usize,
    device: *mut *mut texpool_device,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        let (out, options) = unsafe { (room(device, "device")?, Options::read(options, option_count)?) };
        *out = std::ptr::null_mut();
        options.refuse(NamedOptions::beyond_device, "says nothing of a device: give it to texpool_session_create")?;
        let context = options.named().open()?;
        *out = Arc::into_raw(Arc::new(texpool_device { context })).cast_mut();
        Ok(())
    })
}

/// Checks that the device has not been lost.
///
/// Errors: DEVICE_LOST, with the reason if it is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_device_check(
    device: *const texpool_device,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || Ok(unsafe { borrowed(device, "device") }?.context.check()?))
}

/// Releases a device. Sessions that use it keep it alive until they are released. Does nothing if device is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_device_release(device: *mut texpool_device) {
    if !device.is_null() {
        // SAFETY: the pointer comes from `Arc::into_raw`, and the caller releases it once.
        quiet((), || drop(unsafe { Arc::from_raw(device.cast_const()) }));
    }
}
