//! What is asked of a plan.

use super::DeviceProfile;
use crate::{
    plan::{Planner, SearchBudget, TexelFormat, TextureLimits},
    rewrite::Rules,
};

/// Whether operators run band by band of rows, and how far that goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Every operator runs once, over all rows.
    #[default]
    Off,
    /// The point of the front with the least product of the device's bytes and time: beyond it a percent of bytes costs
    /// more than a percent of time.
    Auto,
    /// The plan that takes the fewest bytes of the device, of all that are found; where weights, inputs or outputs are
    /// streamed the one with the fewest steps of those that take at most a sixty-fourth more.
    Min,
    /// The fastest plan whose pool takes no more than so many bytes.
    Budget(u64),
    /// The fastest plan that is found with which a session takes no more than so many bytes of the device in all: pool,
    /// weights, inputs and outputs, tables, buffers for transfers; from a block of the allocator on the blocks for that, if
    /// they can be. Weights, inputs and outputs are streamed where they must be; the latter also where that is asked for.
    DeviceBudget(u64),
}

/// Where weights are while a model runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightStorage {
    /// On the device, all of them, beside the pool.
    #[default]
    Resident,
    /// Uploaded in every run, into the pool, before the step that reads them.
    Streamed {
        /// Weights of an operator that take fewer bytes stay on the device.
        resident_below: u64,
        /// An operator that runs over all its rows at once has them in tiles of at most so many bytes, as far as they
        /// can be divided.
        tile_bytes: u64,
    },
}

/// Which of a model's inputs and outputs go through the pool, row by row, instead of lying whole in textures of their own.
/// They then come and go by value alone: no texture of the caller's can be bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamedIo {
    /// Inputs: each row is uploaded before the first step that reads it.
    pub inputs: bool,
    /// Outputs: each row is downloaded behind the last step that writes it. An output that is another tensor in another
    /// shape keeps its texture.
    pub outputs: bool,
}

impl StreamedIo {
    /// Inputs and outputs.
    pub const BOTH: Self = Self { inputs: true, outputs: true };
    /// Neither.
    pub const NONE: Self = Self { inputs: false, outputs: false };
}

/// How weights are stored on the device, those that stay there and those that are uploaded in every run. Convolutions of
/// any kind and fully connected layers read them as they are stored, and make 32-bit floats of them as they compute; the
/// weights of all other operators and biases are as with [`F32`](Self::F32), and so is what is uploaded into a pool of
/// 16-bit floats. Of one model and format every plan gives the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightFormat {
    /// As 32-bit floats, or as 16-bit ones where the texels of the pool are such.
    #[default]
    F32,
    /// As 16-bit floats, rounded to the nearest.
    F16,
    /// As the model's file has them: those of 16-bit floats so, and those of 8-bit integers with a scale for each
    /// output channel, or for all, so. The answers are those of [`F32`](Self::F32), bit by bit.
    File,
    /// As 8-bit integers with a scale for each output channel, by which the greatest magnitude is 127: rounded when the
    /// model is compiled, where the file has no such integers.
    Int8,
}

impl WeightFormat {
    /// Its name: `f32`, `f16`, `file` or `int8`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::File => "file",
            Self::Int8 => "int8",
        }
    }
}

/// What is asked of the plan.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Which rewriting rules are on.
    pub rules: Rules,
    /// Texel format of the pool. Where weights of fewer bits than 32 are streamed, one of 32-bit floats is one of words
    /// ([`Rgba32Uint`](TexelFormat::Rgba32Uint)), so that they have room as they are stored.
    pub format: TexelFormat,
    /// Which plan: the smallest, or what is named.
    pub planner: Planner,
    /// How far to search for a better plan.
    pub budget: SearchBudget,
    /// Whether operators run band by band of rows.
    pub phases: Phases,
    /// Where weights are while the model runs.
    pub weights: WeightStorage,
    /// How weights are stored on the device.
    pub weight_format: WeightFormat,
    /// Which inputs and outputs go through the pool.
    pub stream_io: StreamedIo,
    /// What the device takes for a dispatch and for arithmetic; decides between phased plans.
    pub device_profile: DeviceProfile,
    /// What the device allows of a texture.
    pub limits: TextureLimits,
}

impl CompileOptions {
    /// Whether weights, inputs or outputs go through the pool in every run.
    pub(crate) fn streams(&self) -> bool {
        self.weights != WeightStorage::Resident || self.stream_io != StreamedIo::NONE
    }

    /// The same with the texel format that the pool has.
    pub(super) fn with_pool_format(&self) -> Self {
        let narrow = self.weights != WeightStorage::Resident && self.weight_format != WeightFormat::F32;
        let format = match self.format {
            TexelFormat::Rgba32Float if narrow => TexelFormat::Rgba32Uint,
            format => format,
        };
        Self { format, ..self.clone() }
    }
}

/// Bytes of the tiles of streamed weights where nobody says.
pub(crate) const DEFAULT_TILE: u64 = 64 << 10;

/// `maxTextureDimension2D` that every WebGPU device has.
const CORE_EXTENT: u32 = 8192;

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            format: TexelFormat::Rgba32Float,
            planner: Planner::Best,
            budget: SearchBudget::default(),
            phases: Phases::default(),
            weights: WeightStorage::default(),
            weight_format: WeightFormat::default(),
            stream_io: StreamedIo::NONE,
            device_profile: DeviceProfile::default(),
            limits: TextureLimits { max_extent: CORE_EXTENT },
        }
    }
}
