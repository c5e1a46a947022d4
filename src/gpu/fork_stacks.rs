//! A clean end of a forked child that has opened a device of its own.
//!
//! Mesa's drivers have a thread that writes the cache of compiled shaders, and join it when the process exits. A child has
//! inherited that intention with its parent's memory, but not the thread. The C library takes the stacks of threads that a
//! fork has lost for its own new threads, and unmaps them after those, so the join reads memory that is gone, and the
//! child ends by SIGSEGV. Here each such stack is given to a thread that ends at once and is never joined: what is known of
//! it stays, and a join of it returns.

use std::{
    fs, mem,
    sync::{Arc, Mutex, OnceLock},
    thread,
};

use super::process::{PerProcess, Process};

/// The first process that has opened a device: this one, or one that this one was forked from.
static FIRST: OnceLock<Process> = OnceLock::new();
/// Whether the stacks were taken.
static TAKEN: PerProcess<OnceLock<()>> = PerProcess::new();

/// More threads than any driver has. Chosen; a stack beyond them is one that no driver's thread had.
const MOST: usize = 512;
/// Bytes of what lies in front of a stack, so that who runs over its end is noticed.
const GUARD: usize = 4096;

/// Takes the stacks that a fork has lost the threads of, once, before a driver makes threads.
pub(super) fn keep() {
    if FIRST.get_or_init(Process::current).was_forked() {
        let maps = || fs::read_to_string("/proc/self/maps").unwrap_or_default();
        TAKEN.get().get_or_init(|| take(&stacks(&maps())));
    }
}

/// Bytes of each stack that a list of mappings shows: memory that follows a guard. Those of threads that run are among
/// them, which costs some addresses.
fn stacks(maps: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut guard_end = None;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (range, access) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        let Some((begin, end)) = range.split_once('-').and_then(|(b, e)| Some((address(b)?, address(e)?))) else {
            continue;
        };
        if access == "rw-p" && guard_end == Some(begin) {
            found.push(end - begin);
        }
        guard_end = (access == "---p" && end - begin == GUARD).then_some(end);
    }
    found.truncate(MOST);
    found
}

/// Has a thread for each of the stacks at once, all of which then end.
fn take(stacks: &[usize]) {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let pass = |bytes: &usize| {
        let gate = Arc::clone(&gate);
        thread::Builder::new().stack_size(*bytes).spawn(move || drop(gate.lock())).ok()
    };
    let threads: Vec<_> = stacks.iter().filter_map(pass).collect();
    drop(closed);
    // Neither joined nor dropped, which would give the stacks back.
    mem::forget(threads);
}

#[cfg(test)]
mod tests {
    use super::stacks;

    #[test]
    fn what_follows_a_guard_is_a_stack() {
        let maps = "\
            7f00000000-7f00001000 ---p 00000000 00:00 0 \n\
            7f00001000-7f00801000 rw-p 00000000 00:00 0 \n\
            7f00801000-7f00802000 ---p 00000000 00:00 0 \n\
            7f00803000-7f00804000 rw-p 00000000 00:00 0 [heap]\n\
            7f00900000-7f00a00000 ---p 00000000 00:00 0 \n\
            7f00a00000-7f00b00000 rw-p 00000000 00:00 0 \n\
            no mapping\n";
        assert_eq!(stacks(maps), [8 << 20]);
        assert!(stacks("").is_empty());
    }
}
