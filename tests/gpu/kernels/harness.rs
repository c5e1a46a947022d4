//! A hostile pool: runs a node among poison and compares it to its CPU reference.
//!
//! Tensors lie at odd bases, whole, in rings, or with their rows shuffled, their slices next to each other or apart, in
//! textures far wider or narrower than they are, alone or two in one texture, and everything around them is NaN. What
//! must hold: the result is the reference's, lanes past the last channel are zero, and no texel outside the rows asked
//! for was touched.

use std::ops::Range;

use half::f16;
use texpool_gpu::{Gpu, Pipelines, Program, Role, TextureSet};
use texpool_ops::{
    graph::{Cell, Constant, ElementType, Graph, IdVec, Op, QuantParams, Recurrent, Shape, TensorId, TexelStorage},
    kernels::{Operand, StepContext, WeightPacking, WeightPlace},
    ops::{self, WeightWords, reference},
};
use texpool_plan::{RowTable, TexelFormat, TextureSpec};

use super::rng::Rng;
use crate::support::{EVERY_TEST, graphs::n, open};

const POISON: [f32; 4] = [f32::NAN; 4];
/// Poison in texels of bytes. Four such bytes are a NaN.
const POISON_BYTE: f32 = 255.0;
/// Widths of textures, in the order the arrangements take them.
const WIDTHS: [u32; 5] = [64, 1, 4096, 8, 256];
/// Arrangements that each case is run in.
const ARRANGEMENTS: u64 = 4;
/// Divisor of the number of further combinations of format and packing: a case runs in that part of them, rounded up.
const OTHERS: usize = 4;

/// Position of a tensor in its texture.
#[derive(Clone, Debug)]
struct Placement {
    rows: RowTable,
    /// Texels from a slice of a row to the next.
    pitch: u32,
    storage: TexelStorage,
}

impl Placement {
    /// Texels from the first of a row to its last.
    fn span(shape: Shape, pitch: u32, storage: TexelStorage) -> u32 {
        let plane = (shape.slices() as u32).checked_sub(1).map_or(0, |last| last * pitch + shape.w as u32);
        plane * storage.texels() as u32
    }

    /// Returns the texels that hold four values, as the texture of a format stores them. The first lies at the place of
    /// the values, the others one plane after another.
    fn encoded(&self, values: [f32; 4]) -> Vec<[f32; 4]> {
        match self.storage {
            TexelStorage::Values => vec![values],
            TexelStorage::Bytes { .. } => vec![values.map(|value| self.storage.byte(value).into())],
            TexelStorage::Planes => (0..4).map(|part| values.map(|value| value.to_le_bytes()[part].into())).collect(),
        }
    }

    /// Returns the values of the texels at these positions, one or one of each plane.
    fn decoded(&self, texels: &[[f32; 4]], at: &[usize]) -> [f32; 4] {
        match self.storage {
            TexelStorage::Values => texels[at[0]],
            TexelStorage::Bytes { .. } => texels[at[0]].map(|byte| self.storage.value(byte as u8)),
            TexelStorage::Planes => {
                std::array::from_fn(|lane| f32::from_le_bytes([0, 1, 2, 3].map(|part| texels[at[part]][lane] as u8)))
            }
        }
    }

    /// Positions of the texels that hold four values.
    fn texels(&self, shape: Shape, row: usize, slice: usize, x: usize) -> Vec<usize> {
        let first = self.texel(row, slice, x);
        (0..self.storage.texels()).map(|plane| first + plane * shape.row_texels()).collect()
    }

    fn texel(&self, row: usize, slice: usize, x: usize) -> usize {
        self.rows.start(row as u32) as usize + slice * self.pitch as usize + x
    }

    fn operand(self, shape: Shape, textures: &TextureSet, texture: usize) -> Operand {
        let spec = textures.spec(texture);
        let (shift, texels) = (spec.shift(), spec.texels());
        Operand { shape, texture, shift, texels, rows: self.rows, pitch: self.pitch, storage: self.storage }
    }
}

/// A device, and the pipelines created on it up to now.
pub(crate) struct Harness {
    gpu: Gpu,
    pipelines: [(TexelFormat, Pipelines); 4],
    failures: Vec<String>,
    runs: usize,
    /// Number of cases checked up to now.
    cases: u64,
    /// Whether cases run in every combination of format and packing.
    every_combination: bool,
    /// Maps random values (a quarter to two, of either sign) to input values.
    inputs: fn(f32) -> f32,
    /// Factor for every input except the first: indices have a wider range than other values.
    spread: f32,
    /// Whether the channels of each input pixel ascend.
    sorted: bool,
    /// Ways to store and pack weights, tested one after the other.
    packings: &'static [WeightPacking],
}

/// A texture being filled.
struct TextureContents {
    texels: Vec<[f32; 4]>,
}

impl Harness {
    /// Opens the device; without an adapter, the error names the package to install.
    pub(crate) fn new() -> Self {
        let gpu = open();
        let formats =
            [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float, TexelFormat::Rgba32Uint, TexelFormat::Rgba8Uint];
        let pipelines = formats.map(|format| (format, Pipelines::new(&gpu, format).unwrap()));
        Self {
            gpu,
            pipelines,
            failures: Vec::new(),
            runs: 0,
            cases: 0,
            every_combination: std::env::var_os(EVERY_TEST).is_some(),
            inputs: |x| x,
            spread: 1.0,
            sorted: false,
            packings: &[WeightPacking::Texels],
        }
    }

    /// Sets the map from random values (a quarter to two, of either sign) to input values for the following checks.
    pub(crate) fn inputs(&mut self, inputs: fn(f32) -> f32) {
        self.inputs = inputs;
    }

    /// Multiplies every input but the first from now on.
    pub(crate) fn spread(&mut self, factor: f32) {
        self.spread = factor;
    }

    /// Sorts the channels of each input pixel from now on.
    pub(crate) fn sorted(&mut self, sorted: bool) {
        self.sorted = sorted;
    }

    /// Makes the following checks pack weights in every way, with values that each packing holds exactly.
    pub(crate) fn every_packing(&mut self) {
        self.packings = &WeightPacking::ALL;
    }

    /// Makes the following checks run every packing in every format, instead of a choice per case.
    pub(crate) fn every_combination(&mut self) {
        self.every_combination = true;
    }

    /// Runs the graph's only node in several arrangements: in 32-bit floats, and in another combination of texel format
    /// and weight packing, or in every combination.
    pub(crate) fn check(&mut self, graph: &Graph) {
        for (packing, format) in self.combinations() {
            // Word texels differ from float texels only in loads and stores, so one arrangement is enough: the one
            // that includes everything, even tiles.
            let first = if format == 2 { ARRANGEMENTS - 1 } else { 0 };
            for arrangement in first..ARRANGEMENTS {
                self.runs += 1;
                if let Err(failure) = self.run(graph, arrangement, format, packing) {
                    let node = &graph.nodes[n(0)];
                    let shapes: Vec<String> = node.inputs.iter().map(|&t| graph.shape(t).to_string()).collect();
                    let out = graph.shape(node.output);
                    let format = self.pipelines[format].0;
                    self.failures.push(format!(
                        "{:?} {shapes:?} -> {out}, epilogue {:?}, arrangement {arrangement}, {format:?}, {:?}: {failure}",
                        node.op, node.epilogue, packing
                    ));
                }
            }
        }
        self.cases += 1;
    }

    /// Returns the packings and formats, by index in `pipelines`, for the next case.
    fn combinations(&self) -> Vec<(WeightPacking, usize)> {
        let all = self.packings.iter().flat_map(|&packing| [0, 1, 2, 3].map(|format| (packing, format)));
        // With 16-bit texels, this packing equals plain texels.
        let mut all: Vec<_> = all.filter(|pair| *pair != (WeightPacking::Halves, 1)).collect();
        if self.every_combination {
            return all;
        }
        // Formats and packings differ in functions that all kernels share, and each combination takes another pipeline,
        // whose compilation takes nearly all of the time. Chosen at random, so that the choice follows no pattern of
        // the cases.
        let mut chosen = vec![all.remove(0)];
        let mut rng = Rng::new(self.cases);
        for _ in 0..all.len().div_ceil(OTHERS) {
            chosen.push(all.remove(rng.below(all.len())));
        }
        chosen
    }

    fn run(&mut self, graph: &Graph, arrangement: u64, format: usize, packing: WeightPacking) -> Result<(), String> {
        let (map, sorted) = (self.inputs, self.sorted);
        let (format, pipelines) = &mut self.pipelines[format];
        let graph = &packable(&rounded(graph, *format), packing, arrangement);
        let node = &graph.nodes[n(0)];
        let draw = |rng: &mut Rng| {
            let mut inputs = Vec::new();
            for &tensor in &graph.inputs {
                let factor = if node.inputs.first() == Some(&tensor) { 1.0 } else { self.spread };
                let values = rng.values(graph.shape(tensor).len()).into_iter();
                let mut values: Vec<f32> = values.map(|v| stored(map(v) * factor, *format)).collect();
                if sorted {
                    values.chunks_mut(graph.shape(tensor).c).for_each(|pixel| pixel.sort_by(f32::total_cmp));
                }
                inputs.push(values);
            }
            inputs
        };
        let result = node.output;
        let of_inputs = |inputs: &[Vec<f32>]| expected(&rounded(graph, *format), inputs.to_vec(), *format);
        let mut seed = arrangement + 1;
        let (mut rng, inputs, expected) = loop {
            let mut rng = Rng::new(seed);
            let inputs = draw(&mut rng);
            let expected = of_inputs(&inputs)?;
            if !rounds_within(&node.op) || is_steady(&inputs, &expected, *format, of_inputs)? {
                break (rng, inputs, expected);
            }
            seed += ARRANGEMENTS;
        };
        let expected = &expected;

        let storages = storages(graph, &inputs, *format);
        // Inputs: each in a separate texture, or all in one.
        let in_one = arrangement % 2 == 1;
        let mut filled: Vec<TextureContents> = Vec::new();
        let mut operands: IdVec<_, Option<(usize, Shape, Placement)>> = IdVec::from_elem(None, &graph.tensors);
        for (&tensor, input) in graph.inputs.iter().zip(&inputs) {
            if filled.is_empty() || !in_one {
                filled.push(TextureContents { texels: Vec::new() });
            }
            let texture = filled.len() - 1;
            let shape = graph.shape(tensor);
            let placement = filled[texture].place(&mut rng, (shape, storages[tensor]), arrangement);
            filled[texture].write(shape, &placement, input);
            operands[tensor] = Some((texture, shape, placement));
        }
        let mut textures = TextureSet::new(&self.gpu);
        let width = |i: usize| WIDTHS[(arrangement as usize + i) % WIDTHS.len()];
        for (i, contents) in filled.iter().enumerate() {
            contents.create(&mut textures, width(i), *format)?;
        }
        let mut packed = TextureContents { texels: vec![POISON; 2 * rng.below(20) + 1] };
        let all = 0..graph.shape(result).slices() as u32;
        // In half of the arrangements the weights are cut into the smallest possible tiles, if the kernel can compute
        // slices separately.
        let tiled = arrangement % 2 == 1;
        let sections = ops::weight_sections(graph, node, packing).filter(|_| tiled);
        let tiles: Vec<Range<u32>> = match &sections {
            Some(sections) => sections.tiles(1).collect(),
            None => vec![all.clone()],
        };
        let packings: IdVec<_, WeightPacking> = graph.nodes.iter().map(|_| packing).collect();
        let words = WeightWords::new(graph, &packings);
        let half: fn(f32) -> f32 = |value| stored(value, TexelFormat::Rgba16Float);
        let own: Vec<[f32; 4]> = match packing {
            WeightPacking::Texels => ops::weights(graph, node).flatten().collect(),
            _ => {
                let words = words.pieces(n(0), if *format == TexelFormat::Rgba16Float { half } else { |value| value });
                words.flatten().map(bytemuck::cast).collect()
            }
        };
        assert_eq!(own.len() as u64, ops::packed_weight_texels(graph, node, packing));
        // The places of each tile's sections. They need not be together: in half of the arrangements they are stored in
        // reverse order, with gaps, as sections are that several nodes share.
        let mut places = Vec::new();
        for slices in &tiles {
            let texels = ops::section_texels(graph, node, packing, slices);
            let ranges = match &sections {
                Some(sections) => sections.ranges(slices),
                None => {
                    let ends = texels.iter().scan(0, |end, &(_, texels)| {
                        *end += texels as usize;
                        Some(*end - texels as usize..*end)
                    });
                    ends.collect()
                }
            };
            let mut place = WeightPlace::default();
            let mut stored: Vec<_> = texels.iter().zip(ranges).collect();
            let is_scattered = arrangement >= 2;
            if is_scattered {
                stored.reverse();
            }
            place.starts.fill(packed.texels.len() as u32);
            for (&(role, texels), range) in stored {
                assert_eq!(texels as usize, range.len());
                place.starts[role as usize] = packed.texels.len() as u32;
                packed.texels.extend(&own[range]);
                place.end = packed.texels.len() as u32;
                if is_scattered {
                    packed.texels.extend(vec![POISON; rng.below(5)]);
                }
            }
            places.push(place);
        }
        // A pool of bytes can hold the weights, too, from any texel on.
        let bytes_from = (*format == TexelFormat::Rgba8Uint && tiled).then_some(arrangement as u32);
        let weight_texture = match (bytes_from, packing) {
            (Some(before), _) => packed.in_bytes(before).create(&mut textures, width(3), *format)?,
            (None, WeightPacking::Texels) => packed.create(&mut textures, width(3), format.of_floats())?,
            (None, _) => packed.create(&mut textures, width(3), TexelFormat::Rgba32Uint)?,
        };
        let shift = textures.spec(weight_texture).shift();
        let weights = |tile: usize| {
            let skipped = sections.as_ref().map_or(0, |sections| sections.skipped(tiles[tile].start));
            WeightPlace { texture: weight_texture, shift, skipped, packing, bytes_from, ..places[tile] }
        };
        let operand = |textures: &TextureSet, tensor: TensorId| {
            operands[tensor].clone().map(|(texture, shape, placement)| placement.operand(shape, textures, texture))
        };

        let shape = graph.shape(result);
        for stripe in stripes(shape.rows() as u32, arrangement) {
            let mut contents = TextureContents { texels: Vec::new() };
            let mut placement = contents.place(&mut rng, (shape, storages[result]), arrangement);
            if arrangement % 4 == 2 {
                // Allocates only the rows of the stripe.
                let base = 2 * rng.below(9) as u32 + 1;
                let row_texels = Placement::span(shape, placement.pitch, placement.storage);
                let room = (base + row_texels * stripe.len() as u32 + 2) as usize;
                contents.texels.resize(room.max(contents.texels.len()), POISON);
                placement.rows =
                    RowTable::Ring { base, rows: shape.rows() as u32, row_texels, ring: stripe.len() as u32 };
            }
            let output = contents.create(&mut textures, width(4), *format)?;
            let mut dispatches = Vec::new();
            for (tile, slices) in tiles.iter().enumerate() {
                let step = StepContext {
                    graph,
                    node,
                    inputs: node.inputs.iter().map(|&tensor| operand(&textures, tensor)).collect(),
                    add: node.epilogue.add.and_then(|tensor| operand(&textures, tensor)),
                    output: placement.clone().operand(shape, &textures, output),
                    rows: stripe.clone(),
                    slices: slices.clone(),
                    weights: weights(tile),
                };
                dispatches.extend(ops::dispatches(&step).map_err(|e| e.to_string())?);
            }
            let program = Program::new(&self.gpu, &mut textures, pipelines, *format, &dispatches);
            program.and_then(|program| program.run(&self.gpu, 0..program.len())).map_err(|e| e.to_string())?;
            let actual = textures.read(output).map_err(|e| e.to_string())?;
            let stored = StoredFormat { format: *format, driver: self.gpu.device.adapter_info().name };
            compare(&actual, expected, shape, &placement, stripe, &stored)?;
        }
        Ok(())
    }
}

impl Drop for Harness {
    /// Panics with all failures, if there are any. Here, so that no test can forget it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let shown = &self.failures[..self.failures.len().min(12)];
        assert!(
            self.failures.is_empty(),
            "{} of {} runs failed:\n{}",
            self.failures.len(),
            self.runs,
            shown.join("\n")
        );
        assert!(self.runs > 0);
    }
}

/// Row ranges that together are the whole result.
fn stripes(rows: u32, arrangement: u64) -> Vec<Range<u32>> {
    let cut = if arrangement < 2 { 0 } else { rows / 3 };
    [0..cut, cut..rows].into_iter().filter(|stripe| !stripe.is_empty()).collect()
}

impl TextureContents {
    /// Reserves poisoned space for a tensor behind the texels already in use.
    fn place(&mut self, rng: &mut Rng, (shape, storage): (Shape, TexelStorage), arrangement: u64) -> Placement {
        let rows = shape.rows() as u32;
        // Slices have gaps between them in the odd arrangements, but not in planes.
        let gaps = arrangement % 2 == 1 && storage != TexelStorage::Planes;
        let pitch = shape.w as u32 + if gaps { 1 + rng.below(5) as u32 } else { 0 };
        let row_texels = Placement::span(shape, pitch, storage);
        let base = self.texels.len() as u32 + 2 * rng.below(9) as u32 + 1;
        let gap = 1 + rng.below(3) as u32;
        let table = match arrangement % 4 {
            0 => RowTable::Whole { base, rows, row_texels },
            2 => RowTable::Ring { base, rows, row_texels, ring: rows + 2 },
            _ => {
                let order = rng.order(rows as usize);
                let row_starts = order.iter().map(|&slot| base + slot as u32 * (row_texels + gap)).collect();
                RowTable::Scattered { row_starts, row_texels }
            }
        };
        let end = table.starts().max().unwrap_or(base) + row_texels + gap;
        self.texels.resize(end as usize, POISON);
        Placement { rows: table, pitch, storage }
    }

    /// Writes a tensor's values, with zeros past the last channel.
    fn write(&mut self, shape: Shape, placement: &Placement, values: &[f32]) {
        for row in 0..shape.rows() {
            for slice in 0..shape.slices() {
                for x in 0..shape.w {
                    let mut texel = [0.0; 4];
                    for (lane, value) in texel.iter_mut().enumerate() {
                        let c = slice * 4 + lane;
                        if c < shape.c {
                            *value = values[(row * shape.w + x) * shape.c + c];
                        }
                    }
                    for (at, texel) in placement.texels(shape, row, slice, x).into_iter().zip(placement.encoded(texel))
                    {
                        self.texels[at] = texel;
                    }
                }
            }
        }
    }

    /// Returns the bytes of words, four texels for each texel, after some other texels.
    fn in_bytes(&self, before: u32) -> Self {
        let bytes = |word: f32| word.to_le_bytes().map(f32::from);
        let texels = self.texels.iter().flat_map(|texel| texel.map(bytes));
        Self { texels: vec![POISON; before as usize].into_iter().chain(texels).collect() }
    }

    /// Creates the texture, `width` texels wide or as much wider as necessary.
    fn create(&self, textures: &mut TextureSet, mut width: u32, format: TexelFormat) -> Result<usize, String> {
        let texels = self.texels.len().max(1) as u32;
        while texels.div_ceil(width) > 4096 {
            width *= 2;
        }
        let spec = TextureSpec { width, height: texels.div_ceil(width), format };
        let mut all = self.texels.clone();
        all.resize(spec.texels() as usize, POISON);
        if format == TexelFormat::Rgba8Uint {
            all.as_flattened_mut().iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = POISON_BYTE);
        }
        let texture = textures.create("hostile", spec, Role::Shared).map_err(|e| e.to_string())?;
        textures.write_rows(texture, 0, &all).map_err(|e| e.to_string())?;
        Ok(texture)
    }
}

/// Representation of each tensor in texels of a format. Inputs that hold small whole numbers are 8-bit integers.
fn storages(graph: &Graph, inputs: &[Vec<f32>], format: TexelFormat) -> IdVec<TensorId, TexelStorage> {
    if format != TexelFormat::Rgba8Uint {
        return IdVec::from_elem(TexelStorage::Values, &graph.tensors);
    }
    let mut graph = graph.clone();
    for (&tensor, values) in graph.inputs.iter().zip(inputs) {
        if values.iter().all(|&value| value == value.clamp(-128.0, 127.0).round()) {
            graph.tensors[tensor].element_type = ElementType::I8;
        }
    }
    ops::byte_storages(&graph)
}

/// The reference's result. A mean over height and width averages means of rows, rounded as the texture format would
/// store them.
fn expected(graph: &Graph, inputs: Vec<Vec<f32>>, format: TexelFormat) -> Result<Vec<f32>, String> {
    let graph = texpool_model::rewrite::row_means(graph, 1);
    let mut values: IdVec<_, Option<Vec<f32>>> = IdVec::from_elem(None, &graph.tensors);
    for (&tensor, input) in graph.inputs.iter().zip(inputs) {
        values[tensor] = Some(input);
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut result = reference::node(&graph, node, &values).map_err(|e| e.to_string())?;
        if index + 1 == graph.nodes.len() {
            return Ok(result);
        }
        result.iter_mut().for_each(|v| *v = stored(*v, format));
        values[node.output] = Some(result);
    }
    Err("the reference has no result".to_owned())
}

/// Returns whether an operator rounds values that it computed itself. A value close to the middle between two grid
/// points rounds down on one driver and up on another, and the results then differ by far more than rounding errors.
fn rounds_within(op: &Op) -> bool {
    matches!(op, Op::Recurrent(Recurrent { cell: Cell::Lstm { rounded: true, .. }, .. }))
}

/// Relative change of inputs at which a result may not jump. Larger than the errors of drivers' functions.
const NUDGE: f32 = 2e-6;
/// Number of random changes to try.
const NUDGES: u64 = 4;

/// Returns whether the reference's result stays within the tolerance when each input grows or shrinks by [`NUDGE`].
fn is_steady(
    inputs: &[Vec<f32>],
    expected: &[f32],
    format: TexelFormat,
    of_inputs: impl Fn(&[Vec<f32>]) -> Result<Vec<f32>, String>,
) -> Result<bool, String> {
    let tolerance = Tolerance::new(expected, format);
    for nudge in 0..NUDGES {
        let mut rng = Rng::new(nudge + 1);
        let mut nudged = inputs.to_vec();
        nudged.iter_mut().flatten().for_each(|value| *value *= [1.0 - NUDGE, 1.0 + NUDGE][rng.below(2)]);
        let result = of_inputs(&nudged)?;
        let near = |(value, reference): (&f32, &f32)| !reference.is_finite() || tolerance.holds(*value, *reference);
        if !result.iter().zip(expected).all(near) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Allowed difference from a finite reference.
#[derive(Clone, Copy)]
struct Tolerance {
    relative: f32,
    absolute: f32,
}

impl Tolerance {
    fn new(expected: &[f32], format: TexelFormat) -> Self {
        let largest = expected.iter().filter(|v| v.is_finite()).fold(0.0f32, |most, v| most.max(v.abs()));
        // Drivers may round halves or truncate them; below 6e-5 halves are a fixed step apart.
        let (relative, least) = if format == TexelFormat::Rgba16Float { (1e-3, 6e-8) } else { (1e-5, 0.0) };
        Self { relative, absolute: 2e-6 * largest + least }
    }

    fn holds(self, value: f32, reference: f32) -> bool {
        (value - reference).abs() <= self.relative * reference.abs() + self.absolute
    }
}

fn stored(value: f32, format: TexelFormat) -> f32 {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => value,
        TexelFormat::Rgba16Float => f16::from_f32(value).to_f32(),
    }
}

/// The graph with its constants as the weight texture stores them.
fn rounded(graph: &Graph, format: TexelFormat) -> Graph {
    let mut graph = graph.clone();
    for tensor in &mut graph.tensors {
        if let Some(constant) = &tensor.constant {
            let values: Vec<f32> = constant.to_f32().iter().map(|&v| stored(v, format)).collect();
            tensor.constant = Some(Constant::from_f32(&values));
        }
    }
    graph
}

/// The graph with weights that the packing can hold. 8-bit weights are signed or unsigned, with scales and zero
/// points of many kinds, one for all channels or one for each.
fn packable(graph: &Graph, packing: WeightPacking, arrangement: u64) -> Graph {
    let mut graph = graph.clone();
    let node = &graph.nodes[n(0)];
    let axis = match node.op {
        Op::DepthwiseConv2d(_) => 3,
        Op::FullyConnected => 2,
        _ => 0,
    };
    let weights = *node.inputs.get(1).unwrap_or(&node.inputs[0]);
    let dims = graph.shape(weights).dims();
    let Some(constant) = &graph.tensors[weights].constant else { return graph };
    let values = constant.to_f32();
    let packed = match packing {
        WeightPacking::Texels => return graph,
        WeightPacking::Halves => {
            // Includes subnormal halves.
            let half = |(i, &value): (usize, &f32)| f16::from_f32(if i % 7 == 3 { value * 1e-6 } else { value });
            let bytes: Vec<u8> = values.iter().enumerate().flat_map(|at| half(at).to_le_bytes()).collect();
            Constant::new(ElementType::F16, bytes.into())
        }
        WeightPacking::Bytes => {
            let signed = arrangement.is_multiple_of(2);
            // Scaled to three times the range of a byte, so that both ends occur.
            let bytes = values.iter().map(|value| (value * 200.0).clamp(-128.0, 127.0) as i8);
            let bytes: Vec<u8> = bytes.map(|byte| byte.cast_unsigned() ^ if signed { 0 } else { 0x80 }).collect();
            let channels = if arrangement == 3 { 1 } else { dims[axis] };
            let scales: Vec<f32> = (0..channels).map(|c| 0.003 + 0.0017 * (c % 5) as f32).collect();
            let zeros: Vec<i32> = (0..channels)
                .map(|c| match arrangement {
                    0 => 0,
                    2 => [-128, 5, 127][c % 3],
                    _ => [0, 255, 100][c % 3],
                })
                .collect();
            let scale = match channels {
                1 => Some(QuantParams::whole(scales[0], zeros[0])),
                _ => QuantParams::along(scales, zeros, &dims, axis),
            };
            let dtype = if signed { ElementType::I8 } else { ElementType::U8 };
            Constant { dtype, bytes: bytes.into(), scale }
        }
    };
    graph.tensors[weights].constant = Some(packed);
    graph
}

/// Format of stored values, and the device that stores them.
struct StoredFormat {
    format: TexelFormat,
    /// Name of the device.
    driver: String,
}

impl StoredFormat {
    /// Returns whether 16 bits are stored as SwiftShader does: infinities as NaN, and a NaN spills over, by setting the
    /// second lowest bit of the following lane.
    fn spills(&self) -> bool {
        self.format == TexelFormat::Rgba16Float && self.driver.contains("SwiftShader")
    }
}

fn compare(
    actual: &[[f32; 4]],
    expected: &[f32],
    shape: Shape,
    placement: &Placement,
    stripe: Range<u32>,
    stored: &StoredFormat,
) -> Result<(), String> {
    let tolerance = Tolerance::new(expected, stored.format);
    // A lane next to a lane that spills.
    let spilt_tolerance = Tolerance { relative: 4e-3, absolute: tolerance.absolute + 7e-8 };
    let mut touched = vec![false; actual.len()];
    for row in stripe {
        for slice in 0..shape.slices() {
            for x in 0..shape.w {
                let at = placement.texels(shape, row as usize, slice, x);
                at.iter().for_each(|&at| touched[at] = true);
                let reference_of =
                    |c: usize| if c < shape.c { expected[(row as usize * shape.w + x) * shape.c + c] } else { 0.0 };
                for (lane, value) in placement.decoded(actual, &at).into_iter().enumerate() {
                    let c = slice * 4 + lane;
                    let mut reference = reference_of(c);
                    if reference.is_nan() && matches!(placement.storage, TexelStorage::Bytes { .. }) {
                        reference = placement.storage.value(u8::MAX);
                    }
                    let spilt = stored.spills() && lane % 2 == 1 && !reference_of(c - 1).is_finite();
                    let near = match reference.is_finite() {
                        true => if spilt { spilt_tolerance } else { tolerance }.holds(value, reference),
                        false => value == reference || value.is_nan() && (reference.is_nan() || stored.spills()),
                    };
                    if !(near && (c < shape.c || value == 0.0 || spilt)) {
                        return Err(format!("row {row}, pixel {x}, channel {c} is {value}, not {reference}"));
                    }
                }
            }
        }
    }
    let is_poison = |texel: &[f32; 4]| match stored.format {
        TexelFormat::Rgba8Uint => *texel == [POISON_BYTE; 4],
        _ => texel.iter().all(|v| v.is_nan()),
    };
    match actual.iter().zip(touched).position(|(texel, touched)| !touched && !is_poison(texel)) {
        Some(at) => Err(format!("texel {at}, outside the rows asked for, was written")),
        None => Ok(()),
    }
}
