//! `texpool plan --arena`: plans the arena of TensorFlow Lite Micro, and writes the plan into a copy of the model.

use super::{error::CliError, model_source::ModelSource, out, progress, stopped};
use crate::{
    io::{DistinctFiles, printable},
    report::{grouped, size},
};
use serde::Serialize;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use texpool_compile::parse_size;
use texpool_model::import::{load, micro::MicroArena};
use texpool_plan::{ArenaPlan, ArenaProof};

/// The plan beside the alternatives. All sizes are in bytes.
#[derive(Serialize)]
struct Answer<'a> {
    model: String,
    /// Number of tensors and scratch buffers that the runtime places in its arena.
    tensors: usize,
    /// Sum of all tensors, each in a place of its own.
    naive_bytes: u64,
    /// Size of the tensors' part of the arena by the runtime's own planner.
    runtime_bytes: u64,
    /// Size of that part by this plan.
    plan_bytes: u64,
    /// Lower bound on any plan in which no operator overwrites its operands.
    bound_bytes: u64,
    is_optimal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<texpool_plan::StopReason>,
    /// The copy of the model with the plan.
    file: Option<&'a Path>,
}

/// What the caller says of the arena.
pub(super) struct MicroArgs<'a> {
    /// File for a copy of the model with the plan.
    pub(super) write: Option<&'a Path>,
    /// Operators with the bytes of their scratch buffers.
    pub(super) scratch: &'a [(usize, u64)],
    pub(super) deadline: Option<Duration>,
}

/// Parses `OPERATOR=SIZE`.
pub(super) fn scratch(text: &str) -> Result<(usize, u64), String> {
    let (operator, bytes) = text.split_once('=').ok_or("say OPERATOR=SIZE, such as 12=4096")?;
    let operator = operator.parse().map_err(|_| format!("`{operator}` is no number of an operator"))?;
    Ok((operator, parse_size(bytes)?))
}

/// Plans the arena of a model for TensorFlow Lite Micro.
pub(super) fn run(
    model: &ModelSource,
    args: &MicroArgs<'_>,
    files: &mut DistinctFiles,
    json: bool,
) -> Result<(), CliError> {
    let MicroArgs { write, scratch, deadline } = *args;
    files.reads("the model", &model.path)?;
    let bytes = load(&model.path).map_err(|source| CliError::Unreadable(Box::new(source)))?;
    let micro = |source| CliError::Micro { path: model.path.clone(), source: Box::new(source) };
    let mut arena = MicroArena::read((*bytes).as_ref()).map_err(micro)?;
    for &(operator, bytes) in scratch {
        arena.scratch(operator, bytes).map_err(micro)?;
    }
    let begun = Instant::now();
    let plan = progress::with_progress(deadline, |control| arena.planner().plan_until(control))?;
    if let Some(file) = write {
        files.write(file, &arena.write(&plan).map_err(micro)?)?;
    }
    let answer = Answer {
        model: model.name(),
        tensors: arena.len(),
        naive_bytes: arena.naive_total(),
        runtime_bytes: arena.runtime_total().map_err(micro)?,
        plan_bytes: plan.total,
        bound_bytes: plan.bound,
        is_optimal: plan.is_optimal(),
        stopped: plan.stopped,
        file: write,
    };
    if json {
        out::json(&answer)?
    } else {
        out::text(&text(&answer, &plan))?
    }
    stopped::say(plan.stopped, begun);
    stopped::exit(plan.stopped, 0)
}

fn text(answer: &Answer<'_>, plan: &ArenaPlan) -> String {
    let Answer { model, tensors, naive_bytes, runtime_bytes, plan_bytes, bound_bytes, file, .. } = answer;
    let row = |name: &str, bytes: u64, note: &str| {
        format!("  {name:<34} {:>12}  {:>10}  {note}", grouped(bytes), size(bytes)).trim_end().to_owned() + "\n"
    };
    let proof = match plan.proof {
        ArenaProof::WidestStep | ArenaProof::Search => "proven the smallest".to_owned(),
        _ => format!("not proven; no plan is smaller than {}", grouped(*bound_bytes)),
    };
    let mut text = format!("{model}: {tensors} tensors in the arena of TensorFlow Lite Micro, in bytes\n\n");
    text += &row("each tensor in a place of its own", *naive_bytes, "");
    text += &row("the runtime's own planner", *runtime_bytes, "");
    text += &row("this plan", *plan_bytes, &proof);
    text += "\nVariables and the runtime's own data come on top, and scratch buffers for which the plan leaves no room\n\
             (--scratch OPERATOR=SIZE).\n";
    text += &match file {
        Some(file) => format!("{} has the plan; the runtime uses it by itself.\n", printable(file)),
        None => "--write FILE writes a copy of the model that makes the runtime use this plan.\n".to_owned(),
    };
    text
}
