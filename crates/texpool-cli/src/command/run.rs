//! `texpool run`: runs a model once on a device.

use super::{
    args::{AdapterArgs, ModelArgs},
    error::CliError,
    help::RESEARCH,
    hint,
    inputs::{Input, InputArgs},
    labels::{Class, ClassNames},
    out, progress,
    saved_plan::SavedPlanArgs,
    setup_model::{self, PlanSource},
};
use crate::{
    io::{DistinctFiles, check_folder, output_file_name, printable, write_outputs},
    report::{ClampedReport, MemoryReport, ValueSummary},
};
use serde::Serialize;
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};
use texpool::{
    gpu::ExecutorOptions,
    graph::{Graph, Tensor},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    saved_plan: SavedPlanArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Write each output to `INDEX_NAME.npy` in this folder, which is made if need be.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Overwrite each tensor with NaN after its last use: a check that nothing is read later.
    #[arg(long, help_heading = RESEARCH)]
    poison: bool,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    report: MemoryReport,
    plan_source: PlanSource,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Values that were stored or used as an index in clamped form.
    clamped: ClampedReport,
}

#[derive(Serialize)]
struct Output {
    name: String,
    shape: Vec<usize>,
    #[serde(flatten)]
    values: ValueSummary,
    /// Classes of the photo, the most likely first, if the catalogue has their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<Class>,
    file: Option<String>,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    args.output.as_deref().map_or(Ok(()), check_folder)?;
    let mut files = DistinctFiles::default();
    let model = args.model.find()?;
    let graph = model.import_apart(&mut files)?;
    args.output.as_deref().map_or(Ok(()), |folder| args.declare(&graph, folder, &mut files))?;
    let inputs = args.inputs.read(&graph, &model, args.model.format())?;
    // After the files, so that errors in them are reported without a device.
    let gpu = args.adapter.open(false)?;
    let options =
        ExecutorOptions { compile: args.model.compile_options(), poison: args.poison, ..ExecutorOptions::default() };
    let (mut session, plan_source) = args.saved_plan.session(&gpu, &graph, &options, &args.model.search())?;
    let compiled = session.compiled();
    inputs.check_ranges(compiled.graph(), compiled.format())?;
    let values = progress::during("running", || session.run(&inputs.slices()))?;
    let clamped = ClampedReport::from(&session.warnings()?);

    let tensors = || graph.outputs.iter().map(|&t| &graph.tensors[t]).zip(&values);
    let files = match &args.output {
        Some(folder) => {
            files.check()?;
            write_outputs(folder, tensors().map(|(t, v)| (&*t.name, &*t.dims, &**v)))?
        }
        None => vec![],
    };
    let report = setup_model::report(&graph, session.compiled(), args.model.search().deadline);
    let report = report.on_device(&session.memory());
    // Random inputs have no meaningful classes.
    let labels = match inputs.described.iter().any(Input::is_picture) {
        true => model.catalogue_entry().and_then(|entry| ClassNames::of(&entry)),
        false => None,
    };
    let output = |(i, (tensor, values)): (usize, (&Tensor, &Vec<f32>))| Output {
        name: tensor.name.clone(),
        shape: tensor.dims.clone(),
        values: ValueSummary::from_slice(values),
        classes: labels.as_ref().map(|labels| labels.likeliest(&tensor.dims, values)).unwrap_or_default(),
        file: files.get(i).map(|file| file.display().to_string()),
    };
    let outputs = tensors().enumerate().map(output).collect();
    let answer = Answer { inputs: inputs.described, outputs, clamped, plan_source, report };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

impl Args {
    /// Declares the files that are read in addition to the model, and the files that will be written in `folder`.
    fn declare(&self, graph: &Graph, folder: &Path, files: &mut DistinctFiles) -> Result<(), CliError> {
        self.saved_plan.path().map_or(Ok(()), |plan| files.reads("the plan", plan))?;
        for path in self.inputs.paths() {
            files.reads("an input", &path?)?;
        }
        // A folder that does not exist yet has no files to overwrite.
        if folder.is_dir() {
            for (index, &tensor) in graph.outputs.iter().enumerate() {
                let name = output_file_name(index, &graph.tensors[tensor].name);
                files.writes(&format!("output {index}"), &folder.join(name))?;
            }
        }
        Ok(())
    }
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    for (i, input) in answer.inputs.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "input {i} {input}");
    }
    for (i, Output { name, shape, values, classes, file }) in answer.outputs.iter().enumerate() {
        let to = file.as_ref().map(|f| format!(", in {}", printable(f))).unwrap_or_default();
        let _ = writeln!(text, "output {i} {} {shape:?}: {values}{to}", printable(name));
        for class in classes {
            let _ = writeln!(text, "  {class}");
        }
    }
    for sentence in &answer.clamped.sentences {
        let _ = writeln!(text, "{sentence}");
    }
    text + "\n" + &answer.report.to_string() + hint::stopped(answer.report.stopped)
}
