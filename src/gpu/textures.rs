//! A set of textures by number: the pool, inputs and outputs, weights. Created once, never resized.

use std::{ops::Range, time::Duration};

use half::f16;

use super::{Gpu, GpuError, TensorRole, allocations::Allocations, pack::half, wait::Mapping};
use crate::{
    graph::Shape,
    kernels::{Operand, Reach},
    plan::{TexelFormat, TextureSpec},
};

/// What a texture is for, and so what may be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Kernels read and write it; nobody else sees it.
    Pool,
    /// The host may write and read it too.
    Shared,
    /// The host writes it, kernels read it.
    Weights,
}

/// Textures by number.
#[derive(Debug)]
pub struct TextureSet {
    gpu: Gpu,
    allocations: Allocations,
    slots: Vec<(TextureSpec, wgpu::Texture, wgpu::TextureView)>,
}

/// The wgpu name of a format.
pub(super) const fn texture_format(format: TexelFormat) -> wgpu::TextureFormat {
    match format {
        TexelFormat::Rgba32Float => wgpu::TextureFormat::Rgba32Float,
        TexelFormat::Rgba16Float => wgpu::TextureFormat::Rgba16Float,
    }
}

impl TextureSet {
    /// No textures yet.
    pub fn new(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), allocations: Allocations::new(), slots: Vec::new() }
    }

    /// Creates a texture and answers its number.
    ///
    /// # Errors
    /// [`GpuError::Limit`] where an extent exceeds the device's, [`GpuError::OutOfMemory`].
    pub fn create(&mut self, label: &str, spec: TextureSpec, role: Role) -> Result<usize, GpuError> {
        let allowed = u64::from(self.gpu.device.limits().max_texture_dimension_2d);
        let needed = u64::from(spec.width.max(spec.height));
        if needed > allowed {
            let what = format!("texture {label} of {}x{} texels", spec.width, spec.height);
            return Err(GpuError::Limit { what, limit: "maxTextureDimension2D", needed, allowed });
        }
        let storage = wgpu::TextureUsages::STORAGE_BINDING;
        let usage = match role {
            Role::Pool => storage,
            Role::Shared => storage | wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
            Role::Weights => storage | wgpu::TextureUsages::COPY_DST,
        };
        let texture = self.gpu.scoped(&format!("creating texture {label}"), || {
            self.gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some(&self.allocations.label(label)),
                size: extent(spec),
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: texture_format(spec.format),
                usage,
                view_formats: &[],
            })
        });
        let texture = texture.map_err(|error| error.for_bytes(spec.bytes()))?;
        Ok(self.push(spec, texture))
    }

    /// Takes a texture of the caller's for an input or output, which must be exactly as `spec` says and usable as a storage
    /// texture.
    pub(super) fn adopt(
        &mut self,
        role: TensorRole,
        index: usize,
        name: &str,
        spec: TextureSpec,
        texture: wgpu::Texture,
    ) -> Result<usize, GpuError> {
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
            return Ok(self.push(spec, texture));
        };
        Err(GpuError::ExternalTexture { role, index, name: name.to_owned(), expected: spec, reason })
    }

    /// How what this set makes is labelled, and what belongs to it.
    pub(super) fn allocations(&self) -> &Allocations {
        &self.allocations
    }

    /// Checks that a texture is there, and has the width and the room that a dispatch was made for.
    pub(super) fn check_reach(&self, reach: &Reach) -> Result<(), GpuError> {
        let Reach { texture, shift, texels } = *reach;
        match self.slots.get(texture) {
            Some((spec, ..)) if 1u32.checked_shl(shift) == Some(spec.width) && spec.texels() >= texels => Ok(()),
            slot => {
                let width = 1u32.checked_shl(shift).unwrap_or(0);
                let height = u32::try_from(texels.div_ceil(u64::from(width.max(1)))).unwrap_or(u32::MAX);
                let format = slot.map_or(TexelFormat::Rgba32Float, |(spec, ..)| spec.format);
                let expected = TextureSpec { width, height, format };
                let found = slot.map(|(spec, ..)| format!("it is {}x{}", spec.width, spec.height));
                let reason = found.unwrap_or_else(|| "there is none".to_owned());
                Err(GpuError::Texture { texture, expected, reason })
            }
        }
    }

    /// How long waits for reading textures may take from now on.
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        self.gpu = self.gpu.clone().with_timeout(timeout);
    }

    fn push(&mut self, spec: TextureSpec, texture: wgpu::Texture) -> usize {
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        self.slots.push((spec, texture, view));
        self.slots.len() - 1
    }

    /// Width, height and format of texture `index`.
    pub fn spec(&self, index: usize) -> TextureSpec {
        self.slots[index].0
    }

    /// Texture `index` itself.
    pub fn texture(&self, index: usize) -> &wgpu::Texture {
        &self.slots[index].1
    }

    pub(super) fn view(&self, index: usize) -> &wgpu::TextureView {
        &self.slots[index].2
    }

    /// Writes whole rows of texels from row `first` on; the last may be short and is filled with zeros.
    ///
    /// # Errors
    /// What the device says.
    pub fn write_rows(&self, index: usize, first: u32, texels: &[[f32; 4]]) -> Result<(), GpuError> {
        let spec = self.spec(index);
        let rows = (texels.len() as u32).div_ceil(spec.width);
        let mut bytes = encode(spec.format, texels);
        bytes.resize(rows as usize * row_bytes(spec), 0);
        self.gpu
            .scoped("writing a texture", || {
                self.gpu.queue.write_texture(
                    wgpu::TexelCopyTextureInfo {
                        origin: wgpu::Origin3d { x: 0, y: first, z: 0 },
                        ..self.texture(index).as_image_copy()
                    },
                    &bytes,
                    wgpu::TexelCopyBufferLayout {
                        offset: 0,
                        bytes_per_row: Some(row_bytes(spec) as u32),
                        rows_per_image: None,
                    },
                    wgpu::Extent3d { width: spec.width, height: rows, depth_or_array_layers: 1 },
                );
            })
            .map_err(|error| error.for_bytes(bytes.len() as u64))
    }

    /// Reads a whole texture.
    ///
    /// # Errors
    /// What the device says.
    pub fn read(&self, index: usize) -> Result<Vec<[f32; 4]>, GpuError> {
        let spec = self.spec(index);
        let pitch = row_bytes(spec).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
        let gpu = &self.gpu;
        let buffer = gpu.buffer(
            "reading a texture",
            &wgpu::BufferDescriptor {
                label: Some("read back"),
                size: pitch as u64 * u64::from(spec.height),
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            },
        )?;
        let (submission, mapping) = gpu.scoped("reading a texture", || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_texture_to_buffer(
                self.texture(index).as_image_copy(),
                wgpu::TexelCopyBufferInfo {
                    buffer: &buffer,
                    layout: wgpu::TexelCopyBufferLayout {
                        offset: 0,
                        bytes_per_row: Some(pitch as u32),
                        rows_per_image: None,
                    },
                },
                extent(spec),
            );
            let submission = gpu.queue.submit([encoder.finish()]);
            (submission, Mapping::new(&buffer, wgpu::MapMode::Read))
        })?;
        gpu.wait(&submission, "a copy of a texture")?;
        mapping.finish(gpu)?;
        let view = buffer
            .get_mapped_range(..)
            .map_err(|e| GpuError::Refused { doing: "mapping a buffer".into(), reason: e.to_string() })?;
        Ok(view.chunks(pitch).flat_map(|row| decode(spec.format, &row[..row_bytes(spec)])).collect())
    }
}

impl TextureSet {
    /// The dense values of some rows of a placed tensor, whose texture must be one that the host may read.
    ///
    /// # Errors
    /// What the device says.
    pub(super) fn read_rows(&self, operand: &Operand, rows: Range<u32>) -> Result<Vec<f32>, GpuError> {
        let texels = self.read(operand.texture)?;
        let Shape { w, c, .. } = operand.shape;
        let pitch = operand.pitch as usize;
        let mut values = Vec::with_capacity(rows.len() * w * c);
        for row in rows {
            let start = operand.rows.start(row) as usize;
            for x in 0..w {
                values.extend((0..c).map(|channel| texels[start + channel / 4 * pitch + x][channel % 4]));
            }
        }
        Ok(values)
    }
}

fn extent(spec: TextureSpec) -> wgpu::Extent3d {
    wgpu::Extent3d { width: spec.width, height: spec.height, depth_or_array_layers: 1 }
}

pub(super) fn row_bytes(spec: TextureSpec) -> usize {
    spec.width as usize * spec.format.texel_bytes() as usize
}

/// Texels as the format stores them.
pub(super) fn encode(format: TexelFormat, texels: &[[f32; 4]]) -> Vec<u8> {
    match format {
        TexelFormat::Rgba32Float => bytemuck::cast_slice(texels).to_vec(),
        TexelFormat::Rgba16Float => {
            let halves: Vec<f16> = texels.as_flattened().iter().map(|&v| half(v)).collect();
            bytemuck::cast_slice(&halves).to_vec()
        }
    }
}

/// Texels from the bytes that the format stores.
pub(super) fn decode(format: TexelFormat, bytes: &[u8]) -> Vec<[f32; 4]> {
    match format {
        TexelFormat::Rgba32Float => bytemuck::pod_collect_to_vec(bytes),
        TexelFormat::Rgba16Float => {
            let halves: Vec<[f16; 4]> = bytemuck::pod_collect_to_vec(bytes);
            halves.into_iter().map(|texel| texel.map(f16::to_f32)).collect()
        }
    }
}
