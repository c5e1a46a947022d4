//! Who may end a blocking wait before the device is done.

use std::{fmt, ops::ControlFlow, sync::Arc};

use super::GpuError;

/// Ends blocking waits early: a question that is asked before each and ten times a second during it, on the thread that
/// waits. Where it answers [`ControlFlow::Break`], the call ends with [`GpuError::Interrupted`], and the next one first
/// waits for what is left of the work.
///
/// Many waits are short, so the question should cost little.
///
/// ```no_run
/// use std::{ops::ControlFlow, sync::atomic::{AtomicBool, Ordering}};
/// use texpool::{Context, GpuOptions, Interrupt};
///
/// static PRESSED: AtomicBool = AtomicBool::new(false);
///
/// let ask = || if PRESSED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
/// let context = Context::open(&GpuOptions { interrupt: Some(Interrupt::new(ask)), ..GpuOptions::default() })?;
/// # Ok::<(), texpool::Error>(())
/// ```
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> ControlFlow<()> + Send + Sync>);

impl Interrupt {
    /// Asks `ask` whether a wait goes on.
    pub fn new(ask: impl Fn() -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks whether the wait for `what` goes on.
    pub(super) fn check(&self, what: &str) -> Result<(), GpuError> {
        match (self.0)() {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(GpuError::Interrupted { what: what.to_owned() }),
        }
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").finish_non_exhaustive()
    }
}
