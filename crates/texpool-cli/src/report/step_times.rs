//! Time of each operator in a benchmark: shares of the run, sums by kind of operator, and speeds.

use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write};
use texpool_compile::DeviceCeiling;
use texpool_plan::printable;

use super::rounded;

/// Time and work of an operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepTime {
    /// First step of the operator.
    pub step: usize,
    /// Number of stripes of rows, each of which is a step.
    pub stripes: usize,
    /// Kind of operator.
    pub operator: String,
    /// The tensor that it writes.
    pub tensor: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The kernels that compute it.
    pub kernels: Vec<&'static str>,
    /// Floating point operations, including those of unused lanes; `None` for operators without arithmetic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes of operands, weights and result, each counted once; `None` if the size of the weights is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes of the result among them.
    pub written_bytes: u64,
    /// Median time on the device; `None` if it has no timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_ms: Option<f64>,
    /// Tenth percentile of that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_ms_p10: Option<f64>,
    /// Ninetieth percentile of that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_ms_p90: Option<f64>,
    /// Share of the time of all steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Billions of floating point operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflop_per_s: Option<f64>,
    /// Billions of bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_per_s: Option<f64>,
    /// Share of the roofline: the least time that the device's ceilings allow, divided by the measured time. `None` if
    /// they were not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roofline: Option<f64>,
}

/// Time and work of all operators of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindTime {
    /// Kind of operator.
    pub operator: String,
    /// Number of operators.
    pub count: usize,
    /// Sum of their median times.
    pub gpu_ms: f64,
    /// Share of the time of all steps.
    pub share: f64,
    /// Sum of their floating point operations; `None` if they have no arithmetic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Sum of their bytes; `None` if one of them is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Billions of floating point operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflop_per_s: Option<f64>,
    /// Billions of bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_per_s: Option<f64>,
    /// Share of the roofline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roofline: Option<f64>,
}

/// Returns the share of a time, also if all times are zero.
fn share(ms: f64, all: f64) -> f64 {
    if all > 0.0 { ms / all } else { 0.0 }
}

/// Returns billions per second; `None` for a time that is too short to be measured.
fn speed(n: f64, ms: f64) -> Option<f64> {
    // `n / (ms / 1e3) / 1e9`.
    (ms > 0.0).then(|| n / ms / 1e6)
}

/// Sums steps as one kind. `all` is the time of all steps.
fn sum_of(operator: &str, steps: &[&StepTime], all: f64) -> KindTime {
    let gpu_ms = steps.iter().filter_map(|step| step.gpu_ms).sum();
    let flops = steps.iter().filter_map(|step| step.flops).reduce(|a, b| a + b);
    let bytes: Option<u64> = steps.iter().map(|step| step.bytes).sum();
    let best_ms: Option<f64> = steps.iter().map(|step| Some(step.roofline? * step.gpu_ms?)).sum();
    KindTime {
        operator: operator.to_owned(),
        count: steps.len(),
        gpu_ms,
        share: share(gpu_ms, all),
        flops,
        bytes,
        gflop_per_s: flops.and_then(|flops| speed(flops, gpu_ms)),
        gb_per_s: bytes.and_then(|bytes| speed(bytes as f64, gpu_ms)),
        roofline: best_ms.filter(|_| gpu_ms > 0.0).map(|best| best / gpu_ms),
    }
}

/// Returns the sum of the times of all steps.
fn all_ms(steps: &[StepTime]) -> f64 {
    steps.iter().filter_map(|step| step.gpu_ms).sum()
}

/// Enters shares and speeds, and shares of the roofline if the ceilings are known. Sums times and work by kind of
/// operator, the longest first.
pub fn with_speeds(steps: &mut [StepTime], ceiling: Option<&DeviceCeiling>) -> Vec<KindTime> {
    let all = all_ms(steps);
    for step in steps.iter_mut() {
        let Some(ms) = step.gpu_ms else { continue };
        step.share = Some(share(ms, all));
        step.gflop_per_s = step.flops.and_then(|flops| speed(flops, ms));
        step.gb_per_s = step.bytes.and_then(|bytes| speed(bytes as f64, ms));
        let written = step.written_bytes;
        let best_us =
            |ceiling: &DeviceCeiling, bytes: u64| ceiling.best_us(step.flops, bytes.saturating_sub(written), written);
        let best_ms = ceiling.zip(step.bytes).map(|(ceiling, bytes)| best_us(ceiling, bytes) / 1e3);
        step.roofline = best_ms.filter(|_| ms > 0.0).map(|best| best / ms);
    }
    let mut kinds: BTreeMap<&str, Vec<&StepTime>> = BTreeMap::new();
    for step in steps.iter().filter(|step| step.gpu_ms.is_some()) {
        kinds.entry(&step.operator).or_default().push(step);
    }
    let mut kinds: Vec<KindTime> = kinds.iter().map(|(operator, steps)| sum_of(operator, steps, all)).collect();
    kinds.sort_by(|a, b| b.gpu_ms.total_cmp(&a.gpu_ms));
    kinds
}

/// Line below the tables about their units.
const UNITS: &str = "  a multiply-add is two operations; operands, weights and results count once\n";

/// Line below the tables about the column of the roofline.
const ROOFLINE: &str = "  roofline: the least time by the ceilings of `texpool ceiling`, as a share of the time\n";

/// A row of a table of times.
struct Row {
    /// Number of the step, or of the operators.
    number: usize,
    ms: f64,
    gflop_per_s: Option<f64>,
    gb_per_s: Option<f64>,
    roofline: Option<f64>,
    name: String,
}

impl Row {
    fn of_step(step: &StepTime) -> Option<Self> {
        let stripes = if step.stripes == 1 { String::new() } else { format!(" in {} stripes", step.stripes) };
        Some(Self {
            number: step.step,
            ms: step.gpu_ms?,
            gflop_per_s: step.gflop_per_s,
            gb_per_s: step.gb_per_s,
            roofline: step.roofline,
            name: format!("{} {} {:?}{stripes}", step.operator, printable(&step.tensor), step.shape),
        })
    }

    fn of_kind(kind: &KindTime) -> Self {
        let &KindTime { count, gpu_ms, gflop_per_s, gb_per_s, roofline, .. } = kind;
        Self { number: count, ms: gpu_ms, gflop_per_s, gb_per_s, roofline, name: kind.operator.clone() }
    }

    /// Writes the row; `sum` is the time of the rows so far, and `all` that of all rows. The column of the roofline is
    /// left out if no row has it.
    fn write(&self, text: &mut String, [sum, all]: [f64; 2], has_roofline: bool) {
        let speed = |speed: Option<f64>| speed.map_or_else(|| "-".to_owned(), |speed| rounded(speed, 3));
        let Self { number, ms, gflop_per_s, gb_per_s, roofline, name } = self;
        let roofline = roofline.map_or_else(|| "-".to_owned(), |roofline| percent(roofline, 1.0));
        let roofline = if has_roofline { format!(" {roofline:>8}") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {number:>5} {ms:>9.3} {:>7} {:>8} {:>8} {:>7}{roofline}  {name}",
            percent(*ms, all),
            percent(sum, all),
            speed(*gflop_per_s),
            speed(*gb_per_s)
        );
    }
}

fn percent(ms: f64, all: f64) -> String {
    format!("{:.1} %", 100.0 * share(ms, all))
}

/// Writes the first `top` of the rows, which begin with the longest, and a line for the rest.
fn table([number, name]: [&str; 2], rows: &[Row], (top, rest): (usize, &str)) -> String {
    let all = rows.iter().map(|row| row.ms).sum();
    let has_roofline = rows.iter().any(|row| row.roofline.is_some());
    let roofline = if has_roofline { " roofline" } else { "" };
    let mut text = format!(
        "  {number:>5} {:>9} {:>7} {:>8} {:>8} {:>7}{roofline}  {name}\n",
        "ms", "share", "so far", "GFLOP/s", "GB/s"
    );
    let mut sum = 0.0;
    for row in rows.iter().take(top) {
        sum += row.ms;
        row.write(&mut text, [sum, all], has_roofline);
    }
    if let Some(more) = rows.len().checked_sub(top).filter(|&more| more > 0) {
        let _ = writeln!(text, "  {:>5} {:>9.3} {:>7}  {more} more {rest}", "", all - sum, percent(all - sum, all));
    }
    text
}

/// The `top` slowest steps as a table, then the kinds of operator that take the longest, and the sum of all steps.
pub fn step_table(steps: &[StepTime], kinds: &[KindTime], top: usize) -> String {
    let mut rows: Vec<Row> = steps.iter().filter_map(Row::of_step).collect();
    if rows.is_empty() {
        return "  the device has no timestamps, so steps have no times\n".to_owned();
    }
    rows.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let mut text = table(["step", "operator"], &rows, (top, "steps; --top all lists them"));
    text.push('\n');
    let rows: Vec<Row> = kinds.iter().map(Row::of_kind).collect();
    text += &table(["count", "by operator"], &rows, (top, "kinds of operator"));
    let all = sum_of("all steps", &steps.iter().collect::<Vec<_>>(), all_ms(steps));
    let has_roofline = kinds.iter().any(|kind| kind.roofline.is_some());
    Row::of_kind(&all).write(&mut text, [all.gpu_ms; 2], has_roofline);
    text + UNITS + if has_roofline { ROOFLINE } else { "" }
}
