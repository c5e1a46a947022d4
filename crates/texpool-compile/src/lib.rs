//! Compiles a model without a device: rewrites the graph, schedules its steps, and plans the pool.
//!
//! Joins the rewriter, the scheduler and the planner; independent of kernels and devices.

mod ceiling;
mod device_profile;
mod error;
mod intermediates_alone;
mod lowered;
mod memory;
mod model;
mod node_kernels;
mod options;
mod order;
mod parallel;
mod precision;
mod saved;
pub mod schedule;
mod search;
mod streaming;
mod texel_storage;
mod weight_format;

pub use ceiling::{DeviceCeiling, MemorySpeed};
pub use device_profile::{Clock, DeviceProfile, Rate};
pub use error::{CompileError, StripesError};
pub use intermediates_alone::IntermediatesAlone;
pub use memory::{
    device_bytes::{PIECE, piece_bytes},
    io_texture::io_texture,
    placed_steps::PlacedSteps,
    transfer_buffers::TransferBuffers,
    weight_textures::{ResidentWeights, widest_texture},
};
pub use model::{CompiledModel, ParetoFront, Peak, Point, RowTiling, Unmet};
pub use options::{
    BlockChoice, CompileOptions, DEFAULT_TILE, Objective, OperatorOrder, StreamedIo, Stripes, Tiling, WeightFormat,
    WeightStorage, option_text, size::parse_size,
};
pub use order::{MemoryOrder, OrderMemory};
pub use saved::{SavedPlanError, load};

use lowered::LoweredModel;
use search::{
    budget,
    compile_for::{Attempt, Effort, compile_within},
    fewest_steps::Chains,
    memory_limit::MemoryLimit,
    model_front::ModelFront,
    patch_search, set_stripes,
};

use texpool_model::rewrite::Patches;
use texpool_ops::graph::Graph;
use texpool_plan::SearchControl;

/// Checks, rewrites, schedules and plans a model, and checks the plan. If `control` stops the search, the result is
/// the best plan found by then, at least one with whole tensors, and [`CompiledModel::stopped`] gives the reason.
///
/// # Errors
/// Fails if the graph is invalid, no texture can hold a tensor, no plan fits the budget, or weights cannot be stored
/// in the requested format.
pub fn compile(
    graph: &Graph,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    compile_from(graph, options, None, control).map_err(|unmet| unmet.error)
}

/// Compiles like [`compile`], but starts from a plan of an earlier search. If `start` belongs to the same model and
/// options, the result is never worse. If no plan keeps within a budget, the error contains the smallest plan that
/// was found.
///
/// # Errors
/// Fails like [`compile`].
pub fn compile_from(
    graph: &Graph,
    options: &CompileOptions,
    start: Option<&CompiledModel>,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, Unmet> {
    let search = |patches| compile_with(graph, patches, options, start, control);
    if options.tiling != Tiling::Patches || options.stripes != Stripes::Searched {
        return search(None);
    }
    patch_search::with_patches(graph, options, search, control)
}

/// Compiles like [`compile_from`], with the first layers divided into `patches`.
fn compile_with(
    graph: &Graph,
    patches: Option<Patches>,
    options: &CompileOptions,
    start: Option<&CompiledModel>,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, Unmet> {
    let start = start.filter(|start| start.patches() == patches);
    let is_searched = options.stripes == Stripes::Searched;
    if let Objective::Device(bytes) = options.objective
        && is_searched
    {
        return Ok(budget::within((graph, patches), options, bytes, start, control)?.with_rounded_weights()?);
    }
    let limit = MemoryLimit::of(options.objective);
    let Attempt { compiled, fits, .. } = match is_searched {
        true => compile_within((graph, patches), options, limit, Effort::Full, start, control)?,
        false => set_stripes::compiled(graph, options, limit, control)?,
    };
    match limit.filter(|_| !fits) {
        None => Ok(compiled.with_rounded_weights()?),
        Some(limit) => {
            let error = limit.refused(Some(&compiled), compiled.stopped(), compiled.too_many_rows());
            Err(Unmet { error, smallest: Some(Box::new(compiled)) })
        }
    }
}

/// Returns the Pareto front of device memory against predicted time: no point is beaten in both by another, and the
/// last one is the smallest. [`Objective::Smallest`] picks the last point, or one with fewer steps that is nearly as
/// small. Can be stopped like [`compile`]. [`Stripes`] that are set have no effect, because a front compares plans
/// in different ones.
///
/// # Errors
/// Fails like [`compile`].
pub fn pareto_front(
    graph: &Graph,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<ParetoFront, CompileError> {
    let options = &options.with_pool_format();
    let lowered = LoweredModel::for_front(graph, options, control)?;
    let front = ModelFront::new(&lowered, options, true, None, control)?;
    let mut entries = front.all(front.placed(control)?, control)?;
    let smallest = entries.pop();
    let finished = smallest.clone().map(|smallest| front.finished(smallest, control));
    let others = entries.into_iter().map(|entry| {
        let limit = MemoryLimit::Device(entry.placed.device_bytes);
        front.with_fewer_steps(entry, limit, Chains::Few, control)
    });
    let unbeaten = ModelFront::unbeaten_of(others.chain(finished).chain(smallest.map(Ok)).collect::<Result<_, _>>()?);
    let (points, baseline_us) = (unbeaten.into_iter().map(|entry| front.point(entry)).collect(), front.baseline_us());
    let whole = front.into_whole();
    let untiled = lowered.compiled(whole, options, control).with_rounded_weights()?;
    Ok(ParetoFront { untiled, points, baseline_us })
}
