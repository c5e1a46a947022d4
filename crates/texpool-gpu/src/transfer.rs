//! Transfers of texels to and from the device in pieces, through small buffers. Loading a model, or a large input,
//! then needs little memory beyond its final size.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    Gpu, GpuError,
    staging::{Staging, StagingBuffer},
    textures::{in_buffer, row_bytes},
    wait::{Mapping, Submitted, Wait},
};
use texpool_compile::piece_bytes;
use texpool_plan::TextureSpec;

/// Splits a texture into pieces; returns first row and row count of each.
pub(super) fn pieces(spec: TextureSpec, bytes: u64) -> impl Iterator<Item = (u32, u32)> {
    let rows = (bytes / row_bytes(spec) as u64).clamp(1, u64::from(u32::MAX)) as u32;
    (0..spec.height).step_by(rows as usize).map(move |first| (first, rows.min(spec.height - first)))
}

/// Returns the copy region for some rows of a texture.
pub(super) fn region<'a>(
    texture: &'a wgpu::Texture,
    spec: TextureSpec,
    (first, rows): (u32, u32),
) -> (wgpu::TexelCopyTextureInfo<'a>, wgpu::Extent3d) {
    let origin = wgpu::Origin3d { x: 0, y: first, z: 0 };
    let size = wgpu::Extent3d { width: spec.width, height: rows, depth_or_array_layers: 1 };
    (wgpu::TexelCopyTextureInfo { origin, ..texture.as_image_copy() }, size)
}

/// Buffer for pieces on their way to the device. It is mapped between two pieces.
#[derive(Debug)]
pub(super) struct Transfer {
    buffer: StagingBuffer,
    /// The piece whose arrival is not confirmed. Until it is, the buffer cannot be used.
    begun: Option<Submitted>,
}

impl Transfer {
    /// Creates a buffer for pieces of textures like `spec`.
    pub(super) fn new(gpu: &Gpu, staging: &Arc<Staging>, what: &str, spec: TextureSpec) -> Result<Self, GpuError> {
        Ok(Self { buffer: staging.upload(gpu, what, piece_bytes(spec))?, begun: None })
    }

    /// Returns whether pieces of such a texture fit.
    pub(super) fn fits(&self, spec: TextureSpec) -> bool {
        self.buffer.get().size() >= piece_bytes(spec)
    }

    /// Returns the submission of a write that was abandoned on its way to the device.
    pub(super) fn begun(&self) -> Option<&Submitted> {
        self.begun.as_ref()
    }

    /// Writes a texture, whose rows must be a multiple of 256 bytes, and waits until everything has arrived. The
    /// timeout applies to each piece; `what` names it in errors. `bytes` returns the given range of the texture's
    /// contents. If the write fails, or its future is dropped, the buffer must not be used again.
    pub(super) async fn write<'b>(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        what: &str,
        texture: &wgpu::Texture,
        spec: TextureSpec,
        bytes: impl Fn(Range<usize>) -> Cow<'b, [u8]>,
    ) -> Result<(), GpuError> {
        for (first, rows) in pieces(spec, self.buffer.get().size()) {
            let [begin, end] = [first, first + rows].map(|row| row as usize * row_bytes(spec));
            self.write_rows(gpu, wait, what, (texture, spec), first, &bytes(begin..end)).await?;
        }
        Ok(())
    }

    /// Writes whole rows from row `first` on, at most one piece.
    pub(super) async fn write_rows(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        what: &str,
        (texture, spec): (&wgpu::Texture, TextureSpec),
        first: u32,
        bytes: &[u8],
    ) -> Result<(), GpuError> {
        let buffer = self.buffer.get();
        let mut view = buffer.get_mapped_range_mut(..bytes.len() as u64).map_err(|error| gpu.unmapped(error))?;
        view.copy_from_slice(bytes);
        drop(view);
        buffer.unmap();
        let rows = (bytes.len() / row_bytes(spec)) as u32;
        let (submitted, mapping) = gpu.scoped(what, || {
            let label = Some("transfer");
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
            let (to, size) = region(texture, spec, (first, rows));
            encoder.copy_buffer_to_texture(in_buffer(buffer, spec), to, size);
            let mapping = Mapping::on_submit(&encoder, buffer, wgpu::MapMode::Write);
            (gpu.submit([encoder.finish()]), mapping)
        })?;
        let submitted = self.begun.insert(submitted);
        mapping.finish(gpu, wait, Some(submitted), what).await?;
        self.begun = None;
        Ok(())
    }
}

/// Reads a texture whose rows are a multiple of 256 bytes.
pub(super) async fn read(
    gpu: &Gpu,
    wait: Wait,
    staging: &Arc<Staging>,
    what: &str,
    texture: &wgpu::Texture,
    spec: TextureSpec,
) -> Result<Vec<u8>, GpuError> {
    let mut bytes = Vec::with_capacity(spec.bytes() as usize);
    let held = staging.readback(gpu, what, piece_bytes(spec))?;
    let buffer = held.get();
    for piece @ (_, rows) in pieces(spec, buffer.size()) {
        let (submitted, mapping) = gpu.scoped(what, || {
            let label = Some("transfer");
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
            let (from, size) = region(texture, spec, piece);
            encoder.copy_texture_to_buffer(from, in_buffer(buffer, spec), size);
            let mapping = Mapping::on_submit(&encoder, buffer, wgpu::MapMode::Read);
            (gpu.submit([encoder.finish()]), mapping)
        })?;
        mapping.finish(gpu, wait, Some(&submitted), what).await?;
        let length = u64::from(rows) * row_bytes(spec) as u64;
        bytes.extend_from_slice(&buffer.get_mapped_range(..length).map_err(|error| gpu.unmapped(error))?);
        buffer.unmap();
    }
    held.keep();
    Ok(bytes)
}
