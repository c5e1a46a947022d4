//! A measurement in a file of the cache folder, kept for one device, driver, texel format and version of texpool.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    thread,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use texpool_cache::{PartFile, read_kept};
use texpool_gpu::Gpu;
use texpool_ops::graph::Blocks;
use texpool_plan::TexelFormat;

/// Device and versions that a measurement belongs to. Another driver or version has other kernels and therefore other
/// times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    adapter: String,
    driver: String,
    format: TexelFormat,
    /// Cores, which a software device computes on.
    cores: usize,
    /// Blocks that the measured kernels compute, if that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocks: Option<Blocks>,
    texpool: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents<T> {
    key: Key,
    measured: T,
    /// CRC-32 of the measurement as it is read. A digit damaged on disk would otherwise lead to other results.
    checksum: u32,
}

/// Upper limit on the bytes read from a file: 1 MiB. Measurements have a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// The file of a measurement.
#[derive(Debug)]
pub(super) struct KeptMeasurement {
    key: Key,
    path: PathBuf,
}

/// The checksum of a measurement that was read.
fn checksum(read: &impl Serialize) -> serde_json::Result<u32> {
    Ok(crc32fast::hash(&serde_json::to_vec(read)?))
}

impl KeptMeasurement {
    /// Returns the file in `folder` whose name begins with `prefix`.
    pub(super) fn new(gpu: &Gpu, format: TexelFormat, folder: &Path, prefix: &str) -> Self {
        let (info, format) = (gpu.device.adapter_info(), format.of_floats());
        // Adapters have names such as `llvmpipe (LLVM 15.0.7, 256 bits)`. The rest of the key is left out of the file
        // name, so that a newer driver's measurement replaces the old one.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = format!("{}-{format:?}", info.name).chars().map(plain).collect();
        let key = Key {
            adapter: info.name,
            driver: format!("{} {}", info.driver, info.driver_info),
            format,
            cores: thread::available_parallelism().map_or(1, usize::from),
            blocks: None,
            texpool: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Self { key, path: folder.join(format!("{prefix}{name}.json")) }
    }

    /// Returns the file for kernels that compute `blocks`. Those of another class than the device's have a file of
    /// their own, so that they do not replace the measurement that most runs need.
    pub(super) fn with_blocks(mut self, gpu: &Gpu, blocks: Blocks) -> Self {
        if blocks.class() != gpu.blocks().class() {
            self.path.set_extension(format!("{}.json", blocks.class().name()));
        }
        self.key.blocks = Some(blocks);
        self
    }

    /// Reads the measurement. Returns `None` if the file is missing or damaged, or belongs to another driver.
    pub(super) fn read<T: Serialize + DeserializeOwned>(&self) -> Option<T> {
        let unusable = |error: &dyn fmt::Display| {
            tracing::warn!(path = %self.path.display(), %error, "the kept measurement of the device cannot be used");
        };
        let text = read_kept(&self.path, MAX_BYTES).inspect_err(|error| unusable(error)).ok()??;
        let contents: Contents<T> = serde_json::from_slice(&text).inspect_err(|error| unusable(error)).ok()?;
        if contents.key != self.key {
            return None;
        }
        if checksum(&contents.measured).ok() != Some(contents.checksum) {
            unusable(&"its checksum is wrong");
            return None;
        }
        Some(contents.measured)
    }

    /// Writes a measurement. A folder that cannot be written to is not an error.
    pub(super) fn keep<T: Serialize + DeserializeOwned>(&self, measured: &T) {
        if let Err(error) = self.write(measured) {
            tracing::warn!(path = %self.path.display(), %error, "the measurement of the device is not kept");
        }
    }

    fn write<T: Serialize + DeserializeOwned>(&self, measured: &T) -> io::Result<()> {
        // Round-tripped through JSON first, because the last bit of a number may change in the file.
        let read: T = serde_json::from_slice(&serde_json::to_vec(measured)?)?;
        let checksum = checksum(&read)?;
        let contents = Contents { key: self.key.clone(), measured, checksum };
        let part = PartFile::create(&self.path)?;
        part.write(|mut out| {
            serde_json::to_writer_pretty(&mut out, &contents)?;
            out.write_all(b"\n")
        })?;
        part.rename().map(drop)
    }
}
