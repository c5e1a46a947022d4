//! Textures of the caller's: what one must be for an input or output.

use super::{
    GpuError, TensorRole,
    textures::{extent, texture_format},
};
use crate::plan::TextureSpec;

/// Checks that a texture of the caller's is exactly as `spec` says and usable as a storage texture.
pub(super) fn check(
    role: TensorRole,
    index: usize,
    name: &str,
    spec: TextureSpec,
    texture: &wgpu::Texture,
) -> Result<(), GpuError> {
    let reason = if texture.format() != texture_format(spec.format) {
        format!("its format is {:?}", texture.format())
    } else if texture.size() != extent(spec) {
        match texture.depth_or_array_layers() {
            1 => format!("it is {}x{}", texture.width(), texture.height()),
            layers => format!("it is {}x{} in {layers} layers", texture.width(), texture.height()),
        }
    } else if texture.dimension() != wgpu::TextureDimension::D2 {
        format!("its dimension is {:?}", texture.dimension())
    } else if texture.mip_level_count() != 1 {
        format!("it has {} mip levels", texture.mip_level_count())
    } else if !texture.usage().contains(wgpu::TextureUsages::STORAGE_BINDING) {
        "it lacks the usage STORAGE_BINDING".to_owned()
    } else {
        return Ok(());
    };
    Err(GpuError::ExternalTexture { role, index, name: name.to_owned(), expected: spec, reason })
}
