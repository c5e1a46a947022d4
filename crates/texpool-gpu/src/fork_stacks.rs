//! Lets a forked child that has opened its own device exit cleanly.
//!
//! Mesa's drivers have a thread that writes the cache of compiled shaders, and they join it when the process exits. A
//! child inherits the record of that thread with its parent's memory, but not the thread. The C library reuses the
//! stacks of threads lost in a fork for new threads, and unmaps them afterwards. The join then reads unmapped memory,
//! and the child dies with SIGSEGV. This module gives each such stack to a thread that ends at once and is never
//! joined. The thread record therefore stays in memory, and joining it returns.

use std::{
    fs, mem,
    sync::{Arc, Mutex, OnceLock},
    thread,
};

use super::process::{PerProcess, Process};

/// The first process that opened a device: this one or an ancestor that forked it.
static FIRST: OnceLock<Process> = OnceLock::new();
/// Set once the stacks have been taken.
static TAKEN: PerProcess<OnceLock<()>> = PerProcess::new();

/// Upper limit on the number of stacks. Chosen far above the number of threads that a driver has, so that later
/// stacks do not belong to a driver.
const MOST: usize = 512;
/// Bytes of the guard page before a stack, which catches overflows.
const GUARD: usize = 4096;

/// Takes the stacks whose threads were lost in a fork. Runs once, before a driver creates threads.
pub(super) fn keep() {
    if FIRST.get_or_init(Process::current).was_forked() {
        let maps = || fs::read_to_string("/proc/self/maps").unwrap_or_default();
        TAKEN.get().get_or_init(|| take(&stacks(&maps())));
    }
}

/// Returns the size of each stack in a list of mappings, in bytes: a writable mapping after a guard page. This
/// includes stacks of running threads, which only wastes some address space.
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

/// Runs one thread per stack, all at the same time, then lets them end.
fn take(stacks: &[usize]) {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let pass = |bytes: &usize| {
        let gate = Arc::clone(&gate);
        thread::Builder::new().stack_size(*bytes).spawn(move || drop(gate.lock())).ok()
    };
    let threads: Vec<_> = stacks.iter().filter_map(pass).collect();
    drop(closed);
    // Neither joined nor dropped, because either would release the stacks.
    mem::forget(threads);
}

#[cfg(test)]
mod tests {
    use super::stacks;

    #[test]
    fn a_mapping_behind_a_guard_is_a_stack() {
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
