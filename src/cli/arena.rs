//! `texpool plan --records` on buffers with alignments, gaps or given places, which only an arena can hold.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    error::CliError,
    out, picture, progress,
    stopped::{self, DOES_NOT_FIT, UNDECIDED},
};
use crate::{
    io::{IoError, printable, write_atomic},
    plan::{ArenaPlan, ArenaPlanner, ArenaProof, Buffer, arena_svg, io::buffers_to_csv},
    report::grouped,
};

/// What is asked of the buffers.
pub(super) struct ArenaArgs<'a> {
    pub(super) capacity: Option<u64>,
    pub(super) deadline: Option<Duration>,
    /// Where to draw the plan.
    pub(super) picture: Option<&'a Path>,
    /// Where to write the plan as CSV.
    pub(super) write: Option<&'a Path>,
}

/// The plan as it is printed.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    plan: &'a ArenaPlan,
    /// The capacity asked for, and `fits`, `impossible` or `undecided`.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'static str>,
    /// Seconds that the search took.
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
    let fits = args.capacity.map(|capacity| plan.fits(capacity));
    let (answer, code) = match fits {
        None => (None, 0),
        Some(Some(true)) => (Some("fits"), 0),
        Some(Some(false)) => (Some("impossible"), DOES_NOT_FIT),
        Some(None) => (Some("undecided"), UNDECIDED),
    };
    if json {
        out::json(&Printed { plan: &plan, capacity: args.capacity, answer, seconds })?;
    } else {
        out::text(&text(&plan, args.capacity, answer, seconds))?;
    }
    stopped::say(plan.stopped, begun);
    // What does not fit is not written, as where there are records alone.
    if code == 0 {
        picture::write(args.picture, || Ok(arena_svg(&printable(path).to_string(), &buffers, &plan)?))?;
        if let Some(to) = args.write {
            let csv = buffers_to_csv(&buffers, Some(&plan))?;
            write_atomic(to, |file| file.write_all(csv.as_bytes())).map_err(|e| IoError::write(to, e))?;
        }
    }
    stopped::exit(plan.stopped, code)
}

fn text(plan: &ArenaPlan, capacity: Option<u64>, answer: Option<&str>, seconds: f64) -> String {
    let total = grouped(plan.total);
    let said = match (capacity.map(grouped), answer) {
        (Some(capacity), Some("fits")) => format!("fits into {capacity}: the plan ends at {total}"),
        (Some(capacity), Some("impossible")) => format!("does not fit into {capacity}: no plan does"),
        (Some(capacity), _) => format!("undecided: neither a plan within {capacity} was found, nor that there is none"),
        (None, _) => format!("one arena of {total}"),
    };
    let proof = match plan.proof {
        ArenaProof::WidestStep => "the widest step needs as much".to_owned(),
        ArenaProof::Search => "a search has ruled out everything smaller".to_owned(),
        ArenaProof::Unproven => format!("no plan is smaller than {}", grouped(plan.bound)),
    };
    format!("{said}; {proof}, {seconds:.3} s\n")
}
