//! Running out of memory on a software device, whose memory is that of the process.

use super::Child;
use crate::scarce::NO_ROOM;

/// Address space of the child, in KiB: enough for a device, and for some of the textures.
const LIMIT: u32 = 3 << 20;

/// The out-of-memory error states how many bytes were requested.
#[test]
fn allocations_that_fail_are_named_in_bytes() {
    let name = "scarce::textures_that_have_no_room_are_named_in_bytes";
    let outcome = Child::new().only(name).within(LIMIT).run().must_pass();
    let errors = outcome.values(NO_ROOM);
    let [error] = &errors[..] else { panic!("the memory did not run out: {}", outcome.output) };
    assert!(error.contains("creating texture large, which takes 268435456 bytes"), "{error}");
}
