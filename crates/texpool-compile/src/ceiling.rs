//! The ceilings of a device, which no kernel exceeds, and the roofline under them.

/// Speeds of a device, measured by kernels that do nothing else.
///
/// ```
/// use texpool_compile::{DeviceCeiling, MemorySpeed};
///
/// let speed = |bytes, gb_per_s| MemorySpeed { bytes, gb_per_s };
/// let ceiling = DeviceCeiling {
///     gflop_per_s: 100.0,
///     reads: vec![speed(1 << 16, 50.0), speed(1 << 20, 20.0)],
///     writes: vec![speed(1 << 16, 10.0), speed(1 << 20, 5.0)],
///     dispatch_us: 5.0,
///     run_us: 50.0,
/// };
/// // A megaflop takes 10 us, and 200 kB from the fastest memory that may hold them take 4 us.
/// assert_eq!(ceiling.best_us(Some(1e6), 200_000, 0), 10.0);
/// // Two million bytes take 100 us to read, and 400 us to write.
/// assert_eq!(ceiling.best_us(Some(1e6), 2_000_000, 0), 100.0);
/// assert_eq!(ceiling.best_us(Some(1e6), 0, 2_000_000), 400.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCeiling {
    /// Billions of floating point operations per second: chained fused multiply-adds in 32 bits, two operations each.
    pub gflop_per_s: f64,
    /// Read speeds of storage textures of several sizes, the smallest first. Each texture is read repeatedly.
    pub reads: Vec<MemorySpeed>,
    /// Write speeds of the same textures.
    pub writes: Vec<MemorySpeed>,
    /// Microseconds of a dispatch that does almost nothing and depends on the one before it.
    pub dispatch_us: f64,
    /// Microseconds from a submission of almost nothing to the end of the wait for it.
    pub run_us: f64,
}

/// Speed of reading or writing a texture of a given size repeatedly.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemorySpeed {
    /// Size of the texture.
    pub bytes: u64,
    /// Billions of bytes per second.
    pub gb_per_s: f64,
}

impl DeviceCeiling {
    /// Returns the microseconds that work takes at least by the roofline: the largest of the times of its arithmetic, of
    /// the bytes that it reads and of those that it writes, at the speed of the smallest memory that can hold them.
    pub fn best_us(&self, flops: Option<f64>, read: u64, written: u64) -> f64 {
        // Billions per second are thousands per microsecond.
        let us = |amount: f64, speed: f64| if speed > 0.0 { amount / (speed * 1e3) } else { 0.0 };
        let moved = |bytes: u64, speeds: &[MemorySpeed]| us(bytes as f64, highest(speeds, bytes));
        us(flops.unwrap_or(0.0), self.gflop_per_s).max(moved(read, &self.reads)).max(moved(written, &self.writes))
    }
}

/// Returns the highest speed for data of this size. Starts at the largest measured texture that is no larger than the data,
/// since the data fits into no smaller memory, and includes all larger ones.
fn highest(speeds: &[MemorySpeed], bytes: u64) -> f64 {
    let first = speeds.partition_point(|speed| speed.bytes <= bytes).saturating_sub(1);
    speeds[first..].iter().map(|speed| speed.gb_per_s).fold(0.0, f64::max)
}
