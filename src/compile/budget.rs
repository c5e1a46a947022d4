//! Plans that keep all of the device's memory within a budget: what is streamed follows from how much there is.
//!
//! In this order, each as far as the one before does not settle it:
//!
//! 1. What no plan goes below ([`device_floor`]): a smaller budget is refused at once.
//! 2. The plan without phases and with all weights on the device, which is the fastest as a rule.
//! 3. Any plan that fits: the search that [`Phases::Min`] is, up to the first that does. So no budget misses what that one
//!    finds in the same time.
//! 4. The fastest plan that fits, of all settings of what is streamed.

use super::{
    allocator_blocks::BLOCK,
    compile_for::{Attempt, compile_within},
    cost_model::CostModel,
    error::CompileError,
    floor::{device_floor, wgpu_bytes},
    lowered::LoweredModel,
    memory_limit::MemoryLimit,
    model::CompiledModel,
    options::{CompileOptions, DEFAULT_TILE, Phases, StreamedIo, WeightStorage},
    select::Effort,
    streaming::streaming,
    unmet::Unmet,
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

/// How much slower than without phases the fastest plan may be before another setting is searched with all effort, too.
/// Chosen: such a budget is tight, and then room counts for more than a search without effort can tell. By the figures
/// of one device MobileNet v2 with weights of 8 bits has 453 dispatches in 1536 KiB in the setting that seems the fastest, and
/// 253 in the smallest.
const TIGHT: f64 = 1.25;

/// What is streamed.
type Streamed = (WeightStorage, StreamedIo);

/// What [`Phases::Min`] streams unless somebody says: everything.
const ALL: Streamed = (WeightStorage::Streamed { resident_below: 0, tile_bytes: DEFAULT_TILE }, StreamedIo::BOTH);

/// What may be streamed.
struct Setting {
    streamed: Streamed,
    /// Predicted time of a run without phases, which all others take longer than.
    least_us: f64,
}

/// All that is tried, from what takes the least time. Inputs and outputs that are asked for in the pool are there in each.
fn settings(lowered: &LoweredModel, options: &CompileOptions) -> Vec<Setting> {
    let streamed = RESIDENT_BELOW.into_iter().flat_map(|resident_below| {
        TILES.map(|tile_bytes| (WeightStorage::Streamed { resident_below, tile_bytes }, StreamedIo::BOTH))
    });
    let setting = |streamed| {
        let options = with(options, streamed).with_pool_format();
        let LoweredModel { graph, .. } = lowered;
        let schedule = stream(graph, lowered.plain(), &streaming(graph, &options));
        let (_, least_us) = CostModel::new(graph, lowered.plain(), &options).predict(&schedule);
        Setting { streamed, least_us }
    };
    let mut settings: Vec<Setting> = resident(options).chain(streamed).map(setting).collect();
    settings.sort_by(|a, b| a.least_us.total_cmp(&b.least_us));
    settings
}

/// All weights on the device; inputs and outputs as is asked for, and in the pool.
fn resident(options: &CompileOptions) -> impl Iterator<Item = Streamed> + use<> {
    let asked = Some(options.stream_io).filter(|&io| io != StreamedIo::BOTH);
    asked.into_iter().chain([StreamedIo::BOTH]).map(|io| (WeightStorage::Resident, io))
}

fn with(options: &CompileOptions, (weights, stream_io): Streamed) -> CompileOptions {
    CompileOptions { weights, stream_io, ..options.clone() }
}

/// The same where the plan without phases is searched for less: with uploads it has many records, and is seldom chosen.
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
    /// Predicted time of a run without phases.
    least_us: f64,
}

impl Fitting {
    fn predicted_us(&self) -> f64 {
        self.compiled.phased().map_or(self.least_us, |phased| phased.predicted_us)
    }
}

/// The one that is predicted to be faster; where none is, the first.
fn faster(a: Option<Fitting>, b: Option<Fitting>) -> Option<Fitting> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.predicted_us() < a.predicted_us() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The search for a plan within a budget of the device's memory.
struct BudgetSearch<'a, 'c> {
    graph: &'a Graph,
    options: CompileOptions,
    bytes: u64,
    /// What an earlier search came to.
    start: Option<&'a CompiledModel>,
    control: &'a SearchControl<'c>,
    settings: Vec<Setting>,
    /// The plan that takes the fewest bytes of the device, of all that were found.
    smallest: Option<(u64, CompiledModel)>,
}

/// Of all settings' plans that fit the fastest, as far as that is predicted; and that one with all effort. Where the budget
/// is of a block or more, the blocks that the allocator takes from the driver are to fit, if they do so at once: else what
/// is allocated alone. `start` is what an earlier search came to.
pub(super) fn within(
    graph: &Graph,
    options: &CompileOptions,
    bytes: u64,
    start: Option<&CompiledModel>,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, Unmet> {
    let options = CompileOptions { phases: Phases::DeviceBudget(bytes), ..options.clone() };
    let lowered = LoweredModel::for_row_tiling(graph, &options, control)?;
    let floor = device_floor(&lowered, options.format);
    if bytes < floor {
        return Err(CompileError::BelowFloor { bytes, floor, wgpu: wgpu_bytes() }.into());
    }
    let mut search =
        BudgetSearch { graph, settings: settings(&lowered, &options), options, bytes, start, control, smallest: None };
    let too_many_rows = lowered.too_many_rows();
    drop(lowered);
    if let Some(found) = search.found()? {
        return Ok(CompiledModel { stopped: control.stopped(), ..found });
    }
    let smallest = search.smallest.map(|(_, smallest)| smallest);
    let (least, phases) = smallest.as_ref().map_or((0, true), |smallest| {
        // Without streamed weights it is the plan that there is without a budget.
        (smallest.device_bytes(), smallest.phased().is_some() || smallest.lowering.weights == WeightStorage::Resident)
    });
    let error = MemoryLimit::Device(bytes).refused(least, phases, control.stopped(), too_many_rows);
    Err(Unmet { error, smallest: smallest.map(Box::new) })
}

impl BudgetSearch<'_, '_> {
    /// The plan; none where none that was found fits.
    fn found(&mut self) -> Result<Option<CompiledModel>, CompileError> {
        let device = MemoryLimit::Device(self.bytes);
        let blocks = (self.bytes >= BLOCK).then_some(MemoryLimit::Blocks(self.bytes));
        if let Some(whole) = self.without_phases(blocks.unwrap_or(device))? {
            return Ok(Some(whole));
        }
        // What there is already: the plan without phases, in more blocks, or what an earlier search came to.
        let whole = self.smallest.as_ref().map(|(_, whole)| whole.clone()).filter(|whole| device.holds_compiled(whole));
        let start = self.start.filter(|start| device.holds_compiled(start)).cloned();
        let mut known = start.or_else(|| whole.clone()).map(|known| self.fitting(known));
        if known.is_none() {
            known = self.any(device)?;
        }
        if let Some(blocks) = blocks {
            if let Some(fastest) = self.fastest(blocks, known.is_some(), &mut Vec::new())? {
                return Ok(Some(fastest.compiled));
            }
            if whole.is_some() {
                return Ok(whole);
            }
        }
        let mut refused = Vec::new();
        let mut found = self.fastest(device, known.is_some(), &mut refused)?;
        if found.is_none() && !(known.is_some() && self.control.should_stop()) {
            found = self.smallest_of(refused)?;
            if found.is_none() {
                known = known.map(|known| self.with_all_effort(known, device)).transpose()?;
            }
        }
        Ok(faster(found, known).map(|found| found.compiled))
    }

    /// Compiles within a limit, and notes the smallest plan.
    fn attempt(
        &mut self,
        options: &CompileOptions,
        limit: MemoryLimit,
        effort: Effort,
        start: Option<&CompiledModel>,
    ) -> Result<Attempt, CompileError> {
        let attempt = compile_within(self.graph, options, Some(limit), effort, start, self.control)?;
        if !attempt.fits {
            let bytes = attempt.compiled.device_bytes();
            if self.smallest.as_ref().is_none_or(|(least, _)| bytes < *least) {
                self.smallest = Some((bytes, attempt.compiled.clone()));
            }
        }
        Ok(attempt)
    }

    /// A plan that fits, of one of the settings.
    fn fitting(&self, compiled: CompiledModel) -> Fitting {
        let streamed = (compiled.lowering.weights, compiled.lowering.stream_io);
        let setting = self.settings.iter().find(|setting| setting.streamed == streamed);
        Fitting { streamed, least_us: setting.map_or(f64::INFINITY, |setting| setting.least_us), compiled }
    }

    /// The plan without phases and with all weights on the device, where that fits.
    fn without_phases(&mut self, limit: MemoryLimit) -> Result<Option<CompiledModel>, CompileError> {
        for streamed in resident(&self.options) {
            let options = CompileOptions { phases: Phases::Off, ..with(&self.options, streamed) };
            let Attempt { compiled, fits, .. } = self.attempt(&options, limit, Effort::Quick, None)?;
            if fits {
                return Ok(Some(CompiledModel { requested: self.options.phases, ..compiled }));
            }
        }
        if let Some((_, whole)) = &mut self.smallest {
            whole.requested = self.options.phases;
        }
        Ok(None)
    }

    /// A plan that fits, found as the smallest one is: with everything streamed, or as was asked for.
    fn any(&mut self, limit: MemoryLimit) -> Result<Option<Fitting>, CompileError> {
        let asked = (self.options.weights, self.options.stream_io);
        for streamed in [Some(ALL), Some(asked).filter(|&asked| asked != ALL)].into_iter().flatten() {
            let options = with(&self.options, streamed);
            let mut found = self.attempt(&quick(options.clone()), limit, Effort::Fitting, self.start)?;
            if !found.fits && !self.control.should_stop() {
                // What is left of that search is the plan without phases with all effort.
                found = self.attempt(&options, limit, Effort::Quick, None)?;
            }
            if found.fits {
                return Ok(Some(self.fitting(found.compiled)));
            }
        }
        Ok(None)
    }

    /// The fastest plan within a limit, where some fit at once; of the settings where none does, what they need at least.
    fn fastest(
        &mut self,
        limit: MemoryLimit,
        known: bool,
        refused: &mut Vec<(u64, Streamed)>,
    ) -> Result<Option<Fitting>, CompileError> {
        let mut fitting: Vec<Fitting> = Vec::new();
        for index in 0..self.settings.len() {
            let Setting { streamed, least_us } = self.settings[index];
            let slower = fitting.iter().any(|found| found.predicted_us() <= least_us);
            let answered = known || !fitting.is_empty() || !refused.is_empty();
            if slower || answered && self.control.should_stop() {
                break;
            }
            let options = quick(with(&self.options, streamed));
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
        let smallest = fitting.min_by_key(|found| found.compiled.device_bytes());
        let tight = predicted_us > TIGHT * least_us;
        let smallest = smallest.filter(|found| tight && found.least_us < predicted_us && !self.control.should_stop());
        let other = smallest.map(|found| self.with_all_effort(found, limit)).transpose()?;
        Ok(faster(Some(fastest), other))
    }

    /// The same plan with all effort: as few steps as there is room for.
    fn with_all_effort(&mut self, found: Fitting, limit: MemoryLimit) -> Result<Fitting, CompileError> {
        let options = with(&self.options, found.streamed);
        if !options.streams() {
            return Ok(found);
        }
        let start = Some(&found.compiled);
        let Attempt { compiled, fits, .. } = self.attempt(&options, limit, Effort::Full, start)?;
        // A search that is stopped may find nothing that fits.
        Ok(if fits { Fitting { compiled, ..found } } else { found })
    }

    /// The first of several settings whose smallest plan fits: of those that need least, for a search takes seconds.
    fn smallest_of(&mut self, mut refused: Vec<(u64, Streamed)>) -> Result<Option<Fitting>, CompileError> {
        let limit = MemoryLimit::Device(self.bytes);
        refused.sort_by_key(|(bound, _)| *bound);
        refused.truncate(SEARCHED);
        for (_, streamed) in refused {
            let options = with(&self.options, streamed);
            let Attempt { compiled, fits, .. } = self.attempt(&options, limit, Effort::Full, self.start)?;
            if fits {
                return Ok(Some(self.fitting(compiled)));
            }
        }
        Ok(None)
    }
}
