//! Finds plans that keep the total device memory within a budget. The budget decides which tensors are streamed.
//!
//! The search goes through these stages and stops at the first that settles the question:
//!
//! 1. Lower bound ([`device_floor`]): a budget below it is refused immediately.
//! 2. The plan with whole tensors and all weights on the device, which is usually the fastest.
//! 3. Any plan that fits: the same search as [`Objective::Smallest`], stopped at the first plan that fits. This way, a
//!    budget succeeds whenever [`Objective::Smallest`] would find a small enough plan in the same time.
//! 4. The fastest plan that fits, over all streaming settings.

use super::{
    compile_for::{Attempt, Effort, compile_within},
    cost_model::CostModel,
    memory_limit::MemoryLimit,
};
use crate::{
    error::CompileError,
    lowered::LoweredModel,
    memory::{
        allocator_blocks::BLOCK,
        floor::{device_floor, wgpu_bytes},
    },
    model::{CompiledModel, Unmet},
    options::{CompileOptions, DEFAULT_TILE, Objective, StreamedIo, Tiling, WeightStorage},
    schedule::{Schedule, stream},
    streaming::streaming,
};
use texpool_model::rewrite::Patches;
use texpool_ops::graph::Graph;
use texpool_plan::{Planner, SearchBudget, SearchControl};

/// Size thresholds for streaming an operator's weights (`RESIDENT_BELOW`), and tile sizes (`TILES`), in bytes. Each
/// tile costs an upload and a dispatch, and each buffer of tiles costs a submission. The values are a choice: in most
/// networks a few operators have most of the weights.
const RESIDENT_BELOW: [u64; 4] = [1 << 20, 256 << 10, 64 << 10, 0];
const TILES: [u64; 5] = [512 << 10, 256 << 10, 128 << 10, 64 << 10, 16 << 10];

/// Number of settings that get a search for their smallest plan when no setting fits at first try.
const SEARCHED: usize = 2;

/// Slowdown relative to the run on whole tensors above which a second setting is searched with full effort, too. The
/// value is a choice: a budget that slows the run down this much is tight, and then free space matters more than a
/// quick search can see. With one device's profile, MobileNet v2 with 8-bit weights in 1536 KiB needs 453 dispatches
/// in the setting that looks fastest, and 253 in the smallest one.
const TIGHT: f64 = 1.25;

/// Weight storage and streamed inputs/outputs of one setting.
type Streamed = (WeightStorage, StreamedIo);

/// Default of [`Objective::Smallest`] if the caller sets nothing: everything is streamed.
const ALL: Streamed = (WeightStorage::Streamed { resident_below: 0, tile_bytes: DEFAULT_TILE }, StreamedIo::BOTH);

/// A streaming setting that the search can try.
struct Setting {
    streamed: Streamed,
    /// Predicted time of a run on whole tensors; a lower bound for all other plans of this setting.
    least_us: f64,
    /// True if an earlier setting has the same steps, as in networks whose weights are all below a threshold.
    repeated: bool,
}

/// Returns all settings to try, fastest first. If the caller wants inputs or outputs in the pool, they are in the
/// pool in every setting.
fn settings(lowered: &LoweredModel, options: &CompileOptions) -> Vec<Setting> {
    let streamed = RESIDENT_BELOW.into_iter().flat_map(|resident_below| {
        TILES.map(|tile_bytes| (WeightStorage::Streamed { resident_below, tile_bytes }, StreamedIo::BOTH))
    });
    let LoweredModel { graph, .. } = lowered;
    let mut settings: Vec<Setting> = Vec::new();
    let mut schedules: Vec<Schedule> = Vec::new();
    for streamed in resident(options).chain(streamed) {
        let options = with_streaming(options, streamed).with_pool_format();
        let schedule = stream(graph, lowered.plain().clone(), &streaming(graph, &options));
        let (_, least_us) = CostModel::new(graph, lowered.plain(), &options).predict(&schedule);
        let repeated = schedules.contains(&schedule);
        if !repeated {
            schedules.push(schedule);
        }
        settings.push(Setting { streamed, least_us, repeated });
    }
    settings.sort_by(|a, b| a.least_us.total_cmp(&b.least_us));
    settings
}

/// Settings with all weights on the device: first with inputs and outputs as the options request, then with both in
/// the pool.
fn resident(options: &CompileOptions) -> impl Iterator<Item = Streamed> + use<> {
    let stream_io = Some(options.stream_io).filter(|&io| io != StreamedIo::BOTH);
    stream_io.into_iter().chain([StreamedIo::BOTH]).map(|io| (WeightStorage::Resident, io))
}

fn with_streaming(options: &CompileOptions, (weights, stream_io): Streamed) -> CompileOptions {
    CompileOptions { weights, stream_io, ..options.clone() }
}

/// Reduces the search budget for the plan of whole tensors: with uploads that plan has many records, and it is seldom
/// chosen.
fn quick(options: CompileOptions) -> CompileOptions {
    match options.planner {
        Planner::Best if options.streams() => CompileOptions { budget: SearchBudget::PORTFOLIO, ..options },
        _ => options,
    }
}

/// A plan that fits.
struct Fitting {
    compiled: CompiledModel,
    streamed: Streamed,
    /// Predicted time of a run on whole tensors.
    least_us: f64,
}

impl Fitting {
    fn predicted_us(&self) -> f64 {
        self.compiled.tiled().map_or(self.least_us, |tiled| tiled.predicted_us)
    }
}

/// Returns the plan with the shorter predicted time; `a` wins ties.
fn faster(a: Option<Fitting>, b: Option<Fitting>) -> Option<Fitting> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.predicted_us() < a.predicted_us() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Search for a plan within a device memory budget.
struct BudgetSearch<'a, 'c> {
    graph: &'a Graph,
    /// The patches into which the first layers are divided.
    patches: Option<Patches>,
    options: CompileOptions,
    bytes: u64,
    /// Result of an earlier search of this budget, or of any other search of the same model, if any.
    start: Option<&'a CompiledModel>,
    control: &'a SearchControl<'c>,
    settings: Vec<Setting>,
    /// The smallest plan by device memory, with its size in bytes.
    smallest: Option<(u64, CompiledModel)>,
}

/// Returns the plan with the shortest predicted time that fits, over all settings, refined with full effort. If the
/// budget is at least one allocator block, the search first tries to fit the blocks that the allocator takes from the
/// driver; if that fails, it counts only the allocations themselves. `start` is the result of an earlier search.
pub(crate) fn within(
    (graph, patches): (&Graph, Option<Patches>),
    options: &CompileOptions,
    bytes: u64,
    start: Option<&CompiledModel>,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, Unmet> {
    let options = CompileOptions { objective: Objective::Device(bytes), ..options.clone() };
    let lowered = LoweredModel::new(graph, patches, &options, control)?;
    let floor = device_floor(&lowered, options.format);
    if bytes < floor {
        return Err(CompileError::BelowFloor { bytes, floor, wgpu: wgpu_bytes() }.into());
    }
    let settings = settings(&lowered, &options);
    let mut search = BudgetSearch { graph, patches, settings, options, bytes, start, control, smallest: None };
    let too_many_rows = lowered.too_many_rows();
    drop(lowered);
    // What an earlier search found is not lost if this one is stopped sooner.
    search.smallest =
        search.start_plan().filter(|plan| plan.device_bytes() > bytes).map(|plan| (plan.device_bytes(), plan));
    if let Some(compiled) = search.best_fitting()? {
        return Ok(CompiledModel { stopped: control.stopped(), ..compiled });
    }
    let stopped = control.stopped();
    // A later search that starts from the smallest plan must know how this one ended.
    let smallest = search.smallest.map(|(_, smallest)| CompiledModel { stopped, too_many_rows, ..smallest });
    let error = MemoryLimit::Device(bytes).refused(smallest.as_ref(), stopped, too_many_rows);
    Err(Unmet { error, smallest: smallest.map(Box::new) })
}

impl BudgetSearch<'_, '_> {
    /// Returns the best plan, or `None` if no plan fits.
    fn best_fitting(&mut self) -> Result<Option<CompiledModel>, CompileError> {
        let device = MemoryLimit::Device(self.bytes);
        let blocks = (self.bytes >= BLOCK).then_some(MemoryLimit::Blocks(self.bytes));
        if let Some(whole) = self.of_whole_tensors(blocks.unwrap_or(device))? {
            return Ok(Some(whole));
        }
        // Plans that are available already: the plan of whole tensors, in more blocks, or the result of an earlier
        // search.
        let whole = self.smallest.as_ref().map(|(_, whole)| whole.clone()).filter(|whole| device.holds_compiled(whole));
        let start = self.start_plan().filter(|start| device.holds_compiled(start));
        let mut fallback = start.or_else(|| whole.clone()).map(|fallback| self.fitting(fallback));
        if fallback.is_none() {
            fallback = self.any(device)?;
        }
        if let Some(blocks) = blocks {
            if let Some(fastest) = self.fastest(blocks, fallback.is_some(), &mut Vec::new())? {
                return Ok(Some(fastest.compiled));
            }
            if whole.is_some() {
                return Ok(whole);
            }
        }
        let mut refused = Vec::new();
        let mut fastest = self.fastest(device, fallback.is_some(), &mut refused)?;
        if fastest.is_none() && !(fallback.is_some() && self.control.should_stop()) {
            fastest = self.smallest_of(refused)?;
            if fastest.is_none() {
                fallback = fallback.map(|fallback| self.with_all_effort(fallback, device)).transpose()?;
            }
        }
        // The predicted time of another request's plan may be by the figures of another device.
        let is_comparable = self.start.is_none_or(|start| start.objective == self.options.objective);
        let chosen = if is_comparable { faster(fastest, fallback) } else { fastest.or(fallback) };
        Ok(chosen.map(|chosen| chosen.compiled))
    }

    /// Returns the result of an earlier search as a result of this one, if its tiling is allowed and it has the inputs
    /// and outputs in the pool that the options request there.
    fn start_plan(&self) -> Option<CompiledModel> {
        let stream_io = self.options.stream_io;
        let start = self.start.filter(|start| {
            let StreamedIo { inputs, outputs } = start.lowering.stream_io;
            (inputs || !stream_io.inputs)
                && (outputs || !stream_io.outputs)
                && (start.tiled.is_none() || self.options.tiling.divides_rows())
        });
        start.map(|start| CompiledModel { objective: self.options.objective, ..start.clone() })
    }

    /// Compiles within a limit, and records the plan if it is the smallest so far that does not fit.
    fn attempt(
        &mut self,
        options: &CompileOptions,
        limit: MemoryLimit,
        effort: Effort,
        start: Option<&CompiledModel>,
    ) -> Result<Attempt, CompileError> {
        let attempt = compile_within((self.graph, self.patches), options, Some(limit), effort, start, self.control)?;
        if !attempt.fits {
            let bytes = attempt.compiled.device_bytes();
            if self.smallest.as_ref().is_none_or(|(least, _)| bytes < *least) {
                self.smallest = Some((bytes, attempt.compiled.clone()));
            }
        }
        Ok(attempt)
    }

    /// Wraps a compiled plan that fits, together with the prediction for its setting.
    fn fitting(&self, compiled: CompiledModel) -> Fitting {
        let streamed = (compiled.lowering.weights, compiled.lowering.stream_io);
        let setting = self.settings.iter().find(|setting| setting.streamed == streamed);
        Fitting { streamed, least_us: setting.map_or(f64::INFINITY, |setting| setting.least_us), compiled }
    }

    /// Returns the plan with whole tensors and all weights on the device, if it fits.
    fn of_whole_tensors(&mut self, limit: MemoryLimit) -> Result<Option<CompiledModel>, CompileError> {
        for streamed in resident(&self.options) {
            let options = CompileOptions { tiling: Tiling::Whole, ..with_streaming(&self.options, streamed) };
            let Attempt { compiled, fits, .. } = self.attempt(&options, limit, Effort::Quick, None)?;
            if fits {
                return Ok(Some(compiled));
            }
        }
        Ok(None)
    }

    /// Returns any plan that fits, with the search of [`Objective::Smallest`]: first with everything streamed, then
    /// with the streaming that the options request.
    fn any(&mut self, limit: MemoryLimit) -> Result<Option<Fitting>, CompileError> {
        let option_streaming = (self.options.weights, self.options.stream_io);
        for streamed in [Some(ALL), Some(option_streaming).filter(|&own| own != ALL)].into_iter().flatten() {
            let options = with_streaming(&self.options, streamed);
            let mut attempt = self.attempt(&quick(options.clone()), limit, Effort::Fitting, self.start)?;
            if !attempt.fits && !self.control.should_stop() {
                // The only part of that search still to be done is the plan of whole tensors with full effort.
                attempt = self.attempt(&options, limit, Effort::Quick, None)?;
            }
            if attempt.fits {
                return Ok(Some(self.fitting(attempt.compiled)));
            }
        }
        Ok(None)
    }

    /// Returns the fastest plan within a limit, over all settings whose quick search fits. For each setting that does
    /// not fit, pushes the lower bound on its memory to `refused`.
    fn fastest(
        &mut self,
        limit: MemoryLimit,
        has_plan: bool,
        refused: &mut Vec<(u64, Streamed)>,
    ) -> Result<Option<Fitting>, CompileError> {
        let mut fitting: Vec<Fitting> = Vec::new();
        for index in 0..self.settings.len() {
            let Setting { streamed, least_us, repeated } = self.settings[index];
            if repeated {
                continue;
            }
            let slower = fitting.iter().any(|plan| plan.predicted_us() <= least_us);
            let answered = has_plan || !fitting.is_empty() || !refused.is_empty();
            if slower || answered && self.control.should_stop() {
                break;
            }
            let options = quick(with_streaming(&self.options, streamed));
            let Attempt { compiled, fits, bound, .. } = self.attempt(&options, limit, Effort::Quick, None)?;
            match fits {
                true => fitting.push(Fitting { compiled, streamed, least_us }),
                false => refused.push((bound, streamed)),
            }
        }
        fitting.sort_by(|a, b| a.predicted_us().total_cmp(&b.predicted_us()));
        let mut fitting = fitting.into_iter();
        let Some(fastest) = fitting.next() else { return Ok(None) };
        let fastest = self.with_all_effort(fastest, limit)?;
        let (least_us, predicted_us) = (fastest.least_us, fastest.predicted_us());
        let smallest = fitting.min_by_key(|plan| plan.compiled.device_bytes());
        let tight = predicted_us > TIGHT * least_us;
        let smallest = smallest.filter(|plan| tight && plan.least_us < predicted_us && !self.control.should_stop());
        let other = smallest.map(|plan| self.with_all_effort(plan, limit)).transpose()?;
        Ok(faster(Some(fastest), other))
    }

    /// Repeats the search of this setting with full effort, starting from the given plan, to get as few steps as fit.
    fn with_all_effort(&mut self, plan: Fitting, limit: MemoryLimit) -> Result<Fitting, CompileError> {
        let options = with_streaming(&self.options, plan.streamed);
        if !options.streams() {
            return Ok(plan);
        }
        let start = Some(&plan.compiled);
        let Attempt { compiled, fits, .. } = self.attempt(&options, limit, Effort::Full, start)?;
        // If the search is stopped, it may not find a plan that fits.
        Ok(if fits { Fitting { compiled, ..plan } } else { plan })
    }

    /// Returns the first setting whose smallest plan fits. Tries only the settings that need least memory, because
    /// each search takes seconds.
    fn smallest_of(&mut self, mut refused: Vec<(u64, Streamed)>) -> Result<Option<Fitting>, CompileError> {
        let limit = MemoryLimit::Device(self.bytes);
        refused.sort_by_key(|(bound, _)| *bound);
        refused.truncate(SEARCHED);
        for (_, streamed) in refused {
            let options = with_streaming(&self.options, streamed);
            let Attempt { compiled, fits, .. } = self.attempt(&options, limit, Effort::Full, self.start)?;
            if fits {
                return Ok(Some(self.fitting(compiled)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use texpool_ops::graph::{Act, Conv2d, GraphBuilder, Padding};

    /// Returns the settings to try for a convolution of 1x1 with as many channels in as out.
    fn distinct_settings(channels: usize) -> Vec<Streamed> {
        let mut b = GraphBuilder::new("pointwise");
        let x = b.input("x", &[1, 4, 4, channels]).unwrap();
        let weights = b.constant("w", &[channels, 1, 1, channels], &vec![0.5; channels * channels]).unwrap();
        let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 };
        let y = b.conv2d("conv", conv, x, weights, None, Act::None).unwrap();
        let (options, control) = (CompileOptions::default(), SearchControl::new());
        let lowered = LoweredModel::new(&b.finish(&[y]).unwrap(), None, &options, &control).unwrap();
        let settings = settings(&lowered, &options);
        settings.into_iter().filter(|setting| !setting.repeated).map(|setting| setting.streamed).collect()
    }

    #[test]
    fn settings_with_the_same_steps_are_tried_once() {
        let streamed = |resident_below, tile_bytes| WeightStorage::Streamed { resident_below, tile_bytes };
        let names = |settings: Vec<Streamed>| settings.into_iter().map(|(weights, _)| weights).collect::<Vec<_>>();
        // The default has inputs and outputs beside the pool; weights of 64 bytes are one tile of every size.
        let small = names(distinct_settings(4));
        assert_eq!(small, [WeightStorage::Resident, WeightStorage::Resident, streamed(0, TILES[0])]);
        // 64 KiB reach the two lowest thresholds, and are one, four or more tiles.
        let large = names(distinct_settings(128));
        assert!(large.contains(&streamed(64 << 10, 16 << 10)) && !large.contains(&streamed(0, 16 << 10)), "{large:?}");
        assert!(!large.contains(&streamed(256 << 10, 16 << 10)), "{large:?}");
    }
}
