//! The device's profile, cached across runs: measured once per device, driver, texel format and texpool version.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::OnceLock,
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;

use super::{SetupError, kept_measurement::KeptMeasurement};
use crate::fetch::PROFILE;
use texpool_compile::{Clock, DeviceProfile};
use texpool_gpu::{Gpu, Stopwatch, calibrate};
use texpool_ops::graph::Blocks;
use texpool_plan::TexelFormat;

/// The clock that a device's runs are measured by.
pub fn clock_of(gpu: &Gpu) -> Clock {
    match gpu.device.adapter_info().device_type {
        texpool::wgpu::DeviceType::Cpu => Clock::Processor,
        _ => Clock::Wall,
    }
}

/// Reads a clock; only differences of its times have a meaning.
pub fn clock_time(clock: Clock) -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    match clock {
        // An `Instant` has no zero, so times count from the first reading.
        Clock::Wall => BEGUN.get_or_init(Instant::now).elapsed(),
        Clock::Processor => ProcessTime::now().as_duration(),
    }
}

/// Returns the stored profile of a device for texels of `format` and kernels that compute `blocks` from `folder`.
/// Returns `None` if the file is missing or damaged, or belongs to another driver.
pub fn kept_device_profile(gpu: &Gpu, format: TexelFormat, blocks: Blocks, folder: &Path) -> Option<DeviceProfile> {
    KeptMeasurement::new(gpu, format, folder, PROFILE).with_blocks(gpu, blocks).read()
}

/// Returns the profile of a device for texels of `format` and kernels that compute `blocks`. Uses the one stored in
/// `folder` if it is intact and belongs to this driver. Otherwise, or if `recalibrate` is set, measures the device and
/// stores the result. `progress` receives the state of a measurement and decides if it goes on.
///
/// # Errors
/// [`SetupError::Gpu`] if the device cannot be measured, or if `progress` breaks off; nothing is stored then. A
/// folder that cannot be written to is not an error.
pub fn device_profile(
    gpu: &Gpu,
    format: TexelFormat,
    blocks: Blocks,
    folder: &Path,
    recalibrate: bool,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<DeviceProfile, SetupError> {
    let kept = KeptMeasurement::new(gpu, format, folder, PROFILE).with_blocks(gpu, blocks);
    if !recalibrate && let Some(cached) = kept.read() {
        return Ok(cached);
    }
    let clock = clock_of(gpu);
    let device_profile = calibrate(gpu, format, blocks, &Stopwatch { clock, read: &|| clock_time(clock) }, progress)?;
    kept.keep(&device_profile);
    Ok(device_profile)
}
