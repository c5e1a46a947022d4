//! Uploads of weights and inputs between the dispatches of a run, through two buffers in turns: while the device copies
//! from one the host fills the other.

use std::{ops::Range, sync::Arc};

use super::{
    Gpu, GpuError, Program, TextureSet,
    packed_weights::PackedWeights,
    ports::Port,
    staging::{Staging, StagingBuffer},
    textures::row_bytes,
    wait::{Mapping, Submitted, Wait},
};
use crate::{
    graph::NodeId,
    plan::{TexelFormat, TextureSpec},
};

/// What is to lie in a texture before a dispatch, one texel after another.
#[derive(Clone, Debug)]
pub(super) struct Upload {
    pub(super) source: UploadSource,
    pub(super) texture: usize,
    /// First texel.
    pub(super) first: u32,
    /// The first dispatch that may read it; none that comes before may see it.
    pub(super) before: usize,
}

/// What is uploaded.
#[derive(Clone, Debug)]
pub(super) enum UploadSource {
    /// Weights of a node for some slices of its result.
    Weights { node: NodeId, slices: Range<u32> },
    /// Texels of an input, as it is packed.
    Input { input: usize, texels: Range<usize> },
}

/// Bytes that are uploaded.
#[derive(Clone, Debug)]
struct Bytes {
    from: BytesOf,
    range: Range<usize>,
}

/// What bytes are some of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BytesOf {
    Weights,
    Input(usize),
}

impl Bytes {
    /// Takes the first so many away.
    fn split(&mut self, length: usize) -> Self {
        let middle = self.range.start + length;
        let first = Self { from: self.from, range: self.range.start..middle };
        self.range.start = middle;
        first
    }
}

/// The uploads of a run, and the buffers that they go through.
#[derive(Debug)]
pub(super) struct Uploads {
    staging: Arc<Staging>,
    format: TexelFormat,
    slot_bytes: u64,
    batches: Vec<Batch>,
    slots: [Option<Slot>; 2],
}

/// What goes through a buffer at a time.
#[derive(Debug, Default)]
struct Batch {
    /// What, and where in the buffer.
    fills: Vec<(Bytes, usize)>,
    copies: Vec<Copy>,
}

/// Texels one after another in the buffer and in the texture.
#[derive(Debug)]
struct Copy {
    offset: u64,
    texture: usize,
    first: u32,
    texels: u32,
    before: usize,
}

#[derive(Debug)]
struct Slot {
    buffer: StagingBuffer,
    /// None while the host may write it.
    copied: Option<(Mapping, Submitted)>,
}

impl Uploads {
    /// The uploads in the order of their dispatches, through buffers of at most `slot` bytes.
    pub(super) fn new(
        staging: &Arc<Staging>,
        packed: &PackedWeights,
        uploads: &[Upload],
        format: TexelFormat,
        slot: u64,
    ) -> Self {
        let texel = format.texel_bytes() as usize;
        let bytes = |upload: &Upload| match &upload.source {
            UploadSource::Weights { node, slices } => {
                let ranges = packed.ranges(*node, slices, format).into_iter();
                ranges.map(|range| Bytes { from: BytesOf::Weights, range }).collect()
            }
            UploadSource::Input { input, texels } => {
                vec![Bytes { from: BytesOf::Input(*input), range: texels.start * texel..texels.end * texel }]
            }
        };
        let all: u64 = uploads.iter().flat_map(bytes).map(|bytes| bytes.range.len() as u64).sum();
        let slot_bytes = all.min(slot);
        let mut batches = Batches { room: slot_bytes as usize, used: 0, texel, made: vec![] };
        for upload in uploads {
            batches.add(upload, bytes(upload));
        }
        Self { staging: Arc::clone(staging), format, slot_bytes, batches: batches.made, slots: [None, None] }
    }

    /// Whether there is nothing to upload.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Forgets buffers whose state nobody knows.
    pub(super) fn reset(&mut self) {
        self.slots = [None, None];
    }

    /// Encodes and submits a run that `encoder` begins and `finish` ends; answers its last submission.
    pub(super) async fn run(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        encoder: wgpu::CommandEncoder,
        run: Run<'_>,
        finish: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<Submitted, GpuError> {
        let Run { program, textures, .. } = run;
        let (mut encoder, mut finish) = (Some(encoder), Some(finish));
        let mut done = 0;
        let mut last = None;
        for (number, batch) in self.batches.iter().enumerate() {
            let Some(slot) = self.slots.get_mut(number % 2) else { continue };
            let slot = match slot {
                Some(slot) => slot,
                None => {
                    let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
                    let buffer = self.staging.create(gpu, WHAT, self.slot_bytes, usage, true)?;
                    slot.insert(Slot { buffer, copied: None })
                }
            };
            if let Some((mapping, submitted)) = slot.copied.take() {
                mapping.finish(gpu, wait, Some(&submitted), WHAT).await?;
            }
            slot.fill(gpu, &run, batch)?;
            let next = self.batches.get(number + 1).and_then(|next| next.copies.first());
            let until = next.map_or(program.len(), |copy| copy.before);
            let (mapping, submitted) = gpu.scoped(WHAT, || {
                let descriptor = wgpu::CommandEncoderDescriptor { label: Some("run") };
                let mut encoder = encoder.take().unwrap_or_else(|| gpu.device.create_command_encoder(&descriptor));
                for copy in &batch.copies {
                    if copy.before > done {
                        program.encode_some(&mut encoder, done..copy.before);
                        done = copy.before;
                    }
                    copy.encode(slot.buffer.get(), textures, self.format, &mut encoder);
                }
                // What needs no further upload need not wait for one.
                if until > done {
                    program.encode_some(&mut encoder, done..until);
                    done = until;
                }
                if let (None, Some(finish)) = (next, finish.take_if(|_| next.is_none())) {
                    finish(&mut encoder);
                }
                let mapping = Mapping::on_submit(&encoder, slot.buffer.get(), wgpu::MapMode::Write);
                (mapping, Submitted { index: gpu.queue.submit([encoder.finish()]) })
            })?;
            slot.copied = Some((mapping, submitted.clone()));
            last = Some(submitted);
        }
        last.ok_or_else(|| GpuError::NotSubmitted { what: WHAT.to_owned() })
    }
}

/// Writing weights without buffers of our own, for runs that are done piece by piece.
#[cfg(not(target_arch = "wasm32"))]
impl Uploads {
    /// The dispatches that uploads come before, in order.
    pub(super) fn borders(&self) -> impl Iterator<Item = usize> + '_ {
        self.batches.iter().flat_map(|batch| &batch.copies).map(|copy| copy.before)
    }

    /// Has the queue write, before what is submitted next, what must lie in the textures before dispatch `before`.
    pub(super) fn write(&self, gpu: &Gpu, before: usize, run: &Run<'_>) -> Result<(), GpuError> {
        for batch in &self.batches {
            for copy in batch.copies.iter().filter(|copy| copy.before == before) {
                let bytes = copy.bytes(batch, run, self.format);
                gpu.scoped(WHAT, || copy.write(gpu, &bytes, run.textures, self.format))?;
            }
        }
        Ok(())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Copy {
    /// What it copies.
    fn bytes(&self, batch: &Batch, run: &Run<'_>, format: TexelFormat) -> Vec<u8> {
        let mut made = vec![0; self.texels as usize * format.texel_bytes() as usize];
        let (begin, end) = (self.offset as usize, self.offset as usize + made.len());
        for (source, offset) in &batch.fills {
            let Some(bytes) = run.bytes(source) else { continue };
            let (from, to) = ((*offset).max(begin), (offset + bytes.len()).min(end));
            if from < to {
                made[from - begin..to - begin].copy_from_slice(&bytes[from - offset..to - offset]);
            }
        }
        made
    }

    fn write(&self, gpu: &Gpu, bytes: &[u8], textures: &TextureSet, format: TexelFormat) {
        let (texture, spec) = (textures.texture(self.texture), textures.spec(self.texture));
        for rectangle in rectangles(self.first, self.texels, spec) {
            let (to, extent) = rectangle.place(texture);
            gpu.queue.write_texture(to, bytes, rectangle.layout(0, spec, format), extent);
        }
    }
}

/// What errors call it.
const WHAT: &str = "an upload in the middle of a run";

/// What a run is of.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) textures: &'a TextureSet,
    pub(super) packed: &'a PackedWeights,
    pub(super) inputs: &'a [Port],
}

impl<'a> Run<'a> {
    fn bytes(&self, bytes: &Bytes) -> Option<&'a [u8]> {
        let range = bytes.range.clone();
        match bytes.from {
            BytesOf::Weights => self.packed.get(range),
            BytesOf::Input(input) => self.inputs.get(input)?.packed(range),
        }
    }
}

impl Slot {
    /// Writes a batch where the device will fetch it.
    fn fill(&mut self, gpu: &Gpu, run: &Run<'_>, batch: &Batch) -> Result<(), GpuError> {
        let mut mapped = self.buffer.get().get_mapped_range_mut(..).map_err(|error| gpu.unmapped(error))?;
        for (source, offset) in &batch.fills {
            if let Some(bytes) = run.bytes(source) {
                mapped.slice(*offset..*offset + bytes.len()).copy_from_slice(bytes);
            }
        }
        drop(mapped);
        self.buffer.get().unmap();
        Ok(())
    }
}

impl Copy {
    /// Copies the texels, which are up to three rectangles of the texture.
    fn encode(
        &self,
        buffer: &wgpu::Buffer,
        textures: &TextureSet,
        format: TexelFormat,
        encoder: &mut wgpu::CommandEncoder,
    ) {
        let (texture, spec) = (textures.texture(self.texture), textures.spec(self.texture));
        for rectangle in rectangles(self.first, self.texels, spec) {
            let layout = rectangle.layout(self.offset, spec, format);
            let (to, extent) = rectangle.place(texture);
            encoder.copy_buffer_to_texture(wgpu::TexelCopyBufferInfo { buffer, layout }, to, extent);
        }
    }
}

/// Texels of a texture, one row after another from texel `at` of what is copied.
#[derive(Debug, PartialEq, Eq)]
struct Rectangle {
    at: u32,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

impl Rectangle {
    /// Where its texels lie among bytes that what is copied begins at `offset` of.
    fn layout(&self, offset: u64, spec: TextureSpec, format: TexelFormat) -> wgpu::TexelCopyBufferLayout {
        wgpu::TexelCopyBufferLayout {
            offset: offset + u64::from(self.at) * format.texel_bytes(),
            bytes_per_row: (self.height > 1).then_some(row_bytes(spec) as u32),
            rows_per_image: None,
        }
    }

    /// Where they go.
    fn place<'a>(&self, texture: &'a wgpu::Texture) -> (wgpu::TexelCopyTextureInfo<'a>, wgpu::Extent3d) {
        let &Self { x, y, width, height, .. } = self;
        let origin = wgpu::Origin3d { x, y, z: 0 };
        let to = wgpu::TexelCopyTextureInfo { origin, ..texture.as_image_copy() };
        (to, wgpu::Extent3d { width, height, depth_or_array_layers: 1 })
    }
}

/// Texels one after another as rectangles: the rest of a row, whole rows, the beginning of one.
fn rectangles(first: u32, texels: u32, spec: TextureSpec) -> Vec<Rectangle> {
    // Copies of several rows have rows of a multiple of 256 bytes.
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

/// Uploads put together to what goes through a buffer at a time.
struct Batches {
    /// Bytes of a buffer.
    room: usize,
    /// Those of the last batch.
    used: usize,
    texel: usize,
    made: Vec<Batch>,
}

impl Batches {
    fn add(&mut self, upload: &Upload, sources: Vec<Bytes>) {
        let mut first = upload.first;
        for mut source in sources {
            while !source.range.is_empty() {
                if self.made.is_empty() || self.room - self.used < self.texel {
                    self.made.push(Batch::default());
                    self.used = 0;
                }
                let Some(batch) = self.made.last_mut() else { return };
                let length = source.range.len().min((self.room - self.used) / self.texel * self.texel);
                let texels = (length / self.texel) as u32;
                let now = source.split(length);
                // What follows in its source follows in the buffer as well.
                match batch.fills.last_mut() {
                    Some((last, _)) if last.from == now.from && last.range.end == now.range.start => {
                        last.range.end = now.range.end;
                    }
                    _ => batch.fills.push((now, self.used)),
                }
                // Sections that follow each other in the texture follow each other in the buffer as well.
                match batch.copies.last_mut() {
                    Some(copy)
                        if copy.texture == upload.texture
                            && copy.first + copy.texels == first
                            && copy.before == upload.before =>
                    {
                        copy.texels += texels
                    }
                    _ => batch.copies.push(Copy {
                        offset: self.used as u64,
                        texture: upload.texture,
                        first,
                        texels,
                        before: upload.before,
                    }),
                }
                first += texels;
                self.used += length;
            }
        }
    }
}
