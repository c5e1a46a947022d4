//! Plans that keep all of the device's memory within a budget: what is streamed follows from how much there is.

use super::{
    compile_for::compile_for,
    device_bytes,
    error::CompileError,
    lowered::LoweredModel,
    model::CompiledModel,
    options::{CompileOptions, Phases, StreamedIo, WeightStorage},
    select::Refusal,
    streaming::streaming,
};
use crate::{graph::Graph, plan::SearchControl, schedule::stream};

/// What may be streamed, from what takes the least time to what takes the fewest bytes. The sizes are chosen: most networks
/// have a few operators with most of the weights, and each tile costs an upload and a dispatch.
/// On lavapipe streaming all weights of MobileNet v2 takes 1.2 times the processor time in tiles of 256 KiB and 1.6 times
/// in tiles of 64 KiB.
const SETTINGS: [(WeightStorage, StreamedIo); 9] = [
    (WeightStorage::Resident, StreamedIo::NONE),
    (WeightStorage::Resident, StreamedIo::BOTH),
    (streamed(1 << 20, 256 << 10), StreamedIo::BOTH),
    (streamed(256 << 10, 256 << 10), StreamedIo::BOTH),
    (streamed(64 << 10, 256 << 10), StreamedIo::BOTH),
    (streamed(0, 256 << 10), StreamedIo::BOTH),
    (streamed(0, 128 << 10), StreamedIo::BOTH),
    (streamed(0, 64 << 10), StreamedIo::BOTH),
    (streamed(0, 16 << 10), StreamedIo::BOTH),
];

/// Plans that are tried with one setting: what tables take is known when there is a plan.
const TRIES: u32 = 3;

const fn streamed(resident_below: u64, tile_bytes: u64) -> WeightStorage {
    WeightStorage::Streamed { resident_below, tile_bytes }
}

/// The first setting with a plan that fits, and of its plans the fastest.
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
    for (weights, stream_io) in SETTINGS {
        let options = CompileOptions { weights, stream_io, ..options.clone() };
        let beside = beside(&lowered, &options);
        let mut room = bytes.saturating_sub(beside);
        for _ in 0..TRIES {
            if room == 0 {
                least = least.min(beside);
                break;
            }
            let options = CompileOptions { phases: Phases::Budget(room), ..options.clone() };
            match compile_for(graph, &options, Refusal::Bounded, control) {
                Ok(mut compiled) => {
                    let needed = compiled.device_bytes();
                    if needed <= bytes {
                        compiled.requested = Phases::DeviceBudget(bytes);
                        return Ok(compiled);
                    }
                    least = least.min(needed);
                    room = room.saturating_sub(needed - bytes);
                }
                Err(CompileError::Budget { least: pool, phases, stopped, too_many_rows, .. }) => {
                    least = least.min(pool.saturating_add(beside));
                    refused = Some((phases, stopped, too_many_rows));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    let (phases, stopped, too_many_rows) = refused.unwrap_or((true, None, None));
    // Asked once more: where nothing was searched for, nobody has asked yet.
    let stopped = stopped.or(if control.should_stop() { control.stopped() } else { None });
    Err(CompileError::DeviceBudget { bytes, least, phases, stopped, too_many_rows })
}

/// What lies beside the pool with what the options stream, without tables.
fn beside(lowered: &LoweredModel, options: &CompileOptions) -> u64 {
    let &CompileOptions { weights, stream_io, format, limits, .. } = options;
    let streaming = streaming(&lowered.graph, weights, stream_io, format);
    let schedule = stream(&lowered.graph, lowered.plain(), &streaming);
    device_bytes::beside_pool(&lowered.graph, &schedule, weights, format, limits.max_extent)
}
