//! Loads a compiled model from bytes: rewrites and schedules the graph again, and reads and checks its plan.

use std::collections::BTreeMap;

use super::{
    bytes::Reader,
    decisions::{Decisions, Division},
    error::SavedPlanError,
    fingerprint::fingerprint,
    frame,
    placements::{self, PlacementLimits, Places},
};
use crate::{
    CompileError, CompileOptions,
    lowered::{UntiledSchedule, rewritten, too_many_rows},
    model::{CompiledModel, Lowering, Point, RowTiling},
    options::{BlockChoice, Objective, OperatorOrder},
    order::reordered,
    schedule::{Schedule, schedule, stream, tiling::within_stripes},
    search::variant::{Rows, Variant},
    streaming::streaming,
};
use texpool_model::rewrite::Rewritten;
use texpool_ops::graph::{Graph, IdVec, NodeSet};
use texpool_plan::{LiveRange, Placement, Plan, TextureLimits, UsageRecord};

/// Restores a compiled model from a [saved](CompiledModel::save) plan without a search. The result equals the
/// original except for [the strategies tried](CompiledModel::best). `limits` are those of the target device.
///
/// The bytes may come from an untrusted source: the plan gets the same checks as a new one, and loading takes memory
/// in proportion to the model. A plan is valid for any graph with the same nodes and shapes, regardless of weights
/// and names.
///
/// # Errors
/// [`SavedPlanError`] gives the reason. Compiling the model again helps in all cases, unless the model itself cannot
/// be compiled.
///
/// ```
/// use texpool::{
///     graph::{GraphBuilder, Unary},
///     plan::SearchControl,
/// };
/// use texpool_compile::{CompileOptions, SavedPlanError, compile, load};
///
/// let chain = |length: usize| {
///     let mut graph = GraphBuilder::new("chain");
///     let mut x = graph.input("x", &[1, 8, 8, 4])?;
///     for _ in 0..length {
///         x = graph.unary("sin", Unary::Sin, x)?;
///     }
///     graph.finish(&[x])
/// };
/// let (graph, options) = (chain(4)?, CompileOptions::default());
/// let compiled = compile(&graph, &options, &SearchControl::new())?;
/// let bytes = compiled.save();
///
/// let loaded = load(&graph, &bytes, options.limits)?;
/// assert_eq!(loaded.plan(), compiled.plan());
/// assert!(loaded.best().is_none());
/// // A plan only fits the model that it was saved from.
/// assert!(matches!(load(&chain(5)?, &bytes, options.limits), Err(SavedPlanError::OtherModel { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(graph: &Graph, bytes: &[u8], limits: TextureLimits) -> Result<CompiledModel, SavedPlanError> {
    let mut reader = frame::opened(bytes)?;
    let decisions = Decisions::read(&mut reader)?;
    let Decisions { rules, row_means, format, objective, weights, weight_format, stream_io, blocks, patches, .. } =
        decisions;
    let mut rewritten = rewritten((graph, patches), &rules, row_means, format, blocks)?;
    if let Some(order) = decisions.order.as_ref().filter(|order| !order.is_of_file()) {
        rewritten = reordered(rewritten, &order.nodes)
            .map_err(|_| SavedPlanError::OtherModel { saved: decisions.model.clone(), found: graph.name.clone() })?;
    }
    let Rewritten { graph, views, in_place, report } = rewritten;
    if fingerprint(&graph) != decisions.fingerprint {
        return Err(SavedPlanError::OtherModel { saved: decisions.model, found: graph.name });
    }
    if let Some(node) = decisions.in_place.iter().find(|&node| !in_place.contains(node)) {
        return Err(SavedPlanError::NotInPlace { node: node.index() });
    }
    let plain = scheduled(&graph, &views)?;
    let too_many_rows = too_many_rows(&plain);
    let untiled = match decisions.in_place.is_empty() {
        true => plain,
        false => scheduled(&graph, &views.union(&decisions.in_place))?,
    };
    let options = CompileOptions {
        rules,
        format,
        objective,
        weights,
        weight_format,
        stream_io,
        order: if decisions.order.is_some() { OperatorOrder::Memory } else { OperatorOrder::File },
        limits,
        blocks: BlockChoice::Fixed(blocks),
        ..CompileOptions::default()
    };
    let (in_place, order) = (decisions.in_place.clone(), decisions.order.clone());
    let lowering = Lowering { rules, row_means, in_place, weights, weight_format, stream_io, order, patches };
    let streaming = streaming(&graph, &options);
    let stopped = decisions.stopped;
    let (schedule, plan, tiled) = match &decisions.division {
        None => {
            let streamed = stream(&graph, untiled, &streaming);
            let plan = of_whole_tensors(&mut reader, &decisions, &streamed, limits)?;
            (streamed, plan, None)
        }
        Some(division) => {
            // Memory use per row is bounded by the same limit as in the search for plans.
            if too_many_rows.is_some() {
                return Err(reader.damaged("the model has too many rows for tiling"));
            }
            let untiled = UntiledSchedule { schedule: untiled, in_place: decisions.in_place.clone() };
            let variant = Variant::new(&graph, untiled, &streaming, &options);
            let Point { schedule, plan, live_bytes, peak, dispatches, .. } =
                in_stripes(&mut reader, &decisions, division, &variant)?;
            let &Division { ref cascades, predicted_us, baseline_us, baseline_bytes } = division;
            let cascades = cascades.clone();
            let tiled = RowTiling { cascades, live_bytes, peak, dispatches, predicted_us, baseline_bytes, baseline_us };
            (schedule, plan, Some(tiled))
        }
    };
    reader.end()?;
    let compiled = CompiledModel {
        graph,
        rewriting: report,
        schedule,
        best: None,
        plan,
        format,
        limits,
        lowering,
        packings: IdVec::new(),
        rounded_beyond: BTreeMap::new(),
        objective,
        tiled,
        // Reported only if the objective allows tiling.
        too_many_rows: too_many_rows.filter(|_| objective != Objective::Fastest),
        stopped,
    };
    Ok(compiled.with_rounded_weights()?)
}

fn scheduled(graph: &Graph, free: &NodeSet) -> Result<Schedule, SavedPlanError> {
    Ok(schedule(graph, free).map_err(CompileError::from)?)
}

/// Reads and checks a plan in which every tensor is stored whole.
fn of_whole_tensors(
    reader: &mut Reader<'_>,
    decisions: &Decisions,
    schedule: &Schedule,
    limits: TextureLimits,
) -> Result<Plan, SavedPlanError> {
    let tensors = schedule.tensors();
    let placement_limits = PlacementLimits { tensors: &tensors, whole: true, format: decisions.format, limits };
    let places = placements::read(reader, &placement_limits)?;
    let lives = schedule.records.iter().map(|&UsageRecord { first, last, .. }| LiveRange { first, last });
    let plan = placed(decisions, places, lives);
    texpool_plan::check(&schedule.records, &tensors, &schedule.uses(), &plan, limits)?;
    Ok(plan)
}

/// Returns the steps of a division, with the plan of their rows, which is read and checked.
fn in_stripes(
    reader: &mut Reader<'_>,
    decisions: &Decisions,
    division: &Division,
    variant: &Variant<'_>,
) -> Result<Point, SavedPlanError> {
    let cascades = &division.cascades;
    if cascades.last().map_or(0, |last| last.operators.end) != variant.model.operators.len() {
        return Err(reader.damaged("the cascades are not those of the model's operators"));
    }
    let fine = "the cascades have more stripes than are planned";
    if !within_stripes(&variant.model, cascades) {
        return Err(reader.damaged(fine));
    }
    let schedule = variant.schedule(cascades).ok_or_else(|| reader.damaged(fine))?;
    let rows = Rows::new(variant.graph, &schedule);
    let tensors = &rows.tensors;
    let placement_limits =
        PlacementLimits { tensors, whole: false, format: decisions.format, limits: variant.options.limits };
    let places = placements::read(reader, &placement_limits)?;
    let live_ranges = texpool_plan::row_live_ranges(tensors, &rows.steps)?;
    // A tensor lives from the start of its first row to the end of its last.
    let lives = live_ranges.iter().map(|rows| LiveRange {
        first: rows.iter().flatten().map(|row| row.first).min().unwrap_or(0),
        last: rows.iter().flatten().map(|row| row.last).max().unwrap_or(0),
    });
    let plan = placed(decisions, places, lives);
    Ok(variant.checked(cascades.clone(), schedule, &rows, plan)?)
}

/// Combines locations and live ranges to a plan.
fn placed(decisions: &Decisions, places: Places, lives: impl Iterator<Item = LiveRange>) -> Plan {
    let Places { textures, places } = places;
    let tensors = places.into_iter().zip(lives).enumerate();
    let placements = tensors
        .map(|(record, ((texture, rows), LiveRange { first, last }))| Placement { record, texture, rows, first, last })
        .collect();
    Plan { strategy: decisions.strategy.clone(), problem: decisions.kind, textures, placements }
}
