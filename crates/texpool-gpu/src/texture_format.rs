//! Mapping of texel formats to wgpu.

use texpool_plan::TexelFormat;

/// Returns wgpu's name of a format. Core WebGPU supports all of them for storage textures.
pub const fn texture_format(format: TexelFormat) -> wgpu::TextureFormat {
    match format {
        TexelFormat::Rgba32Float => wgpu::TextureFormat::Rgba32Float,
        TexelFormat::Rgba16Float => wgpu::TextureFormat::Rgba16Float,
        TexelFormat::Rgba32Uint => wgpu::TextureFormat::Rgba32Uint,
        TexelFormat::Rgba8Uint => wgpu::TextureFormat::Rgba8Uint,
    }
}
