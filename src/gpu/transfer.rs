//! Inputs to the device and outputs from it, through buffers made once.

use super::{
    Gpu, GpuError, TextureSet,
    pack::{pack, unpack},
    textures::row_bytes,
};
use crate::graph::{Order, Shape, Tensor};

/// Which way values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
}

/// A tensor that is copied between the host and a texture of its own.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) shape: Shape,
    order: Order,
    texture: usize,
    buffer: wgpu::Buffer,
    bytes: Vec<u8>,
    way: Way,
}

impl Transfer {
    /// A buffer for `texture`, which holds `tensor` and whose width must make rows a multiple of 256 bytes.
    pub(super) fn new(
        gpu: &Gpu,
        textures: &TextureSet,
        texture: usize,
        tensor: &Tensor,
        way: Way,
    ) -> Result<Self, GpuError> {
        let spec = textures.spec(texture);
        let size = spec.bytes();
        let usage = match way {
            Way::Up => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            Way::Down => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        };
        let buffer = gpu.scoped("creating a transfer buffer", || {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("transfer"),
                size,
                usage,
                mapped_at_creation: way == Way::Up,
            })
        })?;
        let bytes = if way == Way::Up { vec![0; size as usize] } else { Vec::new() };
        Ok(Self { shape: tensor.shape, order: tensor.order.clone(), texture, buffer, bytes, way })
    }

    /// Writes dense values in the file's order into the mapped buffer and hands it to the device.
    pub(super) fn load(&mut self, textures: &TextureSet, values: &[f32]) -> Result<(), GpuError> {
        pack(&self.order.from_file(values), self.shape, textures.spec(self.texture).format, &mut self.bytes);
        self.buffer.get_mapped_range_mut(..).map_err(mapping)?.copy_from_slice(&self.bytes);
        self.buffer.unmap();
        Ok(())
    }

    /// Copies between buffer and texture.
    pub(super) fn encode(&self, textures: &TextureSet, encoder: &mut wgpu::CommandEncoder) {
        let spec = textures.spec(self.texture);
        let texture = textures.texture(self.texture);
        let buffer = wgpu::TexelCopyBufferInfo {
            buffer: &self.buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(row_bytes(spec) as u32),
                rows_per_image: None,
            },
        };
        match self.way {
            Way::Up => encoder.copy_buffer_to_texture(buffer, texture.as_image_copy(), texture.size()),
            Way::Down => encoder.copy_texture_to_buffer(texture.as_image_copy(), buffer, texture.size()),
        }
    }

    /// Asks for the buffer to be mapped again once the device is done with it.
    pub(super) fn map(&self) {
        let mode = match self.way {
            Way::Up => wgpu::MapMode::Write,
            Way::Down => wgpu::MapMode::Read,
        };
        self.buffer.map_async(mode, .., |_| {});
    }

    /// Reads dense values in the file's order out of the mapped buffer and gives it back.
    pub(super) fn take(&self, textures: &TextureSet, values: &mut [f32]) -> Result<(), GpuError> {
        let view = self.buffer.get_mapped_range(..).map_err(mapping)?;
        unpack(&view, self.shape, textures.spec(self.texture).format, values);
        if !self.order.is_file_order() {
            let filed = self.order.to_file(values).into_owned();
            values.copy_from_slice(&filed);
        }
        drop(view);
        self.buffer.unmap();
        Ok(())
    }
}

fn mapping(error: impl std::fmt::Display) -> GpuError {
    GpuError::Refused { doing: "mapping a transfer buffer".into(), reason: error.to_string() }
}
