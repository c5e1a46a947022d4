//! A model compiled as its options say, all of which are decided.

use super::{
    error::CompileError,
    fronts::Fronts,
    lowered::LoweredModel,
    memory_limit::MemoryLimit,
    model::CompiledModel,
    options::{CompileOptions, Phases},
    select::{self, Effort, Selected},
};
use crate::{graph::Graph, plan::SearchControl};

/// What compiling within a limit came to.
pub(super) struct Attempt {
    /// The plan; where none that was found keeps within the limit, the smallest.
    pub(super) compiled: CompiledModel,
    /// Whether it keeps within the limit, if there is one.
    pub(super) fits: bool,
    /// The fewest bytes that live at once in any division that was looked at, with all that lies beside the pool.
    pub(super) bound: u64,
}

/// The model, rewritten, scheduled and planned; what is streamed is as the options say. The search begins with the plan
/// `start`, where that is one of the same model and the same options, and answers with none that is worse.
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
    if options.phases == Phases::Off {
        let whole = lowered.planned(options, control)?;
        let compiled = lowered.compiled(whole, options, control);
        let fits = limit.is_none_or(|limit| limit.holds_compiled(&compiled));
        let bound = limit.map_or(0, |_| compiled.device_bytes());
        return Ok(Attempt { compiled, fits, bound });
    }
    let (whole, fronts) = Fronts::new(&lowered, options, options.phases != Phases::Auto, start, control)?;
    let (baseline_us, bound) = (fronts.baseline_us(), limit.map_or(0, |limit| fronts.lower_bound(limit)));
    let Selected { point, fits } = select::select(&fronts, options.phases, limit, effort, control)?;
    // They borrow `lowered`, which is taken apart next.
    drop(fronts);
    let compiled = lowered.compiled(whole, options, control).at(point, baseline_us);
    Ok(Attempt { compiled, fits, bound })
}
