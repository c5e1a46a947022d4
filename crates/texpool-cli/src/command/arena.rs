//! `texpool plan --records` for buffers with alignments, gaps or fixed offsets, which require a single arena.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{capacity::CapacityAnswer, error::CliError, out, plan_files::PlanFiles, progress, stopped};
use crate::{io::printable, report::grouped};
use texpool_plan::{ArenaPlan, ArenaPlanner, ArenaProof, Buffer, arena_svg, io::buffers_to_csv};

/// Arguments for planning buffers in an arena.
pub(super) struct ArenaArgs<'a> {
    pub(super) capacity: Option<u64>,
    pub(super) deadline: Option<Duration>,
    pub(super) files: &'a PlanFiles<'a>,
}

/// The plan as printed in JSON.
#[derive(Serialize)]
struct ArenaDocument<'a> {
    #[serde(flatten)]
    plan: &'a ArenaPlan,
    /// The requested capacity; `answer` is `fits`, `impossible` or `undecided`.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'static str>,
    /// Duration of the search in seconds.
    seconds: f64,
}

pub(super) fn run(path: &Path, buffers: Vec<Buffer>, args: &ArenaArgs<'_>, json: bool) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut planner = ArenaPlanner::from_iter(buffers.iter().cloned());
    if let Some(capacity) = args.capacity {
        planner = planner.capacity(capacity);
    }
    let plan = progress::with_progress(args.deadline, |control| planner.plan_until(control))
        .map_err(|source| CliError::Records { path: path.into(), source })?;
    let seconds = begun.elapsed().as_secs_f64();
    let answer = args.capacity.map(|capacity| CapacityAnswer::of(plan.fits(capacity)));
    let code = answer.map_or(0, CapacityAnswer::exit_code);
    if json {
        let answer = answer.map(CapacityAnswer::word);
        out::json(&ArenaDocument { plan: &plan, capacity: args.capacity, answer, seconds })?;
    } else {
        out::text(&text(&plan, args.capacity.zip(answer), seconds))?;
    }
    stopped::say(plan.stopped, begun);
    // A plan that does not fit is not written, just as for usage records.
    if code == 0 {
        let svg = || Ok(arena_svg(&printable(path).to_string(), &buffers, &plan)?);
        args.files.write(svg, || Ok(buffers_to_csv(&buffers, Some(&plan))?))?;
    }
    stopped::exit(plan.stopped, code)
}

fn text(plan: &ArenaPlan, fitting: Option<(u64, CapacityAnswer)>, seconds: f64) -> String {
    let verdict = match fitting {
        Some((capacity, answer)) => answer.text(capacity, plan.total),
        None => format!("one arena of {}", grouped(plan.total)),
    };
    let proof = match plan.proof {
        ArenaProof::WidestStep => "the widest step needs as much".to_owned(),
        ArenaProof::Search => "a search has ruled out everything smaller".to_owned(),
        _ => format!("no plan is smaller than {}", grouped(plan.bound)),
    };
    format!("{verdict}; {proof}, {seconds:.3} s\n")
}
