//! Compiles a model with fully decided options.

use super::{
    error::CompileError,
    fronts::Fronts,
    lowered::LoweredModel,
    memory_limit::MemoryLimit,
    model::CompiledModel,
    options::{CompileOptions, Objective},
    select::{self, Effort, Selected},
};
use crate::{graph::Graph, plan::SearchControl};

/// Result of compiling within a limit.
pub(super) struct Attempt {
    /// The plan; if no plan keeps within the limit, the smallest that was found.
    pub(super) compiled: CompiledModel,
    /// True if the plan keeps within the limit, or if no limit was set.
    pub(super) fits: bool,
    /// Lower bound in bytes: the smallest live size of any division that was examined, plus the memory beside the
    /// pool.
    pub(super) bound: u64,
}

/// Rewrites, schedules and plans the model; streaming follows the options. If `start` is a plan of the same model and
/// the same options, the search starts with it and never returns a worse one.
pub(super) fn compile_within(
    graph: &Graph,
    options: &CompileOptions,
    limit: Option<MemoryLimit>,
    effort: Effort,
    start: Option<&CompiledModel>,
    control: &SearchControl<'_>,
) -> Result<Attempt, CompileError> {
    let options = &options.with_pool_format();
    let lowered = LoweredModel::new(graph, options, control)?;
    if !options.considers_tiles() {
        let whole = lowered.planned(options, control)?;
        let compiled = lowered.compiled(whole, options, control);
        let fits = limit.is_none_or(|limit| limit.holds_compiled(&compiled));
        let bound = limit.map_or(0, |_| compiled.device_bytes());
        return Ok(Attempt { compiled, fits, bound });
    }
    let (whole, fronts) = Fronts::new(&lowered, options, options.objective != Objective::Balanced, start, control)?;
    let (baseline_us, bound) = (fronts.baseline_us(), limit.map_or(0, |limit| fronts.lower_bound(limit)));
    let Selected { point, fits } = select::select(&fronts, options.objective, limit, effort, control)?;
    // The fronts borrow `lowered`, which is consumed next.
    drop(fronts);
    let compiled = lowered.compiled(whole, options, control).at(point, baseline_us);
    Ok(Attempt { compiled, fits, bound })
}
