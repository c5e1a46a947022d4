//! Texel formats as wgpu calls them.

use crate::plan::TexelFormat;

/// The format of words of 32 bits. Core WebGPU has it as a storage texture that is read.
pub(crate) const WORDS: wgpu::TextureFormat = wgpu::TextureFormat::Rgba32Uint;

/// The wgpu name of a format.
pub(crate) const fn texture_format(format: TexelFormat) -> wgpu::TextureFormat {
    match format {
        TexelFormat::Rgba32Float => wgpu::TextureFormat::Rgba32Float,
        TexelFormat::Rgba16Float => wgpu::TextureFormat::Rgba16Float,
        TexelFormat::Rgba32Uint => WORDS,
    }
}
