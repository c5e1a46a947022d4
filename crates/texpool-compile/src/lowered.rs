//! A model in the form in which it runs, and its plan of whole tensors.

use std::collections::BTreeMap;

use crate::{
    error::CompileError,
    model::{CompiledModel, Lowering},
    options::{CompileOptions, OperatorOrder},
    order::{MemoryOrder, NodeOrder, OrderMemory, reordered},
    parallel::parallel_map,
    precision,
    schedule::{
        Schedule, Streaming, schedule, stream,
        tiling::{RowDependencies, Stripe, select_in_place},
    },
    streaming::streaming,
};
use texpool_model::rewrite::{self, Report, Rewritten, Rules};
use texpool_ops::graph::{self, Blocks, Graph, IdVec, NodeId, NodeSet, share_constants};
use texpool_plan::{LeastPeak, Plan, SearchControl, Solution, TexelFormat, least_peak};

/// A rewritten and scheduled model without a plan.
pub(super) struct LoweredModel {
    pub(super) graph: Graph,
    report: Report,
    /// True if means over height and width are split into two operators.
    row_means: bool,
    /// Schedules to choose from: first one that copies every part; then, if possible, one that writes those parts in
    /// place that cost no memory with whole tensors.
    schedules: Vec<UntiledSchedule>,
    /// The reshapes that need no step.
    pub(super) views: NodeSet,
    /// The concatenations and pads whose parts could be written in place.
    pub(super) in_place: NodeSet,
    /// Weights, inputs and outputs that go through the pool in every run.
    pub(super) streaming: Streaming,
    /// The order of the operators, if it was searched.
    pub(super) order: Option<MemoryOrder>,
}

/// Upper limit on the total rows of all operators' results for which tilings are searched. Estimated, not measured:
/// the search keeps live range, dependencies and placement of every row, some hundred bytes each, so this many rows
/// take some hundred megabytes.
const MAX_ROWS: u64 = 1 << 20;

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
    best: Solution,
    pub(super) plan: Plan,
}

impl UntiledPlan {
    /// Returns the memory of the plan, with texels of the given size.
    fn memory(&self, texel_bytes: u64) -> OrderMemory {
        OrderMemory { peak_bytes: self.best.bounds.offsets * texel_bytes, pool_bytes: self.plan.bytes() }
    }
}

impl LoweredModel {
    /// Lowers the model for the given options, prepared for tiling if the options use them.
    pub(super) fn new(
        graph: &Graph,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        // On whole tensors, means stay one operator: only stripes of rows need two, and splitting would add a step.
        Self::of(graph, options.considers_tiles(), options, control)
    }

    /// Lowers the model prepared for tiling, regardless of the options.
    pub(super) fn for_row_tiling(
        graph: &Graph,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        Self::of(graph, true, options, control)
    }

    fn of(
        graph: &Graph,
        row_means: bool,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let rewritten = rewritten(graph, &options.rules, row_means, options.format, options.blocks.blocks())?;
        let lower = |rewritten| Self::scheduled(rewritten, row_means, options, control);
        match options.order {
            OperatorOrder::File => lower(rewritten),
            OperatorOrder::Memory => Self::with_smallest_pool(&rewritten, options, lower, control),
        }
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
    fn scheduled(
        rewritten: Rewritten,
        row_means: bool,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let Rewritten { graph, views, in_place, report } = rewritten;
        let plain = schedule(&graph, &views)?;
        let mut schedules = vec![UntiledSchedule { schedule: plain, in_place: NodeSet::new() }];
        let plain = &schedules[0].schedule;
        // The selection keeps live ranges of every row, like the search for tilings, so it has the same row limit.
        if !in_place.is_empty() && too_many_rows(plain).is_none() {
            let model = RowDependencies::new(&graph, plain);
            // With whole tensors each operator is a single stripe with all its rows.
            let stripes: Vec<Stripe> =
                (0..).zip(&plain.steps).map(|(operator, step)| Stripe { operator, rows: step.rows.clone() }).collect();
            let some = select_in_place(&graph, plain, &model, &stripes, &in_place, control);
            if !some.is_empty() {
                let schedule = schedule(&graph, &views.union(&some))?;
                schedules.push(UntiledSchedule { schedule, in_place: some });
            }
        }
        let streaming = streaming(&graph, options);
        Ok(Self { graph, report, row_means, schedules, views, in_place, streaming, order: None })
    }

    /// Returns the schedule that copies every part.
    pub(super) fn plain(&self) -> &Schedule {
        &self.schedules[0].schedule
    }

    /// Returns the total number of rows if it is too large for a search for tilings.
    pub(super) fn too_many_rows(&self) -> Option<u64> {
        too_many_rows(self.plain())
    }

    /// Plans all schedules with whole tensors, and returns the smaller plan.
    pub(super) fn planned(
        &self,
        options: &CompileOptions,
        control: &SearchControl<'_>,
    ) -> Result<UntiledPlan, CompileError> {
        let plans = parallel_map(&self.schedules, |steps| {
            let streamed = stream(&self.graph, steps.schedule.clone(), &self.streaming);
            let (best, plan) = planned(&streamed, options, control)?;
            Ok(UntiledPlan { steps: steps.clone(), streamed, best, plan })
        });
        let mut plans = plans.into_iter().collect::<Result<Vec<_>, CompileError>>()?;
        // Writing parts in place saves steps, so it wins if the pool is not larger.
        let in_place = usize::from(plans.len() > 1 && plans[1].plan.bytes() <= plans[0].plan.bytes());
        Ok(plans.swap_remove(in_place))
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
            },
            objective: options.objective,
            tiled: None,
            too_many_rows,
            stopped: control.stopped(),
        }
    }
}

/// Rewrites the graph and checks it before and after. If `row_means` is set, means over height and width become two
/// operators. Its kernels compute `blocks`.
pub(super) fn rewritten(
    graph: &Graph,
    rules: &Rules,
    row_means: bool,
    format: TexelFormat,
    blocks: Blocks,
) -> Result<Rewritten, CompileError> {
    graph::check(graph)?;
    let split = rewrite::split(graph);
    let steps = rewrite::two_steps(&split);
    let least = if row_means { 1 } else { rewrite::LARGE_MEAN };
    let mut rewritten = rewrite::rewrite(&rewrite::row_means(&steps, least), rules);
    // Kernels are compiled without run-time checks and rely on a valid graph (`gpu/pipelines.rs`), so the rewritten
    // graph gets the same check as a graph from a file.
    graph::check(&rewritten.graph)?;
    precision::check_indices(&rewritten.graph, format)?;
    precision::limit_inputs(graph, &mut rewritten.graph, format)?;
    share_constants(&mut rewritten.graph);
    rewritten.graph.blocks = blocks;
    Ok(rewritten)
}

/// Returns the total rows of all steps' results if there are too many for a search for tilings.
pub(super) fn too_many_rows(schedule: &Schedule) -> Option<u64> {
    let rows = schedule.steps.iter().map(|step| step.rows.len() as u64).sum();
    Some(rows).filter(|&rows| rows > MAX_ROWS)
}

/// Returns the best plan of a schedule, after checking it.
fn planned(
    schedule: &Schedule,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<(Solution, Plan), CompileError> {
    let uses = schedule.uses();
    let best = texpool_plan::solve(&schedule.records, &uses, options.planner, options.budget, control)?;
    let tensors = schedule.tensors();
    let mut plan = texpool_plan::realize(&best.layout, &schedule.records, &tensors, options.format, options.limits)?;
    // The checker shares no code with the planner, so an error of the planner shows here.
    plan.strategy = best.strategy.clone();
    texpool_plan::check(&schedule.records, &tensors, &uses, &plan, options.limits)?;
    Ok((best, plan))
}
