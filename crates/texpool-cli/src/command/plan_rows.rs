//! The short answer of `texpool plan`: the plain plan, the plans for common sizes, and the smallest, side by side.

use super::{
    args::Search,
    error::CliError,
    fitting::{self, Plain, PlanRequest},
};
use crate::report::{Fit, PlanRow, PlanRows};
use std::time::Instant;
use texpool_compile::{CompileOptions, CompiledModel, Objective};
use texpool_ops::graph::Graph;

/// Sizes of the rows between the plain plan and the smallest, with their flags. The values are a choice.
const SIZES: [(&str, &str, u64); 2] = [("8 MiB", "--budget 8MiB", 8 << 20), ("4 MiB", "--budget 4MiB", 4 << 20)];

/// Part of an equal share of the deadline after which a stored plan is not searched for again. The value is a choice.
const MOST: f64 = 0.75;

/// The model that the rows are about.
pub(super) struct RowsOf<'a> {
    pub(super) graph: &'a Graph,
    /// The model with its plain plan.
    pub(super) plain: &'a CompiledModel,
    /// Returns the options for this objective.
    pub(super) options: &'a dyn Fn(Objective) -> CompileOptions,
    /// The device that the options' profile is of.
    pub(super) predicted_for: &'a str,
    /// True if the plans will be run.
    pub(super) keep: bool,
}

/// A row, and the model with its plan if there is one and it will be run.
type PlannedRow = (PlanRow, Option<CompiledModel>);

/// Searches for the rows; all searches together take the deadline of `search`.
pub(super) fn find(of: &RowsOf<'_>, search: &Search) -> Result<(PlanRows, Vec<CompiledModel>), CliError> {
    let profile = (of.options)(Objective::Fastest).device_profile;
    let plain = Plain::new(of.plain, &profile);
    let sizes = SIZES.into_iter().filter(|(_, _, bytes)| *bytes < plain.device_bytes);
    let sizes = sizes.map(|(name, flags, bytes)| (name, flags, Objective::Device(bytes)));
    let requests: Vec<PlanRequest> = sizes
        .chain([("smallest", "--objective smallest", Objective::Smallest)])
        .map(|(name, flags, objective)| PlanRequest { name: name.to_owned(), flags: flags.to_owned(), objective })
        .collect();
    let (begun, count) = (Instant::now(), requests.len());
    // A stored plan is good enough if its search had most of an equal share, whatever the other rows leave over this
    // time. Shares differ a little from call to call, and an equal share would be searched again for the difference.
    let share = search.deadline.map(|deadline| deadline.mul_f64(MOST) / count as u32);
    let shared = Search { deadline: share, ..search.clone() };
    let mut planned = vec![(plain.row("plain", "", of.plain, &profile), of.keep.then(|| of.plain.clone()))];
    for (index, request) in requests.iter().enumerate() {
        let remaining = (count - index) as u32;
        let time = search.deadline.map(|deadline| deadline.saturating_sub(begun.elapsed()) / remaining);
        let options = (of.options)(request.objective);
        let search = Search { row: Some(request.name.clone()), ..shared.clone() };
        let (row, compiled) = fitting::search(of.graph, request, &options, &plain, (&search, time))?;
        planned.push((row, compiled.filter(|_| of.keep)));
    }
    if let Some(bytes) = smaller_on_the_way(&planned) {
        // Rounded up, for a flag that is easy to read.
        let (kib, name) = (bytes.div_ceil(1024), "smallest".to_owned());
        let objective = Objective::Device(kib << 10);
        let request = PlanRequest { name: name.clone(), flags: format!("--budget {kib}KiB"), objective };
        let time = search.deadline.map(|deadline| deadline / count as u32);
        let search = Search { row: Some(name), ..shared };
        let (row, compiled) = fitting::search(of.graph, &request, &(of.options)(objective), &plain, (&search, time))?;
        if row.figures.is_some() {
            replace_smallest(&mut planned, (row, compiled.filter(|_| of.keep)));
        }
    }
    settle_smallest(&mut planned);
    let (rows, compiled): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    Ok((plain.table(of.predicted_for, rows), compiled.into_iter().flatten().collect()))
}

/// Returns the size of the smallest plan that a search for another row came upon, if it is smaller than every row.
fn smaller_on_the_way(rows: &[PlannedRow]) -> Option<u64> {
    let found = rows.iter().filter(|(row, _)| matches!(row.fit, Fit::NotFound | Fit::Undecided));
    let least = found.filter_map(|(row, _)| row.least_bytes).min()?;
    let figures = rows.iter().filter_map(|(row, _)| row.figures);
    figures.map(|figures| figures.device_bytes).all(|bytes| least < bytes).then_some(least)
}

/// Replaces the last row, the smallest, by another. The search for the last row may have been stopped.
fn replace_smallest(rows: &mut [PlannedRow], (row, compiled): PlannedRow) {
    if let Some(last) = rows.last_mut() {
        let stopped = last.0.stopped.or(row.stopped);
        *last = (PlanRow { name: "smallest".to_owned(), stopped, ..row }, compiled);
    }
}

/// Replaces the last row by another that is smaller, since a search that was stopped may not have found the smallest
/// plan. Removes it if the plain plan is as small.
fn settle_smallest(rows: &mut Vec<PlannedRow>) {
    let bytes = |(row, _): &PlannedRow| row.figures.map_or(u64::MAX, |figures| figures.device_bytes);
    let least = (0..rows.len()).min_by_key(|&index| bytes(&rows[index])).unwrap_or(0);
    let last = rows.len() - 1;
    if least == 0 {
        rows.truncate(last);
    } else if bytes(&rows[least]) < bytes(&rows[last]) {
        let row = rows[least].clone();
        replace_smallest(rows, row);
    }
}
