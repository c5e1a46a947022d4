//! Tracks which session last used a pool.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A session's view of the pool that it belongs to.
#[derive(Debug)]
pub(super) struct PoolTicket {
    number: u64,
    entered: Arc<AtomicU64>,
}

impl PoolTicket {
    pub(super) fn new(entered: &Arc<AtomicU64>) -> Self {
        // 0 means that no session has entered yet.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), entered: Arc::clone(entered) }
    }

    /// Enters the pool that records its current session in `entered`. Returns true if it is the session's pool.
    pub(super) fn enter(&self, entered: &Arc<AtomicU64>) -> bool {
        let own = Arc::ptr_eq(&self.entered, entered);
        if own {
            entered.store(self.number, Ordering::Relaxed);
        }
        own
    }

    /// Returns true if this session entered last. This must be checked because the caller may have swapped the session
    /// with another one.
    pub(super) fn is_in(&self) -> bool {
        self.entered.load(Ordering::Relaxed) == self.number
    }
}
