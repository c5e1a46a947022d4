//! Memory that dropped sessions leave in their process, which no other test shares here.

use super::Child;
use crate::stream::{GROWN, HOW_MANY};

/// Bytes by which the process may grow: 4 KiB for each of a thousand sessions, less than the smallest texture of a
/// session.
const MOST: u64 = 4 << 20;

/// A process that keeps creating sessions does not run out of memory.
#[test]
fn a_thousand_sessions_leave_no_memory_behind() {
    let sessions = Child::new().only("stream::nothing_is_left_of_many_sessions").env(HOW_MANY, "1000");
    let outcome = sessions.run().must_pass();
    let values = outcome.values(GROWN);
    let [grown] = &values[..] else { panic!("the child says nothing: {}", outcome.output) };
    println!("{GROWN}{grown}");
    assert!(grown.parse::<u64>().unwrap() <= MOST, "{grown} bytes more");
}
