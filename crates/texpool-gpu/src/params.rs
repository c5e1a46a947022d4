//! Parameters of a program's dispatches. Most dispatches share parameter blocks. Each distinct block is stored once,
//! in one buffer for the blocks that fit into uniform memory and another for the rest. Parameters that belong to a
//! single dispatch go into a third buffer, unless the device has immediates.

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU64,
    sync::Arc,
};

use super::{DispatchBinding, Gpu, GpuError, ParamBinding};
use texpool_ops::kernels::{DISPATCH_WORDS, Dispatch};

/// A range of a buffer.
#[derive(Clone, Debug)]
pub(super) struct ParamRange {
    buffer: wgpu::Buffer,
    offset: u64,
    size: u64,
}

impl ParamRange {
    pub(super) fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: self.offset,
            size: NonZeroU64::new(self.size),
        })
    }
}

/// Location of a dispatch's parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockPlace {
    pub(super) binding: ParamBinding,
    /// In bytes.
    offset: u64,
    size: u64,
}

/// Individual parameters of one dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) enum OwnParams {
    Immediates([u32; DISPATCH_WORDS]),
    /// Byte offset of the words in a uniform buffer.
    Offset(u32),
}

/// Contents of a buffer while it is assembled. Equal ranges are stored once.
struct Ranges<'a> {
    /// Alignment of a range's first word, in words.
    align: usize,
    words: Vec<u32>,
    /// Required length in words so that the binding of the last range fits.
    end: usize,
    begins: HashMap<&'a [u32], usize>,
}

impl<'a> Ranges<'a> {
    fn new(align_bytes: u32) -> Self {
        let align = (align_bytes as usize / 4).max(1);
        Self { align, words: Vec::new(), end: 0, begins: HashMap::new() }
    }

    /// Appends words whose binding covers `length` words, unless equal words exist already. Returns their byte
    /// offset.
    fn push(&mut self, words: &'a [u32], length: usize) -> u64 {
        let begin = *self.begins.entry(words).or_insert_with(|| {
            let begin = self.words.len().next_multiple_of(self.align);
            self.words.resize(begin, 0);
            self.words.extend_from_slice(words);
            // Bindings may overlap the next range, since shaders never read past their own words. Only the last one
            // needs its full length.
            self.end = begin + length;
            begin
        });
        begin as u64 * 4
    }

    fn upload(mut self, gpu: &Gpu, label: &str, usage: wgpu::BufferUsages) -> Result<Option<wgpu::Buffer>, GpuError> {
        if self.words.is_empty() {
            return Ok(None);
        }
        self.words.resize(self.end, 0);
        let buffer = gpu.buffer(
            "parameters",
            &wgpu::BufferDescriptor {
                label: Some(label),
                size: self.words.len() as u64 * 4,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            },
        )?;
        gpu.scoped("uploading parameters", || gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&self.words)))?;
        Ok(Some(buffer))
    }
}

/// Contents of the parameter buffers before upload.
struct Layout<'a> {
    uniform: Ranges<'a>,
    storage: Ranges<'a>,
    /// Individual parameters of dispatches, if the command buffer does not carry them.
    own: Ranges<'a>,
    blocks: Vec<BlockPlace>,
    offsets: Vec<OwnParams>,
}

impl<'a> Layout<'a> {
    fn new(dispatches: &'a [Dispatch], carried: DispatchBinding, limits: &wgpu::Limits) -> Result<Self, GpuError> {
        let uniform = Ranges::new(limits.min_uniform_buffer_offset_alignment);
        let storage = Ranges::new(limits.min_storage_buffer_offset_alignment);
        let own = Ranges::new(limits.min_uniform_buffer_offset_alignment);
        let mut made = Self { uniform, storage, own, blocks: Vec::new(), offsets: Vec::new() };
        // All blocks in uniform memory are bound with the same length, so that each kernel needs only one pipeline.
        let bindings = dispatches.iter().map(|dispatch| ParamBinding::for_words(dispatch.block.len()));
        let uniform = bindings.filter(|binding| *binding != ParamBinding::Storage).max();
        // Most dispatches share the same block allocation. Looking up its pointer avoids hashing its words.
        let mut seen: HashMap<*const u32, BlockPlace> = HashMap::new();
        for dispatch in dispatches {
            let place = match seen.get(&dispatch.block.as_ptr()) {
                Some(place) => *place,
                None => made.block(dispatch, uniform, limits)?,
            };
            seen.insert(dispatch.block.as_ptr(), place);
            made.blocks.push(place);
            made.offsets.push(match carried {
                DispatchBinding::Immediates => OwnParams::Immediates(dispatch.own),
                DispatchBinding::Uniform => OwnParams::Offset(made.own.push(&dispatch.own, DISPATCH_WORDS) as u32),
            });
        }
        Ok(made)
    }

    fn block(
        &mut self,
        dispatch: &'a Dispatch,
        uniform: Option<ParamBinding>,
        limits: &wgpu::Limits,
    ) -> Result<BlockPlace, GpuError> {
        let words = dispatch.block.len();
        if let (ParamBinding::Uniform(_), Some(binding @ ParamBinding::Uniform(length))) =
            (ParamBinding::for_words(words), uniform)
        {
            let length = length as usize;
            let offset = self.uniform.push(&dispatch.block, length);
            return Ok(BlockPlace { binding, offset, size: length as u64 * 4 });
        }
        // In storage memory, the block is an array of vectors of four words.
        let length = words.next_multiple_of(4);
        let (needed, allowed) = (length as u64 * 4, limits.max_storage_buffer_binding_size);
        if needed > allowed {
            let what = format!("parameters of a step ({})", dispatch.shader.name());
            return Err(GpuError::Limit { what, node: None, limit: "maxStorageBufferBindingSize", needed, allowed });
        }
        let offset = self.storage.push(&dispatch.block, length);
        Ok(BlockPlace { binding: ParamBinding::Storage, offset, size: needed })
    }
}

/// Parameters of a program's dispatches, on the device.
#[derive(Debug)]
pub(super) struct Params {
    /// Location of each dispatch's block.
    pub(super) blocks: Vec<BlockPlace>,
    /// Individual parameters of each dispatch.
    pub(super) own: Vec<OwnParams>,
    uniform: Option<wgpu::Buffer>,
    storage: Option<wgpu::Buffer>,
    offsets: Option<wgpu::Buffer>,
}

impl Params {
    /// Uploads the parameters of all dispatches into buffers with this label.
    pub(super) fn upload(gpu: &Gpu, label: &str, dispatches: &[Dispatch]) -> Result<Self, GpuError> {
        let made = Layout::new(dispatches, DispatchBinding::of(&gpu.device), &gpu.device.limits())?;
        Ok(Self {
            blocks: made.blocks,
            own: made.offsets,
            uniform: made.uniform.upload(gpu, label, wgpu::BufferUsages::UNIFORM)?,
            storage: made.storage.upload(gpu, label, wgpu::BufferUsages::STORAGE)?,
            offsets: made.own.upload(gpu, label, wgpu::BufferUsages::UNIFORM)?,
        })
    }

    /// Returns the size of all buffers, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        [&self.uniform, &self.storage, &self.offsets].into_iter().flatten().map(wgpu::Buffer::size).sum()
    }

    /// Returns the buffer range to bind for a block.
    pub(super) fn block(&self, place: BlockPlace) -> Result<ParamRange, GpuError> {
        let buffer = match place.binding {
            ParamBinding::Uniform(_) => &self.uniform,
            ParamBinding::Storage => &self.storage,
        };
        let missing = || GpuError::Refused { doing: "binding parameters".into(), reason: "they have no buffer".into() };
        let buffer = buffer.clone().ok_or_else(missing)?;
        Ok(ParamRange { buffer, offset: place.offset, size: place.size })
    }

    /// Returns the range to bind, with a dynamic offset, for the individual parameters of dispatches. `None` if the
    /// device has immediates.
    pub(super) fn offsets(&self) -> Option<ParamRange> {
        let buffer = self.offsets.clone()?;
        Some(ParamRange { buffer, offset: 0, size: DispatchBinding::BYTES.into() })
    }
}

/// Deduplicates parameter blocks while dispatches are created, so that host memory does not grow with the number of
/// stripes.
#[derive(Debug, Default)]
pub(super) struct SharedBlocks {
    blocks: HashSet<Arc<[u32]>>,
    words: usize,
}

impl SharedBlocks {
    pub(super) fn share(&mut self, dispatch: &mut Dispatch) {
        match self.blocks.get(&dispatch.block) {
            Some(held) => dispatch.block = Arc::clone(held),
            None => {
                self.words += dispatch.block.len();
                self.blocks.insert(Arc::clone(&dispatch.block));
            }
        }
    }

    /// Returns the size of all distinct blocks, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.words as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;
    use crate::DispatchBinding;
    use texpool_ops::{
        graph::{
            Act, Conv2d, CumSum, Graph, GraphBuilder, Op, Padding, Pool2d, PoolKind, Shape, TensorId, TexelStorage,
            Unary,
        },
        kernels::{Dispatch, Operand, StepContext, WeightPlace},
        ops,
    };
    use texpool_plan::RowTable;

    const ROWS: u32 = 24;

    /// A graph whose operators encode their rows in different ways.
    fn graph() -> Graph {
        let mut b = GraphBuilder::new("stripes");
        let same = Padding { top: 1, bottom: 1, left: 1, right: 1 };
        let conv = |padding| Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
        let weights =
            |b: &mut GraphBuilder, dims: &[usize; 4]| b.constant("w", dims, &vec![0.5; dims.iter().product()]).unwrap();
        let x = b.input("x", &[2, ROWS as usize / 2, 7, 8]).unwrap();
        let [wide, narrow, slim] = [[8, 3, 3, 8], [8, 1, 1, 8], [1, 3, 3, 8]].map(|dims| weights(&mut b, &dims));
        let y = b.conv2d("conv", conv(same), x, wide, None, Act::None).unwrap();
        let y = b.conv2d("pointwise", conv(Padding::default()), y, narrow, None, Act::None).unwrap();
        let y = b.depthwise("depthwise", conv(same), y, slim, None, Act::None).unwrap();
        let y = b.pool("pool", Pool2d::plain(PoolKind::Max, [3; 2], [1; 2], same), y).unwrap();
        let y = b.unary("sin", Unary::Sin, y).unwrap();
        let sums = CumSum { axis: 3, exclusive: false, reverse: false };
        let y = b.node("sums", Op::CumSum(sums), &[y], Act::None).unwrap();
        let y = b.concat("concat", 3, &[x, y]).unwrap();
        b.finish(&[y]).unwrap()
    }

    fn operand(shape: Shape, texture: usize, scattered: bool) -> Operand {
        let row_texels = shape.row_texels() as u32;
        let rows = match scattered {
            false => RowTable::Whole { base: 3, rows: ROWS, row_texels },
            // A rotated order: row 0 is stored last, after the others.
            true => RowTable::Scattered {
                row_starts: (0..ROWS).map(|row| (row + ROWS - 1) % ROWS * row_texels).collect(),
                row_texels,
            },
        };
        let storage = TexelStorage::Values;
        Operand { shape, texture, shift: 8, texels: 1 << 20, rows, pitch: shape.w as u32, storage }
    }

    /// Returns the dispatches of all steps, each split into stripes of `stripe` rows.
    fn dispatches(graph: &Graph, stripe: u32, scattered: bool) -> Vec<Dispatch> {
        let mut all = Vec::new();
        for node in graph.nodes.iter() {
            let place = |tensor: TensorId| operand(graph.shape(tensor), tensor.index(), scattered);
            for first in (0..ROWS).step_by(stripe as usize) {
                let step = StepContext {
                    graph,
                    node,
                    inputs: node.inputs.iter().map(|&t| (!graph.is_constant(t)).then(|| place(t))).collect(),
                    add: None,
                    output: place(node.output),
                    rows: first..first + stripe,
                    slices: 0..graph.shape(node.output).slices() as u32,
                    weights: WeightPlace { end: 1 << 20, ..WeightPlace::default() },
                };
                all.extend(ops::dispatches(&step).unwrap());
            }
        }
        all
    }

    /// Returns the bytes of the tables, and of the individual parameters that go into a buffer.
    fn bytes(dispatches: &[Dispatch], carried: DispatchBinding) -> [usize; 2] {
        let made = Layout::new(dispatches, carried, &wgpu::Limits::default()).unwrap();
        assert_eq!(made.blocks.len(), dispatches.len());
        [made.uniform.end * 4, made.own.words.len() * 4]
    }

    /// Table size does not depend on the number of stripes: a row needs a word only if rows are not at equal distances.
    #[test]
    fn tables_do_not_grow_with_the_number_of_stripes() {
        let graph = graph();
        for scattered in [false, true] {
            let [whole, stripes] = [ROWS, 1].map(|stripe| dispatches(&graph, stripe, scattered));
            assert!(stripes.len() >= 24 * whole.len() && whole.len() >= 7);
            let immediates = DispatchBinding::Immediates;
            assert_eq!(bytes(&whole, immediates), bytes(&stripes, immediates));
            assert_eq!(bytes(&stripes, immediates)[1], 0);
            let most = 256 * stripes.len();
            let [tables, own] = bytes(&stripes, DispatchBinding::Uniform);
            assert!(tables == bytes(&whole, immediates)[0] && own <= most, "{tables} and {own} bytes");
        }
        // An operand whose rows are evenly spaced takes one word in total; an operand with scattered rows takes a
        // word per row.
        let [whole, scattered] = [false, true].map(|scattered| dispatches(&graph, ROWS, scattered));
        for (whole, scattered) in whole.iter().zip(&scattered) {
            let words = scattered.block.len() - whole.block.len() + 1;
            let operands = if whole.second.is_some() { 3 } else { 2 };
            assert!((1..=operands).any(|tables| words == tables * ROWS as usize), "{words} words");
        }
    }
}
