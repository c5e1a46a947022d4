//! A set of indexed textures: pool, inputs and outputs, weights. Textures are created once and never resized.

use std::sync::{Arc, OnceLock};
#[cfg(not(target_arch = "wasm32"))]
use std::{ops::Range, time::Duration};

use half::f16;

use super::{Gpu, GpuError, allocations::Allocations, error::LOOP_LIMIT, pack::half, texture_format::texture_format};
#[cfg(not(target_arch = "wasm32"))]
use super::{
    allocations::TRANSFER,
    wait::{Mapping, Wait, now},
};
use texpool_ops::{graph::Node, kernels::Reach};
#[cfg(not(target_arch = "wasm32"))]
use texpool_ops::{
    graph::{Shape, TexelStorage},
    kernels::Operand,
};
use texpool_plan::{TexelFormat, TextureSpec};

/// Purpose of a texture, which determines its usages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Kernels read and write it; weights and inputs may be uploaded to it, and rows read back.
    Pool,
    /// The host and shaders of the caller may write and read it, too.
    Shared,
    /// The host writes it, kernels read it.
    Weights,
}

/// Textures by index.
#[derive(Debug)]
pub struct TextureSet {
    gpu: Gpu,
    allocations: Arc<Allocations>,
    slots: Vec<Slot>,
    /// Indices of the textures of one texel for bindings that are never read, once created: one per format.
    spares: Vec<usize>,
    /// Maximum number of loop iterations per invocation, if the driver limits them.
    loop_limit: Option<u64>,
}

#[derive(Debug)]
struct Slot {
    spec: TextureSpec,
    texture: wgpu::Texture,
    /// Created when the texture is first bound. A replaced texture whose bind groups are cached needs no view.
    view: OnceLock<wgpu::TextureView>,
}

impl TextureSet {
    /// Creates an empty set.
    pub fn new(gpu: &Gpu) -> Self {
        Self::labelled(gpu, Arc::new(Allocations::new()))
    }

    /// Creates an empty set whose textures get the labels of an owner.
    pub(super) fn labelled(gpu: &Gpu, allocations: Arc<Allocations>) -> Self {
        Self {
            gpu: gpu.clone(),
            allocations,
            slots: Vec::new(),
            spares: Vec::new(),
            loop_limit: loop_limit(&gpu.device),
        }
    }

    /// Creates a texture and returns its index.
    ///
    /// # Errors
    /// [`GpuError::Limit`] if an extent exceeds the device's limit, [`GpuError::OutOfMemory`].
    pub fn create(&mut self, label: &str, spec: TextureSpec, role: Role) -> Result<usize, GpuError> {
        let texture = make(&self.gpu, &self.allocations, label, spec, role)?;
        Ok(self.push(spec, texture))
    }

    /// Returns the index of the texture of one texel of a format for unused bindings, creating it if needed.
    pub(super) fn spare(&mut self, format: TexelFormat) -> Result<usize, GpuError> {
        if let Some(&spare) = self.spares.iter().find(|&&spare| self.spec(spare).format == format) {
            return Ok(spare);
        }
        let made = self.create("spare", TextureSpec { width: 1, height: 1, format }, Role::Pool)?;
        self.spares.push(made);
        Ok(made)
    }

    /// Returns the size of those textures in bytes.
    pub(super) fn spare_bytes(&self) -> u64 {
        self.spares.iter().map(|&spare| self.spec(spare).bytes()).sum()
    }

    /// Returns the labels and the allocation count of this set.
    pub(super) fn allocations(&self) -> &Arc<Allocations> {
        &self.allocations
    }

    /// Checks that a texture exists and has the width and size that a dispatch was built for.
    pub(super) fn check_reach(&self, reach: &Reach) -> Result<(), GpuError> {
        let Reach { texture, shift, texels } = *reach;
        match self.slots.get(texture) {
            Some(Slot { spec, .. }) if 1u32.checked_shl(shift) == Some(spec.width) && spec.texels() >= texels => Ok(()),
            slot => {
                let width = 1u32.checked_shl(shift).unwrap_or(0);
                let height = u32::try_from(texels.div_ceil(u64::from(width.max(1)))).unwrap_or(u32::MAX);
                let format = slot.map_or(TexelFormat::Rgba32Float, |slot| slot.spec.format);
                let expected = TextureSpec { width, height, format };
                let found = slot.map(|Slot { spec, .. }| format!("it is {}x{}", spec.width, spec.height));
                let reason = found.unwrap_or_else(|| "there is none".to_owned());
                Err(GpuError::Texture { texture, expected, reason })
            }
        }
    }

    /// Checks that the device allows as many loop iterations as an invocation of a dispatch needs.
    pub(super) fn check_rounds(&self, needed: u64, node: &Node) -> Result<(), GpuError> {
        match self.loop_limit {
            Some(allowed) if needed > allowed => {
                let what = format!("an invocation of operator {} ({})", node.op_index, node.op.name());
                let (node, limit) = (Some(node.op_index), LOOP_LIMIT);
                Err(GpuError::Limit { what, node, limit, needed, allowed })
            }
            _ => Ok(()),
        }
    }

    /// Sets the timeout of later waits for reading textures.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        self.gpu = self.gpu.clone().with_timeout(timeout);
    }

    /// Adds a texture that matches `spec` and returns its index.
    pub(super) fn push(&mut self, spec: TextureSpec, texture: wgpu::Texture) -> usize {
        self.slots.push(Slot { spec, texture, view: OnceLock::new() });
        self.slots.len() - 1
    }

    /// Returns the number of textures.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Replaces a texture by another of the same kind.
    pub(super) fn replace(&mut self, index: usize, texture: &wgpu::Texture) {
        if let Some(slot) = self.slots.get_mut(index)
            && slot.texture != *texture
        {
            (slot.texture, slot.view) = (texture.clone(), OnceLock::new());
        }
    }

    /// Replaces a texture by the texture of one texel, so that the set no longer keeps it alive.
    pub(super) fn release(&mut self, index: usize) {
        if let Some(&spare) = self.spares.first() {
            let texture = self.texture(spare).clone();
            self.replace(index, &texture);
        }
    }

    /// Returns width, height and format of texture `index`.
    pub fn spec(&self, index: usize) -> TextureSpec {
        self.slots[index].spec
    }

    /// Returns texture `index`.
    pub fn texture(&self, index: usize) -> &wgpu::Texture {
        &self.slots[index].texture
    }

    pub(super) fn view(&self, index: usize) -> &wgpu::TextureView {
        let Slot { texture, view, .. } = &self.slots[index];
        view.get_or_init(|| texture.create_view(&wgpu::TextureViewDescriptor::default()))
    }

    /// Writes whole rows of texels from row `first` on; an incomplete last row is filled with zeros.
    ///
    /// # Errors
    /// Errors of the device.
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
    /// Errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read(&self, index: usize) -> Result<Vec<[f32; 4]>, GpuError> {
        let spec = self.spec(index);
        let pitch = row_bytes(spec).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
        let gpu = &self.gpu;
        let buffer = gpu.buffer(
            "reading a texture",
            &wgpu::BufferDescriptor {
                label: Some(&self.allocations.label(TRANSFER)),
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
            let submitted = gpu.submit([encoder.finish()]);
            (submitted, Mapping::new(&buffer, wgpu::MapMode::Read))
        })?;
        now(mapping.finish(gpu, Wait::Block, Some(&submission), "a copy of a texture"))?;
        let view = buffer
            .get_mapped_range(..)
            .map_err(|e| GpuError::Refused { doing: "mapping a buffer".into(), reason: e.to_string() })?;
        Ok(view.chunks(pitch).flat_map(|row| decode(spec.format, &row[..row_bytes(spec)])).collect())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl TextureSet {
    /// Reads some rows of a placed tensor as dense values. The host must be allowed to read its texture.
    ///
    /// # Errors
    /// Errors of the device.
    pub(super) fn read_rows(&self, operand: &Operand, rows: Range<u32>) -> Result<Vec<f32>, GpuError> {
        let texels = self.read(operand.texture)?;
        let Shape { w, c, .. } = operand.shape;
        let (pitch, plane) = (operand.pitch as usize, operand.shape.row_texels());
        let value = |texel: usize, lane: usize| match operand.storage {
            TexelStorage::Values => texels[texel][lane],
            TexelStorage::Bytes { .. } => operand.storage.value(texels[texel][lane] as u8),
            TexelStorage::Planes => {
                f32::from_le_bytes([0, 1, 2, 3].map(|part| texels[texel + part * plane][lane] as u8))
            }
        };
        let mut values = Vec::with_capacity(rows.len() * w * c);
        for row in rows {
            let start = operand.rows.start(row) as usize;
            for x in 0..w {
                values.extend((0..c).map(|channel| value(start + channel / 4 * pitch + x, channel % 4)));
            }
        }
        Ok(values)
    }
}

/// Creates a texture with a label of its owner.
///
/// # Errors
/// [`GpuError::Limit`] if an extent exceeds the device's limit, [`GpuError::OutOfMemory`].
pub(super) fn make(
    gpu: &Gpu,
    allocations: &Allocations,
    label: &str,
    spec: TextureSpec,
    role: Role,
) -> Result<wgpu::Texture, GpuError> {
    let allowed = u64::from(gpu.device.limits().max_texture_dimension_2d);
    let needed = u64::from(spec.width.max(spec.height));
    if needed > allowed {
        let what = format!("texture {label} of {}x{} texels", spec.width, spec.height);
        return Err(GpuError::Limit { what, node: None, limit: "maxTextureDimension2D", needed, allowed });
    }
    let storage = wgpu::TextureUsages::STORAGE_BINDING;
    let usage = match role {
        Role::Pool => storage | wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
        // The caller's shaders read outputs by `textureLoad`.
        Role::Shared => {
            storage
                | wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::COPY_DST
                | wgpu::TextureUsages::COPY_SRC
        }
        Role::Weights => storage | wgpu::TextureUsages::COPY_DST,
    };
    let texture = gpu.scoped(&format!("creating texture {label}"), || {
        gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some(&allocations.label(label)),
            size: extent(spec),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: texture_format(spec.format),
            usage,
            view_formats: &[],
        })
    });
    texture.map_err(|error| error.for_bytes(spec.bytes()))
}

/// Returns the number of iterations after which the driver silently ends the loops of an invocation, if it does so.
/// Mesa's llvmpipe (lavapipe) counts all loops together, up to `LP_MAX_TGSI_LOOP_ITERATIONS` in its `lp_limits.h`.
/// Without this check, a mean over 300 rows of 256 pixels only covered the first 85 rows.
fn loop_limit(device: &wgpu::Device) -> Option<u64> {
    (device.adapter_info().driver == "llvmpipe").then_some(65535)
}

pub(super) fn extent(spec: TextureSpec) -> wgpu::Extent3d {
    wgpu::Extent3d { width: spec.width, height: spec.height, depth_or_array_layers: 1 }
}

pub(super) fn row_bytes(spec: TextureSpec) -> usize {
    spec.width as usize * spec.format.texel_bytes() as usize
}

/// Returns the layout of a texture, or of whole rows of one, in a buffer, starting at its first byte. Rows must be a
/// multiple of 256 bytes.
pub(super) fn in_buffer(buffer: &wgpu::Buffer, spec: TextureSpec) -> wgpu::TexelCopyBufferInfo<'_> {
    let bytes_per_row = Some(row_bytes(spec) as u32);
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: None };
    wgpu::TexelCopyBufferInfo { buffer, layout }
}

/// Converts texels to the bytes that the format stores.
pub(super) fn encode(format: TexelFormat, texels: &[[f32; 4]]) -> Vec<u8> {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => bytemuck::cast_slice(texels).to_vec(),
        // Like `decode`, and unlike `pack`, this does not know what the bytes stand for.
        TexelFormat::Rgba8Uint => texels.as_flattened().iter().map(|&byte| byte as u8).collect(),
        TexelFormat::Rgba16Float => {
            let halves: Vec<f16> = texels.as_flattened().iter().map(|&v| half(v)).collect();
            bytemuck::cast_slice(&halves).to_vec()
        }
    }
}

/// Converts bytes in the storage format to texels.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn decode(format: TexelFormat, bytes: &[u8]) -> Vec<[f32; 4]> {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => bytemuck::pod_collect_to_vec(bytes),
        TexelFormat::Rgba8Uint => bytes.as_chunks::<4>().0.iter().map(|texel| texel.map(f32::from)).collect(),
        TexelFormat::Rgba16Float => {
            let halves: Vec<[f16; 4]> = bytemuck::pod_collect_to_vec(bytes);
            halves.into_iter().map(|texel| texel.map(f16::to_f32)).collect()
        }
    }
}
