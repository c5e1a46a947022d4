//! The device that a command ran on.

use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_gpu::Gpu;

/// The device, by the same names as in the list of `texpool devices`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Device {
    pub(super) name: String,
    backend: String,
    kind: String,
    driver: String,
}

impl Device {
    pub(super) fn of(gpu: &Gpu) -> Self {
        let info = gpu.device.adapter_info();
        Self {
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            kind: format!("{:?}", info.device_type),
            backend: format!("{:?}", info.backend),
            name: info.name,
        }
    }
}

impl fmt::Display for Device {
    /// Writes the name with the driver.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, driver, .. } = self;
        if driver.is_empty() { f.write_str(name) } else { write!(f, "{name}, {driver}") }
    }
}
