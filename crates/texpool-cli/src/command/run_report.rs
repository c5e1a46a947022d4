//! The results of `texpool run`, and their JSON form.

use super::{device::Device, inputs::Input, less::Smaller, setup_model::PlanSource, timing::Timing};
use crate::{
    answer::{Answer, Class},
    report::{ClampedReport, MemoryReport, ValueSummary},
};
use serde::Serialize;
use std::path::Path;

/// The JSON document.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    #[serde(flatten)]
    pub(super) report: &'a MemoryReport,
    pub(super) plan_source: PlanSource,
    pub(super) device: &'a Device,
    /// Median time of some runs after the first, or of the first if that is long.
    pub(super) time_ms: f64,
    /// Number of runs of which it is the median.
    pub(super) timed_runs: usize,
    /// True if it is the time of the first run, in which the driver may have compiled shaders.
    pub(super) time_is_first_run: bool,
    /// Time from reading the model to the first answer.
    pub(super) cold_ms: f64,
    /// Comparison of a smaller plan with the plain one, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) smaller_plan: Option<&'a Smaller>,
    /// The only run.
    #[serde(flatten)]
    pub(super) run: Option<&'a Run>,
    /// Each run, if there are several.
    #[serde(skip_serializing_if = "<[Run]>::is_empty")]
    pub(super) runs: &'a [Run],
}

/// A run: its inputs, its outputs, and the answer.
#[derive(Serialize)]
pub(super) struct Run {
    pub(super) inputs: Vec<Input>,
    pub(super) answer: Option<Answer>,
    /// Why the outputs were not decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_decoded: Option<String>,
    pub(super) outputs: Vec<Output>,
    /// Values that were stored or used as an index in clamped form.
    pub(super) clamped: ClampedReport,
}

/// An output of a run.
#[derive(Serialize)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    #[serde(flatten)]
    pub(super) values: ValueSummary,
    /// Classes of the photo, the most likely first, if the answer has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) classes: Vec<Class>,
    pub(super) file: Option<String>,
}

/// What is said about all runs together.
pub(super) struct Shown<'a> {
    pub(super) report: &'a MemoryReport,
    pub(super) device: &'a Device,
    pub(super) timing: Timing,
    pub(super) less: String,
    /// The file with the drawing, if the user wanted one.
    pub(super) drawn: Option<&'a Path>,
    /// True if `--labels` could make classes of the output.
    pub(super) may_be_classes: bool,
}
