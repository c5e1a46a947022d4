//! Devices that all delegates of a process share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use texpool::{Context, NamedOptions};
use texpool_gpu::PerProcess;

/// An open device. It is closed with the last delegate or kernel that uses it.
#[derive(Debug)]
pub(crate) struct Device {
    context: Context,
}

/// Options that select a device, as text.
type DeviceOptions = String;

/// Devices that are open or were closed.
type Open = Mutex<Vec<(DeviceOptions, Weak<Device>)>>;

/// Devices of this process. A forked child opens new devices, since those of its parent do not work there.
static OPEN: PerProcess<Open> = PerProcess::new();

impl Device {
    /// Returns the device that these options select: an open one that is not lost, or a new one.
    pub(crate) fn open(options: &NamedOptions) -> Result<Arc<Self>, String> {
        let key = format!("{:?}, {:?}", options.gpu().adapter, options.gpu().timeout);
        // A poisoned lock is fine: a panic cannot have left the list inconsistent.
        let mut open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, device)| device.strong_count() > 0);
        let existing = open.iter().filter(|(other, _)| *other == key).find_map(|(_, device)| device.upgrade());
        if let Some(device) = existing.filter(|device| !device.is_lost()) {
            return Ok(device);
        }
        let context = Context::open(options.gpu()).map_err(|error| error.to_string())?;
        let device = Arc::new(Self { context });
        open.retain(|(other, _)| *other != key);
        open.push((key, Arc::downgrade(&device)));
        Ok(device)
    }

    /// Returns whether the device is lost, or belongs to another process.
    pub(crate) fn is_lost(&self) -> bool {
        self.context.check().is_err()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

/// Loses all open devices, as a driver would. For tests only.
#[cfg(feature = "lose-devices")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn texpool_tflite_lose_devices() {
    for (_, device) in &*OPEN.get().lock().unwrap_or_else(PoisonError::into_inner) {
        if let Some(device) = device.upgrade() {
            device.context.device().destroy();
        }
    }
}
