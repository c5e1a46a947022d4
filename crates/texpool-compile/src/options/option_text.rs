//! Parses plan options as users write them: names of strategies and rules, times, and kinds of streaming.

use std::time::Duration;

pub use super::nearest_name::nearest_name;
use super::size::parse_size;
use crate::{BlockChoice, CompileOptions, Objective, OperatorOrder, StreamedIo, Tiling, WeightFormat, WeightStorage};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::DeviceClass;
use texpool_plan::{LayoutKind, Planner, Strategy, TexelFormat};

/// Default size of the tiles of streamed weights.
pub const WEIGHT_TILE: &str = "64KiB";

/// An option whose values have names.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// The values, each with its name and its description.
    const VALUES: &'static [(Self, &'static str, &'static str)];
}

impl Choice for Objective {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Fastest, "fastest", "The shortest time: whole tensors."),
        (
            Self::Balanced,
            "balanced",
            "The point at which another percent of memory saved would cost more than a percent of time.",
        ),
        (Self::Smallest, "smallest", "The least memory, or up to 1.6 % more with fewer steps."),
    ];
}

impl Choice for Tiling {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Rows, "rows", "Stripes of rows, if they save memory."),
        (Self::Patches, "patches", "Also patches of columns of the first layers, if they save memory."),
        (Self::Whole, "whole", "Whole tensors only."),
    ];
}

impl Choice for OperatorOrder {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::File, "file", "The order of the model's file."),
        (Self::Memory, "memory", "The order with the smallest pool of whole tensors that is found."),
    ];
}

impl Choice for BlockChoice {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Auto, "auto", "Those of the device's class, or those that `texpool tune` measured on it."),
        (Self::of(DeviceClass::Software), DeviceClass::Software.name(), "Software devices, as measured on lavapipe."),
        (Self::of(DeviceClass::Nvidia), DeviceClass::Nvidia.name(), "NVIDIA."),
        (Self::of(DeviceClass::Amd), DeviceClass::Amd.name(), "AMD."),
        (Self::of(DeviceClass::Intel), DeviceClass::Intel.name(), "Intel."),
        (Self::of(DeviceClass::Adreno), DeviceClass::Adreno.name(), "Qualcomm's Adreno."),
        (Self::of(DeviceClass::Mali), DeviceClass::Mali.name(), "Arm's Mali."),
        (Self::of(DeviceClass::PowerVr), DeviceClass::PowerVr.name(), "Imagination's PowerVR."),
        (Self::of(DeviceClass::Apple), DeviceClass::Apple.name(), "Apple."),
        (Self::of(DeviceClass::Unknown), DeviceClass::Unknown.name(), "All others: small blocks, which suit any GPU."),
    ];
}

impl Choice for Streamed {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::None, "none", "Nothing: weights stay on the device, and inputs and outputs have separate textures."),
        (Self::Weights, "weights", "Weights, before the operators that need them."),
        (Self::Io, "io", "Inputs, row by row when needed, and outputs, row by row when computed."),
        (Self::All, "all", "Weights, inputs and outputs."),
    ];
}

impl Choice for TexelFormat {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Rgba32Float, "f32", "32-bit floats."),
        (Self::Rgba16Float, "f16", "16-bit floats."),
        (Self::Rgba8Uint, "u8", "Bytes for tensors of 8-bit integers, and 32-bit floats for all others."),
    ];
}

impl Choice for WeightFormat {
    const VALUES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::F32, Self::F32.name(), "32-bit floats, or 16-bit floats with precision `f16`."),
        (Self::F16, Self::F16.name(), "16-bit floats, rounded to the nearest."),
        (Self::File, Self::File.name(), "The file's format of 32, 16 or 8 bits, with the same bits in every result."),
        (Self::Int8, Self::Int8.name(), "8-bit integers with a scale for each output channel, rounded to the nearest."),
    ];
}

/// Returns the names of all values, as in messages: `` `rows`, `whole` ``.
pub fn choices<T: Choice>() -> String {
    T::VALUES.iter().map(|(_, name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Parses the name of a value.
pub fn parse_choice<T: Choice>(text: &str) -> Result<T, String> {
    let value = T::VALUES.iter().find(|(_, name, _)| *name == text).map(|&(value, ..)| value);
    value.ok_or_else(|| format!("`{text}` is none of {}", choices::<T>()))
}

/// Returns the name of a value, unless it has none, as a budget.
pub fn choice_name<T: Choice>(value: T) -> Option<&'static str> {
    T::VALUES.iter().find(|(other, ..)| *other == value).map(|&(_, name, _)| name)
}

/// Data that goes through the pool in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed {
    /// No data is streamed.
    None,
    /// Weights.
    Weights,
    /// Inputs and outputs.
    Io,
    /// Weights, inputs and outputs.
    All,
}

impl Streamed {
    /// Returns the default for this objective. Streamed inputs and outputs are ordinary records whose memory is reused
    /// while they are not alive, so pools are seldom larger for it.
    pub fn with(objective: Objective) -> Self {
        if objective == Objective::Smallest { Self::All } else { Self::Io }
    }

    /// Sets the streaming options; `tile_bytes` limits the size of weight tiles.
    pub fn ask(self, options: &mut CompileOptions, tile_bytes: u64) {
        options.weights = match self {
            Self::Weights | Self::All => WeightStorage::Streamed { resident_below: 0, tile_bytes },
            Self::None | Self::Io => WeightStorage::Resident,
        };
        options.stream_io = match self {
            Self::Io | Self::All => StreamedIo::BOTH,
            Self::None | Self::Weights => StreamedIo::NONE,
        };
    }
}

/// `fastest`, `balanced`, `smallest`, or a size that limits the total device memory.
pub fn parse_objective_or_budget(text: &str) -> Result<Objective, String> {
    let budget = |_| parse_size(text).map(Objective::Device);
    parse_choice(text).or_else(budget).map_err(|error| format!("{error}; or {}", choices::<Objective>()))
}

/// Parses the name of any plan.
pub fn parse_planner(text: &str) -> Result<Planner, String> {
    text.parse().map_err(|_| format!("no strategy is called `{text}`; choose from: {}", planners(|_| true)))
}

/// Parses the name of a plan that textures can hold.
pub fn parse_texture_planner(text: &str) -> Result<Planner, String> {
    parse_planner(text).and_then(in_textures)
}

/// Rejects plans with a single arena, which textures cannot hold.
pub fn in_textures(planner: Planner) -> Result<Planner, String> {
    let textures = |s: Strategy| s.problem() != LayoutKind::Offsets;
    match planner {
        Planner::Strategy(strategy) if !textures(strategy) => Err(format!(
            "it plans one arena, and no step may read and write the same texture; choose from: {}",
            planners(textures)
        )),
        planner => Ok(planner),
    }
}

fn planners(which: impl Fn(Strategy) -> bool) -> String {
    let strategies = Strategy::ALL.iter().filter(|&&s| which(s)).map(|s| s.name());
    ["best", "optimum", "banks"].into_iter().chain(strategies).collect::<Vec<_>>().join(", ")
}

/// `default`, `exact`, `all` or `none`, which rule names may follow, or rule names alone, all separated by commas.
pub fn parse_rules(text: &str) -> Result<Rules, String> {
    let (first, others) = text.split_once(',').map_or((text, None), |(first, others)| (first, Some(others)));
    let (rules, names) = match first {
        "default" => (Rules::default(), others),
        "exact" => (Rules::exact(), others),
        "all" => (Rules::all(), others),
        "none" => (Rules::none(), others),
        _ => (Rules::none(), Some(text)),
    };
    let names: Vec<&str> = names.into_iter().flat_map(|names| names.split(',')).collect();
    rules.with(&names).map_err(|error| error.to_string())
}

/// Parses a time in seconds, up to one day, so that adding it to the clock cannot overflow.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    const DAY: f64 = 86_400.0;
    match text.parse::<f64>() {
        Ok(number) if (0.0..=DAY).contains(&number) => Ok(Duration::from_secs_f64(number)),
        _ => Err(format!("`{text}` is no time; write seconds such as 0.5, at most {DAY}")),
    }
}

/// Parses the time limit of a search in seconds; `none` means no limit.
pub fn parse_deadline(text: &str) -> Result<Option<Duration>, String> {
    const SUCH: &str = "write seconds, such as 10 or 0.5, or `none`";
    if text == "none" {
        return Ok(None);
    }
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number; {SUCH}"))?;
    Duration::try_from_secs_f64(seconds).map(Some).map_err(|error| format!("{error}; {SUCH}"))
}

#[cfg(test)]
mod tests {
    use super::WEIGHT_TILE;
    use crate::{DEFAULT_TILE, parse_size};

    /// Budgets search the same plans as `--objective smallest`, which streams tiles of that size.
    #[test]
    fn tiles_are_as_large_as_those_that_budgets_begin_with() {
        assert_eq!(parse_size(WEIGHT_TILE), Ok(DEFAULT_TILE));
    }
}
