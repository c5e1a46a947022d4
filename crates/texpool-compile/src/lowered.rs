//! A model in the form in which it runs, and its plan of whole tensors.

use std::collections::BTreeMap;

use crate::{
    error::CompileError,
    model::{CompiledModel, Lowering},
    options::{CompileOptions, Objective, OperatorOrder, Tiling},
    order::{MemoryOrder, NodeOrder, OrderMemory, reordered},
    parallel::parallel_map,
    precision,
    schedule::{
        Schedule, Storage, StorageKind, Streaming, schedule, stream,
        tiling::{RowDependencies, Stripe, select_in_place},
    },
    streaming::streaming,
    texel_storage,
};
use texpool_model::rewrite::{self, Patches, Report, Rewritten, Rules};
use texpool_ops::graph::{self, Blocks, Graph, IdVec, NodeId, NodeSet, share_constants};
use texpool_plan::{
    Layout, LeastPeak, Plan, PlanError, SearchControl, Solution, TexelFormat, UnsupportedError, UsageRecord, least_peak,
};

/// A rewritten and scheduled model without a plan.
pub(super) struct LoweredModel {
    pub(super) graph: Graph,
    report: Report,
    /// True if means over height and width are split into two operators.
    row_means: bool,
    /// The schedule of whole tensors that copies every part.
    plain: Schedule,
    /// Schedules of whole tensors to choose from, those with the fewest parts in place first. At least one.
    schedules: Vec<UntiledSchedule>,
    /// The reshapes that need no step.
    pub(super) views: NodeSet,
    /// The concatenations and pads whose parts could be written in place.
    pub(super) in_place: NodeSet,
    /// Weights, inputs and outputs that go through the pool in every run.
    pub(super) streaming: Streaming,
    /// The order of the operators, if it was searched.
    pub(super) order: Option<MemoryOrder>,
    /// The patches into which the first layers are divided.
    pub(super) patches: Option<Patches>,
}

/// Upper limit on the total rows of all operators' results for which tilings are searched. Estimated, not measured:
/// the search keeps live range, dependencies and placement of every row, some hundred bytes each, so this many rows
/// take some hundred megabytes.
const MAX_ROWS: u64 = 1 << 20;

/// The schedules of whole tensors that are planned. They differ in the parts that are written in place, which saves steps
/// and time; but a part that is written long before the whole is read reserves memory for the whole.
#[derive(Clone, Copy)]
pub(super) enum WholeSchedules {
    /// The one with every part in place. It is the fastest by any device's profile, because writing in place leaves out
    /// steps and work and adds none.
    Fastest,
    /// The one that copies every part, and the one with the parts in place that cost no memory at the peak.
    FreeAtPeak,
    /// All three.
    All,
}

impl WholeSchedules {
    /// Returns the schedules that the objective chooses from.
    fn of(options: &CompileOptions) -> Self {
        match options.objective {
            // A search for stripes considers writing every part in place as a variant of its own.
            _ if options.considers_tiles() => Self::FreeAtPeak,
            Objective::Fastest => Self::Fastest,
            Objective::Balanced | Objective::Smallest | Objective::Pool(_) | Objective::Device(_) => Self::All,
        }
    }
}

/// A schedule of whole tensors, uploads and downloads.
#[derive(Clone)]
pub(super) struct UntiledSchedule {
    pub(super) schedule: Schedule,
    /// The concatenations and pads whose parts are written in place.
    pub(super) in_place: NodeSet,
}

/// A plan of whole tensors.
pub(super) struct UntiledPlan {
    pub(super) steps: UntiledSchedule,
    /// The schedule with uploads and downloads, to which the plan belongs.
    pub(super) streamed: Schedule,
    pub(super) best: Solution,
    pub(super) plan: Plan,
}

impl UntiledPlan {
    /// Returns the memory of the plan, with texels of the given size.
    fn memory(&self, texel_bytes: u64) -> OrderMemory {
        OrderMemory { peak_bytes: self.best.bounds.offsets * texel_bytes, pool_bytes: self.plan.bytes() }
    }
}

impl LoweredModel {
    /// Lowers the model for the given options, prepared for tiling if the options use them. The first layers are divided
    /// into `patches`, if any.
    pub(super) fn new(
        graph: &Graph,
        patches: Option<Patches>,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        // On whole tensors, means stay one operator: only stripes of rows need two, and splitting would add a step.
        Self::of((graph, patches), options.considers_tiles(), WholeSchedules::of(options), options, control)
    }

    /// Lowers the model for a front of plans, regardless of the objective.
    pub(super) fn for_front(
        graph: &Graph,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let (row_means, whole) = match options.tiling {
            Tiling::Rows | Tiling::Patches => (true, WholeSchedules::FreeAtPeak),
            Tiling::Whole => (false, WholeSchedules::All),
        };
        Self::of((graph, None), row_means, whole, options, control)
    }

    fn of(
        (graph, patches): (&Graph, Option<Patches>),
        row_means: bool,
        whole: WholeSchedules,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let rewritten =
            rewritten((graph, patches), &options.rules, row_means, options.format, options.blocks.blocks())?;
        let lower = |rewritten| Self::scheduled(rewritten, row_means, whole, options, control);
        let lowered = match options.order {
            OperatorOrder::File => lower(rewritten),
            OperatorOrder::Memory => Self::with_smallest_pool(&rewritten, options, lower, control),
        };
        Ok(Self { patches, ..lowered? })
    }

    /// Lowers the model in the order with the smallest pool of those with the smallest peak, or in the file's order if
    /// that one has a pool as small.
    fn with_smallest_pool(
        rewritten: &Rewritten,
        options: &CompileOptions,
        lower: impl Fn(Rewritten) -> Result<Self, CompileError>,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let search = control.share(1, 3);
        let file = lower(rewritten.clone())?;
        let file_plan = file.planned(options, &search)?;
        let texel_bytes = options.format.texel_bytes();
        let file_memory = file_plan.memory(texel_bytes);
        let (mut best, mut best_plan, mut nodes) = (file, file_plan, Vec::new());
        for order in best.orders(&search)? {
            let lowered = lower(reordered(rewritten.clone(), &order)?)?;
            let plan = lowered.planned(options, &search)?;
            if plan.plan.bytes() < best_plan.plan.bytes() {
                (best, best_plan, nodes) = (lowered, plan, order);
            }
        }
        let problem = NodeOrder::new(&best.graph, &best_plan.streamed)?.problem;
        let least = least_peak(&problem, LeastPeak::EFFORT, &search);
        best.order = Some(MemoryOrder {
            nodes,
            file: file_memory,
            chosen: best_plan.memory(texel_bytes),
            bound_bytes: least.bound * texel_bytes,
            // In texels, before textures are rounded up to whole lines.
            is_proven: best_plan.best.layout.total() <= least.bound,
        });
        Ok(best)
    }

    /// Returns orders of all nodes that have small peaks, with parts copied and with parts written in place; not the
    /// order that the nodes have.
    fn orders(&self, control: &SearchControl<'_>) -> Result<Vec<Vec<NodeId>>, CompileError> {
        let mut orders: Vec<Vec<NodeId>> = Vec::new();
        for steps in &self.schedules {
            let streamed = stream(&self.graph, steps.schedule.clone(), &self.streaming);
            let order = NodeOrder::new(&self.graph, &streamed)?;
            let least = least_peak(&order.problem, LeastPeak::EFFORT, control);
            for operations in std::iter::once(&least.order).chain(&least.others) {
                let nodes = order.with_stepless_nodes(&self.graph, operations);
                if !orders.contains(&nodes) && !nodes.iter().copied().eq(self.graph.nodes.ids()) {
                    orders.push(nodes);
                }
            }
        }
        Ok(orders)
    }

    /// Schedules the nodes in the order of the rewritten graph.
    pub(super) fn scheduled(
        rewritten: Rewritten,
        row_means: bool,
        whole: WholeSchedules,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let Rewritten { graph, views, in_place, report } = rewritten;
        let plain = schedule(&graph, &views)?;
        let mut sets = Vec::new();
        if !matches!(whole, WholeSchedules::Fastest) {
            sets.extend([NodeSet::new(), free_at_peak(&graph, &plain, &in_place, control)]);
        }
        if !matches!(whole, WholeSchedules::FreeAtPeak) {
            sets.push(in_place.clone());
        }
        // Each set contains the one before it.
        sets.dedup();
        let of_set = |in_place: NodeSet| -> Result<_, CompileError> {
            let schedule = match in_place.is_empty() {
                true => plain.clone(),
                false => schedule(&graph, &views.union(&in_place))?,
            };
            Ok(UntiledSchedule { schedule, in_place })
        };
        let schedules = sets.into_iter().map(of_set).collect::<Result<_, _>>()?;
        let streaming = streaming(&graph, options);
        Ok(Self { graph, report, row_means, plain, schedules, views, in_place, streaming, order: None, patches: None })
    }

    /// Returns the schedule that copies every part.
    pub(super) const fn plain(&self) -> &Schedule {
        &self.plain
    }

    /// Returns the total number of rows if it is too large for a search for tilings.
    pub(super) fn too_many_rows(&self) -> Option<u64> {
        too_many_rows(self.plain())
    }

    /// Plans all schedules of whole tensors, those with the fewest parts in place first. At least one plan.
    pub(super) fn plans(
        &self,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Vec<UntiledPlan>, CompileError> {
        let plans = parallel_map(&self.schedules, |steps| {
            let streamed = stream(&self.graph, steps.schedule.clone(), &self.streaming);
            let (best, plan) = planned(&self.graph, &streamed, options, control)?;
            Ok(UntiledPlan { steps: steps.clone(), streamed, best, plan })
        });
        plans.into_iter().collect()
    }

    /// Plans all schedules of whole tensors, and returns the plan with the smallest pool; of equal ones the fastest.
    pub(super) fn planned(
        &self,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<UntiledPlan, CompileError> {
        let mut plans = self.plans(options, control)?;
        Ok(plans.swap_remove(smallest_pool(&plans)))
    }

    /// Combines the model with its plan of whole tensors.
    pub(super) fn compiled(
        self,
        whole: UntiledPlan,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> CompiledModel {
        let UntiledPlan { steps: UntiledSchedule { in_place, .. }, streamed: schedule, best, plan } = whole;
        // Reported only if the objective allows tiling.
        let too_many_rows = self.too_many_rows().filter(|_| options.considers_tiles());
        let (graph, rewriting) = (self.graph, self.report);
        CompiledModel {
            graph,
            rewriting,
            schedule,
            best: Some(best),
            plan,
            format: options.format,
            limits: options.limits,
            packings: IdVec::new(),
            rounded_beyond: BTreeMap::new(),
            lowering: Lowering {
                rules: options.rules,
                row_means: self.row_means,
                in_place,
                weights: options.weights,
                weight_format: options.weight_format,
                stream_io: options.stream_io,
                order: self.order,
                patches: self.patches,
            },
            objective: options.objective,
            tiled: None,
            too_many_rows,
            stopped: control.stopped(),
        }
    }
}

/// Returns the index of the plan with the smallest pool; of equal ones the last, which has the most parts in place and the
/// fewest steps.
pub(super) fn smallest_pool(plans: &[UntiledPlan]) -> usize {
    let smaller = |least: usize, at: usize| {
        let larger = plans[at].plan.bytes() > plans[least].plan.bytes();
        if larger { least } else { at }
    };
    (1..plans.len()).fold(0, smaller)
}

/// Rewrites the graph and checks it before and after. If `row_means` is set, means over height and width become two
/// operators. Its first layers are divided into `patches`, if they can be. Its kernels compute `blocks`.
pub(super) fn rewritten(
    (graph, patches): (&Graph, Option<Patches>),
    rules: &Rules,
    row_means: bool,
    format: TexelFormat,
    blocks: Blocks,
) -> Result<Rewritten, CompileError> {
    let undivided = undivided(graph, rules, row_means, format)?;
    let divided = patches.and_then(|patches| rewrite::patched(&undivided, rules, patches));
    prepared(graph, divided.unwrap_or(undivided), format, blocks)
}

/// Checks and rewrites the graph.
pub(super) fn undivided(
    graph: &Graph,
    rules: &Rules,
    row_means: bool,
    format: TexelFormat,
) -> Result<Rewritten, CompileError> {
    graph::check(graph)?;
    let split = rewrite::split(graph);
    let sorted = rewrite::sorted_segments(&split, format.max_exact_integer());
    let steps = rewrite::two_steps(&sorted);
    let least = if row_means { 1 } else { rewrite::LARGE_MEAN };
    Ok(rewrite::rewrite(&rewrite::row_means(&steps, least), rules))
}

/// Checks a rewriting of `graph`, and makes the choices that kernels need.
pub(super) fn prepared(
    graph: &Graph,
    mut rewritten: Rewritten,
    format: TexelFormat,
    blocks: Blocks,
) -> Result<Rewritten, CompileError> {
    // Kernels are compiled without run-time checks and rely on a valid graph (`gpu/pipelines.rs`), so the rewritten
    // graph gets the same check as a graph from a file.
    graph::check(&rewritten.graph)?;
    precision::check_indices(&rewritten.graph, format)?;
    precision::limit_inputs(graph, &mut rewritten.graph, format)?;
    share_constants(&mut rewritten.graph);
    texel_storage::choose(&mut rewritten, format);
    rewritten.graph.blocks = blocks;
    Ok(rewritten)
}

/// Returns the nodes of `in_place` that cost no memory at the peak of whole tensors, as many as were found before the
/// search was stopped.
fn free_at_peak(graph: &Graph, plain: &Schedule, in_place: &NodeSet, control: &SearchControl<'_>) -> NodeSet {
    // The selection keeps live ranges of every row, like the search for tilings, so it has the same row limit.
    if in_place.is_empty() || too_many_rows(plain).is_some() {
        return NodeSet::new();
    }
    let model = RowDependencies::new(graph, plain);
    // With whole tensors each operator is a single stripe with all its rows.
    let stripes: Vec<Stripe> =
        (0..).zip(&plain.steps).map(|(operator, step)| Stripe { operator, rows: step.rows.clone() }).collect();
    select_in_place(graph, plain, &model, &stripes, in_place, control)
}

/// Returns the total rows of all steps' results if there are too many for a search for tilings.
pub(super) fn too_many_rows(schedule: &Schedule) -> Option<u64> {
    let rows = schedule.steps.iter().map(|step| step.rows.len() as u64).sum();
    Some(rows).filter(|&rows| rows > MAX_ROWS)
}

/// Names the tensor that needs a larger texture than the device allows, if a single one is the cause.
fn too_large(graph: &Graph, schedule: &Schedule, layout: &Layout, error: PlanError) -> CompileError {
    let PlanError::Unsupported(UnsupportedError::RegionTooLarge { region, max_extent, limit, .. }) = error else {
        return error.into();
    };
    let within = |record: &usize| layout.places.get(*record).is_some_and(|place| place.region == region);
    let records = schedule.records.iter().enumerate().filter(|(record, _)| within(record));
    let largest = records.max_by_key(|(_, record)| record.size).filter(|(_, record)| record.size > limit);
    let computed = largest.and_then(|(record, UsageRecord { size, .. })| {
        let of_record = |storage: &&Storage| storage.kind == StorageKind::Intermediate(record);
        let tensor = schedule.storages.iter().find(of_record)?.tensor()?;
        Some((graph.nodes.iter().find(|node| node.output == tensor)?, tensor, *size))
    });
    match computed {
        Some((node, tensor, texels)) => CompileError::TensorTooLarge {
            node: node.op_index,
            op: node.op.name(),
            tensor: graph.tensors[tensor].name.clone(),
            texels,
            max_extent,
            limit,
        },
        None => error.into(),
    }
}

/// Returns the best plan of a schedule, after checking it.
fn planned(
    graph: &Graph,
    schedule: &Schedule,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<(Solution, Plan), CompileError> {
    let uses = schedule.uses();
    let best = texpool_plan::solve(&schedule.records, &uses, options.planner, options.budget, control)?;
    let tensors = schedule.tensors();
    let plan = texpool_plan::realize(&best.layout, &schedule.records, &tensors, options.format, options.limits);
    let mut plan = plan.map_err(|error| too_large(graph, schedule, &best.layout, error))?;
    // The checker shares no code with the planner, so an error of the planner shows here.
    plan.strategy = best.strategy.clone();
    texpool_plan::check(&schedule.records, &tensors, &uses, &plan, options.limits)?;
    Ok((best, plan))
}
