//! Builds the report of a compiled model from its graph, schedule and plan.

use super::DeviceMemoryReport;
use super::{
    CascadeReport, IntermediatesReport, MemoryReport, OpenExtentReport, OrderReport, PatchesReport, PeakReport,
    ReportInputs, StepRow, TilingReport,
};
use texpool_compile::{
    CompiledModel, IntermediatesAlone, Objective, Peak,
    schedule::{StepKind, Storage, StorageKind, tiling::Cascade},
};
use texpool_gpu::Memory;
use texpool_model::rewrite::Patches;

impl MemoryReport {
    /// Creates the report of a compiled model without a device. Inputs, outputs and weights are counted in packed
    /// texels.
    pub fn from_compiled(compiled: &CompiledModel) -> Self {
        let (graph, schedule, plan) = (compiled.graph(), compiled.schedule(), compiled.plan());
        let names = pool_names(compiled);
        let rows: Vec<StepRow> = schedule
            .steps
            .iter()
            .map(|step| StepRow {
                operator: match step.kind {
                    StepKind::Upload => "upload".to_owned(),
                    StepKind::Download => "download".to_owned(),
                    StepKind::Compute | StepKind::PadBorder => graph.nodes[step.node].op.name().to_owned(),
                },
                writes: schedule.name_of(graph, step.to),
            })
            .collect();
        let mut report = Self::new(&ReportInputs {
            model: &graph.name,
            names: &names,
            rows: &rows,
            best: compiled.best(),
            plan,
            format: compiled.format(),
            io_bytes: io_bytes(compiled),
            // Excludes weights that are uploaded in every run, because those are records of the pool.
            weight_bytes: compiled.resident_weight_bytes(),
        });
        report.stopped = compiled.stopped();
        report.device_bytes = Some(compiled.device_bytes());
        report.weight_format = Some(compiled.weight_format().name().to_owned());
        report.open_extents = OpenExtentReport::of(graph);
        report.blocks = Some(compiled.graph().blocks.to_string());
        report.tiling_why = why(compiled);
        report.tiling = compiled.tiled().map(|tiled| TilingReport {
            cascades: cascades(&tiled.cascades),
            live_bytes: tiled.live_bytes,
            peak: PeakReport::from_peak(&tiled.peak),
            dispatches: tiled.dispatches,
            predicted_ms: tiled.predicted_us / 1e3,
            baseline_bytes: tiled.baseline_bytes,
            baseline_ms: tiled.baseline_us / 1e3,
        });
        report.patches = compiled
            .patches()
            .map(|Patches { end, parts }| PatchesReport { parts, tensor: graph.tensors[end].name.clone() });
        report.order = compiled.order().map(OrderReport::from_order);
        report
    }

    /// Adds the figures that follow the papers' convention.
    #[must_use]
    pub const fn with_intermediates_alone(mut self, alone: IntermediatesAlone) -> Self {
        let IntermediatesAlone { naive_bytes, lower_bound_bytes, pool_bytes } = alone;
        self.intermediates_alone = Some(IntermediatesReport { naive_bytes, lower_bound_bytes, pool_bytes });
        self
    }

    /// Adds the device memory of a session.
    #[must_use]
    pub fn on_device(mut self, memory: &Memory) -> Self {
        self.driver_bytes = memory.allocated.map(|parts| parts.pool);
        (self.io_bytes, self.weight_bytes) = (memory.planned.io, memory.planned.weights);
        self.device_memory = Some(DeviceMemoryReport::from_memory(memory));
        self
    }
}

/// Returns the bytes of the graph's inputs and outputs that have textures of their own, in packed texels.
pub(crate) fn io_bytes(compiled: &CompiledModel) -> u64 {
    let beside = compiled.schedule().storages.iter().filter(|storage| !is_pooled(storage));
    beside.map(Storage::texels).sum::<u64>() * compiled.format().texel_bytes()
}

fn is_pooled(storage: &Storage) -> bool {
    matches!(storage.kind, StorageKind::Intermediate(_))
}

/// Returns the name of each record's tensor in the pool.
pub(super) fn pool_names(compiled: &CompiledModel) -> Vec<String> {
    let (graph, schedule) = (compiled.graph(), compiled.schedule());
    // Records are numbered in the order of these storages.
    let pool = (0..).zip(&schedule.storages).filter(|(_, storage)| is_pooled(storage));
    pool.map(|(id, _)| schedule.name_of(graph, id)).collect()
}

/// Returns the name of each record's tensor in the pool, after the operator that computes it first.
pub(super) fn pool_operators(compiled: &CompiledModel) -> Vec<String> {
    let (graph, schedule) = (compiled.graph(), compiled.schedule());
    let mut operators = vec!["upload"; schedule.storages.len()];
    // Backwards, so that the first step of each storage remains.
    for step in schedule.steps.iter().rev().filter(|step| !step.kind.is_transfer()) {
        operators[step.to] = graph.nodes[step.node].op.name();
    }
    let pool = operators.iter().zip(&schedule.storages).filter(|(_, storage)| is_pooled(storage));
    pool.zip(pool_names(compiled)).map(|((operator, _), name)| format!("{operator} {name}")).collect()
}

impl PeakReport {
    /// Creates the report of a peak.
    pub fn from_peak(peak: &Peak) -> Self {
        Self { step: peak.step, operator: peak.operator.to_owned(), tensor: peak.tensor.clone(), cascade: peak.cascade }
    }
}

/// Returns the reason for the row tiling or its absence.
fn why(compiled: &CompiledModel) -> Option<String> {
    if let Some(rows) = compiled.too_many_rows() {
        return Some(format!("none: operators have {rows} rows together, too many to look for any"));
    }
    // Only stripes that were set are even.
    if compiled.tiled().is_some_and(|tiled| tiled.cascades.iter().any(|cascade| cascade.even)) {
        return Some("the stripes that were set".to_owned());
    }
    let why = match (compiled.objective(), compiled.tiled().is_some()) {
        (Objective::Fastest, _) => return None,
        (Objective::Balanced, true) => {
            "with fewer bytes of the device a percent of them would cost more than a percent of time"
        }
        (Objective::Balanced, false) => "none: a percent of the device's bytes would cost more than a percent of time",
        (Objective::Smallest, true) => "the fewest bytes of the device that were found",
        (Objective::Smallest, false) if compiled.stopped().is_some() => "none: none with fewer bytes was found in time",
        (Objective::Smallest, false) => "none: no division into stripes of rows takes fewer bytes",
        (Objective::Pool(_), true) => "the fastest plan that was found within the budget",
        (Objective::Pool(_), false) => "none: the pool is within the budget without",
        (Objective::Device(_), true) => "the fastest plan that was found with all of the device within the budget",
        (Objective::Device(_), false) => "none: all of the device is within the budget without",
    };
    Some(why.to_owned())
}

/// Converts cascades to their reports.
pub(crate) fn cascades(cascades: &[Cascade]) -> Vec<CascadeReport> {
    let of = |cascade: &Cascade| CascadeReport {
        operators: cascade.operators.len(),
        // `u32::MAX` stands for one stripe per row, however many rows exist.
        stripes: (cascade.stripes != u32::MAX).then_some(cascade.stripes),
    };
    cascades.iter().map(of).collect()
}
