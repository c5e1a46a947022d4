//! Dense values to texels and back: a tensor's rows one after another, slices in a row, pixels in a slice.

use half::f16;

use crate::{graph::Shape, plan::TexelFormat};

/// A value as a texel's lane stores it.
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

/// The nearest 16-bit float; of a finite value a finite one, so that a mask of very negative numbers stays a mask.
pub(super) fn half(value: f32) -> f16 {
    let near = f16::from_f32(value);
    match value.is_finite() && near.is_infinite() {
        true => f16::MAX.copysign(near),
        false => near,
    }
}

/// How many finite values the format does not hold: they are stored as its greatest number.
pub(super) fn saturated(values: &[f32], format: TexelFormat) -> u64 {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => 0,
        TexelFormat::Rgba16Float => {
            values.iter().filter(|value| value.is_finite() && f16::from_f32(**value).is_infinite()).count() as u64
        }
    }
}

/// Writes dense values as texels into `bytes`, which is zero wherever no channel lies and stays so.
///
/// # Panics
/// If `values` or `bytes` is shorter than `shape` says.
pub(crate) fn pack(values: &[f32], shape: Shape, format: TexelFormat, bytes: &mut [u8]) {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => pack_as::<f32>(values, shape, bytes),
        TexelFormat::Rgba16Float => pack_as::<f16>(values, shape, bytes),
    }
}

/// Reads dense values out of texels.
///
/// # Panics
/// If `values` or `bytes` is shorter than `shape` says.
pub(crate) fn unpack(bytes: &[u8], shape: Shape, format: TexelFormat, values: &mut [f32]) {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => unpack_as::<f32>(bytes, shape, values),
        TexelFormat::Rgba16Float => unpack_as::<f16>(bytes, shape, values),
    }
}

fn pack_as<T: Lane>(values: &[f32], shape: Shape, bytes: &mut [u8]) {
    // There is at least one channel, else this would panic: `graph::check` refuses extents of zero.
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

/// Index of the lane that holds channel `c` of a pixel, of which `pixel` come before it, row by row.
pub(crate) fn lane(shape: Shape, pixel: usize, c: usize) -> usize {
    let (row, x) = (pixel / shape.w, pixel % shape.w);
    (row * shape.row_texels() + c / 4 * shape.w + x) * 4 + c % 4
}
