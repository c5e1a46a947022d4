//! Plans in phases: what is asked for, and which point of the front answers it.

use super::{
    CompileError, CompileOptions,
    fronts::{Found, Fronts},
};
use crate::{
    plan::{Plan, SearchControl},
    schedule::{Schedule, phases::Segment},
};

/// Whether operators run band by band of rows, and how far that goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Every operator runs once, over all rows.
    #[default]
    Off,
    /// The point of the front with the least product of bytes and time: beyond it a percent of bytes costs more than a
    /// percent of time.
    Auto,
    /// The smallest pool that is found.
    Min,
    /// The fastest plan whose pool takes no more than so many bytes.
    Budget(u64),
}

/// Where a schedule is fullest: what keeps its pool from being smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The step.
    pub step: usize,
    /// Its operator.
    pub operator: &'static str,
    /// The tensor it writes.
    pub tensor: String,
    /// The segment it is in, counted from none; none where there are no phases.
    pub segment: Option<usize>,
}

/// One point of the front: a schedule and its plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of the rows alive at the fullest step of this schedule; no placement of it takes less.
    pub live_bytes: u64,
    /// The fullest step.
    pub peak: Peak,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Operators that run interleaved, and in how many phases; empty for the point without phases.
    pub segments: Vec<Segment>,
    /// Its steps.
    pub schedule: Schedule,
    /// The pool, checked.
    pub plan: Plan,
}

/// The point that `options` asks for.
pub(super) fn choose(
    fronts: &Fronts<'_>,
    options: &CompileOptions,
    too_many_rows: Option<u64>,
    control: &SearchControl<'_>,
) -> Result<Option<Point>, CompileError> {
    if options.phases == Phases::Auto {
        return fronts.best_product(control).map(Some);
    }
    let placed = fronts.placed(control)?;
    let Phases::Budget(bytes) = options.phases else {
        return Ok(fronts.all(placed, control)?.pop().map(|least| fronts.point(least)));
    };
    let fits = |found: &Found| found.placed.bytes <= bytes;
    if let Some(fitting) = fronts.unbeaten(&placed).into_iter().find(fits) {
        return Ok(Some(fronts.point(fitting)));
    }
    match fronts.all(placed, control)?.pop() {
        Some(least) if !fits(&least) => Err(CompileError::Budget {
            bytes,
            least: least.placed.bytes,
            phases: !least.placed.segments.is_empty(),
            stopped: control.stopped(),
            too_many_rows,
        }),
        least => Ok(least.map(|least| fronts.point(least))),
    }
}
