//! The line about memory: how a smaller plan compares, as far as that is known without a search.

use super::{
    args::{ModelArgs, PlanSetting},
    setup_model,
};
use crate::report::{rounded, size};
use texpool::{
    compile::{CompiledModel, Objective},
    gpu::Gpu,
    graph::Graph,
    runtime::CachedPlan,
};

/// Plans that are looked up, the smallest budget last.
const BUDGETS: [(&str, u64); 3] = [("8MiB", 8 << 20), ("4MiB", 4 << 20), ("2MiB", 2 << 20)];

/// Returns the line. `model` is what the user calls the model.
pub(super) fn line(args: &ModelArgs, model: &str, graph: &Graph, gpu: &Gpu, compiled: &CompiledModel) -> String {
    if let Some(tiled) = compiled.tiled() {
        let pool = compiled.plan().bytes();
        let share = 100.0 * pool as f64 / tiled.baseline_bytes.max(1) as f64;
        return format!(
            "In stripes of rows: the pool has {} of the plain plan's {} ({share:.0} %), and a run takes about {}× its time \
             (predicted), with the same bits.",
            size(pool),
            size(tiled.baseline_bytes),
            times(tiled.predicted_us, tiled.baseline_us),
        );
    }
    if compiled.objective() != Objective::Fastest {
        return format!("Less: no smaller plan was chosen; `texpool plan {model}` shows the plans there are.");
    }
    match kept(args, graph, gpu, compiled) {
        Some((budget, smaller)) => {
            let tiled = smaller.tiled();
            let times = tiled.map_or("1".into(), |tiled| times(tiled.predicted_us, tiled.baseline_us));
            let bytes = size(smaller.device_bytes());
            format!(
                "Less: --budget {budget} takes {bytes} at most, about {times}× the time (predicted), the same bits."
            )
        }
        None => {
            format!("Less: `texpool plan {model}` shows smaller plans; --budget SIZE keeps to one, with the same bits.")
        }
    }
}

/// Returns the plan for the smallest budget that an earlier call found and kept.
fn kept(args: &ModelArgs, graph: &Graph, gpu: &Gpu, compiled: &CompiledModel) -> Option<(&'static str, CompiledModel)> {
    let folder = args.search().plans()?;
    BUDGETS.into_iter().rev().find_map(|(name, bytes)| {
        let setting = PlanSetting { name: name.to_owned(), objective: Objective::Device(bytes) };
        let options = setup_model::options_for(gpu, args.options_for(&setting)).ok()?;
        let found = CachedPlan::new(&folder, graph, &options)?.find(graph, &options)?;
        (found.device_bytes() < compiled.device_bytes()).then_some((name, found))
    })
}

/// `1.1` for a time that is a tenth longer.
fn times(with: f64, without: f64) -> String {
    rounded(if without > 0.0 { with / without } else { 1.0 }, 2)
}
