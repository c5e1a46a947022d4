//! Copies of contiguous texels between a buffer and a texture.

#[cfg(not(target_arch = "wasm32"))]
use crate::Gpu;
use crate::{TextureSet, textures::row_bytes};
use texpool_plan::{TexelFormat, TextureSpec};

/// A copy of texels that are contiguous in both buffer and texture.
#[derive(Debug)]
pub(super) struct Copy {
    /// Byte offset in the buffer.
    pub(super) offset: u64,
    pub(super) texture: usize,
    /// The first texel in the texture.
    pub(super) first: u32,
    pub(super) texels: u32,
    /// The dispatch that the copy precedes.
    pub(super) before: usize,
}

impl Copy {
    /// Returns whether `next` continues this copy in the texture, before the same dispatch.
    pub(super) fn is_followed_by(&self, next: &Self) -> bool {
        (self.texture, self.first + self.texels, self.before) == (next.texture, next.first, next.before)
    }

    /// Encodes the copy from the buffer to the texture. The texels form up to three rectangles.
    pub(super) fn encode_upload(
        &self,
        buffer: &wgpu::Buffer,
        textures: &TextureSet,
        format: TexelFormat,
        encoder: &mut wgpu::CommandEncoder,
    ) {
        for (layout, texture, extent) in self.rectangles(textures, format) {
            encoder.copy_buffer_to_texture(wgpu::TexelCopyBufferInfo { buffer, layout }, texture, extent);
        }
    }

    /// Encodes the copy from the texture into the buffer.
    pub(super) fn encode_download(
        &self,
        buffer: &wgpu::Buffer,
        textures: &TextureSet,
        format: TexelFormat,
        encoder: &mut wgpu::CommandEncoder,
    ) {
        for (layout, texture, extent) in self.rectangles(textures, format) {
            encoder.copy_texture_to_buffer(texture, wgpu::TexelCopyBufferInfo { buffer, layout }, extent);
        }
    }

    /// Writes the texels from `bytes` through the queue.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn write(&self, gpu: &Gpu, bytes: &[u8], textures: &TextureSet, format: TexelFormat) {
        let alone = Self { offset: 0, ..*self };
        for (layout, texture, extent) in alone.rectangles(textures, format) {
            gpu.queue.write_texture(texture, bytes, layout, extent);
        }
    }

    /// Returns the locations of the rectangles in the buffer and in the texture.
    fn rectangles<'a>(
        &self,
        textures: &'a TextureSet,
        format: TexelFormat,
    ) -> impl Iterator<Item = (wgpu::TexelCopyBufferLayout, wgpu::TexelCopyTextureInfo<'a>, wgpu::Extent3d)> {
        let (texture, spec) = (textures.texture(self.texture), textures.spec(self.texture));
        let offset = self.offset;
        rectangles(self.first, self.texels, spec).into_iter().map(move |Rectangle { at, x, y, width, height }| {
            let layout = wgpu::TexelCopyBufferLayout {
                offset: offset + u64::from(at) * format.texel_bytes(),
                bytes_per_row: (height > 1).then_some(row_bytes(spec) as u32),
                rows_per_image: None,
            };
            let origin = wgpu::Origin3d { x, y, z: 0 };
            let place = wgpu::TexelCopyTextureInfo { origin, ..texture.as_image_copy() };
            (layout, place, wgpu::Extent3d { width, height, depth_or_array_layers: 1 })
        })
    }
}

/// A rectangle of texels; `at` is the offset of its first texel within the copy.
struct Rectangle {
    at: u32,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

/// Splits contiguous texels into rectangles: the rest of a row, whole rows, the start of a row.
fn rectangles(first: u32, texels: u32, spec: TextureSpec) -> Vec<Rectangle> {
    // A copy of several rows needs rows that are a multiple of 256 bytes.
    let whole_rows = row_bytes(spec).is_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
    let (mut made, mut at) = (Vec::new(), 0);
    while at < texels {
        let (x, y) = ((first + at) & (spec.width - 1), (first + at) >> spec.shift());
        let left = texels - at;
        let (width, height) = match x == 0 && left >= spec.width && whole_rows {
            true => (spec.width, left / spec.width),
            false => (left.min(spec.width - x), 1),
        };
        made.push(Rectangle { at, x, y, width, height });
        at += width * height;
    }
    made
}
