//! Time of each operator in a benchmark: shares of the run, sums by kind of operator, and speeds.

use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write};
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
    /// Median time on the device; `None` if it has no timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_ms: Option<f64>,
    /// Share of the time of all steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Billions of floating point operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflop_per_s: Option<f64>,
    /// Billions of bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_per_s: Option<f64>,
}

/// Time of all operators of a kind.
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
}

/// Returns the share of a time, also if all times are zero.
fn share(ms: f64, all: f64) -> f64 {
    if all > 0.0 { ms / all } else { 0.0 }
}

/// Enters shares and speeds, and sums times by kind of operator, the longest first.
pub fn with_speeds(steps: &mut [StepTime]) -> Vec<KindTime> {
    let all: f64 = steps.iter().filter_map(|step| step.gpu_ms).sum();
    let mut kinds: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for step in steps.iter_mut() {
        let Some(ms) = step.gpu_ms else { continue };
        // Milliseconds and billions: `n / (ms / 1e3) / 1e9`.
        let speed = |n: f64| (ms > 0.0).then(|| n / ms / 1e6);
        step.share = Some(share(ms, all));
        step.gflop_per_s = step.flops.and_then(speed);
        step.gb_per_s = step.bytes.and_then(|bytes| speed(bytes as f64));
    }
    for step in steps.iter() {
        if let Some(ms) = step.gpu_ms {
            let (count, sum) = kinds.entry(&step.operator).or_default();
            (*count, *sum) = (*count + 1, *sum + ms);
        }
    }
    let kind = |(operator, (count, gpu_ms)): (&str, (usize, f64))| KindTime {
        operator: operator.to_owned(),
        count,
        gpu_ms,
        share: share(gpu_ms, all),
    };
    let mut kinds: Vec<KindTime> = kinds.into_iter().map(kind).collect();
    kinds.sort_by(|a, b| b.gpu_ms.total_cmp(&a.gpu_ms));
    kinds
}

/// Kinds that the line of sums names.
const KINDS: usize = 5;

/// The `top` slowest steps as a table, and the sums by kind of operator.
pub fn step_table(steps: &[StepTime], kinds: &[KindTime], top: usize) -> String {
    let mut timed: Vec<(&StepTime, f64)> = steps.iter().filter_map(|step| Some((step, step.gpu_ms?))).collect();
    if timed.is_empty() {
        return "  the device has no timestamps, so steps have no times\n".to_owned();
    }
    timed.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let all: f64 = timed.iter().map(|(_, ms)| ms).sum();
    let percent = |ms: f64| format!("{:.1} %", 100.0 * share(ms, all));
    let speed = |speed: Option<f64>| speed.map_or_else(|| "-".to_owned(), |speed| rounded(speed, 3));
    let mut text = format!(
        "  {:>5} {:>9} {:>7} {:>8} {:>8} {:>7}  {}\n",
        "step", "ms", "share", "so far", "GFLOP/s", "GB/s", "operator"
    );
    let mut sum = 0.0;
    for (step, ms) in timed.iter().take(top) {
        sum += ms;
        let stripes = if step.stripes == 1 { String::new() } else { format!(" in {} stripes", step.stripes) };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {:>5} {ms:>9.3} {:>7} {:>8} {:>8} {:>7}  {} {} {:?}{stripes}",
            step.step,
            percent(*ms),
            percent(sum),
            speed(step.gflop_per_s),
            speed(step.gb_per_s),
            step.operator,
            printable(&step.tensor),
            step.shape
        );
    }
    if timed.len() > top {
        let rest = all - sum;
        let _ = writeln!(
            text,
            "  {:>5} {rest:>9.3} {:>7}  {} more steps; --top all lists them",
            "",
            percent(rest),
            timed.len() - top
        );
    }
    let named: Vec<String> = kinds
        .iter()
        .take(KINDS)
        .map(|kind| format!("{} {} ({})", kind.operator, percent(kind.gpu_ms), kind.count))
        .collect();
    let others = if kinds.len() > KINDS { ", others less" } else { "" };
    let _ = writeln!(text, "\n  by operator: {}{others}", named.join(", "));
    text
}
