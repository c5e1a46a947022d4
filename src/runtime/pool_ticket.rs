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
        // 0 is nobody.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), entered: Arc::clone(entered) }
    }

    /// Enters the pool that notes in `entered` who is in; whether it is the session's.
    pub(super) fn enter(&self, entered: &Arc<AtomicU64>) -> bool {
        let own = Arc::ptr_eq(&self.entered, entered);
        if own {
            entered.store(self.number, Ordering::Relaxed);
        }
        own
    }

    /// Returns true if this session entered last. The caller may have swapped it for another one.
    pub(super) fn is_in(&self) -> bool {
        self.entered.load(Ordering::Relaxed) == self.number
    }
}
