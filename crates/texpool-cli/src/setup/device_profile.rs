//! The device's profile, cached across runs: measured once per device, driver, texel format and texpool version.

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;

use serde::{Deserialize, Serialize};

use super::SetupError;
use crate::fetch::PROFILE;
use texpool_cache::{PartFile, read_kept};
use texpool_compile::{Clock, DeviceProfile};
use texpool_gpu::{Gpu, Stopwatch, calibrate};
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

/// Device and versions that a profile belongs to. Another driver or version has other kernels and therefore other
/// times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProfileKey {
    adapter: String,
    driver: String,
    format: TexelFormat,
    /// Cores, which a software device computes on.
    cores: usize,
    texpool: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct CachedProfile {
    key: ProfileKey,
    device_profile: DeviceProfile,
    /// CRC-32 of the profile as it is read. A digit damaged on disk would otherwise lead to other plans.
    checksum: u32,
}

/// Upper limit on the bytes read from a file: 1 MiB. Profiles have a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// The checksum of a profile that was read.
fn checksum(read: &DeviceProfile) -> serde_json::Result<u32> {
    Ok(crc32fast::hash(&serde_json::to_vec(read)?))
}

impl ProfileKey {
    fn new(gpu: &Gpu, format: TexelFormat) -> Self {
        let info = gpu.device.adapter_info();
        Self {
            adapter: info.name,
            driver: format!("{} {}", info.driver, info.driver_info),
            format,
            cores: thread::available_parallelism().map_or(1, usize::from),
            texpool: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn file(&self, folder: &Path) -> PathBuf {
        // Adapters have names such as `llvmpipe (LLVM 15.0.7, 256 bits)`. The rest of the key is left out of the file
        // name, so that a newer driver's profile replaces the old one.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = format!("{}-{:?}", self.adapter, self.format).chars().map(plain).collect();
        folder.join(format!("{PROFILE}{name}.json"))
    }
}

/// Returns the stored profile of a device for texels of `format` from `folder`. Returns `None` if the file is missing
/// or damaged, or belongs to another driver.
pub fn kept_device_profile(gpu: &Gpu, format: TexelFormat, folder: &Path) -> Option<DeviceProfile> {
    read_profile(&ProfileKey::new(gpu, format), folder)
}

fn read_profile(key: &ProfileKey, folder: &Path) -> Option<DeviceProfile> {
    let path = key.file(folder);
    let unusable = |error: &dyn std::fmt::Display| {
        tracing::warn!(path = %path.display(), %error, "the device's profile that is kept cannot be used");
    };
    let text = read_kept(&path, MAX_BYTES).inspect_err(|error| unusable(error)).ok()??;
    let cached: CachedProfile = serde_json::from_slice(&text).inspect_err(|error| unusable(error)).ok()?;
    if cached.key != *key {
        return None;
    }
    if checksum(&cached.device_profile).ok() != Some(cached.checksum) {
        unusable(&"its checksum is wrong");
        return None;
    }
    Some(cached.device_profile)
}

/// Stores a profile in a file.
fn keep(path: &Path, key: ProfileKey, device_profile: &DeviceProfile) -> io::Result<()> {
    // Round-tripped through JSON first, because the last bit of a number may change in the file.
    let read: DeviceProfile = serde_json::from_slice(&serde_json::to_vec(device_profile)?)?;
    let cached = CachedProfile { key, device_profile: device_profile.clone(), checksum: checksum(&read)? };
    let part = PartFile::create(path)?;
    part.write(|mut out| {
        serde_json::to_writer_pretty(&mut out, &cached)?;
        out.write_all(b"\n")
    })?;
    part.rename().map(drop)
}

/// Returns the profile of a device for texels of `format`. Uses the one stored in `folder` if it is intact and
/// belongs to this driver. Otherwise, or if `recalibrate` is set, measures the device and stores the result.
/// `progress` receives the state of a measurement and decides if it goes on.
///
/// # Errors
/// [`SetupError::Gpu`] if the device cannot be measured, or if `progress` breaks off; nothing is stored then. A
/// folder that cannot be written to is not an error.
pub fn device_profile(
    gpu: &Gpu,
    format: TexelFormat,
    folder: &Path,
    recalibrate: bool,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<DeviceProfile, SetupError> {
    let key = ProfileKey::new(gpu, format);
    let path = key.file(folder);
    if !recalibrate && let Some(cached) = read_profile(&key, folder) {
        return Ok(cached);
    }
    let clock = clock_of(gpu);
    let device_profile = calibrate(gpu, format, &Stopwatch { clock, read: &|| clock_time(clock) }, progress)?;
    if let Err(error) = keep(&path, key, &device_profile) {
        tracing::warn!(path = %path.display(), %error, "the device's profile is not kept");
    }
    Ok(device_profile)
}
