//! Interrupts while a client works: noted, so that the client is stopped and what it wrote removed before this process
//! ends. At all other times they do what they always do.

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// What the handlers look at and set. Handlers cannot be taken back, so they are set up once.
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
            // The first is asked first. Where no handler can be set up, interrupts stay what they are.
            let set = flag::register_conditional_default(signal, Arc::clone(&flags.usual))
                .and_then(|_| flag::register(signal, Arc::clone(&flags.came)));
            if let Err(error) = set {
                tracing::warn!(signal, %error, "interrupts are not noted");
            }
        }
        flags
    })
}

/// From now on an interrupt is noted and no more.
pub(super) fn catch() {
    flags().usual.store(false, Ordering::SeqCst);
}

/// From now on an interrupt ends the process again.
pub(super) fn release() {
    flags().usual.store(true, Ordering::SeqCst);
}

/// Whether one was noted.
pub(super) fn came() -> bool {
    flags().came.load(Ordering::SeqCst)
}
