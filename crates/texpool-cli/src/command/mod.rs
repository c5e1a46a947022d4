//! The `texpool` command. It only parses arguments and prints results; all functions are in the library.

mod arena;
mod args;
mod bench;
mod bench_steps;
mod capacity;
mod compare;
mod compare_plans;
mod compile;
mod conversion;
mod csdf;
mod devices;
mod each_model;
mod error;
mod explain;
mod fits;
mod fitting;
mod hint;
mod inputs;
mod labels;
mod micro;
mod model_source;
mod models;
mod out;
mod picture;
mod picture_args;
mod plan;
mod plan_device;
mod plan_rows;
mod progress;
mod published;
mod records;
mod run;
#[cfg(target_os = "linux")]
mod runtime_dir;
mod saved_plan;
mod setup_model;
mod stats;
mod stopped;
mod suggestion;
mod table;
mod timed_work;

use crate::io::printable_lines;
use clap::{Parser, Subcommand};
use error::CliError;
use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    process::ExitCode,
};

/// Runs neural networks on the GPU out of a fixed pool of textures.
///
/// MODEL is a .tflite or .onnx file, or a name from `texpool models list`, which is then fetched if need be.
#[derive(Debug, Parser)]
#[command(name = "texpool", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON document on standard output instead of text.
    #[arg(long, global = true)]
    json: bool,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failure; standard error says of what, and what to do
  2  usage; the command line is not understood
  3  plan --records --capacity: the records do not fit, which is proven; fits: a model does not
  4  plan --records --capacity and fits: undecided when the deadline passed
  130  Ctrl-C ended a search, and what is printed is the best so far; or it ended a fetch
Those of `compare` are as of `diff`: 0 all agrees, 1 something diverges, 2 trouble.

Environment:
  TEXPOOL_CACHE       folder for fetched files, plans and packed weights
                      (default: texpool in the user's cache folder)
  TEXPOOL_MODELS      another folder to look for those files in before fetching them
  TEXPOOL_NO_INSTALL  never install a Vulkan driver, whatever is asked for
  TEXPOOL_LOG         what to log on standard error, such as debug or texpool=trace
  NO_COLOR            log without colours; where standard error is no terminal there are none

Sizes such as those of --budget are in bytes, or have a unit, in capitals or not: KB, MB and GB are powers of 1000,
KiB, MiB and GiB of 1024.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a model once, write its outputs and report its memory use.
    Run(run::Args),
    /// Plan a model's memory and report it; needs no device.
    Plan(plan::Args),
    /// Plan a model for a device and write the plan to a file for `run --plan` and `bench --plan`.
    Compile(compile::Args),
    /// Show the nodes that texpool would take as a delegate in another runtime, the reasons for the others, and the
    /// copies; needs neither a device nor that runtime.
    Explain(explain::Args),
    /// Show a model as cyclo-static dataflow with its smallest buffers, and write it for SDF3; needs no device.
    Csdf(csdf::Args),
    /// Measure a model's time and memory with random inputs.
    Bench(bench::Args),
    /// Compare a model's results step by step with a reference, and find the first step that differs.
    Compare(compare::Args),
    /// Compare networks: operators, memory under every kind of plan, time, and published figures.
    Table(table::Args),
    /// Say which models run within a size of device memory, how fast, and by which flags; needs no device.
    Fits(fits::Args),
    /// List the available models and photos, and fetch them.
    Models(models::Args),
    /// List the GPU adapters, or measure one.
    Devices(devices::Args),
}

/// Runs the command: parses the command line, executes it, and returns the exit code.
pub fn main() -> ExitCode {
    // Must run first, because it may restart this process.
    #[cfg(target_os = "linux")]
    runtime_dir::set();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return answer(&refused),
    };
    log();
    let compares = matches!(cli.command, Command::Compare(_));
    match cli.command.run(cli.json) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::Answered(code)) => ExitCode::from(code),
        Err(error) => {
            out::stderr(&format!("error: {error}{}", hint::hint(&error)));
            match error {
                error if error.is_interrupt() => ExitCode::from(progress::INTERRUPTED),
                CliError::Usage(_) => ExitCode::from(2),
                CliError::Diverges(_) => ExitCode::FAILURE,
                _ if compares => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Prints clap's message: help and versions on standard output, errors on standard error.
fn answer(refused: &clap::Error) -> ExitCode {
    // clap prints arguments unescaped and in colours. If an argument contains control characters, the whole message is
    // escaped instead.
    let foreign = |arg: OsString| arg.to_str().is_none_or(|arg| printable_lines(arg) != arg);
    if refused.use_stderr() && std::env::args_os().skip(1).any(foreign) {
        out::stderr(&refused.render().to_string().trim_end());
    } else {
        // A failure to print cannot be reported anywhere.
        let _ = refused.print();
    }
    ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(2))
}

impl Command {
    fn run(self, json: bool) -> Result<(), CliError> {
        match self {
            Self::Run(args) => run::run(&args, json),
            Self::Plan(args) => plan::run(&args, json),
            Self::Compile(args) => compile::run(&args, json),
            Self::Explain(args) => explain::run(&args, json),
            Self::Csdf(args) => csdf::run(&args, json),
            Self::Bench(args) => bench::run(&args, json),
            Self::Compare(args) => compare::run(&args, json),
            Self::Table(args) => table::run(&args, json),
            Self::Fits(args) => fits::run(&args, json),
            Self::Models(args) => models::run(&args, json),
            Self::Devices(args) => devices::run(&args, json),
        }
    }
}

fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TEXPOOL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("texpool=warn,error"));
    // Follows https://no-color.org. Output to files has no colours either.
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).without_time();
    log.with_ansi(colours).init();
}
