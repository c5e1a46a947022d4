//! `texpool tune`: measures which blocks of pixels and channels are fastest on a device, and keeps them.

use super::{
    args::{AdapterArgs, PrecisionArgs},
    device::Device,
    error::CliError,
    model_source::DimArgs,
    out, setup_model,
};
use crate::{report::rounded, setup};
use serde::Serialize;
use std::ffi::OsString;
use texpool_compile::{Clock, CompileOptions};
use texpool_gpu::{TuneLayer, TunedKind};
use texpool_ops::graph::{BlockSize, LayerKind};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Measure the layers of these model files or names from `texpool models list`, those with the most work; typical
    /// layers if none is given.
    #[arg(help_heading = "Input")]
    models: Vec<OsString>,
    #[command(flatten)]
    dims: DimArgs,
    #[command(flatten)]
    precision: PrecisionArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
}

#[derive(Serialize)]
struct Answer {
    device: Device,
    class: &'static str,
    clock: Clock,
    kinds: Vec<Kind>,
}

/// The blocks of a kind of layer.
#[derive(Serialize)]
struct Kind {
    kind: LayerKind,
    layers: usize,
    class_blocks: Vec<String>,
    class_us: f64,
    fastest: String,
    fastest_us: f64,
    gain: f64,
    /// True if runs use the fastest block from now on.
    is_used: bool,
}

impl From<&TunedKind> for Kind {
    fn from(tuned: &TunedKind) -> Self {
        let TunedKind { kind, layers, ref class_blocks, class_us, fastest, fastest_us } = *tuned;
        let class_blocks = class_blocks.iter().map(BlockSize::to_string).collect();
        let (fastest, gain, is_used) = (fastest.to_string(), tuned.gain(), tuned.chosen().is_some());
        Self { kind, layers, class_blocks, class_us, fastest, fastest_us, gain, is_used }
    }
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let layers = match args.models.is_empty() {
        true => TuneLayer::typical(),
        false => layers_of(args)?,
    };
    let gpu = args.adapter.open(false)?;
    let (blocks, kinds) = setup_model::tuned_blocks(&gpu, args.precision.format(), &layers)?;
    let answer = Answer {
        device: Device::of(&gpu),
        class: blocks.class().name(),
        clock: setup::clock_of(&gpu),
        kinds: kinds.iter().map(Kind::from).collect(),
    };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

/// Returns the layers of the models that are given.
fn layers_of(args: &Args) -> Result<Vec<TuneLayer>, CliError> {
    let options = CompileOptions { format: args.precision.format(), ..CompileOptions::default() };
    let compile = |model: &OsString| setup_model::compiled(&args.dims.find(model)?.import()?, &options, None);
    let models = args.models.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
    let layers = TuneLayer::of_graphs(models.iter().map(|compiled| compiled.graph()));
    if layers.is_empty() {
        return Err(CliError::Usage("no layer of these models has blocks to choose from".into()));
    }
    Ok(layers)
}

fn text(answer: &Answer) -> String {
    let Answer { device, class, clock, kinds } = answer;
    let clock = match clock {
        Clock::Wall => "wall",
        Clock::Processor => "processor",
    };
    let mut text = format!("{device}\nblocks of pixels by slices of four channels, in {clock} time\n\n");
    let mut row = |[kind, layers, class, before, fastest, after]: [&str; 6], note: &str| {
        text += &format!("  {kind:<21} {layers:>6} {class:>9} {before:>10} {fastest:>9} {after:>10}{note}\n");
    };
    row(["kind", "layers", class, "us", "fastest", "us"], "");
    for Kind { kind, layers, class_blocks, class_us, fastest, fastest_us, gain, is_used } in kinds {
        let [before, after] = [*class_us, *fastest_us].map(|us| rounded(us, 3));
        let (blocks, layers) = (class_blocks.join(" "), layers.to_string());
        let note = if *is_used { format!("  {gain:.2} times as fast") } else { String::new() };
        row([kind.name(), &layers, &blocks, &before, fastest, &after], &note);
    }
    let used = kinds.iter().filter(|kind| kind.is_used).count();
    text += &match used {
        0 => format!("\n  nothing gains a twentieth; runs keep the blocks of {class} devices\n"),
        used => format!("\n  {used} kept: runs on this device use them, unless `--blocks {class}` says otherwise\n"),
    };
    text
}
