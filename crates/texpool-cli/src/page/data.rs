//! The data of the page: plans with their schedules and graphs, what was measured, and what was left out.

use serde::Serialize;
use texpool_compile::{Clock, CompiledModel, ParetoFront};
use texpool_plan::{Case, Layout, NotTried, PlanError, Prices, Solution};

use super::{
    column::Column,
    graph::{GraphData, Kernels},
    plan::{PlanData, PlanGroup},
    schedule::ScheduleData,
};
use crate::report::DeviceMemoryReport;

/// Upper limit on the data of a front's plans, in bytes. A plan of 20,000 steps takes a third of a MiB. A choice: a
/// page of this size still opens in half a second and can be sent.
const FRONT_BYTES: usize = 6 << 20;

/// A report of a model's plans as a page.
#[derive(Debug, Serialize)]
pub struct ReportPage {
    pub(super) model: String,
    version: &'static str,
    graphs: Vec<GraphData>,
    schedules: Vec<ScheduleData>,
    plans: Vec<PlanData>,
    /// Index of the plan that is shown first.
    shown: usize,
    kernels: Kernels,
    /// Changes of the rewriter to the first graph, and the places that it left unchanged.
    rewriting: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<SolutionData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_tried: Vec<NotTried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    front: Option<FrontData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<MeasuredRun>,
}

/// The choice of the plan of whole tensors, with the proof of its lower bound. Sizes are in texels.
#[derive(Debug, Serialize)]
struct SolutionData {
    schedule: usize,
    strategy: String,
    reason: String,
    total: u64,
    naive: u64,
    shared_objects: u64,
    offsets: u64,
    bound: u64,
    scale: u64,
    cases: Vec<CaseData>,
}

/// A case of the proof.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum CaseData {
    Leaf { clique: Vec<(u64, usize, u64)>, count: Vec<(u64, u64)>, refund: Vec<(u64, u64)> },
    Count(u64, u64),
    Record(usize, u64),
}

/// The Pareto front.
#[derive(Debug, Serialize)]
struct FrontData {
    clock: Clock,
    points: Vec<FrontPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
}

/// A point of the front.
#[derive(Clone, Debug, Serialize)]
pub struct FrontPlan {
    /// Device memory of a session, in bytes.
    pub device_bytes: u64,
    /// Bytes of the pool.
    pub bytes: u64,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_ms: f64,
    /// Index of its plan; `None` if the page would become too large with it.
    pub plan: Option<usize>,
}

/// A session of the plan that is shown first, on a device.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredRun {
    /// Name of the adapter.
    pub adapter: String,
    /// Memory of the session.
    pub memory: DeviceMemoryReport,
    /// Number of timed runs.
    pub runs: usize,
    /// Median wall time of a run.
    pub wall_ms: f64,
    /// Number of runs whose dispatches were timed; 0 if the device has no timestamps.
    pub profiled_runs: usize,
    /// Median nanoseconds of each step.
    #[serde(serialize_with = "column", skip_serializing_if = "Vec::is_empty")]
    pub step_ns: Vec<u64>,
}

fn column<S: serde::Serializer>(numbers: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    numbers.iter().copied().collect::<Column>().serialize(serializer)
}

impl ReportPage {
    /// Creates a page without plans.
    pub fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            graphs: Vec::new(),
            schedules: Vec::new(),
            plans: Vec::new(),
            shown: 0,
            kernels: Kernels::default(),
            rewriting: String::new(),
            solution: None,
            not_tried: Vec::new(),
            front: None,
            measured: None,
        }
    }

    /// Adds the plan of a compiled model, which is shown first until another is added. Returns the index of its
    /// schedule.
    ///
    /// # Errors
    /// A [`PlanError`] if its steps contradict each other, which no compiled model's do.
    pub fn add_plan(&mut self, name: &str, notes: Vec<String>, compiled: &CompiledModel) -> Result<usize, PlanError> {
        let graph = self.add_graph(compiled);
        if graph == 0 {
            self.rewriting = compiled.rewriting().to_string();
        }
        let schedule = self.schedules.len();
        self.schedules.push(ScheduleData::new(graph, compiled));
        self.shown = self.plans.len();
        self.plans.push(PlanData::of_compiled(name, PlanGroup::Runs, notes, schedule, compiled)?);
        Ok(schedule)
    }

    fn add_graph(&mut self, compiled: &CompiledModel) -> usize {
        let mut graph = GraphData::new(compiled.graph());
        graph.add_kernels(compiled, &mut self.kernels);
        self.graphs.push(graph);
        self.graphs.len() - 1
    }

    /// Adds a strategy's layout of the records of a schedule that was added.
    pub fn add_layout(&mut self, name: &str, schedule: usize, compiled: &CompiledModel, layout: &Layout) {
        self.plans.push(PlanData::of_layout(name, schedule, compiled, layout));
    }

    /// Adds a strategy that has no layout, with the reason.
    pub fn add_not_tried(&mut self, not_tried: NotTried) {
        self.not_tried.push(not_tried);
    }

    /// Adds the reason for the plan of whole tensors, and the proof of its bound.
    pub fn set_solution(&mut self, schedule: usize, solution: &Solution) {
        let case = |case: &Case| match case {
            Case::Leaf(Prices { clique, count, refund }) => {
                CaseData::Leaf { clique: clique.clone(), count: count.clone(), refund: refund.clone() }
            }
            Case::Count { size, count } => CaseData::Count(*size, *count),
            Case::Record { record, size } => CaseData::Record(*record, *size),
        };
        self.solution = Some(SolutionData {
            schedule,
            strategy: solution.strategy.clone(),
            reason: solution.reason.clone(),
            total: solution.layout.total(),
            naive: solution.bounds.naive,
            shared_objects: solution.bounds.shared_objects,
            offsets: solution.bounds.offsets,
            bound: solution.certificate.bound,
            scale: solution.certificate.scale,
            cases: solution.certificate.proof.cases().iter().map(case).collect(),
        });
    }

    /// Adds the front, with the plans of as many of its points as the page has room for: the ends first.
    ///
    /// # Errors
    /// As [`add_plan`](Self::add_plan).
    pub fn set_front(&mut self, front: &ParetoFront, clock: Clock) -> Result<(), PlanError> {
        let graph = self.add_graph(front.untiled());
        let mut points: Vec<FrontPlan> = front
            .points()
            .iter()
            .map(|point| FrontPlan {
                device_bytes: point.device_bytes,
                bytes: point.bytes,
                dispatches: point.dispatches,
                predicted_ms: point.predicted_us / 1e3,
                plan: None,
            })
            .collect();
        let mut room = FRONT_BYTES;
        for index in outermost_first(points.len()) {
            let Some(compiled) = front.compiled(index) else { continue };
            let schedule = ScheduleData::new(graph, &compiled);
            let name = format!("point {} of the front", index + 1);
            let plan = PlanData::of_compiled(&name, PlanGroup::Front, Vec::new(), self.schedules.len(), &compiled)?;
            let Some(remaining) = room.checked_sub(schedule.len() + plan.len()) else { continue };
            room = remaining;
            self.graphs[graph].add_kernels(&compiled, &mut self.kernels);
            points[index].plan = Some(self.plans.len());
            self.schedules.push(schedule);
            self.plans.push(plan);
        }
        self.front = Some(FrontData { clock, points, stopped: front.stopped().map(|reason| reason.to_string()) });
        Ok(())
    }

    /// Adds a session of the plan that is shown first.
    pub fn set_measured(&mut self, measured: MeasuredRun) {
        self.measured = Some(measured);
    }

    /// Returns the name, kind, bytes of the pool and number of blocks of each plan.
    pub fn summary(&self) -> impl Iterator<Item = (&str, PlanGroup, u64, usize)> {
        self.plans.iter().map(|plan| (&plan.name[..], plan.group, plan.bytes, plan.blocks.count))
    }

    /// Returns the points of the front; empty without one.
    pub fn front_points(&self) -> &[FrontPlan] {
        self.front.as_ref().map_or(&[], |front| &front.points)
    }
}

/// Returns the numbers below `count`: the last, the first, and then those between.
fn outermost_first(count: usize) -> impl Iterator<Item = usize> {
    let ends = [count.checked_sub(1), (count > 1).then_some(0)];
    ends.into_iter().flatten().chain(1..count.saturating_sub(1))
}
