//! Searches for patches of columns that make a plan smaller.
//!
//! Any tensor that columns lead to can be the end of the patches, in any number of them. Only ends that are smaller than
//! all tensors before them are examined, because the patches leave the end whole. Each division is judged by the rows that
//! its best cascades keep alive, and the most promising ones get a search of their own.

use super::{
    variant::Variant,
    variant_front::{QUICK_STRIPES, VariantFront},
};
use crate::{
    error::CompileError,
    lowered::{LoweredModel, UntiledSchedule, WholeSchedules, prepared, undivided},
    model::{CompiledModel, Unmet},
    options::{CompileOptions, Objective},
    parallel::parallel_map,
};
use texpool_model::rewrite::{Patches, Rewritten, patch_ends, patched};
use texpool_ops::graph::{Graph, NodeSet};
use texpool_plan::{Progress, SearchControl};

/// Numbers of patches that are examined. With more, the columns that neighbours share outweigh what is saved: MobileNet
/// v2 has its smallest pool with three.
const PARTS: std::ops::RangeInclusive<usize> = 2..=4;

/// Number of divisions that get a search of their own.
const SEARCHED: usize = 3;

/// Returns the result of `search` without patches, or a smaller one with patches. If a limit is met without them, none
/// are tried, and the first that meet it are taken.
pub(crate) fn with_patches(
    graph: &Graph,
    options: &CompileOptions,
    search: impl Fn(Option<Patches>) -> Result<CompiledModel, Unmet>,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, Unmet> {
    let plain = search(None);
    let least = match (&plain, options.objective) {
        (Ok(_), Objective::Fastest | Objective::Balanced | Objective::Pool(_) | Objective::Device(_)) => return plain,
        (Ok(plain), Objective::Smallest) => plain.plan().bytes(),
        (Err(Unmet { smallest: Some(smallest), .. }), _) => smallest.plan().bytes(),
        // The floor is that of the undivided layers.
        (Err(Unmet { error: CompileError::BelowFloor { .. }, .. }), _) => u64::MAX,
        (Err(_), _) => return plain,
    };
    let mut best = plain;
    for patches in promising(graph, options, least, control)? {
        if control.should_stop() {
            break;
        }
        let found = search(Some(patches)).map(|found| with_baseline_of(found, &best));
        best = match (best, found) {
            (Ok(best), Ok(found)) => Ok(smaller(best, found)),
            (Err(_), Ok(found)) => return Ok(found),
            (Ok(best), Err(_)) => Ok(best),
            (Err(best), Err(found)) => Err(if needs(&found) < needs(&best) { found } else { best }),
        };
    }
    best
}

/// Returns the memory that a refusal says is needed: of the smallest plan that was found, before any floor below which none
/// was searched for.
const fn needs(unmet: &Unmet) -> (bool, u64) {
    match unmet.error {
        CompileError::Budget { least, .. } | CompileError::DeviceBudget { least, .. } => (false, least),
        CompileError::BelowFloor { floor, .. } => (true, floor),
        _ => (true, u64::MAX),
    }
}

/// Sets the figures of whole tensors to those of the undivided layers.
fn with_baseline_of(mut found: CompiledModel, undivided: &Result<CompiledModel, Unmet>) -> CompiledModel {
    let undivided = match undivided {
        Ok(plan) => Some(plan),
        Err(unmet) => unmet.smallest.as_deref(),
    };
    if let (Some(found), Some(undivided)) = (&mut found.tiled, undivided.and_then(CompiledModel::tiled)) {
        (found.baseline_bytes, found.baseline_us) = (undivided.baseline_bytes, undivided.baseline_us);
    }
    found
}

/// Memory by which plans with patches are compared: of the device, then of the pool. The peak of the device may be that of
/// loading, which is the same for all plans.
fn size(compiled: &CompiledModel) -> [u64; 2] {
    [compiled.device_bytes(), compiled.plan().bytes()]
}

fn smaller(a: CompiledModel, b: CompiledModel) -> CompiledModel {
    if size(&b) < size(&a) { b } else { a }
}

/// Returns the most promising divisions into patches, best first: those that keep the fewest bytes alive, and fewer than
/// `least`.
fn promising(
    graph: &Graph,
    options: &CompileOptions,
    least: u64,
    control: &SearchControl<'_>,
) -> Result<Vec<Patches>, CompileError> {
    let options = &options.with_pool_format();
    let undivided = undivided(graph, &options.rules, true, options.format)?;
    let texel_bytes = options.format.texel_bytes();
    let mut divisions = Vec::new();
    let mut narrowest = least;
    for end in patch_ends(&undivided.graph) {
        let tensor = &undivided.graph.tensors[end];
        let bytes = tensor.texels() * texel_bytes;
        if bytes < narrowest {
            narrowest = bytes;
            let parts = PARTS.filter(|&parts| parts <= tensor.shape.w);
            divisions.extend(parts.map(|parts| Patches { end, parts }));
        }
    }
    let count = divisions.len() as u64;
    let numbered: Vec<(u64, Patches)> = (0..).zip(divisions).collect();
    let live = parallel_map(&numbered, |&(index, patches)| {
        let progress = Progress::new("searching for patches of columns", index, count);
        control.report(progress);
        Ok((live_bytes(graph, &undivided, patches, options, &control.stage(progress))?, patches))
    });
    let mut live: Vec<(u64, Patches)> = live.into_iter().collect::<Result<_, CompileError>>()?;
    live.retain(|&(live, _)| live < least);
    live.sort();
    live.truncate(SEARCHED);
    Ok(live.into_iter().map(|(_, patches)| patches).collect())
}

/// Returns the bytes of the rows that are alive at the peak of the best division into cascades that is quickly found.
fn live_bytes(
    graph: &Graph,
    undivided: &Rewritten,
    patches: Patches,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<u64, CompileError> {
    let divided = patched(undivided, &options.rules, patches).filter(|_| !control.should_stop());
    let Some(divided) = divided else { return Ok(u64::MAX) };
    let divided = prepared(graph, divided, options.format, options.blocks.blocks())?;
    let lowered = LoweredModel::scheduled(divided, true, WholeSchedules::Fastest, options, control)?;
    if lowered.too_many_rows().is_some() {
        return Ok(u64::MAX);
    }
    let untiled = UntiledSchedule { schedule: lowered.plain().clone(), in_place: NodeSet::new() };
    let variant = Variant::new(&lowered.graph, untiled, &lowered.streaming, options);
    Ok(VariantFront::new(variant, QUICK_STRIPES, control).least_live_bytes())
}
