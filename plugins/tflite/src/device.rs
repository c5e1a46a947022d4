//! Devices that all delegates of a process share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use texpool::{Context, NamedOptions, gpu::PerProcess};

/// An open device. It is closed with the last delegate or kernel that uses it.
#[derive(Debug)]
pub(crate) struct Device {
    context: Context,
}

/// How a device was asked for.
type Asked = String;

/// Devices that are open, or were.
type Open = Mutex<Vec<(Asked, Weak<Device>)>>;

/// Those of this process. A forked child opens its own, since those of its parent do not work there.
static OPEN: PerProcess<Open> = PerProcess::new();

impl Device {
    /// The device that these options ask for: one that is open and not lost, else a new one.
    pub(crate) fn open(options: &NamedOptions) -> Result<Arc<Self>, String> {
        let asked = format!("{:?}, {:?}", options.gpu().adapter, options.gpu().timeout);
        // Whoever panicked in here has left the list whole.
        let mut open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, device)| device.strong_count() > 0);
        let found = open.iter().filter(|(other, _)| *other == asked).find_map(|(_, device)| device.upgrade());
        if let Some(device) = found.filter(|device| !device.is_lost()) {
            return Ok(device);
        }
        let context = Context::open(options.gpu()).map_err(|error| error.to_string())?;
        let device = Arc::new(Self { context });
        open.retain(|(other, _)| *other != asked);
        open.push((asked, Arc::downgrade(&device)));
        Ok(device)
    }

    /// Whether the device is gone, or another process's.
    pub(crate) fn is_lost(&self) -> bool {
        self.context.check().is_err()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

/// Loses all devices that are open: what a test does in a driver's place.
#[cfg(feature = "lose-devices")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn texpool_tflite_lose_devices() {
    for (_, device) in &*OPEN.get().lock().unwrap_or_else(PoisonError::into_inner) {
        if let Some(device) = device.upgrade() {
            device.context.device().destroy();
        }
    }
}
