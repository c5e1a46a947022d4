//! `texpool explain`: shows which part of a model texpool would run as a delegate in another runtime, without a device.

use std::ffi::OsString;

use clap::ValueEnum;

use super::{error::CliError, lines, model_source::BoundArgs, out};
use crate::report::ExplainReport;
use texpool_model::delegate::{Host, MIN_OPERATIONS};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A .tflite or .onnx file, or a name from `texpool models list`.
    model: OsString,
    /// The runtime that loads the delegate. Nodes are counted as the file has them; ONNX Runtime joins some of them
    /// before it asks.
    #[arg(long, value_enum, help_heading = "Host")]
    host: HostArg,
    /// Leave parts of fewer elementary operations to the runtime, as the delegates' option of this name; each 128 KiB of a
    /// part's inputs and outputs ask for as many again; 0 takes every part.
    #[arg(long, value_name = "N", default_value_t = MIN_OPERATIONS, help_heading = "Host")]
    min_operations: u64,
    #[command(flatten)]
    dims: BoundArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HostArg {
    /// TensorFlow Lite, which reads .tflite files.
    Tflite,
    /// ONNX Runtime, which reads .onnx files.
    Onnxruntime,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let source = args.dims.find(&args.model)?;
    let (outline, selections) = source.select(args.min_operations)?;
    let host = match args.host {
        HostArg::Tflite => Host::TfLite,
        HostArg::Onnxruntime => Host::OnnxRuntime,
    };
    let reader = Host::of(outline.format);
    if reader != host {
        let (model, host, reader) = (source.name(), host.name(), reader.name());
        return Err(CliError::Usage(format!("{host} does not read the format of `{model}`; say --host {reader}")));
    }
    let report = ExplainReport::new(&source.name(), host, &outline.graphs, &selections);
    if json {
        return out::json(&report);
    }
    let open = outline.graphs.iter().any(|graph| !graph.open.is_empty());
    let hint = if open { "--dim NAME=VALUE says what an open extent is\n" } else { "" };
    out::text(&lines::fitted(&format!("{report}{hint}")))
}
