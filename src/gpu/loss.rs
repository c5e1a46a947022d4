//! How the loss of a device is noticed. wgpu tells one callback a device, and keeps who had asked before from hearing of
//! it; so only a device of our own has ours, and another one is probed.

use std::{
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    task::Poll,
};

use super::{GpuError, poll::poll_once};

/// Bytes of the buffer that is mapped to see whether its device is there: the fewest that can be.
const PROBE_BYTES: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

/// What was told of a device's loss. Apart from the probe, because a callback must be `Send`, which buffers are not on
/// WebAssembly.
#[derive(Debug, Default)]
struct Told(OnceLock<(Option<wgpu::DeviceLostReason>, String)>);

impl Told {
    /// Notes how the device was lost. What was told first counts.
    fn note(&self, reason: Option<wgpu::DeviceLostReason>, message: String) {
        let _ = self.0.set((reason, message));
    }
}

/// Whether a device is lost, and what is known of it.
#[derive(Debug)]
pub(super) struct Loss {
    told: Arc<Told>,
    /// Of a device that is not ours.
    probe: Option<Mutex<wgpu::Buffer>>,
}

impl Loss {
    /// For a device whose callback is ours to set.
    pub(super) fn told_by(device: &wgpu::Device) -> Self {
        let told = Arc::new(Told::default());
        let to_tell = Arc::clone(&told);
        device.set_device_lost_callback(move |reason, message| to_tell.note(Some(reason), message));
        Self { told, probe: None }
    }

    /// For a device whose callback is somebody else's.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn probed(device: &wgpu::Device) -> Self {
        Self { told: Arc::default(), probe: buffer(device).map(Mutex::new) }
    }

    /// For a device whose callback is somebody else's. A browser tells as many as ask.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn probed(device: &wgpu::Device) -> Self {
        Self::told_by(device)
    }

    /// Notes how the device was lost. What was told first counts.
    pub(super) fn note(&self, reason: Option<wgpu::DeviceLostReason>, message: String) {
        self.told.note(reason, message);
    }

    /// What is known, without asking the device.
    pub(super) fn check_told(&self) -> Result<(), GpuError> {
        match self.told.0.get() {
            Some((reason, message)) => Err(GpuError::Lost { reason: *reason, message: message.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the device is there, as far as can be seen without waiting.
    pub(super) fn check(&self, device: &wgpu::Device) -> Result<(), GpuError> {
        self.check_told()?;
        let Some(probe) = &self.probe else { return Ok(()) };
        // One at a time: a buffer that is being mapped refuses to be mapped again, as if its device were lost.
        let mut probe = probe.lock().unwrap_or_else(PoisonError::into_inner);
        if refuses(device, &probe) {
            // A thread that polls the device just when the probe is unmapped may leave it mapped, and so refused now. A new
            // one nobody has touched.
            let Some(fresh) = buffer(device) else { return Ok(()) };
            if refuses(device, &fresh) {
                self.note(None, SEEN.to_owned());
                return self.check_told();
            }
            *probe = fresh;
        }
        // The device may be lost by now, and wgpu would report that to the owner of the device as an error of its own.
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        probe.unmap();
        drop(poll_once(pin!(scope.pop())));
        Ok(())
    }

    /// Whether the device maps a new buffer, also if it is our own, which says that it is lost when all its work is done.
    /// Nothing is noted, so that the reason can come yet.
    pub(super) fn probe(&self, device: &wgpu::Device) -> Result<(), GpuError> {
        match buffer(device) {
            Some(fresh) if refuses(device, &fresh) => Err(GpuError::Lost { reason: None, message: SEEN.to_owned() }),
            _ => Ok(()),
        }
    }
}

/// What is said of a device that is only seen to be lost.
const SEEN: &str = "it maps no buffers any more, so it was destroyed, or its driver lost it";

/// A buffer to probe a device with; none where there is no memory for it, since such a buffer is never mapped, which is no
/// sign of a loss.
fn buffer(device: &wgpu::Device) -> Option<wgpu::Buffer> {
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("texpool probe"),
        size: PROBE_BYTES,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    matches!(poll_once(pin!(scope.pop())), Poll::Ready(None)).then_some(buffer)
}

/// Whether a buffer's device refuses to map it. A lost device does before the request returns; another one answers when
/// it is polled, or not at all where the buffer is unmapped before.
fn refuses(device: &wgpu::Device, probe: &wgpu::Buffer) -> bool {
    let (tell, answer) = mpsc::channel();
    // What is refused for another reason than a loss is an error, too, which the owner of the device need not hear of.
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    probe.map_async(wgpu::MapMode::Read, .., move |result| {
        // Nobody listens any more when the buffer is unmapped.
        let _ = tell.send(result);
    });
    drop(poll_once(pin!(scope.pop())));
    matches!(answer.try_recv(), Ok(Err(_)))
}
