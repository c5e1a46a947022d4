//! Plans that keep all of the device's memory within a budget: what is streamed follows from how much there is.

use super::{
    allocator_blocks::BLOCK,
    compile_for::{compile_for, compile_within},
    cost_model::CostModel,
    error::CompileError,
    lowered::LoweredModel,
    memory_limit::MemoryLimit,
    model::CompiledModel,
    options::{CompileOptions, Phases, StreamedIo, WeightStorage},
    select::Effort,
    streaming::streaming,
};
use crate::{
    graph::Graph,
    plan::{Planner, SearchBudget, SearchControl},
    schedule::stream,
};

/// Bytes from which on an operator's weights are streamed, and of tiles: each tile costs an upload and a dispatch, and
/// each of the buffers that they go through a submission. The sizes are chosen: most networks have a few operators with most
/// of the weights.
const RESIDENT_BELOW: [u64; 4] = [1 << 20, 256 << 10, 64 << 10, 0];
const TILES: [u64; 5] = [512 << 10, 256 << 10, 128 << 10, 64 << 10, 16 << 10];

/// Settings whose smallest plans are searched for where nothing fits at once.
const SEARCHED: usize = 2;

/// What may be streamed.
struct Setting {
    weights: WeightStorage,
    stream_io: StreamedIo,
    /// Predicted time of a run without phases, which all others take longer than.
    least_us: f64,
}

/// All that is tried, from what takes the least time. Inputs and outputs that are asked for in the pool are there in each.
fn settings(lowered: &LoweredModel, options: &CompileOptions) -> Vec<Setting> {
    let resident = [options.stream_io, StreamedIo::BOTH].map(|io| (WeightStorage::Resident, io));
    let streamed = RESIDENT_BELOW.into_iter().flat_map(|resident_below| {
        TILES.map(|tile_bytes| (WeightStorage::Streamed { resident_below, tile_bytes }, StreamedIo::BOTH))
    });
    let setting = |(weights, stream_io)| {
        let options = CompileOptions { weights, stream_io, ..options.clone() }.with_pool_format();
        let LoweredModel { graph, .. } = lowered;
        let schedule = stream(graph, lowered.plain(), &streaming(graph, &options));
        let (_, least_us) = CostModel::new(graph, lowered.plain(), &options).predict(&schedule);
        Setting { weights, stream_io, least_us }
    };
    let resident = resident.into_iter().skip(usize::from(options.stream_io == StreamedIo::BOTH));
    let mut settings: Vec<Setting> = resident.chain(streamed).map(setting).collect();
    settings.sort_by(|a, b| a.least_us.total_cmp(&b.least_us));
    settings
}

/// The same where the plan without phases is searched for less: with uploads it has many records, and is seldom chosen.
fn quick(options: &CompileOptions) -> CompileOptions {
    match options.planner {
        Planner::Best if options.streams() => CompileOptions { budget: SearchBudget::PORTFOLIO, ..options.clone() },
        _ => options.clone(),
    }
}

/// How much slower than without phases the fastest plan may be before another setting is searched with all effort, too.
/// Chosen: such a budget is tight, and then room counts for more than a search without effort can tell. By the figures
/// of one device MobileNet v2 with weights of 8 bits has 453 dispatches in 1536 KiB in the setting that seems the fastest, and
/// 253 in the smallest.
const TIGHT: f64 = 1.25;

/// A setting with a plan that fits at once.
struct Fitting {
    compiled: CompiledModel,
    options: CompileOptions,
    /// Predicted time of a run without phases.
    least_us: f64,
}

impl Fitting {
    fn predicted_us(&self) -> f64 {
        self.compiled.phased().map_or(self.least_us, |phased| phased.predicted_us)
    }

    /// The same with all effort.
    fn searched(self, graph: &Graph, limit: MemoryLimit, control: &SearchControl<'_>) -> Result<Self, CompileError> {
        if !self.options.streams() {
            return Ok(self);
        }
        match compile_within(graph, &self.options, Some(limit), Effort::Full, control) {
            Ok(compiled) => Ok(Self { compiled, ..self }),
            // A search that is stopped may find nothing that fits.
            Err(CompileError::DeviceBudget { .. }) => Ok(self),
            Err(error) => Err(error),
        }
    }
}

/// Of all settings' plans that fit the fastest, as far as that is predicted; and that one with all effort. Where the budget
/// is of a block or more, the blocks that the allocator takes from the driver are to fit, if they do so at once: else what
/// is allocated alone.
pub(super) fn within(
    graph: &Graph,
    options: &CompileOptions,
    bytes: u64,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    let options = CompileOptions { phases: Phases::DeviceBudget(bytes), ..options.clone() };
    let lowered = LoweredModel::for_row_tiling(graph, &options, control)?;
    let settings = settings(&lowered, &options);
    drop(lowered);
    // Of those that do not fit at once a lower bound of what they take.
    let mut refused: Vec<(u64, CompileOptions)> = Vec::new();
    let blocks = (bytes >= BLOCK).then_some(MemoryLimit::Blocks(bytes));
    for limit in blocks.into_iter().chain([MemoryLimit::Device(bytes)]) {
        refused.clear();
        if let Some(found) = fastest(graph, &options, &settings, limit, &mut refused, control)? {
            return Ok(found);
        }
    }
    searched(graph, bytes, refused, control)
}

/// The fastest plan within a limit, where some fit at once.
fn fastest(
    graph: &Graph,
    options: &CompileOptions,
    settings: &[Setting],
    limit: MemoryLimit,
    refused: &mut Vec<(u64, CompileOptions)>,
    control: &SearchControl<'_>,
) -> Result<Option<CompiledModel>, CompileError> {
    let mut fitting: Vec<Fitting> = Vec::new();
    for &Setting { weights, stream_io, least_us } in settings {
        let slower = fitting.iter().any(|found| found.predicted_us() <= least_us);
        if slower || control.should_stop() && !refused.is_empty() {
            break;
        }
        let options = CompileOptions { weights, stream_io, ..options.clone() };
        match compile_within(graph, &quick(&options), Some(limit), Effort::Quick, control) {
            Ok(compiled) => fitting.push(Fitting { compiled, options, least_us }),
            Err(CompileError::DeviceBudget { least, .. }) => refused.push((least, options)),
            Err(error) => return Err(error),
        }
    }
    fitting.sort_by(|a, b| a.predicted_us().total_cmp(&b.predicted_us()));
    let mut fitting = fitting.into_iter();
    let Some(fastest) = fitting.next() else { return Ok(None) };
    let fastest = fastest.searched(graph, limit, control)?;
    let (least_us, predicted_us) = (fastest.least_us, fastest.predicted_us());
    let smallest = fitting.min_by_key(|found| found.compiled.device_bytes());
    let tight = predicted_us > TIGHT * least_us;
    let smallest = smallest.filter(|found| tight && found.least_us < predicted_us && !control.should_stop());
    let other = smallest.map(|found| found.searched(graph, limit, control)).transpose()?;
    let other = other.filter(|other| other.predicted_us() < predicted_us);
    Ok(Some(other.unwrap_or(fastest).compiled))
}

/// The first of several settings whose smallest plan fits.
fn searched(
    graph: &Graph,
    bytes: u64,
    mut refused: Vec<(u64, CompileOptions)>,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    // Those that need least, for a search takes seconds. Where none can fit, they say how much would do.
    refused.sort_by_key(|(bound, _)| *bound);
    refused.truncate(SEARCHED);
    let mut refusal: Option<(u64, CompileError)> = None;
    for (_, options) in refused {
        match compile_for(graph, &options, Effort::Full, control) {
            Err(error @ CompileError::DeviceBudget { least, .. }) => {
                if refusal.as_ref().is_none_or(|(smallest, _)| least < *smallest) {
                    refusal = Some((least, error));
                }
            }
            found => return found,
        }
    }
    let (_, error) = refusal.unwrap_or((0, MemoryLimit::Device(bytes).refused(0, true, control.stopped(), None)));
    Err(error)
}
