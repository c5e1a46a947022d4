//! Runs independent jobs on all cores; the results do not depend on the scheduling.

use std::{
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Returns the result of `work` for each job, in the order of the jobs. If no thread can be created, the calling
/// thread does all jobs.
pub(super) fn parallel_map<T: Sync, R: Send>(jobs: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    let run = || {
        // Relaxed is enough: the counter only hands out each index once, and results pass through the mutex.
        while let Some((index, job)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, jobs.get(i)?)))
        {
            let result = work(job);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // Starts at one, because the calling thread works too.
        for _ in 1..cores.min(jobs.len()) {
            // It does not matter if a thread cannot be created: the other threads do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    // Threads finish in any order; the results must not depend on it.
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs both closures, in parallel if a thread can be created, and returns both results.
pub(super) fn join<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        // Passes a reference, so that the closure can still run on this thread if no thread can be created.
        let first = thread::Builder::new().spawn_scoped(scope, &one);
        let second = other();
        let first = match first {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => one(),
        };
        (first, second)
    })
}
