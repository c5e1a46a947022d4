//! A model's plans for several sizes, side by side.

use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_plan::StopReason;

use super::{rounded, size};

/// Plans of a model, the fastest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRows {
    /// Device memory of the plain plan if every tensor had a texture of its own.
    pub naive_device_bytes: u64,
    /// The device that times are predicted for.
    pub predicted_for: String,
    /// Time of the plain plan, which ratios refer to.
    pub plain_ms: f64,
    /// The plans.
    pub rows: Vec<PlanRow>,
}

/// Answer to the question if a model fits within a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// There is a plan.
    Fits,
    /// No plan exists, which is proven.
    Impossible,
    /// A search that was completed found no plan.
    NotFound,
    /// A search found no plan before it was stopped.
    Undecided,
}

/// A plan, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRow {
    /// Name of the row.
    pub name: String,
    /// Flags of `run` and `bench` that select the plan.
    pub flags: String,
    /// Whether the plan was found.
    pub fit: Fit,
    /// The plan, if it was found.
    #[serde(flatten)]
    pub figures: Option<PlanFigures>,
    /// Without a plan: the least device memory that any plan needs (`impossible`), or the least that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_bytes: Option<u64>,
    /// Reason why the search was stopped early, if it was; a faster or smaller plan may exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
}

/// Memory and time of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFigures {
    /// Device memory of a session.
    pub device_bytes: u64,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// Device memory as a share of that with a texture for every tensor.
    pub of_naive: f64,
    /// Predicted time of a run.
    pub predicted_ms: f64,
    /// Median time of several runs, if a device ran the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ms: Option<f64>,
    /// Time divided by that of the plain plan; measured if both are measured.
    pub time_ratio: f64,
}

impl PlanRows {
    /// Enters measured times of the rows that were found, and their ratios to the measured time of the plain plan.
    #[must_use]
    pub fn measured(mut self, plain_ms: f64, times: &[f64]) -> Self {
        self.plain_ms = plain_ms;
        let all_figures = self.rows.iter_mut().filter_map(|row| row.figures.as_mut());
        for (figures, &ms) in all_figures.zip(times) {
            (figures.measured_ms, figures.time_ratio) = (Some(ms), ms / plain_ms);
        }
        self
    }

    fn is_measured(&self) -> bool {
        self.rows.iter().filter_map(|row| row.figures).any(|figures| figures.measured_ms.is_some())
    }
}

impl PlanRow {
    /// Says why there is no plan.
    pub fn missing(&self) -> String {
        let least = |before: &str| self.least_bytes.map(|least| format!("{before} {}", size(least)));
        match self.fit {
            Fit::Fits => String::new(),
            Fit::Impossible => least("every plan takes at least").unwrap_or_else(|| "no plan exists".to_owned()),
            Fit::NotFound => {
                format!("none was found{}", least("; the smallest that was takes").unwrap_or_default())
            }
            Fit::Undecided => {
                format!("not found in time{}", least("; the smallest so far takes").unwrap_or_default())
            }
        }
    }
}

impl PlanFigures {
    /// The ratio of times for a table, such as `1.16x`.
    pub fn ratio(&self) -> String {
        format!("{:.2}x", self.time_ratio)
    }
}

impl fmt::Display for PlanRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = if self.is_measured() { "measured time" } else { "predicted time" };
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
        writeln!(f, "  {:<width$} {:>11} {:>11} {:>9} {time:>15}", "plan", "device", "pool", "of naive")?;
        for row in &self.rows {
            match &row.figures {
                Some(figures) => {
                    let [device, pool] = [figures.device_bytes, figures.pool_bytes].map(size);
                    let share = format!("{:.1} %", 100.0 * figures.of_naive);
                    let line = format!(
                        "  {:<width$} {device:>11} {pool:>11} {share:>9} {:>15}  {}",
                        row.name,
                        figures.ratio(),
                        row.flags
                    );
                    writeln!(f, "{}", line.trim_end())?;
                }
                None => writeln!(f, "  {:<width$}   {}", row.name, row.missing())?,
            }
        }
        let ms = rounded(self.plain_ms, 3);
        match self.is_measured() {
            true => writeln!(f, "\n  times: measured, {ms} ms for the plain plan"),
            false => writeln!(f, "\n  times: predicted for {}, {ms} ms for the plain plan", self.predicted_for),
        }
    }
}
