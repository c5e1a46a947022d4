//! Detection of a lost device. wgpu keeps one device-lost callback per device, so installing ours would replace the
//! caller's. Therefore only devices that we opened get our callback; a device from the caller is probed instead.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use super::{GpuError, poll::poll_once};

/// Size of the buffer that is mapped to probe a device: the smallest possible.
const PROBE_BYTES: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

/// The first report of a device's loss. Separate from the probe, because a callback must be `Send`, and buffers are
/// not on WebAssembly.
#[derive(Debug, Default)]
struct LossReport(OnceLock<(Option<wgpu::DeviceLostReason>, String)>);

impl LossReport {
    /// Records why the device was lost. The first report wins.
    fn note(&self, reason: Option<wgpu::DeviceLostReason>, message: String) {
        let _ = self.0.set((reason, message));
    }
}

/// Detects and records the loss of one device.
#[derive(Debug)]
pub(super) struct Loss {
    told: Arc<LossReport>,
    /// For a device that the caller supplied.
    probe: Option<Mutex<Probe>>,
}

/// A buffer that is mapped to learn whether its device still works.
#[derive(Debug)]
struct Probe {
    buffer: wgpu::Buffer,
    /// True if the last request was refused. Shared with the callbacks of the requests.
    refused: Arc<AtomicBool>,
}

impl Loss {
    /// Watches a device that we opened, by installing our callback.
    pub(super) fn told_by(device: &wgpu::Device) -> Self {
        let told = Arc::new(LossReport::default());
        let to_tell = Arc::clone(&told);
        device.set_device_lost_callback(move |reason, message| to_tell.note(Some(reason), message));
        Self { told, probe: None }
    }

    /// Watches a device of the caller by probing it, because its callback belongs to the caller.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn probed(device: &wgpu::Device) -> Self {
        Self { told: Arc::default(), probe: Probe::new(device).map(Mutex::new) }
    }

    /// Watches a device of the caller. Browsers notify any number of listeners, so our callback disturbs nobody's.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn probed(device: &wgpu::Device) -> Self {
        Self::told_by(device)
    }

    /// Records why the device was lost. The first report wins.
    pub(super) fn note(&self, reason: Option<wgpu::DeviceLostReason>, message: String) {
        self.told.note(reason, message);
    }

    /// Checks for a recorded loss, without querying the device.
    pub(super) fn check_told(&self) -> Result<(), GpuError> {
        match self.told.0.get() {
            Some((reason, message)) => Err(GpuError::Lost { reason: *reason, message: message.clone() }),
            None => Ok(()),
        }
    }

    /// Checks that the device is not lost, using only what is visible without waiting.
    pub(super) fn check(&self, device: &wgpu::Device) -> Result<(), GpuError> {
        self.check_told()?;
        let Some(probe) = &self.probe else { return Ok(()) };
        // One thread at a time: a buffer with a pending mapping refuses another, just as on a lost device.
        let mut probe = probe.lock().unwrap_or_else(PoisonError::into_inner);
        if probe.refuses(device) {
            // A thread that polls the device at the moment the probe is unmapped may leave it mapped, so that it
            // refuses now. Only a fresh buffer, which no other thread has used, gives a reliable answer.
            let Some(fresh) = Probe::new(device) else { return Ok(()) };
            if fresh.refuses(device) {
                self.note(None, SEEN.to_owned());
                return self.check_told();
            }
            *probe = fresh;
        }
        // The device may be lost by now. Without a scope, wgpu would report the failed unmap as an uncaptured error
        // to the owner of the device.
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        probe.buffer.unmap();
        drop(poll_once(pin!(scope.pop())));
        Ok(())
    }

    /// Checks that the device maps a new buffer. Also probes devices that we opened, because those report a loss only
    /// when all their work has ended. The result is not recorded, so that the real reason can still arrive.
    pub(super) fn probe(&self, device: &wgpu::Device) -> Result<(), GpuError> {
        match Probe::new(device) {
            Some(fresh) if fresh.refuses(device) => Err(GpuError::Lost { reason: None, message: SEEN.to_owned() }),
            _ => Ok(()),
        }
    }
}

/// Message for a device whose loss was only detected by a probe.
const SEEN: &str = "it maps no buffers any more, so it was destroyed, or its driver lost it";

impl Probe {
    /// Creates a probe. Returns `None` if memory is exhausted: such a buffer can never be mapped, but that does not
    /// mean that the device is lost.
    fn new(device: &wgpu::Device) -> Option<Self> {
        let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("texpool probe"),
            size: PROBE_BYTES,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let is_made = matches!(poll_once(pin!(scope.pop())), Poll::Ready(None));
        is_made.then(|| Self { buffer, refused: Arc::default() })
    }

    /// Returns whether the device refuses to map the buffer. A lost device refuses before the request returns. A
    /// working device answers when it is polled, or never if the buffer is unmapped first.
    fn refuses(&self, device: &wgpu::Device) -> bool {
        // The unmapping after the last request ended that request with an error.
        self.refused.store(false, Ordering::Relaxed);
        let refused = Arc::clone(&self.refused);
        // Captures validation errors, so that a refusal for other reasons does not reach the owner of the device
        // either.
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        self.buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            if result.is_err() {
                refused.store(true, Ordering::Relaxed);
            }
        });
        drop(poll_once(pin!(scope.pop())));
        self.refused.load(Ordering::Relaxed)
    }
}
