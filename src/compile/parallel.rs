//! Independent jobs, spread over the machine's cores; the answers do not depend on how.

use std::{
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// What `work` makes of each job, in the order of the jobs. Where no thread can be had, this one does them all.
pub(super) fn parallel_map<T: Sync, R: Send>(jobs: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    let run = || {
        // Relaxed is enough: the counter only hands out each index once, and answers pass through the mutex.
        while let Some((index, job)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, jobs.get(i)?)))
        {
            let made = work(job);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, made));
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // From one on, since this thread works too.
        for _ in 1..cores.min(jobs.len()) {
            // A thread that cannot be had is no loss: the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    // Threads finish in any order, which the answers must not depend on.
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, made)| made).collect()
}

/// What both answer, worked out side by side where another thread can be had.
pub(super) fn join<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        // Lent and not given away: where no thread can be had, it runs here after all.
        let first = thread::Builder::new().spawn_scoped(scope, &one);
        let second = other();
        let first = match first {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => one(),
        };
        (first, second)
    })
}
