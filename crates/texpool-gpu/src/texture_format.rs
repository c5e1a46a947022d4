//! Mapping of texel formats to wgpu.

use texpool_plan::TexelFormat;

/// Format of 32-bit words. Core WebGPU supports it for storage textures that are read.
pub(crate) const WORDS: wgpu::TextureFormat = wgpu::TextureFormat::Rgba32Uint;

/// Returns wgpu's name of a format.
pub const fn texture_format(format: TexelFormat) -> wgpu::TextureFormat {
    match format {
        TexelFormat::Rgba32Float => wgpu::TextureFormat::Rgba32Float,
        TexelFormat::Rgba16Float => wgpu::TextureFormat::Rgba16Float,
        TexelFormat::Rgba32Uint => WORDS,
    }
}
