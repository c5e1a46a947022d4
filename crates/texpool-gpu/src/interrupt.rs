//! Callback that can end a blocking wait before the device is done.

use std::{fmt, ops::ControlFlow, sync::Arc};

use super::GpuError;

/// Callback that ends blocking waits early. The waiting thread calls it before each wait and ten times a second
/// during it. If it returns [`ControlFlow::Break`], the call fails with [`GpuError::Interrupted`]. The next call
/// first waits for the remaining work.
///
/// Many waits are short, so the callback should be cheap.
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
    /// Creates an interrupt from a callback that returns whether a wait should continue.
    pub fn new(ask: impl Fn() -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Returns an error if the wait for `what` should end.
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
