//! The device's ceilings, kept like its profile.

use std::{ops::ControlFlow, path::Path};

use super::{SetupError, kept_measurement::KeptMeasurement};
use crate::fetch::CEILING;
use texpool_compile::DeviceCeiling;
use texpool_gpu::{Gpu, measure_ceiling};
use texpool_plan::TexelFormat;

/// Returns the stored ceilings of a device for texels of `format` from `folder`. Returns `None` if the file is missing
/// or damaged, or belongs to another driver.
pub fn kept_device_ceiling(gpu: &Gpu, format: TexelFormat, folder: &Path) -> Option<DeviceCeiling> {
    KeptMeasurement::new(gpu, format, folder, CEILING).read()
}

/// Measures the ceilings of a device for texels of `format`, and stores them in `folder`. `progress` receives the state
/// of the measurement and decides if it goes on.
///
/// # Errors
/// [`SetupError::Gpu`] if the device cannot be measured, or if `progress` breaks off; nothing is stored then. A folder
/// that cannot be written to is not an error.
pub fn device_ceiling(
    gpu: &Gpu,
    format: TexelFormat,
    folder: &Path,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<DeviceCeiling, SetupError> {
    let ceiling = measure_ceiling(gpu, format, progress)?;
    KeptMeasurement::new(gpu, format, folder, CEILING).keep(&ceiling);
    Ok(ceiling)
}
