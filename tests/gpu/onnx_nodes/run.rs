//! A case through the importer, the CPU references and the device.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use texpool_gpu::{Executor, ExecutorOptions, Gpu, SharedPipelines};
use texpool_model::import::Array;
use texpool_ops::{
    graph::{InputValues, TensorId},
    ops::reference,
};

use super::{
    binding::{ImportedCase, import},
    case::Case,
    package::Files,
};

/// The way in which a passing case was computed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// Every input was passed at run time.
    AtRunTime,
    /// These inputs were bound as constants.
    Bound(Vec<usize>),
    /// All inputs were bound: the importer computed the result.
    OnImport,
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed(How),
    /// It runs with a wrong answer, or fails to run.
    Failed(String),
    /// The importer refuses it.
    Refused(String),
    /// Its data are 64-bit floats; it passes if they are converted to 32 bits.
    Narrowed(String),
    /// Its data have an unsupported type.
    Type(String),
}

/// Runs a case; one with 64-bit floats is then run in 32 bits.
pub(crate) fn run(gpu: &Gpu, pipelines: &SharedPipelines, files: &Files) -> Outcome {
    let outcome = run_as(gpu, pipelines, files, false);
    match outcome {
        Outcome::Type(reason) if matches!(run_as(gpu, pipelines, files, true), Outcome::Passed(_)) => {
            Outcome::Narrowed(reason)
        }
        outcome => outcome,
    }
}

fn run_as(gpu: &Gpu, pipelines: &SharedPipelines, files: &Files, narrow: bool) -> Outcome {
    let case = match Case::read(files, narrow) {
        Ok(case) => case,
        Err(reason) => return Outcome::Type(reason),
    };
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let imported = match import(&case) {
            Ok(imported) => imported,
            Err(reason) if OF_TYPE.iter().any(|words| reason.contains(words)) => return Outcome::Type(reason),
            Err(reason) => return Outcome::Refused(reason),
        };
        match computed(gpu, pipelines, &case, &imported) {
            Err(reason) => Outcome::Failed(reason),
            Ok(()) if imported.bound.is_empty() => Outcome::Passed(How::AtRunTime),
            Ok(()) if imported.graph.inputs.is_empty() => Outcome::Passed(How::OnImport),
            Ok(()) => Outcome::Passed(How::Bound(imported.bound.clone())),
        }
    }));
    ran.unwrap_or_else(|panic| Outcome::Failed(format!("it panics: {}", panic_message(&*panic))))
}

/// Parts of refusals that are due to a type.
const OF_TYPE: [&str; 5] = ["elements are of type", "is a sequence", "is a map", "is a sparse tensor", "is a optional"];

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned())).unwrap_or_default()
}

fn computed(gpu: &Gpu, pipelines: &SharedPipelines, case: &Case, imported: &ImportedCase) -> Result<(), String> {
    let graph = &imported.graph;
    let input = |&tensor: &TensorId| -> Vec<f32> {
        let name = &graph.tensors[tensor].name;
        let at = case.facts.inputs.iter().position(|input| input == name);
        at.and_then(|at| case.inputs.get(at)).map(|array| array.to_f32().into_owned()).unwrap_or_default()
    };
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(input).collect();
    let reference = reference::outputs(graph, &inputs).map_err(|e| e.to_string()).and_then(|mut outputs| {
        let dims = graph.cut_outputs(&mut outputs);
        judge(case, (&outputs, &dims))
    });
    let options = ExecutorOptions { pipelines: pipelines.clone(), poison: true, ..ExecutorOptions::default() };
    let given: Vec<_> = inputs.iter().map(InputValues::from).collect();
    let mut outputs: Vec<_> = graph.caller_outputs().iter().map(|&y| vec![0.0; graph.shape(y).len()]).collect();
    let device = Executor::new(gpu, graph, &options)
        .and_then(|mut session| session.run_into(&given, &mut outputs))
        .map_err(|e| e.to_string())
        .and_then(|dims| judge(case, (&outputs, &dims)));
    match (reference, device) {
        (Ok(()), Ok(())) => Ok(()),
        (Ok(()), Err(device)) => Err(format!("the device alone: {device}")),
        (Err(reference), Ok(())) => Err(format!("the reference alone: {reference}")),
        (Err(reference), Err(_)) => Err(reference),
    }
}

fn judge(case: &Case, (outputs, dims): (&[Vec<f32>], &[Vec<usize>])) -> Result<(), String> {
    if outputs.len() != case.outputs.len() {
        return Err(format!("{} results where {} are expected", outputs.len(), case.outputs.len()));
    }
    for (i, (actual, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
        if dims[i] != expected.dims() {
            return Err(format!("result {i} has the extents {:?}, not {:?}", dims[i], expected.dims()));
        }
        if let Some(difference) = difference(actual, expected, case) {
            return Err(format!("result {i}: {difference}"));
        }
    }
    Ok(())
}

/// Largest difference beyond the tolerance; integers must be equal.
fn difference(actual: &[f32], expected: &Array, case: &Case) -> Option<String> {
    let (rtol, atol) = if expected.element_type().is_float() { (case.rtol, case.atol) } else { (0.0, 0.0) };
    let values = expected.to_f32();
    let beyond = |(&a, &b): (&f32, &f32)| {
        let over = (a - b).abs() - (atol + rtol * b.abs());
        let over = if over.is_nan() { f32::INFINITY } else { over };
        if a == b || a.is_nan() && b.is_nan() { 0.0 } else { over }
    };
    let overs: Vec<f32> = actual.iter().zip(values.iter()).map(beyond).collect();
    let wrong = overs.iter().filter(|&&over| over > 0.0).count();
    let worst = (0..overs.len()).max_by(|&a, &b| overs[a].total_cmp(&overs[b])).filter(|_| wrong > 0)?;
    let (a, b) = (actual[worst], values[worst]);
    Some(format!("{wrong} of {} values differ, the most at {worst}: {a}, not {b}", overs.len()))
}
