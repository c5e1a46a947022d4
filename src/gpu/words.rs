//! The words of a program's dispatches: one buffer for those that fit into uniform memory, one for the others.

use std::num::NonZeroU64;

use super::{Gpu, GpuError, Table};
use crate::kernels::Dispatch;

/// A dispatch's words: a range of a buffer that holds those of many.
pub(super) struct Words {
    pub(super) table: Table,
    buffer: wgpu::Buffer,
    offset: u64,
    size: u64,
}

impl Words {
    pub(super) fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: self.offset,
            size: NonZeroU64::new(self.size),
        })
    }
}

/// The buffer of a table while it is put together.
struct Sheet {
    table: Table,
    align: usize,
    words: Vec<u32>,
    /// Words that must be there for the last range to lie inside.
    end: usize,
}

impl Sheet {
    fn new(table: Table, limits: &wgpu::Limits) -> Self {
        let align = match table {
            Table::Uniform => limits.min_uniform_buffer_offset_alignment,
            Table::Storage => limits.min_storage_buffer_offset_alignment,
        };
        Self { table, align: align as usize / 4, words: Vec::new(), end: 0 }
    }

    /// Appends words and answers where their range begins and how long it is, in bytes.
    fn push(&mut self, words: &[u32]) -> [u64; 2] {
        let begin = self.words.len().next_multiple_of(self.align.max(1));
        self.words.resize(begin, 0);
        self.words.extend_from_slice(words);
        // The uniform array has a fixed length, whatever is used of it.
        let length = if self.table == Table::Uniform { Table::UNIFORM_WORDS } else { words.len().next_multiple_of(4) };
        self.end = begin + length;
        [begin, length].map(|words| words as u64 * 4)
    }

    fn upload(mut self, gpu: &Gpu) -> Result<Option<wgpu::Buffer>, GpuError> {
        if self.words.is_empty() {
            return Ok(None);
        }
        self.words.resize(self.end, 0);
        let usage =
            if self.table == Table::Uniform { wgpu::BufferUsages::UNIFORM } else { wgpu::BufferUsages::STORAGE };
        let buffer = gpu.buffer(
            "row tables",
            &wgpu::BufferDescriptor {
                label: Some("tables"),
                size: self.words.len() as u64 * 4,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            },
        )?;
        gpu.scoped("uploading row tables", || gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&self.words)))?;
        Ok(Some(buffer))
    }
}

/// Uploads the words of all dispatches and answers where each one's lie, in their order.
pub(super) fn upload(gpu: &Gpu, dispatches: &[Dispatch]) -> Result<Vec<Words>, GpuError> {
    let limits = gpu.device.limits();
    let mut sheets = Table::ALL.map(|table| Sheet::new(table, &limits));
    let mut ranges = Vec::with_capacity(dispatches.len());
    for dispatch in dispatches {
        let table = Table::for_words(dispatch.words.len());
        let [offset, size] = sheets[table as usize].push(&dispatch.words);
        let allowed = limits.max_storage_buffer_binding_size;
        if table == Table::Storage && size > allowed {
            let what = format!("row tables of a step ({})", dispatch.shader.name());
            return Err(GpuError::Limit { what, limit: "maxStorageBufferBindingSize", needed: size, allowed });
        }
        ranges.push((table, offset, size));
    }
    let [uniform, storage] = sheets.map(|sheet| sheet.upload(gpu));
    let buffers = [uniform?, storage?];
    let words = |(table, offset, size)| {
        let buffer = buffers[table as usize].clone();
        let missing = || GpuError::Refused { doing: "binding row tables".into(), reason: "they have no buffer".into() };
        Ok(Words { table, buffer: buffer.ok_or_else(missing)?, offset, size })
    };
    ranges.into_iter().map(words).collect()
}
