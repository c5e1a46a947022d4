//! Conversion between dense values and texels. Texels are stored row by row, in a row slice by slice, in a slice
//! pixel by pixel.

use half::f16;

use texpool_ops::graph::{Shape, TexelStorage, exceeds_half};
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

/// Counts finite values beyond the range of the texels; the nearest number in the range is stored.
pub(super) fn saturated(values: &[f32], format: TexelFormat, storage: TexelStorage) -> u64 {
    match (format, storage) {
        (TexelFormat::Rgba16Float, _) => count(values, exceeds_half),
        (TexelFormat::Rgba8Uint, TexelStorage::Bytes { scale, .. }) => {
            let [least, most] = [u8::MIN, u8::MAX].map(|byte| storage.value(byte));
            let half = scale / 2.0;
            count(values, |value| value.is_finite() && (value < least - half || value > most + half))
        }
        _ => 0,
    }
}

/// Counts the values with a property. Generic, so that the property of each value is no indirect call.
fn count(values: &[f32], has_property: impl Fn(f32) -> bool) -> u64 {
    values.iter().filter(|&&value| has_property(value)).count() as u64
}

/// Writes dense values as texels into `bytes`. Lanes without a channel must already be zero; only texels of bytes that
/// number values have another zero, which is written.
///
/// # Panics
/// If `values` or `bytes` is shorter than `shape` says.
pub fn pack(values: &[f32], shape: Shape, format: TexelFormat, storage: TexelStorage, bytes: &mut [u8]) {
    match (format, storage) {
        (TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint, _) => pack_as::<f32>(values, shape, bytes),
        (TexelFormat::Rgba16Float, _) => pack_as::<f16>(values, shape, bytes),
        (TexelFormat::Rgba8Uint, TexelStorage::Planes) => {
            for (element, value) in values[..shape.len()].iter().enumerate() {
                let (first, plane) = planes_of(shape, element);
                let parts = value.to_le_bytes().into_iter().enumerate();
                parts.for_each(|(part, byte)| bytes[first + part * plane] = byte);
            }
        }
        (TexelFormat::Rgba8Uint, TexelStorage::Values | TexelStorage::Bytes { .. }) => {
            let zero = storage.byte(0.0);
            bytes[..shape.texels() * 4].fill(zero);
            for (element, &value) in values[..shape.len()].iter().enumerate() {
                bytes[lane(shape, storage, element / shape.c, element % shape.c)] = storage.byte(value);
            }
        }
    }
}

/// Reads dense values from texels.
///
/// # Panics
/// If `values` or `bytes` is shorter than `shape` says.
pub fn unpack(bytes: &[u8], shape: Shape, format: TexelFormat, storage: TexelStorage, values: &mut [f32]) {
    match (format, storage) {
        (TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint, _) => unpack_as::<f32>(bytes, shape, values),
        (TexelFormat::Rgba16Float, _) => unpack_as::<f16>(bytes, shape, values),
        (TexelFormat::Rgba8Uint, TexelStorage::Planes) => {
            for (element, value) in values[..shape.len()].iter_mut().enumerate() {
                let (first, plane) = planes_of(shape, element);
                *value = f32::from_le_bytes([0, 1, 2, 3].map(|part| bytes[first + part * plane]));
            }
        }
        (TexelFormat::Rgba8Uint, TexelStorage::Values | TexelStorage::Bytes { .. }) => {
            for (element, value) in values[..shape.len()].iter_mut().enumerate() {
                *value = storage.value(bytes[lane(shape, storage, element / shape.c, element % shape.c)]);
            }
        }
    }
}

/// Returns the position of the lowest byte of an element of floats in texels of bytes, and the distance to its next byte.
fn planes_of(shape: Shape, element: usize) -> (usize, usize) {
    (lane(shape, TexelStorage::Planes, element / shape.c, element % shape.c), shape.row_texels() * 4)
}

fn pack_as<T: Lane>(values: &[f32], shape: Shape, bytes: &mut [u8]) {
    // `graph::check` rejects extents of zero, so the chunk size is not zero, which would panic.
    for (pixel, channels) in values[..shape.len()].chunks_exact(shape.c).enumerate() {
        for (c, &value) in channels.iter().enumerate() {
            let at = lane(shape, TexelStorage::Values, pixel, c) * T::BYTES;
            T::narrow(value).put(&mut bytes[at..at + T::BYTES]);
        }
    }
}

fn unpack_as<T: Lane>(bytes: &[u8], shape: Shape, values: &mut [f32]) {
    for (pixel, channels) in values[..shape.len()].chunks_exact_mut(shape.c).enumerate() {
        for (c, value) in channels.iter_mut().enumerate() {
            let at = lane(shape, TexelStorage::Values, pixel, c) * T::BYTES;
            *value = T::take(&bytes[at..at + T::BYTES]).widen();
        }
    }
}

/// Returns the index of the lane that holds channel `c` of pixel number `pixel`, counted row by row; of a float in planes,
/// the lane of its lowest byte.
pub fn lane(shape: Shape, storage: TexelStorage, pixel: usize, c: usize) -> usize {
    let (row, x) = (pixel / shape.w, pixel % shape.w);
    (row * shape.row_texels() * storage.texels() + c / 4 * shape.w + x) * 4 + c % 4
}
