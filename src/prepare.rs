//! All that can be known of a run without a device: the rewritten graph, its steps, and the plan of the pool.
//!
//! Joins the rewriter, the scheduler and the planner; knows no kernel and no device.

use crate::{
    graph::Graph,
    plan::{self, Best, Budget, Choice, Plan, PlanError, TensorRows, TexelFormat, TextureLimits},
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
    /// Which plan: the smallest, or what is named.
    pub choice: Choice,
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
            choice: Choice::Best,
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
    /// What the planner tried, and what it would choose; sizes in texels.
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
    // A strategy that is named needs no search; the report still says what the others come to.
    let budget = if matches!(options.choice, Choice::Strategy(_)) { Budget::PORTFOLIO } else { options.budget };
    let best = plan::best(&schedule.records, &schedule.uses, budget)?;
    let chosen = match options.choice {
        Choice::Best => best.clone(),
        other => plan::choose(&schedule.records, &schedule.uses, other, budget)?,
    };
    let tensors: Vec<TensorRows> = schedule
        .storages
        .iter()
        .filter(|storage| matches!(storage.kind, StorageKind::Intermediate(_)))
        .map(|storage| TensorRows { rows: storage.rows, row_texels: storage.row_texels })
        .collect();
    let mut plan = plan::realize(&chosen.layout, &schedule.records, &tensors, options.format, options.limits)?;
    plan.strategy = chosen.strategy;
    plan::check(&schedule.records, &tensors, &schedule.uses, &plan, options.limits)?;
    Ok(Prepared { graph, rewriting: rewritten.report, schedule, best, plan })
}
