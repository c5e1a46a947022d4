//! The planner on its own.

use pyo3::{exceptions::PyValueError, prelude::*};
use texpool::plan::{
    ArenaPlanner, Buffer, Layout, LayoutKind, PlanError, Planner, ProgressFn, SearchBudget, SearchControl, Strategy,
    UsageRecord, Uses, bounds, solve,
};

use crate::{errors::of_planner, options::duration, search::search, session::stop_name};

/// Sizes of the regions; region and offset of each record; name of the strategy; total; lower bound; reason why the
/// search ended early.
type PlanTuple = (Vec<u64>, Vec<usize>, Vec<u64>, String, u64, u64, Option<&'static str>);

/// Returns the names of all strategies, except for the planners that only `plan` knows.
#[pyfunction]
pub(crate) fn strategies() -> Vec<&'static str> {
    Strategy::ALL.iter().map(|strategy| strategy.name()).collect()
}

/// Places records. Each record consists of first step, last step and size.
#[pyfunction]
#[pyo3(signature = (records, strategy, alignment, capacity, deadline, progress))]
pub(crate) fn plan(
    py: Python<'_>,
    records: Vec<(usize, usize, u64)>,
    strategy: &str,
    alignment: u64,
    capacity: Option<u64>,
    deadline: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PlanTuple> {
    let records: Vec<UsageRecord> =
        records.into_iter().map(|(first, last, size)| UsageRecord::new(first, last, size)).collect();
    let planner = match strategy {
        "arena" => None,
        name => Some(name.parse::<Planner>().map_err(|error| PyValueError::new_err(error.to_string()))?),
    };
    let within = deadline.map(duration).transpose()?;
    let plan = search(py, progress, |tell: &mut ProgressFn<'_>| {
        let mut tell = |progress| tell(progress);
        let mut control = SearchControl::new().progress(&mut tell);
        if let Some(within) = within {
            control = control.timeout(within);
        }
        match planner {
            None => arena(&records, alignment, capacity, within.is_some(), &control),
            Some(planner) => regions(&records, planner, &control),
        }
    })?;
    plan.map_err(|error| of_planner(&error))
}

/// Places all records in a single arena.
fn arena(
    records: &[UsageRecord],
    alignment: u64,
    capacity: Option<u64>,
    has_deadline: bool,
    control: &SearchControl<'_>,
) -> Result<PlanTuple, PlanError> {
    for (record, &UsageRecord { first, last, .. }) in records.iter().enumerate() {
        if last < first {
            return Err(texpool::plan::InputError::ReversedInterval { record, first, last }.into());
        }
    }
    let mut planner = ArenaPlanner::from_iter(records.iter().map(|&record| Buffer::from(record).aligned(alignment)));
    if let Some(capacity) = capacity {
        planner = planner.capacity(capacity);
    }
    if has_deadline {
        // The deadline limits the search instead of the number of placements.
        planner = planner.effort(u64::MAX);
    }
    let plan = planner.plan_until(control)?;
    let stopped = plan.stopped.map(stop_name);
    Ok((vec![plan.total], vec![0; records.len()], plan.offsets, "arena".to_owned(), plan.total, plan.bound, stopped))
}

/// Places the records in textures, or in an arena if the strategy is for arenas.
fn regions(records: &[UsageRecord], planner: Planner, control: &SearchControl<'_>) -> Result<PlanTuple, PlanError> {
    let (layout, name, bound, stopped) = match planner {
        Planner::Strategy(strategy) if strategy.problem() == LayoutKind::Offsets => {
            let bound = bounds(records)?.offsets;
            (strategy.place_until(records, control)?, strategy.name().to_owned(), bound, control.stopped())
        }
        planner => {
            let solution = solve(records, Uses::FirstAndLast, planner, SearchBudget::default(), control)?;
            // The widest step is a lower bound for any kind of plan. The certificate applies to Shared Objects only.
            let bound = match solution.layout.problem {
                LayoutKind::SharedObjects => solution.certificate.bound,
                _ => solution.bounds.offsets,
            };
            (solution.layout, solution.strategy, bound, solution.stopped)
        }
    };
    let total = layout.total();
    let Layout { regions, places, .. } = layout;
    let (region, offset) = places.into_iter().map(|place| (place.region, place.offset)).unzip();
    Ok((regions, region, offset, name, total, bound, stopped.map(stop_name)))
}
