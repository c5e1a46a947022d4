//! Compiles a model without a device: rewrites the graph, schedules its steps, and plans the pool.
//!
//! Joins the rewriter, the scheduler and the planner; independent of kernels and devices.

mod allocator_blocks;
mod budget;
mod compile_for;
mod cost_model;
mod device_bytes;
mod device_format;
mod device_profile;
mod division;
mod division_search;
mod error;
mod fewest_steps;
mod floor;
mod front;
mod fronts;
mod intermediates_alone;
mod io_texture;
mod lowered;
mod memory_limit;
mod model;
mod mutator;
mod node_kernels;
pub mod option_text;
mod options;
mod order;
mod parallel;
mod placed_steps;
mod precision;
mod saved;
pub mod schedule;
mod size;
mod streaming;
mod tables;
mod transfer_buffers;
mod variant;
mod weight_format;
mod weight_textures;

pub use device_bytes::{PIECE, piece_bytes};
pub use device_profile::{Clock, DeviceProfile, Rate};
pub use error::CompileError;
pub use intermediates_alone::IntermediatesAlone;
pub use io_texture::io_texture;
pub use model::{CompiledModel, Frontier, Peak, Point, RowTiling, Unmet};
pub use options::{
    CompileOptions, DEFAULT_TILE, Objective, OperatorOrder, StreamedIo, Tiling, WeightFormat, WeightStorage,
};
pub use order::{MemoryOrder, OrderMemory};
pub use placed_steps::PlacedSteps;
pub use saved::{SavedPlanError, load};
pub use size::parse_size;
pub use transfer_buffers::TransferBuffers;
pub use weight_textures::{ResidentWeights, widest_texture};

use compile_for::{Attempt, Effort, compile_within};
use fewest_steps::Chains;
use fronts::Fronts;
use lowered::LoweredModel;
use memory_limit::MemoryLimit;

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
    if let Objective::Device(bytes) = options.objective {
        return Ok(budget::within(graph, options, bytes, start, control)?.with_rounded_weights()?);
    }
    let limit = MemoryLimit::of(options.objective);
    let Attempt { compiled, fits, .. } = compile_within(graph, options, limit, Effort::Full, start, control)?;
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
/// small. Can be stopped like [`compile`].
///
/// # Errors
/// Fails like [`compile`].
pub fn frontier(
    graph: &Graph,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<Frontier, CompileError> {
    let options = &options.with_pool_format();
    let lowered = LoweredModel::for_row_tiling(graph, options, control)?;
    let (whole, fronts) = Fronts::new(&lowered, options, true, None, control)?;
    let mut entries = fronts.all(fronts.placed(control)?, control)?;
    let smallest = entries.pop();
    let finished = smallest.clone().map(|smallest| fronts.finished(smallest, control));
    let others = entries.into_iter().map(|entry| {
        let limit = MemoryLimit::Device(entry.placed.device_bytes);
        fronts.with_fewer_steps(entry, limit, Chains::Few, control)
    });
    let unbeaten = Fronts::unbeaten_of(others.chain(finished).chain(smallest.map(Ok)).collect::<Result<_, _>>()?);
    let (points, baseline_us) = (unbeaten.into_iter().map(|entry| fronts.point(entry)).collect(), fronts.baseline_us());
    drop(fronts);
    let untiled = lowered.compiled(whole, options, control).with_rounded_weights()?;
    Ok(Frontier { untiled, points, baseline_us })
}
