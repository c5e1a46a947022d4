//! Compile options.

pub(crate) mod nearest_name;
pub mod option_text;
pub(crate) mod size;
mod stripes;

pub use stripes::Stripes;

use crate::DeviceProfile;
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{Blocks, DeviceClass};
use texpool_plan::{Planner, SearchBudget, TexelFormat, TextureLimits};

/// Quality that decides between plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The shortest predicted time: every operator runs once, over whole tensors, and all concatenations and pads that can
    /// be written in place are.
    #[default]
    Fastest,
    /// The least product of device memory and time. Beyond this plan, saving one percent of memory costs more than one
    /// percent of time.
    Balanced,
    /// The least device memory. If weights, inputs or outputs are streamed, the plan with the fewest steps of those
    /// that take at most 1/64 more; of plans of whole tensors always the one with the least.
    Smallest,
    /// The shortest predicted time of the plans whose pool takes at most this many bytes.
    Pool(u64),
    /// The shortest predicted time of the plans with which a session takes at most this many bytes of device memory in
    /// total: pool, weights, inputs and outputs, tables, and transfer buffers. If the limit is at least one allocator
    /// block, the plan keeps the allocator's blocks within it, if possible. Weights, inputs and outputs are streamed if
    /// necessary; inputs and outputs also if requested.
    Device(u64),
}

/// Division of operators that plans may use to save memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tiling {
    /// Operators may run stripe by stripe, a stripe being some rows of the result, in the order in which other
    /// operators need the rows. Each tensor then holds only the rows that are still needed, as a rolling buffer.
    #[default]
    Rows,
    /// Operators may run in stripes as with [`Rows`](Self::Rows), and the first layers may be divided into patches. A patch
    /// computes some columns of a tensor. Patches are tried with [`Objective::Smallest`], and if no other plan keeps
    /// within a limit. They compute the columns at their borders twice.
    Patches,
    /// Every operator runs once and writes its whole result. Plans then differ only in the concatenations and pads that
    /// are written in place: that saves steps, but a part that is written long before the whole is read reserves memory
    /// for the whole.
    Whole,
}

impl Tiling {
    /// Returns whether operators may run in stripes of rows.
    pub(crate) const fn divides_rows(self) -> bool {
        matches!(self, Self::Rows | Self::Patches)
    }
}

/// Order in which operators run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorOrder {
    /// The order of the model's file.
    #[default]
    File,
    /// The order with the smallest pool of whole tensors that was found; the file's order if none is smaller. The
    /// results are bit-identical.
    Memory,
}

/// Blocks that kernels compute: pixels and slices for each invocation. All give the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockChoice {
    /// The blocks of the device's class. A model that is compiled without a device gets the blocks of software devices,
    /// to which the default [`DeviceProfile`] belongs, too.
    #[default]
    Auto,
    /// The given blocks on every device.
    Fixed(Blocks),
}

impl BlockChoice {
    /// Chooses the blocks of a class of devices.
    pub const fn of(class: DeviceClass) -> Self {
        Self::Fixed(Blocks::of(class))
    }

    /// Returns the choice on a device with these blocks.
    #[must_use]
    pub const fn on(self, device: Blocks) -> Self {
        match self {
            Self::Auto => Self::Fixed(device),
            fixed @ Self::Fixed(_) => fixed,
        }
    }

    /// Returns the blocks that were chosen.
    pub fn blocks(self) -> Blocks {
        match self {
            Self::Auto => Blocks::default(),
            Self::Fixed(blocks) => blocks,
        }
    }
}

/// Location of the weights while a model runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightStorage {
    /// All weights stay on the device, outside the pool.
    #[default]
    Resident,
    /// Weights are uploaded into the pool in every run, before the step that reads them.
    Streamed {
        /// An operator's weights stay on the device if they take fewer bytes than this.
        resident_below: u64,
        /// Maximum size of weight tiles in bytes, as long as the weights can be divided. Tiles are used for operators
        /// that run over all rows at once.
        tile_bytes: u64,
    },
}

/// Selects inputs and outputs that go through the pool row by row, instead of being stored whole in separate
/// textures. They can then be exchanged only by value; the caller cannot bind a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamedIo {
    /// Streams inputs: each row is uploaded before the first step that reads it.
    pub inputs: bool,
    /// Streams outputs: each row is downloaded after the last step that writes it. An output that is a reshape of
    /// another tensor keeps its texture.
    pub outputs: bool,
}

impl StreamedIo {
    /// Streams inputs and outputs.
    pub const BOTH: Self = Self { inputs: true, outputs: true };
    /// Streams neither.
    pub const NONE: Self = Self { inputs: false, outputs: false };
}

/// Storage format of weights on the device, both resident and uploaded in every run. Convolutions of any kind and
/// fully connected layers read weights in this format and convert them to 32-bit floats as they compute. Biases and
/// the weights of all other operators are stored as with [`F32`](Self::F32), and so are weights uploaded into a pool
/// of 16-bit floats. For a given model and format, every plan gives bit-identical results.
///
/// ```
/// use texpool_compile::WeightFormat;
///
/// assert_eq!(WeightFormat::default(), WeightFormat::F32);
/// let narrow = [WeightFormat::F16, WeightFormat::File, WeightFormat::Int8];
/// assert_eq!(narrow.map(WeightFormat::name), ["f16", "file", "int8"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightFormat {
    /// 32-bit floats, or 16-bit floats if the texels of the pool are 16-bit.
    #[default]
    F32,
    /// 16-bit floats, rounded to nearest.
    F16,
    /// The format in the model's file: 16-bit floats, and 8-bit integers with one scale per output channel or a
    /// single scale, stay in that format. The results are bit-identical to those of [`F32`](Self::F32).
    File,
    /// 8-bit integers with one scale per output channel, chosen so that the greatest magnitude is 127. Weights are
    /// rounded when the model is compiled, unless the file already has such integers.
    Int8,
}

impl WeightFormat {
    /// Returns the name: `f32`, `f16`, `file` or `int8`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::File => "file",
            Self::Int8 => "int8",
        }
    }
}

/// Options for compiling a model.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The enabled rewriting rules.
    pub rules: Rules,
    /// Texel format of the pool. If weights of fewer than 32 bits are streamed, a pool of 32-bit floats becomes a
    /// pool of words ([`Rgba32Uint`](TexelFormat::Rgba32Uint)), which can hold the weights in their storage format.
    pub format: TexelFormat,
    /// Planner to use: the smallest plan, or a named strategy.
    pub planner: Planner,
    /// Search effort for a better plan.
    pub budget: SearchBudget,
    /// Quality that decides between plans.
    pub objective: Objective,
    /// Division of operators that the plan may use.
    pub tiling: Tiling,
    /// Numbers of stripes, if the caller sets them.
    pub stripes: Stripes,
    /// Order in which operators run.
    pub order: OperatorOrder,
    /// Location of the weights while the model runs.
    pub weights: WeightStorage,
    /// Storage format of the weights on the device.
    pub weight_format: WeightFormat,
    /// Inputs and outputs that go through the pool.
    pub stream_io: StreamedIo,
    /// Timing figures of the device; used to choose between plans.
    pub device_profile: DeviceProfile,
    /// Texture limits of the device.
    pub limits: TextureLimits,
    /// Blocks that kernels compute.
    pub blocks: BlockChoice,
}

impl CompileOptions {
    /// Returns whether weights, inputs or outputs go through the pool in every run.
    pub(crate) fn streams(&self) -> bool {
        self.weights != WeightStorage::Resident || self.stream_io != StreamedIo::NONE
    }

    /// Returns whether plans in stripes of rows are considered. No tiled plan is faster than whole tensors, so the
    /// fastest plan needs no search.
    pub(crate) fn considers_tiles(&self) -> bool {
        self.stripes != Stripes::Searched || self.tiling.divides_rows() && self.objective != Objective::Fastest
    }

    /// Returns these options with the texel format that the pool actually has.
    pub(super) fn with_pool_format(&self) -> Self {
        let narrow = self.weights != WeightStorage::Resident && self.weight_format != WeightFormat::F32;
        let format = match self.format {
            TexelFormat::Rgba32Float if narrow => TexelFormat::Rgba32Uint,
            format => format,
        };
        Self { format, ..self.clone() }
    }
}

/// Default size of the tiles of streamed weights, in bytes.
pub const DEFAULT_TILE: u64 = 64 << 10;

/// Minimum `maxTextureDimension2D` of every WebGPU device.
const CORE_EXTENT: u32 = 8192;

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            format: TexelFormat::Rgba32Float,
            planner: Planner::Best,
            budget: SearchBudget::default(),
            objective: Objective::default(),
            tiling: Tiling::default(),
            stripes: Stripes::default(),
            order: OperatorOrder::default(),
            weights: WeightStorage::default(),
            weight_format: WeightFormat::default(),
            stream_io: StreamedIo::NONE,
            device_profile: DeviceProfile::default(),
            limits: TextureLimits { max_extent: CORE_EXTENT },
            blocks: BlockChoice::Auto,
        }
    }
}
