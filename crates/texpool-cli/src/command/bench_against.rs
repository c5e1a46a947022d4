//! `texpool bench --against`: marks the times that differ from those of an earlier call by more than noise.

use super::{device::Device, error::CliError, stats::Spread};
use crate::{
    io::{printable, read_bytes},
    report::StepTime,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write,
    path::Path,
};

/// The answer of an earlier `texpool bench --json`.
#[derive(Debug, Deserialize)]
pub(super) struct EarlierBench {
    model: String,
    device: Device,
    runs: usize,
    wall_ms: Spread,
    gpu_ms: Option<Spread>,
    cpu_ms: Spread,
    #[serde(flatten)]
    plan: PlanFigures,
    steps: Vec<EarlierStep>,
}

/// Figures of a plan, by which two plans of a model are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PlanFigures {
    pub(super) dispatches: usize,
    pub(super) pipelines: usize,
    pub(super) pool_bytes: u64,
    pub(super) weight_format: String,
}

#[derive(Debug, Deserialize)]
struct EarlierStep {
    operator: String,
    tensor: String,
    shape: Vec<usize>,
    gpu_ms: Option<f64>,
    gpu_ms_p10: Option<f64>,
    gpu_ms_p90: Option<f64>,
}

/// The later measurement.
pub(super) struct Measured<'a> {
    pub(super) device: &'a Device,
    pub(super) wall_ms: Spread,
    pub(super) gpu_ms: Option<Spread>,
    pub(super) cpu_ms: Spread,
    pub(super) plan: PlanFigures,
    pub(super) steps: &'a [StepTime],
}

/// The comparison of both.
#[derive(Serialize)]
pub(super) struct Changes {
    file: String,
    /// Runs of the earlier measurement.
    runs: usize,
    /// Differences between the two setups, device and plan, as sentences.
    notes: Vec<String>,
    wall_ms: Change,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_ms: Option<Change>,
    cpu_ms: Change,
    /// Steps of both, in the order of this run.
    steps: Vec<StepChange>,
    only_before: Vec<StepName>,
    only_now: Vec<StepName>,
}

/// The median of a time before and now.
#[derive(Clone, Copy, Serialize)]
struct Change {
    before: f64,
    now: f64,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Faster,
    Slower,
    WithinNoise,
}

#[derive(Serialize)]
struct StepChange {
    step: usize,
    #[serde(flatten)]
    name: StepName,
    #[serde(flatten)]
    change: Change,
}

/// Identifies a step in two measurements.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct StepName {
    operator: String,
    tensor: String,
    shape: Vec<usize>,
}

impl Change {
    /// A time has changed if the ranges between the percentiles of both measurements do not overlap.
    fn new(before: Spread, now: Spread) -> Self {
        let verdict = if now.p90 < before.p10 {
            Verdict::Faster
        } else if now.p10 > before.p90 {
            Verdict::Slower
        } else {
            Verdict::WithinNoise
        };
        Self { before: before.median, now: now.median, verdict }
    }

    /// Writes both medians, the change in percent, and the verdict.
    fn columns(self) -> String {
        let Self { before, now, verdict } = self;
        let verdict = match verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::WithinNoise => "noise",
        };
        let percent = if before > 0.0 { format!("{:+.1} %", 100.0 * (now / before - 1.0)) } else { "-".to_owned() };
        format!("{before:>9.3} {now:>9.3} {percent:>9}  {verdict}")
    }
}

/// Returns the spread of a step's median, tenth and ninetieth percentile, if it was timed.
fn spread([median, p10, p90]: [Option<f64>; 3]) -> Option<Spread> {
    Some(Spread { median: median?, p10: p10?, p90: p90? })
}

impl EarlierBench {
    /// Reads the answer from a file. Fails if it is about another model.
    pub(super) fn read(path: &Path, model: &str) -> Result<Self, CliError> {
        let bytes = read_bytes(path)?;
        let earlier: Self =
            serde_json::from_slice(&bytes).map_err(|source| CliError::NotABench { path: path.to_owned(), source })?;
        if earlier.model == model {
            Ok(earlier)
        } else {
            Err(CliError::OtherModel { path: path.to_owned(), found: earlier.model, wanted: model.to_owned() })
        }
    }

    /// Compares a later measurement of the same model.
    pub(super) fn compare(self, path: &Path, now: &Measured<'_>) -> Changes {
        let notes = self.notes(now);
        let name = |operator: &str, tensor: &str, shape: &[usize]| StepName {
            operator: operator.to_owned(),
            tensor: tensor.to_owned(),
            shape: shape.to_owned(),
        };
        // Names may occur several times, and then in the same order.
        let mut before: BTreeMap<StepName, VecDeque<Option<Spread>>> = BTreeMap::new();
        for step in &self.steps {
            before.entry(name(&step.operator, &step.tensor, &step.shape)).or_default().push_back(spread([
                step.gpu_ms,
                step.gpu_ms_p10,
                step.gpu_ms_p90,
            ]));
        }
        let (mut steps, mut only_now) = (Vec::new(), Vec::new());
        for step in now.steps {
            let name = name(&step.operator, &step.tensor, &step.shape);
            let Some(before) = before.get_mut(&name).and_then(VecDeque::pop_front) else {
                only_now.push(name);
                continue;
            };
            // Either device may have no timestamps.
            let now = spread([step.gpu_ms, step.gpu_ms_p10, step.gpu_ms_p90]);
            if let (Some(before), Some(now)) = (before, now) {
                steps.push(StepChange { step: step.step, name, change: Change::new(before, now) });
            }
        }
        let rest = before.into_iter().flat_map(|(name, left)| left.into_iter().map(move |_| name.clone()));
        let only_before = rest.collect();
        Changes {
            file: path.display().to_string(),
            runs: self.runs,
            notes,
            wall_ms: Change::new(self.wall_ms, now.wall_ms),
            gpu_ms: self.gpu_ms.zip(now.gpu_ms).map(|(before, now)| Change::new(before, now)),
            cpu_ms: Change::new(self.cpu_ms, now.cpu_ms),
            steps,
            only_before,
            only_now,
        }
    }

    fn notes(&self, now: &Measured<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        if self.device != *now.device {
            notes.push(format!("another device: {}, before {}", now.device, self.device));
        }
        let (before, now) = (&self.plan, &now.plan);
        let differ =
            |what: &str, now: String, before: String| (now != before).then(|| format!("{now} {what}, before {before}"));
        let figures = [
            differ("dispatches", now.dispatches.to_string(), before.dispatches.to_string()),
            differ("pipelines", now.pipelines.to_string(), before.pipelines.to_string()),
            differ("bytes of pool", now.pool_bytes.to_string(), before.pool_bytes.to_string()),
            differ("weights", now.weight_format.clone(), before.weight_format.clone()),
        ];
        let figures: Vec<String> = figures.into_iter().flatten().collect();
        if !figures.is_empty() {
            notes.push(format!("another plan: {}", figures.join("; ")));
        }
        notes
    }
}

impl Changes {
    /// The notes, the totals, and the `top` steps that changed by the most time.
    pub(super) fn text(&self, top: usize) -> String {
        let file = printable(&self.file);
        let mut text = format!("  against {file}: changed where the ranges from p10 to p90 do not overlap\n");
        for note in &self.notes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {}", printable(note));
        }
        let _ = writeln!(text, "  {:>5} {:>9} {:>9} {:>9}", "ms", "before", "now", "change");
        let totals = [("wall", Some(self.wall_ms)), ("gpu", self.gpu_ms), ("cpu", Some(self.cpu_ms))];
        for (name, change) in totals {
            if let Some(change) = change {
                let _ = writeln!(text, "  {name:>5} {}", change.columns());
            }
        }
        let moved = |step: &StepChange| (step.change.now - step.change.before).abs();
        let mut changed: Vec<&StepChange> =
            self.steps.iter().filter(|step| step.change.verdict != Verdict::WithinNoise).collect();
        changed.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
        for StepChange { step, name: StepName { operator, tensor, shape }, change } in changed.iter().take(top) {
            let _ = writeln!(text, "  {step:>5} {}  {operator} {} {shape:?}", change.columns(), printable(tensor));
        }
        let _ = write!(text, "  {} of {} steps changed", changed.len(), self.steps.len());
        for (only, when) in [(&self.only_before, "then"), (&self.only_now, "now")] {
            if !only.is_empty() {
                let _ = write!(text, "; {} only {when}", only.len());
            }
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Spread, Verdict};

    #[test]
    fn a_change_is_one_whose_ranges_do_not_overlap() {
        let spread = |p10, median, p90| Spread { median, p10, p90 };
        let before = spread(9.0, 10.0, 11.0);
        for (now, verdict) in [
            (spread(6.0, 7.0, 8.9), Verdict::Faster),
            (spread(6.0, 7.0, 9.0), Verdict::WithinNoise),
            (spread(11.1, 12.0, 20.0), Verdict::Slower),
            (spread(10.5, 30.0, 40.0), Verdict::WithinNoise),
            (before, Verdict::WithinNoise),
        ] {
            assert_eq!(Change::new(before, now).verdict, verdict, "{now:?}");
        }
        let text = Change::new(before, spread(4.0, 5.0, 6.0)).columns();
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["10.000", "5.000", "-50.0", "%", "faster"]);
        assert!(Change::new(spread(0.0, 0.0, 0.0), before).columns().contains(" - "));
    }
}
