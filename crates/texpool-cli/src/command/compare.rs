//! `texpool compare`: compares a run on a device with the CPU references, step by step, or with arrays that another
//! runtime wrote.
//!
//! The exit codes are those of `diff`: 0 if everything agrees, 1 if something diverges, 2 if the comparison fails.

use super::{
    args::{self, AdapterArgs, ModelArgs},
    device::Device,
    error::CliError,
    inputs::{Input, InputArgs, Inputs},
    lines,
    model_source::file_or_name,
    out, progress, setup_model,
};
use crate::{
    io::InputFile,
    report::{ClampedReport, NotFiniteCounts},
};
use serde::Serialize;
use std::{ffi::OsString, fmt::Write, path::Path};
use texpool_gpu::{
    ExecutorOptions, Gpu, StepDifference, compare_compiled, largest_difference, largest_magnitude, tolerance,
};
use texpool_ops::graph::{Graph, NotFinite, Tensor};
use texpool_plan::Progress;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// `cpu` for the CPU references, step by step; or a .npy array for each output of the model, in order.
    #[arg(long, value_name = "cpu|FILE", required = true, help_heading = "Reference")]
    against: Vec<OsString>,
    /// The greatest difference that is allowed, as a part of the tensor's greatest magnitude.
    #[arg(
        long,
        value_name = "PART",
        value_parser = args::fraction,
        allow_negative_numbers = true,
        help_heading = "Reference"
    )]
    tolerance: Option<f32>,
}

/// A step or an output, and its deviation.
#[derive(Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<String>,
    tensor: String,
    worst: f32,
    relative: f32,
    at: Vec<usize>,
    found: f32,
    expected: f32,
    found_not_finite: NotFiniteCounts,
    expected_not_finite: NotFiniteCounts,
    #[serde(skip)]
    not_finite: [NotFinite; 2],
}

#[derive(Serialize)]
struct Answer {
    device: Device,
    tolerance: f32,
    /// True if all finite values are within the tolerance, and both sides have the same non-finite values.
    agrees: bool,
    /// Number of non-finite values that are the same on both sides. No difference can be computed for them.
    not_compared: usize,
    inputs: Vec<Input>,
    rows: Vec<Row>,
    clamped: ClampedReport,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let of_stdin = args.inputs.of_stdin() + args.against.iter().filter(|against| *against == "-").count();
    if of_stdin > 1 {
        return Err(CliError::Usage(
            "standard input can be read once; say `-` for one --input or one --against only, and name files for the \
             others"
                .into(),
        ));
    }
    let model = args.model.find()?;
    let graph = model.import()?;
    let format = args.model.format();
    let inputs = args.inputs.read(&graph, &model, format)?;
    let gpu = args.adapter.open(false)?;
    let tolerance = args.tolerance.unwrap_or(tolerance(format));
    let (rows, clamped) = match &args.against[..] {
        [one] if one == "cpu" => steps(args, &gpu, &graph, &inputs, tolerance)?,
        _ => outputs(args, &gpu, &graph, &inputs)?,
    };
    let far = |row: &&Row| row.relative > tolerance;
    let first = rows.iter().find(far).map(|row| match &row.operator {
        Some(operator) => format!("step {} ({operator}), tensor `{}`", row.step.unwrap_or(0), row.tensor),
        None => format!("output `{}`", row.tensor),
    });
    // If nothing diverges, both sides have the same number of non-finite values.
    let not_compared = rows.iter().map(|row| row.not_finite[1].total()).sum();
    let answer = Answer {
        device: Device::of(&gpu),
        tolerance,
        agrees: first.is_none(),
        not_compared,
        inputs: inputs.described,
        rows,
        clamped,
    };
    if json { out::json(&answer) } else { out::text(&lines::fitted(&text(&answer))) }?;
    first.map_or(Ok(()), |what| Err(CliError::Diverges(format!("{what} is the first that diverges"))))
}

fn steps(
    args: &Args,
    gpu: &Gpu,
    graph: &Graph,
    inputs: &Inputs,
    tolerance: f32,
) -> Result<(Vec<Row>, ClampedReport), CliError> {
    let options = setup_model::options_for(gpu, args.model.compile_options())?;
    let (compiled, _) = setup_model::kept_or_compiled(graph, &options, &args.model.search())?;
    setup_model::check_interrupted("planning")?;
    inputs.check_ranges(compiled.graph(), args.model.format())?;
    let inputs = inputs.given();
    let compared = progress::with_progress(None, |control| {
        control.report(Progress::new("computing the references", 0, 0));
        let tell = |done: usize, of: usize| setup_model::report_progress(control, "comparing steps", done, of);
        compare_compiled(gpu, compiled, options, &inputs, tolerance, tell)
    });
    // Checked first, because Ctrl-C also makes the comparison fail, with a less helpful message.
    setup_model::check_interrupted("comparing")?;
    let row = |d: StepDifference| Row {
        step: Some(d.step),
        operator: Some(format!("operator {} {}", d.op_index, d.op)),
        relative: d.relative(),
        tensor: d.tensor,
        worst: d.worst,
        at: d.at.to_vec(),
        found: d.device,
        expected: d.reference,
        found_not_finite: d.device_not_finite.into(),
        expected_not_finite: d.reference_not_finite.into(),
        not_finite: [d.device_not_finite, d.reference_not_finite],
    };
    let (differences, warnings) = compared?;
    Ok((differences.into_iter().map(row).collect(), ClampedReport::from(&warnings)))
}

fn outputs(args: &Args, gpu: &Gpu, graph: &Graph, inputs: &Inputs) -> Result<(Vec<Row>, ClampedReport), CliError> {
    if args.against.len() != graph.caller_outputs().len() {
        let (outputs, files) = (graph.caller_outputs().len(), args.against.len());
        return Err(CliError::Usage(format!(
            "the model has {outputs} outputs, {files} arrays were given; say --against once for each, or `--against cpu`"
        )));
    }
    let options = ExecutorOptions { compile: args.model.compile_options(), ..ExecutorOptions::default() };
    let (mut session, _) = setup_model::session(gpu, graph, &options, &args.model.search())?;
    inputs.check_ranges(session.compiled().graph(), args.model.format())?;
    let outputs = progress::during("running", || session.run(&inputs.given()))?;
    let mut rows = Vec::new();
    for ((file, values), &tensor) in args.against.iter().zip(&outputs).zip(graph.caller_outputs()) {
        let tensor = &graph.tensors[tensor];
        let expected = read_output(&file_or_name(file)?, tensor)?;
        let (worst, at) = largest_difference(values, &expected);
        // At least one, as for steps. Relative to smaller values, any rounding would be a large difference.
        let largest = largest_magnitude(&expected).max(1.0);
        let not_finite = [NotFinite::of(values), NotFinite::of(&expected)];
        let [found_not_finite, expected_not_finite] = not_finite.map(NotFiniteCounts::from);
        rows.push(Row {
            step: None,
            operator: None,
            tensor: tensor.name.clone(),
            worst,
            relative: worst / largest,
            at: place(at, &tensor.dims),
            found: values.get(at).copied().unwrap_or(0.0),
            expected: expected.get(at).copied().unwrap_or(0.0),
            found_not_finite,
            expected_not_finite,
            not_finite,
        });
    }
    Ok((rows, ClampedReport::from(&session.warnings()?)))
}

/// Reads an array that another runtime wrote. Integers of a quantised output's type represent real numbers.
fn read_output(path: &Path, tensor: &Tensor) -> Result<Vec<f32>, CliError> {
    let read = InputFile::open(path).and_then(|file| file.output(tensor.into()));
    read.map_err(|source| CliError::output(tensor, source))
}

/// Returns the index along each axis of element `at`.
fn place(mut at: usize, dims: &[usize]) -> Vec<usize> {
    // The last axis varies fastest, so indices are computed from the last axis to the first.
    let mut place: Vec<usize> = dims.iter().rev().map(|&d| (at % d.max(1), at /= d.max(1)).0).collect();
    place.reverse();
    place
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (i, input) in answer.inputs.iter().enumerate() {
        let _ = writeln!(text, "input {i} {input}");
    }
    for row in &answer.rows {
        let Row { step, operator, tensor, worst, relative, at, found, expected, not_finite, .. } = row;
        let step = step.map(|step| format!("{step:>4} ")).unwrap_or_default();
        let operator = operator.as_deref().map(|operator| format!("{operator:<30} ")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{step}{operator}differs by {worst:.1e} ({relative:.1e} of the largest)\n     at {at:?}: {found} for {expected}  {tensor}"
        );
        for (side, counts) in ["found", "expected"].iter().zip(not_finite).filter(|(_, counts)| !counts.is_none()) {
            let _ = writeln!(text, "     {side} in `{tensor}` are values that are not finite: {counts}");
        }
    }
    for sentence in &answer.clamped.sentences {
        let _ = writeln!(text, "{sentence}");
    }
    let part = answer.tolerance;
    let _ = match (answer.agrees, answer.not_compared) {
        (true, 0) => writeln!(text, "all within {part:e} of the largest"),
        (true, same) => writeln!(
            text,
            "all finite values within {part:e} of the largest;\n{same} values are NaN or infinite, the same on both sides"
        ),
        (false, _) => writeln!(text, "not within {part:e} of the largest"),
    };
    text
}
