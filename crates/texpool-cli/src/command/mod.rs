//! The `texpool` command. It only parses arguments and prints results; all functions are in the library.

mod arena;
mod args;
mod bench;
mod bench_against;
mod bench_steps;
mod cache;
mod capacity;
mod ceiling;
mod compare;
mod compare_plans;
mod compare_storage;
mod compile;
mod completions;
mod conversion;
mod csdf;
mod device;
mod devices;
mod each_model;
mod error;
mod examples;
mod explain;
mod failure;
mod fits;
mod fitting;
mod help;
mod hint;
mod in_turns;
mod inputs;
mod less;
mod lines;
mod man;
mod memories;
mod micro;
mod model_source;
mod models;
mod open_extents;
mod operator_profiles;
mod option_names;
mod out;
mod picture;
mod picture_args;
mod plan;
mod plan_device;
mod plan_files;
mod plan_rows;
mod progress;
mod published;
mod reading;
mod records;
mod records_out;
mod repeated_options;
mod report;
mod run;
mod run_report;
mod run_text;
#[cfg(target_os = "linux")]
mod runtime_dir;
mod saved_plan;
mod setup_model;
mod stats;
mod stopped;
mod strategies;
mod suggestion;
mod table;
mod timed_work;
mod timeline;
mod timing;
mod tune;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use error::CliError;
use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};
use tracing_subscriber::{Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// Runs neural networks on the GPU out of a fixed pool of textures.
///
/// MODEL is a .tflite or .onnx file, or a name from `texpool models list`, which is then fetched if need be.
#[derive(Debug, Parser)]
#[command(name = "texpool", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON document on standard output instead of text. The forms are in docs/schema of the repository.
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failure; standard error says of what, and what to do
  2  usage; the command line is not understood
  3  plan --records --capacity: the records do not fit, which is proven; fits: a model does not
  4  plan --records --capacity and fits: undecided when the deadline passed
  130  Ctrl-C ended a search, and what is printed is the best so far; or a fetch
Those of `compare` are as of `diff`: 0 all agrees, 1 it diverges, 2 trouble.

Environment:
  TEXPOOL_CACHE       folder for fetched files, plans and packed weights
                      (default: texpool in the user's cache folder)
  TEXPOOL_MODELS      another folder to look for those files in first
  TEXPOOL_NO_INSTALL  never install a Vulkan driver, whatever is asked for
  TEXPOOL_LOG         what to log on standard error: debug, texpool=trace
  NO_COLOR            no colours; there are none in a pipe or a file, either

Sizes such as those of --budget are in bytes, or have a unit, in capitals or
not: KB, MB and GB are powers of 1000, KiB, MiB and GiB of 1024.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a model once, write its outputs and report its memory use.
    Run(run::Args),
    /// Plan a model's memory and report it; needs no device.
    Plan(plan::Args),
    /// Write a model's plan to a file, for `run` and `bench`.
    ///
    /// Plans the model for a device. `run --plan` and `bench --plan` take the file and search for no plan.
    Compile(compile::Args),
    /// Show the nodes that texpool would take from another runtime.
    ///
    /// Shows the nodes that texpool would take as a delegate in that runtime, the reasons for the others, and the
    /// copies. Needs neither a device nor that runtime.
    Explain(explain::Args),
    /// Show a model as cyclo-static dataflow with its smallest buffers.
    ///
    /// Converts a model, computes the smallest buffers by executing the graph, and writes it for SDF3. Needs no device.
    Csdf(csdf::Args),
    /// Measure a model's time and memory with random inputs.
    Bench(bench::Args),
    /// Write a model's plans as a page for a browser.
    ///
    /// The page says what lies where at each step, and why. It is one file that asks no network.
    Report(report::Args),
    /// Compare a model's results with a reference, step by step.
    ///
    /// Finds the first step whose result differs from the CPU references, or the first output that differs from an
    /// array. Exit codes are those of `diff`.
    Compare(compare::Args),
    /// Compare networks: operators, memory, time, and published figures.
    ///
    /// Shows the memory of each network under every kind of plan.
    Table(table::Args),
    /// Say which models run within a size of device memory.
    ///
    /// Shows how fast each one runs then, and by which flags. Needs no device.
    Fits(fits::Args),
    /// List the available models and photos, and fetch them.
    Models(models::Args),
    /// List the GPU adapters, or measure one.
    Devices(devices::Args),
    /// Measure how fast a device computes, reads and writes at most.
    ///
    /// Takes a few seconds and 128 MiB of the device. `bench` then shows the share of these ceilings that each step
    /// reaches.
    Ceiling(ceiling::Args),
    /// Measure which blocks of pixels are fastest on a device.
    ///
    /// Takes up to a few minutes. Later runs on this device then use those that are faster than the blocks of its
    /// class. The results keep every bit.
    Tune(tune::Args),
    /// Show what is in the cache folder, and remove it.
    Cache(cache::Args),
    /// Print the completion script for a shell.
    Completions(completions::Args),
    /// Write the manual pages to a folder.
    Man(man::Args),
}

/// Returns the arguments of the command, with their help texts.
fn shape() -> clap::Command {
    help::formed(Cli::command())
}

/// Runs the command: parses the command line, executes it, and returns the exit code.
pub fn main() -> ExitCode {
    // Must run first, because it may restart this process.
    #[cfg(target_os = "linux")]
    runtime_dir::set();
    let mut shape = shape();
    let parsed = shape.try_get_matches_from_mut(std::env::args_os());
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut shape))) {
        Ok(cli) => cli,
        Err(refused) => return failure::answer(&refused),
    };
    log(cli.command.is_traced());
    let compares = matches!(cli.command, Command::Compare(_));
    match cli.command.run(cli.json) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::Answered(code)) => ExitCode::from(code),
        Err(error) => {
            failure::say(&error, cli.json);
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

impl Command {
    /// Returns true if a timeline of the call is wanted.
    fn is_traced(&self) -> bool {
        matches!(self, Self::Bench(args) if args.is_traced())
    }

    fn run(self, json: bool) -> Result<(), CliError> {
        match self {
            Self::Run(args) => run::run(&args, json),
            Self::Plan(args) => plan::run(&args, json),
            Self::Compile(args) => compile::run(&args, json),
            Self::Explain(args) => explain::run(&args, json),
            Self::Csdf(args) => csdf::run(&args, json),
            Self::Bench(args) => bench::run(&args, json),
            Self::Report(args) => report::run(&args, json),
            Self::Compare(args) => compare::run(&args, json),
            Self::Table(args) => table::run(&args, json),
            Self::Fits(args) => fits::run(&args, json),
            Self::Models(args) => models::run(&args, json),
            Self::Devices(args) => devices::run(&args, json),
            Self::Ceiling(args) => ceiling::run(&args, json),
            Self::Tune(args) => tune::run(&args, json),
            Self::Cache(args) => cache::run(&args, json),
            Self::Completions(args) => completions::run(&args, shape(), json),
            Self::Man(args) => man::run(&args, shape(), json),
        }
    }
}

fn log(is_traced: bool) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TEXPOOL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("texpool=warn,error"));
    // Follows https://no-color.org. Output to files has no colours either.
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr).without_time().with_ansi(colours);
    tracing_subscriber::registry().with(log.with_filter(filter)).with(is_traced.then(timeline::layer)).init();
}

#[cfg(test)]
mod tests {
    use super::{Cli, examples, help::GROUPS, shape};
    use clap::FromArgMatches;
    use std::collections::BTreeSet;

    fn names() -> BTreeSet<String> {
        shape().get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect()
    }

    #[test]
    fn every_subcommand_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let set: BTreeSet<String> =
            grouped.iter().map(|name| (*name).to_owned()).filter(|name| name != "help").collect();
        assert_eq!(set, names());
        assert_eq!(grouped.len(), set.len() + 1, "a subcommand is listed twice");
    }

    #[test]
    fn every_example_is_understood() {
        for name in names() {
            let examples = examples::of(&name);
            let lines: Vec<&str> = examples.lines().filter_map(|line| line.strip_prefix("  texpool ")).collect();
            assert!((2..=4).contains(&lines.len()), "{name}: {examples}");
            for line in lines {
                // What a shell makes of the line: a comment and a redirection are none of the arguments.
                let line = line.split(" #").next().unwrap_or(line).split(" >").next().unwrap_or(line);
                let words = std::iter::once("texpool").chain(line.split_whitespace());
                let matches = shape().try_get_matches_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
                assert_eq!(matches.subcommand_name(), Some(name.as_str()), "{line}");
                Cli::from_arg_matches(&matches).unwrap_or_else(|e| panic!("{line}: {e}"));
            }
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        shape().debug_assert();
    }
}
