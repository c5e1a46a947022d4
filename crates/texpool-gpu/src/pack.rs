//! Conversion between dense values and texels. Texels are stored row by row, in a row slice by slice, in a slice
//! pixel by pixel.

use half::f16;

use texpool_ops::graph::{Shape, exceeds_half};
use texpool_plan::TexelFormat;

/// Type in which a lane of a texel stores a value.
trait Lane: Copy {
    const BYTES: usize;
    fn put(self, to: &mut [u8]);
    fn take(from: &[u8]) -> Self;
    fn narrow(value: f32) -> Self;
    fn widen(self) -> f32;
}

macro_rules! lane {
    ($type:ty, $narrow:expr, $widen:expr) => {
        impl Lane for $type {
            const BYTES: usize = size_of::<$type>();
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_ne_bytes());
            }
            fn take(from: &[u8]) -> Self {
                bytemuck::pod_read_unaligned(from)
            }
            fn narrow(value: f32) -> Self {
                $narrow(value)
            }
            fn widen(self) -> f32 {
                $widen(self)
            }
        }
    };
}

lane!(f32, |v| v, |v| v);
lane!(f16, half, f16::to_f32);

/// Converts to the nearest 16-bit float. Finite values stay finite, so that a mask of very negative numbers remains
/// valid.
pub(super) fn half(value: f32) -> f16 {
    let near = f16::from_f32(value);
    if exceeds_half(value) { f16::MAX.copysign(near) } else { near }
}

/// Counts finite values beyond the range of the format; they are stored as its largest number.
pub(super) fn saturated(values: &[f32], format: TexelFormat) -> u64 {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => 0,
        TexelFormat::Rgba16Float => values.iter().filter(|value| exceeds_half(**value)).count() as u64,
    }
}

/// Writes dense values as texels into `bytes`. Lanes without a channel are not written and must already be zero.
///
/// # Panics
/// If `values` or `bytes` is shorter than `shape` says.
pub fn pack(values: &[f32], shape: Shape, format: TexelFormat, bytes: &mut [u8]) {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => pack_as::<f32>(values, shape, bytes),
        TexelFormat::Rgba16Float => pack_as::<f16>(values, shape, bytes),
    }
}

/// Reads dense values from texels.
///
/// # Panics
/// If `values` or `bytes` is shorter than `shape` says.
pub fn unpack(bytes: &[u8], shape: Shape, format: TexelFormat, values: &mut [f32]) {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => unpack_as::<f32>(bytes, shape, values),
        TexelFormat::Rgba16Float => unpack_as::<f16>(bytes, shape, values),
    }
}

fn pack_as<T: Lane>(values: &[f32], shape: Shape, bytes: &mut [u8]) {
    // `graph::check` rejects extents of zero, so the chunk size is not zero, which would panic.
    for (pixel, channels) in values[..shape.len()].chunks_exact(shape.c).enumerate() {
        for (c, &value) in channels.iter().enumerate() {
            let at = lane(shape, pixel, c) * T::BYTES;
            T::narrow(value).put(&mut bytes[at..at + T::BYTES]);
        }
    }
}

fn unpack_as<T: Lane>(bytes: &[u8], shape: Shape, values: &mut [f32]) {
    for (pixel, channels) in values[..shape.len()].chunks_exact_mut(shape.c).enumerate() {
        for (c, value) in channels.iter_mut().enumerate() {
            let at = lane(shape, pixel, c) * T::BYTES;
            *value = T::take(&bytes[at..at + T::BYTES]).widen();
        }
    }
}

/// Returns the index of the lane that holds channel `c` of pixel number `pixel`, counted row by row.
pub fn lane(shape: Shape, pixel: usize, c: usize) -> usize {
    let (row, x) = (pixel / shape.w, pixel % shape.w);
    (row * shape.row_texels() + c / 4 * shape.w + x) * 4 + c % 4
}
