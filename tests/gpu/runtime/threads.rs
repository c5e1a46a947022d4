//! Sessions of one device in several threads.

use std::thread;

use texpool::Context;

use super::{answer, compiled, run};
use crate::{support::open, witness::Child};

/// Runs of each thread: enough that without turns (`crates/texpool-gpu/src/driver.rs`) some end in a panic of wgpu's.
const RUNS: usize = 150;

#[test]
fn sessions_of_one_device_run_side_by_side() {
    let context = Context::from_gpu(open());
    let plans = compiled(&context);
    let right: Vec<_> = (0..3).map(|seed| answer(&plans[0], seed)).collect();
    thread::scope(|scope| {
        for number in 0..4 {
            let (plan, right) = (&plans[number % 2], &right);
            scope.spawn(move || {
                let mut session = plan.session().unwrap();
                for turn in 0..RUNS {
                    let seed = (turn + number) % right.len();
                    assert!(run(&mut session, seed) == right[seed], "another answer in thread {number}");
                }
            });
        }
    });
}

/// The panic is prevented, not only caught, so it is not printed either.
#[test]
fn no_thread_prints_a_panic() {
    let outcome = Child::new().only("threads::sessions_of_one_device").run().must_pass();
    assert!(!outcome.output.contains("panicked"), "{}", outcome.output);
}
