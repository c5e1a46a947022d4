//! Searches for a plan within a size. A size that no plan keeps is an answer here, not an error.

use super::{args::Search, error::CliError, setup_model};
use crate::report::{Fit, MemoryReport, PlanFigures, PlanRow, PlanRows};
use std::time::Duration;
use texpool_compile::{CompileError, CompileOptions, CompiledModel, DeviceProfile, Objective};
use texpool_ops::graph::Graph;
use texpool_plan::StopReason;

/// A plan to search for.
pub(super) struct PlanRequest {
    pub(super) name: String,
    /// Flags of `run` that select it.
    pub(super) flags: String,
    pub(super) objective: Objective,
}

/// The plain plan of a model, which other plans are compared with.
pub(super) struct Plain {
    naive_device_bytes: u64,
    pub(super) device_bytes: u64,
    predicted_us: f64,
}

impl Plain {
    pub(super) fn new(compiled: &CompiledModel, device_profile: &DeviceProfile) -> Self {
        let MemoryReport { naive_bytes, plan, .. } = MemoryReport::from_compiled(compiled);
        let device_bytes = compiled.device_bytes();
        Self {
            naive_device_bytes: (device_bytes + naive_bytes).saturating_sub(plan.bytes),
            device_bytes,
            predicted_us: compiled.predicted_us(device_profile),
        }
    }

    /// Returns the table of these rows.
    pub(super) fn table(&self, predicted_for: &str, rows: Vec<PlanRow>) -> PlanRows {
        let (naive_device_bytes, plain_ms) = (self.naive_device_bytes, self.predicted_us / 1e3);
        PlanRows { naive_device_bytes, predicted_for: predicted_for.to_owned(), plain_ms, rows }
    }

    /// Returns the row of a plan.
    pub(super) fn row(&self, name: &str, flags: &str, compiled: &CompiledModel, profile: &DeviceProfile) -> PlanRow {
        let (device_bytes, predicted_us) = (compiled.device_bytes(), compiled.predicted_us(profile));
        let figures = PlanFigures {
            device_bytes,
            pool_bytes: compiled.plan().bytes(),
            of_naive: device_bytes as f64 / self.naive_device_bytes.max(1) as f64,
            predicted_ms: predicted_us / 1e3,
            measured_ms: None,
            time_ratio: predicted_us / self.predicted_us,
        };
        PlanRow {
            name: name.to_owned(),
            flags: flags.to_owned(),
            fit: Fit::Fits,
            figures: Some(figures),
            least_bytes: None,
            stopped: compiled.stopped(),
        }
    }
}

/// Searches for a plan for `time`, or takes the stored one, as [`setup_model::kept_or_searched`] does. Returns its row,
/// and the model with the plan if there is one.
pub(super) fn search(
    graph: &Graph,
    request: &PlanRequest,
    options: &CompileOptions,
    plain: &Plain,
    (search, time): (&Search, Option<Duration>),
) -> Result<(PlanRow, Option<CompiledModel>), CliError> {
    let PlanRequest { name, flags, .. } = request;
    let missing = |fit, least_bytes, stopped| {
        (PlanRow { name: name.clone(), flags: flags.clone(), fit, figures: None, least_bytes, stopped }, None)
    };
    Ok(match setup_model::kept_or_searched(graph, options, search, time) {
        Ok((compiled, _)) => (plain.row(name, flags, &compiled, &options.device_profile), Some(compiled)),
        Err(CliError::Compile(CompileError::BelowFloor { floor, .. })) => missing(Fit::Impossible, Some(floor), None),
        Err(CliError::Compile(CompileError::DeviceBudget { least, stopped, .. })) => {
            // More time does not help if a limit of the search was reached.
            let more_time = !matches!(stopped, None | Some(StopReason::TooManyTensors));
            let fit = if more_time { Fit::Undecided } else { Fit::NotFound };
            missing(fit, Some(least).filter(|&least| least > 0), stopped)
        }
        Err(CliError::Interrupted { .. }) => missing(Fit::Undecided, None, Some(StopReason::Cancelled)),
        Err(error) => return Err(error),
    })
}
