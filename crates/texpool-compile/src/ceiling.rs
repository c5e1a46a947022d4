//! The ceilings of a device, which no kernel exceeds, and the roofline under them.

/// Speeds of a device, measured by kernels that do nothing else.
///
/// ```
/// use texpool_compile::{DeviceCeiling, ReadSpeed};
///
/// let read = |bytes, gb_per_s| ReadSpeed { bytes, gb_per_s };
/// let ceiling = DeviceCeiling {
///     gflop_per_s: 100.0,
///     reads: vec![read(1 << 16, 50.0), read(1 << 20, 20.0)],
///     write_gb_per_s: 10.0,
///     dispatch_us: 5.0,
///     run_us: 50.0,
/// };
/// // A megaflop takes 10 us, and 200 kB from the fastest memory that may hold them take 4 us.
/// assert_eq!(ceiling.best_us(Some(1e6), 200_000), 10.0);
/// // Two million bytes take 100 us.
/// assert_eq!(ceiling.best_us(Some(1e6), 2_000_000), 100.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCeiling {
    /// Billions of floating point operations per second: chained fused multiply-adds in 32 bits, two operations each.
    pub gflop_per_s: f64,
    /// Read speeds of storage textures of several sizes, the smallest first. Each texture is read repeatedly.
    pub reads: Vec<ReadSpeed>,
    /// Billions of bytes per second written to a storage texture that no cache holds.
    pub write_gb_per_s: f64,
    /// Microseconds of a dispatch that does almost nothing and depends on the one before it.
    pub dispatch_us: f64,
    /// Microseconds from a submission of almost nothing to the end of the wait for it.
    pub run_us: f64,
}

/// Speed of reading a texture of a given size repeatedly.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReadSpeed {
    /// Size of the texture.
    pub bytes: u64,
    /// Billions of bytes per second.
    pub gb_per_s: f64,
}

impl DeviceCeiling {
    /// Returns the microseconds that work takes at least by the roofline: the larger of the time of its arithmetic and
    /// the time of its bytes, at the speed of the smallest memory that can hold them.
    pub fn best_us(&self, flops: Option<f64>, bytes: u64) -> f64 {
        // Billions per second are thousands per microsecond.
        let us = |amount: f64, speed: f64| if speed > 0.0 { amount / (speed * 1e3) } else { 0.0 };
        us(flops.unwrap_or(0.0), self.gflop_per_s).max(us(bytes as f64, self.read_gb_per_s(bytes)))
    }

    /// Returns the highest read speed for data of this size. Starts at the largest measured texture that is no larger
    /// than the data, since the data fits into no smaller memory, and includes all larger ones.
    fn read_gb_per_s(&self, bytes: u64) -> f64 {
        let first = self.reads.partition_point(|read| read.bytes <= bytes).saturating_sub(1);
        self.reads[first..].iter().map(|read| read.gb_per_s).fold(0.0, f64::max)
    }
}
