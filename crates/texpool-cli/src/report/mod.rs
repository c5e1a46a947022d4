//! The memory report: the cost of a plan next to alternatives, and the positions of all tensors. Independent of any
//! device.
//!
//! [`MemoryReport`] is data with a stable JSON form; its `Display` is the table that the command prints.

mod chart;
mod clamped;
mod compiled;
mod dataflow;
mod device_memory;
mod digits;
mod explain;
mod explain_text;
mod front;
mod networks;
mod open_extents;
mod operator_profiles;
mod order;
mod phase_order;
mod phase_order_chart;
mod plan_rows;
mod residency;
mod shares;
mod step_times;
mod text;
mod values;

use std::fmt;

use serde::{Deserialize, Serialize};
use texpool_plan::{LayoutKind, Plan, RowTable, Solution, StopReason, TexelFormat, printable};

pub use chart::{picture, pictures};
pub use clamped::{ClampedPlace, ClampedReport};
pub(crate) use compiled::{cascades, io_bytes};
pub use dataflow::{
    ActorReport, ChannelReport, CsdfReport, ExampleReport, NetworkReport, PublishedCsdf, ThroughputReport,
};
pub use device_memory::{DeviceMemoryReport, PartBytes};
pub use digits::{grouped, rounded, size};
pub use explain::{BoundaryReport, ExplainReport, GraphReport, NodeReport, NodeVerdict, PartitionReport};
pub use front::{FrontPoint, FrontReport};
pub use networks::{DataflowFigures, NetworkRow, NetworkTable, PublishedFigures};
pub use open_extents::{OpenExtentReport, open_extents};
pub use operator_profiles::{OperatorProfile, OperatorProfiles, ProfiledTensor};
pub use order::{OrderBytes, OrderReport};
pub use phase_order::{ExampleOrder, ExampleOrders, OrderBuffer, OrderStep, PhaseOrderReport};
pub use phase_order_chart::order_svg;
pub use plan_rows::{Fit, PlanFigures, PlanRow, PlanRows};
pub use shares::{IntermediateShares, StrategyShare};
pub use step_times::{KindTime, StepTime, step_table, with_speeds};
pub use values::{NotFiniteCounts, ValueSummary};

/// Cost of a plan and positions of all tensors. All numbers are bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Name of the model.
    pub model: String,
    /// Number of steps.
    pub steps: usize,
    /// Sum of all tensors of the pool, each in separate memory.
    pub naive_bytes: u64,
    /// Lower bound on any plan; absent for a loaded plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<BoundBytes>,
    /// Result of every strategy; empty for a loaded plan.
    pub strategies: Vec<StrategyBytes>,
    /// The plan that was chosen.
    pub plan: PlanReport,
    /// Reason why the search for the plan was stopped early, if it was; a smaller pool may exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    /// Reason for the row tiling or its absence; only if the objective allows tiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiling_why: Option<String>,
    /// Description of the plan's row tiling, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiling: Option<TilingReport>,
    /// Patches of columns into which the first layers are divided, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patches: Option<PatchesReport>,
    /// Memory of whole tensors in the file's order and in the order that was chosen; only if the order was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderReport>,
    /// Figures by the papers' convention, for intermediate tensors only; present on request, if textures hold whole
    /// tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intermediates_alone: Option<IntermediatesReport>,
    /// Bytes that the driver allocates for the pool's textures; only if a device was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_bytes: Option<u64>,
    /// Inputs and outputs whose extent may differ between runs, up to a bound. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_extents: Vec<OpenExtentReport>,
    /// Textures of the graph's inputs and outputs outside the pool.
    pub io_bytes: u64,
    /// Weights on the device.
    pub weight_bytes: u64,
    /// Format of the weights on the device: `f32`, `f16`, `file` or `int8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_format: Option<String>,
    /// Class of devices whose blocks kernels compute, such as `software`, with `, tuned` where `texpool tune` measured
    /// some of them. Absent for usage records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
    /// Upper limit on a session's device memory, computed without a device and compared with budgets. Absent for
    /// usage records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Device memory of the session; only if a device was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_memory: Option<DeviceMemoryReport>,
    /// Description of each step, for the residency table.
    #[serde(skip)]
    pub rows: Vec<StepRow>,
}

/// The convention of Pisarchyk and Lee: intermediate tensors as wholes, with weights, inputs and outputs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntermediatesReport {
    /// Sum of all tensors, each in separate memory.
    pub naive_bytes: u64,
    /// Lower bound on any plan of shared objects.
    pub lower_bound_bytes: u64,
    /// The smallest pool that was found.
    pub pool_bytes: u64,
}

/// Operators that run in stripes of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TilingReport {
    /// Runs of operators that are interleaved.
    pub cascades: Vec<CascadeReport>,
    /// Bytes of the rows alive at the peak. No placement of this schedule can be smaller.
    pub live_bytes: u64,
    /// The step of that peak.
    pub peak: PeakReport,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_ms: f64,
    /// Bytes of the pool with whole tensors. Older reports lack this field and can still be read.
    #[serde(default)]
    pub baseline_bytes: u64,
    /// Predicted time of a run on whole tensors.
    #[serde(default)]
    pub baseline_ms: f64,
}

/// Patches, each of which computes some columns of a tensor, with the layers before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchesReport {
    /// Number of patches.
    pub parts: usize,
    /// The tensor that they compute.
    pub tensor: String,
}

impl fmt::Display for PatchesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} patches of columns of `{}`, one after the other", self.parts, printable(&self.tensor))
    }
}

/// Layout of a tensor's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowForm {
    /// One after another.
    #[default]
    Whole,
    /// Rows alternate between a fixed number of places.
    Ring,
    /// Each row has an individual place.
    Scattered,
}

/// The step at which most texels are alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakReport {
    /// The step.
    pub step: usize,
    /// Its operator.
    pub operator: String,
    /// The tensor it writes.
    pub tensor: String,
    /// Cascade of the operator, counted from zero; `None` for whole tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cascade: Option<usize>,
}

/// Operators that run interleaved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CascadeReport {
    /// Number of operators.
    pub operators: usize,
    /// Number of stripes of each operator, limited by its rows; `None` for one row per stripe.
    pub stripes: Option<u32>,
}

/// The two lower bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundBytes {
    /// For plans of shared objects.
    pub shared_objects: u64,
    /// For plans of any kind.
    pub offsets: u64,
}

/// Result of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyBytes {
    /// Its name.
    pub name: String,
    /// The problem it solves.
    pub problem: LayoutKind,
    /// The cost.
    pub bytes: u64,
    /// Objects, arenas or banks.
    pub objects: usize,
}

/// The plan that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReport {
    /// Name of the strategy.
    pub strategy: String,
    /// The problem whose rules it follows.
    pub problem: LayoutKind,
    /// The pool's bytes, including the unused texels in the last row of each texture.
    pub bytes: u64,
    /// The pool.
    pub textures: Vec<TextureReport>,
    /// Position of each tensor.
    pub placements: Vec<PlacementReport>,
}

/// One texture of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextureReport {
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Texel format.
    pub format: TexelFormat,
    /// Its bytes.
    pub bytes: u64,
}

/// Position of a tensor, and the steps during which it is live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementReport {
    /// Name of the tensor.
    pub tensor: String,
    /// Index of its texture.
    pub texture: usize,
    /// Layout of its rows.
    #[serde(default)]
    pub form: RowForm,
    /// The texel where its first row starts.
    pub texel: u32,
    /// Number of rows.
    pub rows: u32,
    /// Number of rows in the ring: row `r` reuses the place of row `r - ring`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<u32>,
    /// Texel where each row starts, if each has an individual place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_starts: Option<Vec<u32>>,
    /// First step that touches it.
    pub first: usize,
    /// Last step that touches it, inclusive.
    pub last: usize,
}

/// Description of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its operator.
    pub operator: String,
    /// The tensor it writes.
    pub writes: String,
}

/// Source of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportInputs<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Name of each record's tensor.
    pub names: &'a [String],
    /// Description of each step.
    pub rows: &'a [StepRow],
    /// The strategies' results and the bounds, in texels; `None` for a loaded plan.
    pub best: Option<&'a Solution>,
    /// The plan that is used.
    pub plan: &'a Plan,
    /// Texel format of the pool.
    pub format: TexelFormat,
    /// Bytes of the graph's inputs and outputs.
    pub io_bytes: u64,
    /// Bytes of the weights.
    pub weight_bytes: u64,
}

impl MemoryReport {
    /// Creates the report of a plan. Callers with a device fill in `driver_bytes` and `device_memory` themselves.
    pub fn new(inputs: &ReportInputs<'_>) -> Self {
        let bytes = |texels: u64| texels.saturating_mul(inputs.format.texel_bytes());
        let candidate = |c: &texpool_plan::Candidate| StrategyBytes {
            name: c.name.clone(),
            problem: c.problem,
            bytes: bytes(c.total),
            objects: c.regions,
        };
        let texture = |t: &texpool_plan::TextureSpec| TextureReport {
            width: t.width,
            height: t.height,
            format: t.format,
            bytes: t.bytes(),
        };
        let placement = |p: &texpool_plan::Placement| {
            let (form, ring, row_starts) = match &p.rows {
                RowTable::Whole { .. } => (RowForm::Whole, None, None),
                RowTable::Ring { ring, .. } => (RowForm::Ring, Some(*ring), None),
                RowTable::Scattered { row_starts, .. } => (RowForm::Scattered, None, Some(row_starts.clone())),
            };
            PlacementReport {
                tensor: inputs.names.get(p.record).cloned().unwrap_or_default(),
                texture: p.texture,
                form,
                texel: p.rows.starts().next().unwrap_or(0),
                rows: p.rows.rows(),
                ring,
                row_starts,
                first: p.first,
                last: p.last,
            }
        };
        let texels = |p: &texpool_plan::Placement| u64::from(p.rows.rows()) * u64::from(p.rows.row_texels());
        let naive =
            inputs.best.map_or_else(|| inputs.plan.placements.iter().map(texels).sum(), |best| best.bounds.naive);
        Self {
            model: inputs.model.to_owned(),
            steps: inputs.rows.len(),
            naive_bytes: bytes(naive),
            bounds: inputs.best.map(|best| BoundBytes {
                shared_objects: bytes(best.bounds.shared_objects),
                offsets: bytes(best.bounds.offsets),
            }),
            strategies: inputs.best.iter().flat_map(|best| &best.candidates).map(candidate).collect(),
            plan: PlanReport {
                strategy: inputs.plan.strategy.clone(),
                problem: inputs.plan.problem,
                bytes: inputs.plan.bytes(),
                textures: inputs.plan.textures.iter().map(texture).collect(),
                placements: inputs.plan.placements.iter().map(placement).collect(),
            },
            stopped: None,
            tiling_why: None,
            tiling: None,
            patches: None,
            order: None,
            intermediates_alone: None,
            driver_bytes: None,
            open_extents: Vec::new(),
            io_bytes: inputs.io_bytes,
            weight_bytes: inputs.weight_bytes,
            weight_format: None,
            blocks: None,
            device_bytes: None,
            device_memory: None,
            rows: inputs.rows.to_vec(),
        }
    }
}
