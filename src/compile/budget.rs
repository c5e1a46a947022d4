//! Plans that keep all of the device's memory within a budget: what is streamed follows from how much there is.

use super::{
    compile_for::compile_for,
    cost_model::CostModel,
    device_bytes::{DeviceFormat, beside_pool},
    error::CompileError,
    lowered::LoweredModel,
    model::CompiledModel,
    options::{CompileOptions, Phases, StreamedIo, WeightStorage},
    select::Refusal,
    streaming::streaming,
};
use crate::{graph::Graph, plan::SearchControl, schedule::stream};

/// Bytes from which on an operator's weights are streamed, and of tiles: each tile costs an upload and a dispatch, and
/// each of the buffers that they go through a submission. The sizes are chosen: most networks have a few operators with most
/// of the weights.
const RESIDENT_BELOW: [u64; 4] = [1 << 20, 256 << 10, 64 << 10, 0];
const TILES: [u64; 5] = [512 << 10, 256 << 10, 128 << 10, 64 << 10, 16 << 10];

/// Plans that are tried with one setting: what tables take is known when there is a plan.
const TRIES: u32 = 3;

/// What may be streamed.
struct Setting {
    weights: WeightStorage,
    stream_io: StreamedIo,
    /// Bytes of the device beside the pool, without tables.
    beside: u64,
    /// Predicted time of a run without phases, which all others take longer than.
    least_us: f64,
}

/// All that is tried, from what takes the least time.
fn settings(lowered: &LoweredModel, options: &CompileOptions) -> Vec<Setting> {
    let resident = [StreamedIo::NONE, StreamedIo::BOTH].map(|io| (WeightStorage::Resident, io));
    let streamed = RESIDENT_BELOW.into_iter().flat_map(|resident_below| {
        TILES.map(|tile_bytes| (WeightStorage::Streamed { resident_below, tile_bytes }, StreamedIo::BOTH))
    });
    let setting = |(weights, stream_io)| {
        let options = CompileOptions { weights, stream_io, ..options.clone() };
        let LoweredModel { graph, .. } = lowered;
        let schedule = stream(graph, lowered.plain(), &streaming(graph, weights, stream_io, options.format));
        let beside = beside_pool(graph, &schedule, DeviceFormat::of(&options));
        let (_, least_us) = CostModel::new(graph, lowered.plain(), &options).predict(&schedule);
        Setting { weights, stream_io, beside, least_us }
    };
    let mut settings: Vec<Setting> = resident.into_iter().chain(streamed).map(setting).collect();
    settings.sort_by(|a, b| a.least_us.total_cmp(&b.least_us));
    settings
}

/// Of all settings' plans that fit the fastest, as far as that is predicted.
pub(super) fn within(
    graph: &Graph,
    options: &CompileOptions,
    bytes: u64,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    // Only what is streamed differs between the settings.
    let lowered = LoweredModel::for_row_tiling(graph, options, control)?;
    let mut least = u64::MAX;
    let mut refused = None;
    let mut best: Option<(f64, CompiledModel)> = None;
    for Setting { weights, stream_io, beside, least_us } in settings(&lowered, options) {
        if best.as_ref().is_some_and(|(best_us, _)| least_us >= *best_us || control.should_stop()) {
            break;
        }
        let options = CompileOptions { weights, stream_io, ..options.clone() };
        let mut room = bytes.saturating_sub(beside);
        for _ in 0..TRIES {
            if room == 0 {
                least = least.min(beside);
                break;
            }
            let options = CompileOptions { phases: Phases::Budget(room), ..options.clone() };
            match compile_for(graph, &options, Refusal::Bounded, control) {
                Ok(compiled) => {
                    let needed = compiled.device_bytes();
                    if needed <= bytes {
                        let predicted_us = compiled.phased().map_or(least_us, |phased| phased.predicted_us);
                        if best.as_ref().is_none_or(|(best_us, _)| predicted_us < *best_us) {
                            best = Some((predicted_us, compiled));
                        }
                        break;
                    }
                    least = least.min(needed);
                    room = room.saturating_sub(needed - bytes);
                }
                Err(CompileError::Budget { least: pool, phases, stopped, too_many_rows, .. }) => {
                    // With the tables that plans were found to take.
                    least = least.min(pool.saturating_add(bytes - room));
                    refused = Some((phases, stopped, too_many_rows));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    if let Some((_, compiled)) = best {
        return Ok(CompiledModel { requested: Phases::DeviceBudget(bytes), ..compiled });
    }
    let (phases, stopped, too_many_rows) = refused.unwrap_or((true, None, None));
    // Asked once more: where nothing was searched for, nobody has asked yet.
    let stopped = stopped.or(if control.should_stop() { control.stopped() } else { None });
    Err(CompileError::DeviceBudget { bytes, least, phases, stopped, too_many_rows })
}
