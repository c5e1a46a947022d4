//! One variant of a model: its steps, with parts written in place or copied, and the costs of dividing them into
//! stripes.

use std::collections::BTreeMap;

use super::cost_model::CostModel;
use crate::{
    error::CompileError,
    lowered::{UntiledPlan, UntiledSchedule},
    memory::{
        allocator_blocks::block_bytes,
        device_bytes::{BesidePool, pool_allocations, table_allocations},
        device_format::DeviceFormat,
    },
    model::{CompiledModel, Lowering, Peak, Point},
    options::CompileOptions,
    schedule::{
        Schedule, Streaming, stream,
        tiling::{Cascade, RowDependencies, tiled},
    },
};
use texpool_ops::graph::{Graph, NodeId, NodeSet};
use texpool_plan::{
    LivePeak, Plan, PlanError, RowLayout, RowProblem, RowStep, SearchBudget, SearchControl, TensorRows, TextureLimits,
    check_rows, internal::pack_rows, live_row_peak, place_rows, realize_rows,
};

/// Upper limit on the rows that the steps of a schedule read in total, because planning and checking visit every one
/// of them. The maximum in the catalogue is 17.9 million, of RetinaFace in its finest stripes; the limit is about four
/// times as high, by choice.
const MAX_ROWS_READ: u64 = 1 << 26;

/// Figures of a division into cascades before it has a plan.
pub(crate) struct Candidate {
    pub(crate) live_bytes: u64,
    /// Device memory outside the pool, without tables, which depend on the plan.
    beside: BesidePool,
    peak: Peak,
    dispatches: u64,
    pub(crate) predicted_us: f64,
    pub(crate) cascades: Vec<Cascade>,
}

impl Candidate {
    /// Returns a lower bound on the device memory of any plan of this division while the model runs, in bytes.
    pub(crate) fn least_running_bytes(&self) -> u64 {
        self.live_bytes + self.beside.while_running().sum::<u64>()
    }
}

/// A candidate with its plan. The steps are not stored but recomputed from the cascades when needed: there are many
/// candidates, and steps would take more memory than everything else.
#[derive(Clone)]
pub(crate) struct PlacedCandidate {
    /// Size of the pool, in bytes.
    pub(crate) bytes: u64,
    /// Peak device memory, in bytes; budgets limit this.
    pub(crate) device_bytes: u64,
    /// Device memory while the model runs, in bytes. Plans are compared by this, because if loading takes most, the
    /// peak is the same for all of them.
    pub(crate) running_bytes: u64,
    /// Size of the allocator blocks that hold the memory while the model runs, in bytes.
    pub(crate) block_bytes: u64,
    /// Size of the tables, in bytes; included in the sizes above.
    pub(crate) tables: u64,
    live_bytes: u64,
    peak: Peak,
    pub(crate) dispatches: u64,
    pub(crate) predicted_us: f64,
    pub(crate) cascades: Vec<Cascade>,
    /// Number of steps.
    pub(crate) steps: usize,
    pub(crate) plan: Plan,
}

impl PlacedCandidate {
    fn new(graph: &Graph, candidate: Candidate, schedule: &Schedule, plan: Plan, options: &CompileOptions) -> Self {
        let format = DeviceFormat::of(options);
        let Candidate { live_bytes, beside, peak, dispatches, predicted_us, cascades } = candidate;
        let (bytes, steps) = (plan.bytes(), schedule.steps.len());
        let all_tables: Vec<u64> = table_allocations(graph, schedule, &plan, format).collect();
        let tables = all_tables.iter().sum();
        let pool = pool_allocations(&plan).sum();
        let device_bytes = beside.most(pool, tables);
        let running_bytes = beside.while_running().sum::<u64>() + pool + tables;
        let block_bytes = block_bytes(beside.while_running().chain(pool_allocations(&plan)).chain(all_tables));
        Self {
            bytes,
            device_bytes,
            running_bytes,
            block_bytes,
            tables,
            live_bytes,
            peak,
            dispatches,
            predicted_us,
            cascades,
            steps,
            plan,
        }
    }

    /// Converts to a point with the steps of `schedule`, in which the parts of `in_place` are written in place.
    pub(crate) fn with(self, schedule: Schedule, in_place: NodeSet) -> Point {
        let Self { bytes, device_bytes, live_bytes, peak, dispatches, predicted_us, cascades, plan, .. } = self;
        Point {
            bytes,
            device_bytes,
            live_bytes,
            peak,
            dispatches,
            predicted_us,
            cascades,
            in_place,
            schedule,
            plan,
            best: None,
        }
    }
}

/// Returns the figures of a plan of whole tensors, in which every tensor is stored whole. Does not visit individual rows, because
/// there may be too many ([`MAX_ROWS_READ`] limits tiling only).
pub(crate) fn of_whole_tensors(graph: &Graph, whole: &UntiledPlan, options: &CompileOptions) -> PlacedCandidate {
    let (untiled, streamed) = (&whole.steps.schedule, &whole.streamed);
    let mut change = vec![0i64; streamed.steps.len() + 1];
    for record in &streamed.records {
        change[record.first] += record.size as i64;
        change[record.last + 1] -= record.size as i64;
    }
    let (mut live, mut live_peak) = (0i64, LivePeak::default());
    for (step, change) in change.into_iter().enumerate() {
        live += change;
        if live.unsigned_abs() > live_peak.texels {
            live_peak = LivePeak { step, texels: live.unsigned_abs() };
        }
    }
    let (dispatches, predicted_us) = CostModel::new(graph, untiled, options).predict(streamed);
    let live_bytes = live_peak.texels * options.format.texel_bytes();
    let peak = peak(graph, untiled, &[], streamed, live_peak.step);
    let beside = BesidePool::new(graph, streamed, DeviceFormat::of(options));
    let candidate = Candidate { live_bytes, beside, peak, dispatches, predicted_us, cascades: Vec::new() };
    PlacedCandidate::new(graph, candidate, streamed, whole.plan.clone(), options)
}

/// Everything needed to create points for one variant.
pub(crate) struct Variant<'a> {
    pub(crate) options: &'a CompileOptions,
    pub(crate) graph: &'a Graph,
    /// The schedule of whole tensors, and without uploads of weights.
    pub(crate) untiled: Schedule,
    in_place: NodeSet,
    streaming: &'a Streaming,
    pub(crate) model: RowDependencies,
    cost_model: CostModel<'a>,
}

impl<'a> Variant<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        untiled: UntiledSchedule,
        streaming: &'a Streaming,
        options: &'a CompileOptions,
    ) -> Self {
        let UntiledSchedule { schedule: untiled, in_place } = untiled;
        Self {
            options,
            graph,
            model: RowDependencies::new(graph, &untiled).with_streaming(graph, &untiled, streaming),
            streaming,
            cost_model: CostModel::new(graph, &untiled, options),
            untiled,
            in_place,
        }
    }

    /// Returns the figures of a division into cascades, or `None` if its steps would read too many rows.
    pub(crate) fn candidate(&self, cascades: Vec<Cascade>) -> Result<Option<Candidate>, CompileError> {
        let Some(schedule) = self.schedule(&cascades) else { return Ok(None) };
        self.priced(cascades, &schedule, &Rows::new(self.graph, &schedule)).map(Some)
    }

    /// Returns the plan of a division into cascades, or `None` if its steps would read too many rows or the search is
    /// stopped before a plan is found.
    pub(crate) fn placed(
        &self,
        cascades: Vec<Cascade>,
        effort: SearchBudget,
        control: &SearchControl<'_>,
    ) -> Result<Option<PlacedCandidate>, CompileError> {
        if control.should_stop() {
            return Ok(None);
        }
        self.laid_out(cascades, |problem| place_rows(problem, effort, control))
    }

    /// Plans a division for a given assignment of records to textures.
    pub(crate) fn placed_in(
        &self,
        cascades: Vec<Cascade>,
        texture_of: &[usize],
        packings: u64,
        control: &SearchControl<'_>,
    ) -> Result<Option<PlacedCandidate>, CompileError> {
        self.laid_out(cascades, |problem| pack_rows(problem, texture_of, packings, control))
    }

    fn laid_out(
        &self,
        cascades: Vec<Cascade>,
        layout: impl Fn(&RowProblem<'_>) -> Result<Option<RowLayout>, PlanError>,
    ) -> Result<Option<PlacedCandidate>, CompileError> {
        let Some(schedule) = self.schedule(&cascades) else { return Ok(None) };
        let rows = Rows::new(self.graph, &schedule);
        let candidate = self.priced(cascades, &schedule, &rows)?;
        let problem = rows.problem();
        let Some(layout) = layout(&problem)? else { return Ok(None) };
        let mut plan = realize_rows(&layout, &problem, self.options.format, self.options.limits)?;
        "tiling".clone_into(&mut plan.strategy);
        // The checker shares no code with the planner, so an error of either shows here.
        rows.check(&plan, self.options.limits)?;
        Ok(Some(PlacedCandidate::new(self.graph, candidate, &schedule, plan, self.options)))
    }

    /// Returns whether anything goes through the pool in every run.
    pub(crate) fn streams(&self) -> bool {
        !self.streaming.is_empty()
    }

    /// Returns whether some weights are uploaded in every run.
    pub(crate) fn streams_weights(&self) -> bool {
        self.streaming.has_weights()
    }

    /// Returns the steps of a division, or `None` if they would read too many rows.
    pub(crate) fn schedule(&self, cascades: &[Cascade]) -> Option<Schedule> {
        let schedule = tiled(&self.untiled, &self.model, cascades);
        (rows_read(&schedule) <= MAX_ROWS_READ).then(|| self.streamed(schedule, cascades))
    }

    /// Adds uploads and downloads to the steps of a division's stripes.
    fn streamed(&self, schedule: Schedule, cascades: &[Cascade]) -> Schedule {
        let scaled = cascades.iter().filter(|cascade| cascade.tile_scale > 1);
        let of_cascade = |cascade: &Cascade| {
            let steps = self.untiled.steps.get(cascade.operators.clone()).unwrap_or_default();
            let scale = cascade.tile_scale;
            steps.iter().map(move |step| (step.node, scale))
        };
        let tile_scales: BTreeMap<NodeId, u32> = scaled.flat_map(of_cascade).collect();
        match tile_scales.is_empty() {
            true => stream(self.graph, schedule, self.streaming),
            false => stream(self.graph, schedule, &self.streaming.clone().with_tile_scales(tile_scales)),
        }
    }

    /// Returns the point of a placed division, with its steps.
    pub(crate) fn point(&self, placed: PlacedCandidate) -> Point {
        let schedule = tiled(&self.untiled, &self.model, &placed.cascades);
        let schedule = self.streamed(schedule, &placed.cascades);
        placed.with(schedule, self.in_place.clone())
    }

    /// Checks a plan and returns the point of its division, with the steps of `schedule`.
    pub(crate) fn checked(
        &self,
        cascades: Vec<Cascade>,
        schedule: Schedule,
        rows: &Rows,
        plan: Plan,
    ) -> Result<Point, CompileError> {
        rows.check(&plan, self.options.limits)?;
        let candidate = self.priced(cascades, &schedule, rows)?;
        Ok(PlacedCandidate::new(self.graph, candidate, &schedule, plan, self.options)
            .with(schedule, self.in_place.clone()))
    }

    /// Checks a plan from an earlier search like a new one, and returns it as a candidate. Returns `None` if the plan
    /// is not tiled, or belongs to another model or other options.
    pub(crate) fn known_candidate(&self, compiled: &CompiledModel) -> Result<Option<PlacedCandidate>, CompileError> {
        let Self { options, in_place, .. } = self;
        let Lowering { weights, weight_format, stream_io, .. } = compiled.lowering;
        let same = compiled.format == options.format
            && (weights, weight_format, stream_io) == (options.weights, options.weight_format, options.stream_io)
            && compiled.lowering.in_place == *in_place;
        let Some(tiled) = compiled.tiled().filter(|_| same) else { return Ok(None) };
        let cascades = tiled.cascades.clone();
        let Some(schedule) = self.schedule(&cascades).filter(|schedule| *schedule == compiled.schedule) else {
            return Ok(None);
        };
        let rows = Rows::new(self.graph, &schedule);
        rows.check(&compiled.plan, options.limits)?;
        let candidate = self.priced(cascades, &schedule, &rows)?;
        Ok(Some(PlacedCandidate::new(self.graph, candidate, &schedule, compiled.plan.clone(), options)))
    }

    fn priced(&self, cascades: Vec<Cascade>, schedule: &Schedule, rows: &Rows) -> Result<Candidate, CompileError> {
        let live_peak = live_row_peak(&rows.problem())?;
        let (dispatches, predicted_us) = self.cost_model.predict(schedule);
        let live_bytes = live_peak.texels * self.options.format.texel_bytes();
        let peak = peak(self.graph, &self.untiled, &cascades, schedule, live_peak.step);
        let beside = BesidePool::new(self.graph, schedule, DeviceFormat::of(self.options));
        Ok(Candidate { live_bytes, beside, peak, dispatches, predicted_us, cascades })
    }
}

/// The rows of a schedule in the form that the placement and the checker need.
pub(crate) struct Rows {
    pub(crate) tensors: Vec<TensorRows>,
    whole: Vec<bool>,
    pub(crate) steps: Vec<RowStep>,
}

impl Rows {
    pub(crate) fn new(graph: &Graph, schedule: &Schedule) -> Self {
        Self { tensors: schedule.tensors(), whole: schedule.whole(graph), steps: schedule.row_steps() }
    }

    pub(crate) fn problem(&self) -> RowProblem<'_> {
        RowProblem { tensors: &self.tensors, whole: &self.whole, steps: &self.steps }
    }

    fn check(&self, plan: &Plan, limits: TextureLimits) -> Result<(), PlanError> {
        check_rows(&self.tensors, &self.whole, &self.steps, plan, limits)
    }
}

/// Describes the peak of a schedule.
fn peak(graph: &Graph, untiled: &Schedule, cascades: &[Cascade], schedule: &Schedule, step: usize) -> Peak {
    let node = schedule.steps.get(step).map(|step| step.node);
    // Cascades number operators by the schedule of whole tensors, in which each node has one step.
    let operator = untiled.steps.iter().position(|whole| Some(whole.node) == node).unwrap_or(0);
    let written = schedule.steps.get(step).map(|step| schedule.name_of(graph, step.to));
    Peak {
        step,
        operator: node.map_or("", |node| graph.nodes[node].op.name()),
        tensor: written.unwrap_or_default(),
        cascade: cascades.iter().position(|cascade| cascade.operators.contains(&operator)),
    }
}

/// Returns the work of examining a schedule: its steps, plus the rows that they read.
pub(crate) fn steps_and_rows(schedule: &Schedule) -> u64 {
    schedule.steps.len() as u64 + rows_read(schedule)
}

/// Returns the number of rows that all steps read; a row counts once per step that reads it.
fn rows_read(schedule: &Schedule) -> u64 {
    schedule.steps.iter().flat_map(|step| &step.reads).map(|read| read.rows.len() as u64).sum()
}
