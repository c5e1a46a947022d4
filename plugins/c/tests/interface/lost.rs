//! Loses a device while a session uses it.

use texpool::*;

use crate::support::{device, ok, run, session, status_of};

fn fresh() -> (*mut texpool_device, *mut texpool_session) {
    let device = device();
    (device, session(device))
}

#[test]
fn a_lost_device_has_an_error_of_its_own() {
    let (device, session) = fresh();
    run(session).unwrap();
    // SAFETY: what is released is not used afterwards.
    unsafe {
        ok(|error| texpool_device_check(device, error));
        (*device).context().device().destroy();
        let (status, message) = run(session).unwrap_err();
        assert_eq!(status, texpool_status::TEXPOOL_ERROR_DEVICE_LOST, "{message}");
        assert!(message.contains("the device was lost"), "{message}");
        let (status, _) = status_of(|error| texpool_device_check(device, error)).unwrap_err();
        assert_eq!(status, texpool_status::TEXPOOL_ERROR_DEVICE_LOST);
        texpool_session_release(session);
        texpool_device_release(device);
    }
    // A new device can be opened afterwards.
    let (device, session) = fresh();
    run(session).unwrap();
    // SAFETY: what is released is not used afterwards.
    unsafe {
        texpool_session_release(session);
        texpool_device_release(device);
    }
}
