//! Ctrl-C and SIGTERM while a client works: recorded instead of ending the process, so that the client is stopped and
//! what it wrote is removed first. At all other times they end the process as usual.

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// What the handlers read and set. Handlers cannot be removed again, so they are set up once.
struct Flags {
    /// Whether an interrupt ends the process, as usual.
    usual: Arc<AtomicBool>,
    /// Whether one came.
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

/// Whether an interrupt was recorded.
pub(super) fn received() -> bool {
    flags().came.load(Ordering::SeqCst)
}
