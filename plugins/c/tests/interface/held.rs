//! What a device holds when sessions are gone. What the process holds, a program in C counts, which nothing shares.

use texpool::*;

use crate::support::{device, run, session};

/// Objects and bytes on the device when all it was given is done.
fn held(device: *mut texpool_device) -> [isize; 6] {
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
    // What a device keeps for itself it has from the first run on, pipelines among it.
    one();
    let empty = held(device);
    (0..100).for_each(|_| one());
    assert_eq!(held(device), empty);
    // SAFETY: it is not used afterwards.
    unsafe { texpool_device_release(device) };
}
