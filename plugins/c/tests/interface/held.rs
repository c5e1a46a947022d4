//! Checks that released sessions free everything on the device. `cycles.c` checks the memory of the process, in a
//! process without other tests.

use texpool::*;

use crate::support::{device, run, session};

/// Counts objects and bytes on the device after all submitted work is done.
fn live_resources(device: *mut texpool_device) -> [isize; 6] {
    // SAFETY: the device is there.
    let device = unsafe { &*device }.context().device();
    device.poll(texpool_rust::wgpu::PollType::wait_indefinitely()).unwrap();
    let hal = device.get_internal_counters().hal;
    [
        &hal.buffers,
        &hal.buffer_memory,
        &hal.texture_memory,
        &hal.texture_views,
        &hal.bind_groups,
        &hal.compute_pipelines,
    ]
    .map(|counter| counter.read())
}

#[test]
fn nothing_is_left_of_sessions_that_are_gone() {
    let device = device();
    let one = || {
        let session = session(device);
        let mut another = std::ptr::null_mut();
        run(session).unwrap();
        // SAFETY: what is released is not used afterwards.
        unsafe {
            crate::support::ok(|error| texpool_session_another(session, &mut another, error));
            texpool_session_release(session);
            run(another).unwrap();
            texpool_session_release(another);
        }
    };
    // The first run creates objects that the device keeps, such as pipelines.
    one();
    let empty = live_resources(device);
    (0..100).for_each(|_| one());
    assert_eq!(live_resources(device), empty);
    // SAFETY: it is not used afterwards.
    unsafe { texpool_device_release(device) };
}
