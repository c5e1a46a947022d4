//! Handles Ctrl-C and SIGTERM during a download: the signal is recorded, so that the client is stopped and its files
//! are removed first. At all other times these signals end the process as usual.

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// State shared with the signal handlers. Handlers cannot be removed again, so they are installed once.
struct Flags {
    /// True if an interrupt ends the process as usual.
    usual: Arc<AtomicBool>,
    /// True if an interrupt was recorded.
    came: Arc<AtomicBool>,
}

fn flags() -> &'static Flags {
    static FLAGS: OnceLock<Flags> = OnceLock::new();
    FLAGS.get_or_init(|| {
        let flags = Flags { usual: Arc::new(AtomicBool::new(true)), came: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            // Handlers run in the order they are registered: the first ends the process unless that is deferred.
            let set = flag::register_conditional_default(signal, Arc::clone(&flags.usual))
                .and_then(|_| flag::register(signal, Arc::clone(&flags.came)));
            if let Err(error) = set {
                tracing::warn!(signal, %error, "interrupts are not noted");
            }
        }
        flags
    })
}

/// From now on an interrupt is only recorded.
pub(super) fn defer() {
    flags().usual.store(false, Ordering::SeqCst);
}

/// From now on an interrupt ends the process again.
pub(super) fn restore() {
    flags().usual.store(true, Ordering::SeqCst);
}

/// Returns true if an interrupt was recorded.
pub(super) fn received() -> bool {
    flags().came.load(Ordering::SeqCst)
}
