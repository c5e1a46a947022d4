//! Parses plan options as users write them: names of strategies and rules, times, and kinds of streaming.

use std::time::Duration;

use super::{CompileOptions, Objective, StreamedIo, Tiling, WeightFormat, WeightStorage, size::parse_size};
use crate::{
    plan::{LayoutKind, Planner, Strategy, TexelFormat},
    rewrite::Rules,
};

/// Default size of the tiles of streamed weights.
pub const WEIGHT_TILE: &str = "64KiB";

/// Data that goes through the pool in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed {
    None,
    Weights,
    Io,
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

/// `none`, `weights`, `io` or `all`.
pub fn parse_streamed(text: &str) -> Result<Streamed, String> {
    match text {
        "none" => Ok(Streamed::None),
        "weights" => Ok(Streamed::Weights),
        "io" => Ok(Streamed::Io),
        "all" => Ok(Streamed::All),
        _ => Err(format!("`{text}` is none of `none`, `weights`, `io`, `all`")),
    }
}

/// `fastest`, `balanced` or `smallest`.
pub fn parse_objective(text: &str) -> Result<Objective, String> {
    match text {
        "fastest" => Ok(Objective::Fastest),
        "balanced" => Ok(Objective::Balanced),
        "smallest" => Ok(Objective::Smallest),
        _ => Err(format!("`{text}` is none of `fastest`, `balanced`, `smallest`")),
    }
}

/// `fastest`, `balanced`, `smallest`, or a size that limits the total device memory.
pub fn parse_objective_or_budget(text: &str) -> Result<Objective, String> {
    let budget =
        |_| parse_size(text).map(Objective::Device).map_err(|e| format!("{e}; or `fastest`, `balanced`, `smallest`"));
    parse_objective(text).or_else(budget)
}

/// `rows` or `whole`.
pub fn parse_tiling(text: &str) -> Result<Tiling, String> {
    match text {
        "rows" => Ok(Tiling::Rows),
        "whole" => Ok(Tiling::Whole),
        _ => Err(format!("`{text}` is none of `rows`, `whole`")),
    }
}

/// `f32` or `f16`.
pub fn parse_precision(text: &str) -> Result<TexelFormat, String> {
    match text {
        "f32" => Ok(TexelFormat::Rgba32Float),
        "f16" => Ok(TexelFormat::Rgba16Float),
        _ => Err(format!("`{text}` is none of `f32`, `f16`")),
    }
}

/// `f32`, `f16`, `file` or `int8`.
pub fn parse_weight_format(text: &str) -> Result<WeightFormat, String> {
    match text {
        "f32" => Ok(WeightFormat::F32),
        "f16" => Ok(WeightFormat::F16),
        "file" => Ok(WeightFormat::File),
        "int8" => Ok(WeightFormat::Int8),
        _ => Err(format!("`{text}` is none of `f32`, `f16`, `file`, `int8`")),
    }
}

/// Parses the size of streamed weight tiles, in bytes.
pub fn parse_weight_tile(text: Option<&str>) -> Result<u64, String> {
    parse_size(text.unwrap_or(WEIGHT_TILE))
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

/// `default`, `exact`, `all`, `none`, or rule names separated by commas.
pub fn parse_rules(text: &str) -> Result<Rules, String> {
    let with_names = |e| format!("{e}; there are: {}", Rules::names().collect::<Vec<_>>().join(", "));
    match text {
        "default" => Ok(Rules::default()),
        "exact" => Ok(Rules::exact()),
        "all" => Ok(Rules::all()),
        "none" => Ok(Rules::none()),
        names => Rules::only(&names.split(',').collect::<Vec<_>>()).map_err(with_names),
    }
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
    use super::parse_weight_tile;
    use crate::compile::options::DEFAULT_TILE;

    /// Budgets search the same plans as `--objective smallest`, which streams tiles of that size.
    #[test]
    fn tiles_are_as_large_as_those_that_budgets_begin_with() {
        assert_eq!(parse_weight_tile(None), Ok(DEFAULT_TILE));
    }
}
