//! `texpool ceiling`: measures how fast a device computes, reads and writes at most.

use super::{
    args::{AdapterArgs, PrecisionArgs},
    device::Device,
    error::CliError,
    out, setup_model,
};
use crate::report::{rounded, size};
use serde::Serialize;
use texpool_compile::DeviceCeiling;
use texpool_plan::TexelFormat;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    precision: PrecisionArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
}

#[derive(Serialize)]
struct Answer {
    device: Device,
    texel_bytes: u64,
    #[serde(flatten)]
    ceiling: DeviceCeiling,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let gpu = args.adapter.open(false)?;
    let format: TexelFormat = args.precision.format();
    let ceiling = setup_model::device_ceiling(&gpu, format)?;
    let answer = Answer { device: Device::of(&gpu), texel_bytes: format.texel_bytes(), ceiling };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

fn text(Answer { device, texel_bytes, ceiling }: &Answer) -> String {
    let DeviceCeiling { gflop_per_s, reads, writes, dispatch_us, run_us } = ceiling;
    let mut text = format!("{device}\n\n");
    let mut line = |number: f64, unit: &str, of: &str| text += &format!("  {:>8} {unit:<8} {of}\n", rounded(number, 3));
    line(*gflop_per_s, "GFLOP/s", "fused multiply-adds in 32 bits, two operations each");
    for (doing, speeds) in [("read from", reads), ("written to", writes)] {
        for speed in speeds {
            line(speed.gb_per_s, "GB/s", &format!("{doing} {} of texture, again and again", size(speed.bytes)));
        }
    }
    line(*dispatch_us, "us", "a dispatch that depends on the one before it");
    line(*run_us, "us", "a submission and the wait for it");
    text + &format!("\n  with texels of {texel_bytes} bytes; kept, and `texpool bench` shows each step's share\n")
}
