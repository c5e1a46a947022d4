//! All that can be known of a run without a device: the rewritten graph, its steps, and the plan of the pool.
//!
//! Joins the rewriter, the scheduler and the planner; knows no kernel and no device.

use crate::{
    graph::Graph,
    plan::{self, Best, Budget, Plan, PlanError, Strategy, TensorRows, TexelFormat, TextureLimits},
    rewrite::{self, Report, Rules},
    schedule::{self, Schedule, ScheduleError, StorageKind},
};

/// What is asked of the plan.
#[derive(Clone, Debug)]
pub struct PrepareOptions {
    /// Which rewriting rules are on.
    pub rules: Rules,
    /// Texel format of the pool.
    pub format: TexelFormat,
    /// The strategy to use; the best one where none is named.
    pub strategy: Option<Strategy>,
    /// How far to search for a better plan.
    pub budget: Budget,
    /// What the device allows of a texture.
    pub limits: TextureLimits,
}

/// `maxTextureDimension2D` that every WebGPU device has.
const CORE_EXTENT: u32 = 8192;

impl Default for PrepareOptions {
    fn default() -> Self {
        Self {
            rules: Rules::all(),
            format: TexelFormat::Rgba32Float,
            strategy: None,
            budget: Budget::default(),
            limits: TextureLimits { max_extent: CORE_EXTENT },
        }
    }
}

/// A model ready to be put on a device.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The model as it will run.
    pub graph: Graph,
    /// Which rules fired, and why others did not.
    pub rewriting: Report,
    /// Its steps and usage records.
    pub schedule: Schedule,
    /// What the planner tried, and its choice; sizes in texels.
    pub best: Best,
    /// The pool, checked.
    pub plan: Plan,
}

/// Why a model cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The graph has no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The records have no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Rewrites, schedules and plans a model, and checks the plan.
///
/// # Errors
/// Where the graph is not whole or no texture can hold a tensor.
pub fn prepare(graph: &Graph, options: &PrepareOptions) -> Result<Prepared, PrepareError> {
    let rewritten = rewrite::rewrite(&rewrite::split(graph), &options.rules);
    let graph = rewritten.graph;
    let schedule = schedule::schedule(&graph, &rewritten.views)?;
    let best = plan::best(&schedule.records, &schedule.uses, options.budget)?;
    let layout = match options.strategy {
        Some(strategy) => &strategy.place(&schedule.records)?,
        None => &best.layout,
    };
    let tensors: Vec<TensorRows> = schedule
        .storages
        .iter()
        .filter(|storage| matches!(storage.kind, StorageKind::Intermediate(_)))
        .map(|storage| TensorRows { rows: storage.rows, row_texels: storage.row_texels })
        .collect();
    let mut plan = plan::realize(layout, &schedule.records, &tensors, options.format, options.limits)?;
    plan.strategy = options.strategy.map_or_else(|| best.strategy.clone(), |s| s.name().to_owned());
    plan::check(&schedule.records, &tensors, &schedule.uses, &plan, options.limits)?;
    Ok(Prepared { graph, rewriting: rewritten.report, schedule, best, plan })
}
