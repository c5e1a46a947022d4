//! `texpool run`: runs a model on a device, once for each picture, and says what is in it.

use super::{
    args::{AdapterArgs, ModelArgs},
    device::Device,
    error::CliError,
    help::RESEARCH,
    inputs::{Input, InputArgs, InputSet, Inputs},
    less::{self, LessRequest, Smaller},
    out, progress,
    reading::{AnswerArgs, Reading, Reply},
    repeated_options,
    run_report::{Document, Output, Run, Shown},
    run_text,
    saved_plan::SavedPlanArgs,
    setup_model,
    stats::ms,
    timing::{self, RunOutputs, Timing},
};
use crate::{
    answer::Answer,
    io::{DistinctFiles, IoError, OutputArray, check_folder, output_file_name, printable, write_outputs, write_png},
    report::{ClampedReport, MemoryReport, ValueSummary},
};
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use texpool_compile::Objective;
use texpool_gpu::{Executor, ExecutorOptions};
use texpool_ops::graph::{Graph, Tensor};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    saved_plan: SavedPlanArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Measure the time of a smaller plan divided by that of the plain plan, in runs of both in turns, and compare their
    /// bits. The runs take the memory of both plans. Default: the ratio is predicted.
    #[arg(long, conflicts_with = "plan", help_heading = "Device")]
    measure: bool,
    /// Write each output to `INDEX_NAME.npy` in this folder, which is made if need be; with several pictures, each to a
    /// folder of its own below. Integers and truth values keep their type, all other values are 32-bit floats.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also print the inputs and outputs in numbers, the strategies for the plan, and where each tensor lies.
    #[arg(long, help_heading = "Output")]
    details: bool,
    /// Overwrite each tensor with NaN after its last use: a check that nothing is read later.
    #[arg(long, help_heading = RESEARCH)]
    poison: bool,
}

/// The parts of a call that every run needs.
struct Call<'a> {
    args: &'a Args,
    graph: Graph,
    reading: Reading,
    files: DistinctFiles,
    /// True if each run writes its outputs to a folder of its own.
    several: bool,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    args.output.as_deref().map_or(Ok(()), check_folder)?;
    let mut files = DistinctFiles::default();
    let model = args.model.find()?;
    let cold = Instant::now();
    let graph = model.import_apart(&mut files)?;
    let sets = args.inputs.sets(&graph)?;
    args.answer.check(sets.len())?;
    args.declare(&graph, sets.len(), &mut files)?;
    let entry = model.catalogue_entry();
    // Random inputs have no meaningful answer, so no names are needed.
    let is_random = sets.iter().all(InputSet::is_random);
    let reading = args.answer.reading(&model, entry.as_ref().filter(|_| !is_random))?;
    let read = |set| args.inputs.read_set(set, &graph, entry.as_ref(), args.model.format());
    let Some((first, others)) = sets.split_first() else { return Ok(()) };
    let first = read(first)?;
    // After the files, so that errors in them are reported without a device.
    let gpu = args.adapter.open(false)?;
    let options =
        ExecutorOptions { compile: args.model.compile_options(), poison: args.poison, ..ExecutorOptions::default() };
    let (mut session, plan_source) = args.saved_plan.session(&gpu, &graph, &options, &args.model.search())?;

    first.check_ranges(session.compiled().graph(), session.compiled().format())?;
    let given = first.given();
    let (outputs, time) = timing::first_run(&mut session, &given)?;
    let cold_ms = ms(cold.elapsed());
    let clamped = ClampedReport::from(&session.warnings()?);
    let memory = session.memory();
    let predicted_ms = session.compiled().predicted_us(&options.compile.device_profile) / 1e3;
    let timing = progress::during("measuring", || timing::timing(&mut session, &given, &outputs, time, predicted_ms))?;
    if !graph.variables.is_empty() && sets.len() > 1 {
        // The measured runs changed the variables, so the first run is repeated to give the others their values.
        session.reset_carried();
        timing::first_run(&mut session, &given)?;
    }
    drop(given);
    // Read by --measure, when the first picture was answered.
    let measured_inputs = args.measure.then(|| first.arrays());

    let call = Call { args, graph, reading, files, several: !others.is_empty() };
    let mut runs = Vec::new();
    let mut shown = |run: Run| -> Result<(), CliError> {
        if !json {
            out::text(&(run_text::of_run(&run, &call.reading) + "\n"))?;
        }
        runs.push(run);
        Ok(())
    };
    shown(call.run(0, first, &outputs, clamped)?)?;
    for (index, set) in (1..).zip(others) {
        let inputs = args.inputs.read_set(set, &call.graph, entry.as_ref(), args.model.format())?;
        let (outputs, clamped) = again(&mut session, &inputs)?;
        shown(call.run(index, inputs, &outputs, clamped)?)?;
    }

    let report = if json || args.details {
        setup_model::report(&call.graph, session.compiled(), args.model.search().deadline)
    } else {
        MemoryReport::from_compiled(session.compiled())
    };
    let report = report.on_device(&memory);
    let request = LessRequest { smaller: session.compiled().objective() != Objective::Fastest, measured: args.measure };
    let is_saved = args.saved_plan.path().is_some();
    let smaller = Smaller::find(&args.model, is_saved, (&call.graph, &gpu), session.compiled());
    let smaller = match (smaller, measured_inputs) {
        (Some(smaller), Some(inputs)) => {
            let of = (&call.graph, &gpu, &args.model.search());
            Some(smaller.measured((session, &options), of, &inputs)?)
        }
        (smaller, _) => smaller,
    };
    let device = Device::of(&gpu);
    if json {
        let (run, several) = match &runs[..] {
            [one] => (Some(one), &[][..]),
            several => (None, several),
        };
        let Timing { ms: time_ms, runs: timed_runs, is_first: time_is_first_run } = timing;
        return out::json(&Document {
            report: &report,
            plan_source,
            device: &device,
            time_ms,
            timed_runs,
            time_is_first_run,
            cold_ms,
            smaller_plan: smaller.as_ref(),
            run,
            runs: several,
        });
    }
    let called = match &entry {
        Some(entry) if model.path.ends_with(&entry.file) => Path::new(&entry.name),
        _ => &model.path,
    };
    let less = less::line(smaller.as_ref(), &repeated_options::with_options(called), &request);
    let may_be_classes = !is_random && call.reading.may_be_classes(&call.graph);
    let drawn = args.answer.draw.as_deref();
    let shown = Shown { report: &report, device: &device, timing, less, drawn, may_be_classes };
    out::text(&run_text::of_session(&shown, &runs))?;
    if args.details { out::text(&run_text::details(&runs, &report)) } else { Ok(()) }
}

/// Runs a session again, with other inputs.
fn again(session: &mut Executor, inputs: &Inputs) -> Result<(RunOutputs, ClampedReport), CliError> {
    inputs.check_ranges(session.compiled().graph(), session.compiled().format())?;
    let (outputs, _) = timing::first_run(session, &inputs.given())?;
    Ok((outputs, ClampedReport::from(&session.warnings()?)))
}

impl Call<'_> {
    /// Reads the answer of a run, and writes its files.
    fn run(&self, index: usize, inputs: Inputs, outputs: &RunOutputs, clamped: ClampedReport) -> Result<Run, CliError> {
        let RunOutputs { values, dims } = outputs;
        let (answer, not_decoded) = match self.reading.reply(&self.graph, outputs, inputs.view())? {
            Reply::Answer(answer) => (Some(answer), None),
            Reply::Unknown => (None, None),
            Reply::Undecoded(why) => (None, Some(why)),
        };
        self.draw(&inputs, answer.as_ref())?;
        let tensors = || self.graph.caller_outputs().iter().map(|&tensor| &self.graph.tensors[tensor]).zip(values);
        let files = match &self.args.output {
            Some(folder) => {
                self.files.check()?;
                let stem = inputs.described.first().and_then(Input::stem).unwrap_or_default();
                let folder = if self.several { folder.join(subfolder(index, &stem)) } else { folder.clone() };
                write_outputs(&folder, tensors().zip(dims).map(|((t, v), dims)| OutputArray::of_tensor(t, dims, v)))?
            }
            None => vec![],
        };
        let classes = answer.as_ref().map(Answer::classes).unwrap_or_default();
        let output = |(i, (tensor, values)): (usize, (&Tensor, &Vec<f32>))| Output {
            name: tensor.name.clone(),
            shape: dims[i].clone(),
            values: ValueSummary::from_slice(values),
            // Decodings of classes read the first output.
            classes: if i == 0 { classes.to_vec() } else { vec![] },
            file: files.get(i).map(|file| file.display().to_string()),
        };
        let outputs = tensors().enumerate().map(output).collect();
        Ok(Run { inputs: inputs.described, answer, not_decoded, outputs, clamped })
    }

    /// Draws the answer on the picture, if the user wants it.
    fn draw(&self, inputs: &Inputs, answer: Option<&Answer>) -> Result<(), CliError> {
        let Some(path) = &self.args.answer.draw else { return Ok(()) };
        let (Some(picture), Some(answer)) = (&inputs.picture, answer) else {
            let what =
                if inputs.picture.is_none() { "the input shows no picture" } else { "the outputs have no answer" };
            return Err(CliError::Usage(format!("--draw {}: {what} that could be drawn", printable(path))));
        };
        let mut picture = picture.clone();
        answer.draw(&mut picture);
        self.files.check()?;
        Ok(write_png(path, &picture)?)
    }
}

/// Returns the name of the folder with the outputs of one of several runs.
fn subfolder(index: usize, stem: &str) -> String {
    output_file_name(index, stem).trim_end_matches(".npy").to_owned()
}

impl Args {
    /// Declares the files that are read in addition to the model, and the files that will be written.
    fn declare(&self, graph: &Graph, runs: usize, files: &mut DistinctFiles) -> Result<(), CliError> {
        self.saved_plan.path().map_or(Ok(()), |plan| files.reads("the plan", plan))?;
        self.answer.labels().map_or(Ok(()), |labels| files.reads("the labels", labels))?;
        let inputs = self.inputs.paths()?;
        for path in &inputs {
            files.reads("an input", path)?;
        }
        if let Some(draw) = &self.answer.draw {
            files.writes("the drawing", draw)?;
        }
        let Some(folder) = &self.output else { return Ok(()) };
        let stems = inputs.iter().step_by(graph.caller_inputs().len().max(1));
        let below = stems.enumerate().map(|(index, path)| {
            folder.join(subfolder(index, &path.file_stem().unwrap_or_default().to_string_lossy()))
        });
        let folders = if runs > 1 { below.collect() } else { vec![folder.clone()] };
        folders.iter().try_for_each(|folder| declare_outputs(graph, folder, files)).map_err(CliError::from)
    }
}

/// Declares the files that will be written in a folder. A folder that does not exist yet has no files to overwrite.
fn declare_outputs(graph: &Graph, folder: &Path, files: &mut DistinctFiles) -> Result<(), IoError> {
    if folder.is_dir() {
        for (index, &tensor) in graph.caller_outputs().iter().enumerate() {
            let name = output_file_name(index, &graph.tensors[tensor].name);
            files.writes(&format!("output {index}"), &folder.join(name))?;
        }
    }
    Ok(())
}
