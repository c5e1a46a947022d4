//! What sessions that are gone leave in their process, which no other test shares here.

use super::Child;
use crate::stream::{GROWN, HOW_MANY};

/// Bytes that the process may grow by: 4 KiB for each of a thousand sessions, less than the least of its textures takes.
const MOST: u64 = 4 << 20;

/// Who makes sessions as long as the process lives does not run out of memory.
#[test]
fn a_thousand_sessions_leave_no_memory_behind() {
    let sessions = Child::new().only("stream::nothing_is_left_of_many_sessions").env(HOW_MANY, "1000");
    let outcome = sessions.run().must_pass();
    let values = outcome.values(GROWN);
    let [grown] = &values[..] else { panic!("the child says nothing: {}", outcome.output) };
    println!("{GROWN}{grown}");
    assert!(grown.parse::<u64>().unwrap() <= MOST, "{grown} bytes more");
}
