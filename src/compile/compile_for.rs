//! A model compiled as its options say, all of which are decided.

use super::{
    error::CompileError,
    fronts::Fronts,
    lowered::LoweredModel,
    memory_limit::MemoryLimit,
    model::CompiledModel,
    options::{CompileOptions, Phases},
    select::{self, Effort},
};
use crate::{graph::Graph, plan::SearchControl};

/// The model, rewritten, scheduled and planned; what is streamed is as the options say.
pub(super) fn compile_for(
    graph: &Graph,
    options: &CompileOptions,
    effort: Effort,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    compile_within(graph, options, MemoryLimit::of(options.phases), effort, control)
}

/// The same within a limit that follows from more than the options.
pub(super) fn compile_within(
    graph: &Graph,
    options: &CompileOptions,
    limit: Option<MemoryLimit>,
    effort: Effort,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    let options = &options.with_pool_format();
    let lowered = LoweredModel::new(graph, options, control)?;
    if options.phases == Phases::Off {
        let whole = lowered.planned(options, control)?;
        return Ok(lowered.compiled(whole, options, control));
    }
    let (whole, fronts) = Fronts::new(&lowered, options, options.phases != Phases::Auto, control)?;
    let baseline_us = fronts.baseline_us();
    let point = select::select(&fronts, options.phases, limit, effort, lowered.too_many_rows(), control)?;
    // They borrow `lowered`, which is taken apart next.
    drop(fronts);
    let compiled = lowered.compiled(whole, options, control);
    Ok(match point {
        Some(point) => compiled.at(point, baseline_us),
        None => compiled,
    })
}
