//! `texpool bench --storage buffer`: compares a plan in textures with the same plan in storage buffers, in turns.

use super::{
    device::Device,
    error::CliError,
    in_turns::{ComparedTimes, MIN_ROUNDS, RoundTimes},
    out,
    timed_work::for_time,
};
use crate::report::grouped;
use serde::Serialize;
use std::time::Duration;
use texpool_gpu::{Executor, Gpu};
use texpool_plan::TexelFormat;

/// Memory that holds tensors and weights in a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Storage {
    /// The pool's textures.
    Texture,
    /// Textures, and in turns with them storage buffers of the same plan.
    Buffer,
}

#[derive(Serialize)]
struct Answer {
    model: String,
    device: Device,
    rounds: usize,
    storages: [StorageTimes; 2],
    /// Texels that were compared after the last round: those of the pool, and of inputs and outputs in textures.
    compared_texels: u64,
    /// Texels among them with other bits.
    different_texels: u64,
    #[serde(skip)]
    format: TexelFormat,
}

#[derive(Serialize)]
struct StorageTimes {
    storage: &'static str,
    #[serde(flatten)]
    times: ComparedTimes,
}

/// Compares both for a session that has been run.
pub(super) fn run(gpu: &Gpu, mut session: Executor, time: Duration, json: bool) -> Result<(), CliError> {
    let buffers = session.in_buffers()?;
    // The first run of a pipeline may be slower.
    session.repeat()?;
    buffers.repeat(&session)?;
    let [mut of_textures, mut of_buffers] = [RoundTimes::default(), RoundTimes::default()];
    for_time("measuring textures and buffers in turns", time, MIN_ROUNDS, || {
        of_textures.measure(|| Ok(session.repeat()?))?;
        of_buffers.measure(|| Ok(buffers.repeat(&session)?))?;
        Ok(true)
    })?;
    let compared = buffers.compare(&session)?;
    let of = |storage, times: &RoundTimes| StorageTimes { storage, times: times.compared(&of_textures) };
    let answer = Answer {
        model: session.compiled().graph().name.clone(),
        device: Device::of(gpu),
        rounds: of_textures.wall.len(),
        storages: [of("texture", &of_textures), of("buffer", &of_buffers)],
        compared_texels: compared.texels,
        different_texels: compared.different,
        format: session.compiled().format(),
    };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

fn text(answer: &Answer) -> String {
    let mut text =
        format!("{}\n{}: {} rounds, textures and buffers in turns\n\n", answer.device, answer.model, answer.rounds);
    text += &format!(
        "  {:<8} {:>10} {:>10} {:>10} {:>7} {:>7}\n",
        "storage", "fastest ms", "median ms", "cpu ms", "wall", "cpu"
    );
    for StorageTimes { storage, times } in &answer.storages {
        text += &format!(
            "  {storage:<8} {:>10.2} {:>10.2} {:>10.2} {:>6.3}x {:>6.3}x\n",
            times.wall_ms.fastest, times.wall_ms.median, times.cpu_ms.median, times.wall_ratio, times.cpu_ratio
        );
    }
    let compared = grouped(answer.compared_texels);
    text += &match answer.different_texels {
        0 => format!("\n  the same bits in all {compared} texels of the pool, inputs and outputs\n"),
        different => {
            format!("\n  OTHER BITS in {} of {compared} texels of the pool, inputs and outputs\n", grouped(different))
        }
    };
    if answer.different_texels > 0 && answer.format == TexelFormat::Rgba16Float {
        text += "  a driver may round 16-bit stores to a texture in another way than WGSL rounds in a buffer\n";
    }
    text + "  dispatches and uploads between them; inputs and outputs are not transferred\n"
}
