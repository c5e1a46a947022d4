//! What `texpool run` prints: the answer in about ten lines, and the whole report on request.

use super::{
    hint,
    reading::Reading,
    run_report::{Output, Run, Shown},
};
use crate::{
    answer::Answer,
    io::printable,
    report::{DeviceMemoryReport, MemoryReport, PartBytes, rounded, size},
};
use std::fmt::Write;

/// Most outputs that are listed unasked.
const OUTPUTS: usize = 6;

// Writing to a string cannot fail, so its results are dropped below.

/// Returns the picture and what is in it, or the outputs in numbers.
pub(super) fn of_run(run: &Run, reading: &Reading) -> String {
    let mut text = String::new();
    for input in &run.inputs {
        let _ = writeln!(text, "{}", input.short());
    }
    text.push('\n');
    match &run.answer {
        Some(answer) => {
            let _ = write!(text, "{answer}");
            let unnamed = answer.classes().iter().any(|class| class.label.is_none());
            if let (true, Some(list)) = (unnamed, reading.missing()) {
                let _ = writeln!(text, "  `texpool models fetch {list}` brings the names of the classes");
            }
        }
        None => outputs(&mut text, run),
    }
    for sentence in &run.clamped.sentences {
        let _ = writeln!(text, "{sentence}");
    }
    text
}

/// Lists outputs by name, extents and range.
fn outputs(text: &mut String, run: &Run) {
    if let Some(why) = &run.not_decoded {
        let _ = writeln!(text, "  {why}:");
    }
    for Output { name, shape, values, .. } in run.outputs.iter().take(OUTPUTS) {
        let _ = writeln!(text, "  {} {shape:?}  {values}", printable(name));
    }
    if run.outputs.len() > OUTPUTS {
        let _ = writeln!(text, "  … {} more; --details lists all", run.outputs.len() - OUTPUTS);
    }
}

/// Returns the time, the memory, and what else the command can show.
pub(super) fn of_session(shown: &Shown<'_>, runs: &[Run]) -> String {
    let Shown { report, device, timing, less, drawn, may_be_classes } = shown;
    let cold = if timing.is_first { " (the first run, with its preparations)" } else { "" };
    let mut text = format!("{} on {}{cold}", time(timing.ms), name(&device.name));
    if let Some(memory) = &report.device_memory {
        let _ = write!(text, " · {}", parts(memory));
    }
    let _ = writeln!(text, "\n{less}");
    if let Some(reason) = report.stopped {
        let _ = write!(
            text,
            "The search for the plan was stopped: {reason}; a smaller pool may exist\n{}",
            hint::stopped(Some(reason))
        );
    }
    let first = runs.first();
    let saves = match first.and_then(|run| run.outputs.first()?.file.as_ref()) {
        Some(_) => "saved in the folder of --output".to_owned(),
        None => match first.map(|run| &run.answer) {
            Some(Some(Answer::Classes(list))) => format!("--output DIR saves all {}", list.of),
            _ => "--output DIR saves the outputs".to_owned(),
        },
    };
    let draws = match (drawn, first.map(|run| &run.answer)) {
        (Some(path), _) => format!("drawn in {} · ", printable(path)),
        (None, Some(Some(Answer::Classes(_) | Answer::Text(_)))) => String::new(),
        (None, Some(Some(_))) => "--draw FILE.png draws it · ".to_owned(),
        (None, _) if *may_be_classes => "--labels FILE names classes · ".to_owned(),
        (None, _) => String::new(),
    };
    text + &draws + &saves + " · --details shows the plan · --json\n"
}

/// Returns the inputs and outputs in numbers, and the memory report.
pub(super) fn details(runs: &[Run], report: &MemoryReport) -> String {
    let mut text = String::new();
    for run in runs {
        text.push('\n');
        for (i, input) in run.inputs.iter().enumerate() {
            let _ = writeln!(text, "input {i} {input}");
        }
        for (i, Output { name, shape, values, classes, file }) in run.outputs.iter().enumerate() {
            let to = file.as_ref().map(|f| format!(", in {}", printable(f))).unwrap_or_default();
            let _ = writeln!(text, "output {i} {} {shape:?}: {values}{to}", printable(name));
            for class in classes {
                let label =
                    class.label.as_deref().map_or_else(|| "class".to_owned(), |label| printable(label).to_string());
                let _ = writeln!(text, "  {:.3}  {label} ({})", class.share, class.index);
            }
        }
    }
    text + "\n" + &report.to_string() + hint::stopped(report.stopped)
}

/// `70 ms`, `2.3 ms` or `3.4 s`.
fn time(ms: f64) -> String {
    match ms {
        ..10.0 => format!("{} ms", rounded(ms, 2)),
        10.0..10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

/// The device's name without the details in parentheses that software drivers add.
fn name(device: &str) -> &str {
    device.split(" (").next().unwrap_or(device)
}

/// `20.4 MiB of the device (pool 6.3, weights 13.3, other 0.8)`
fn parts(memory: &DeviceMemoryReport) -> String {
    let PartBytes { pool, weights, io, tables, transfer, other } = memory.parts;
    let all = memory.parts.sum();
    let unit = if all < 1 << 20 { 1024.0 } else { 1048576.0 };
    let [pool, weights, other] = [pool, weights, io + tables + transfer + other].map(|bytes| bytes as f64 / unit);
    let all = if all < 1 << 30 { size(all) } else { format!("{:.1} MiB", all as f64 / unit) };
    format!("{all} of the device (pool {pool:.1}, weights {weights:.1}, other {other:.1})")
}

#[cfg(test)]
mod tests {
    use super::{name, parts, time};
    use crate::report::{DeviceMemoryReport, PartBytes};

    #[test]
    fn times_have_two_digits_or_more() {
        assert_eq!(
            [0.0421, 2.345, 70.4, 1234.0, 12_345.0].map(time),
            ["0.042 ms", "2.3 ms", "70 ms", "1234 ms", "12.3 s"]
        );
    }

    #[test]
    fn memory_is_in_the_unit_of_its_sum() {
        let memory = |pool, weights, other| {
            let parts = PartBytes { pool, weights, other, ..PartBytes::default() };
            parts_of(parts)
        };
        let mib = 1 << 20;
        assert_eq!(memory(6 * mib, 13 * mib, mib / 2), "19.5 MiB of the device (pool 6.0, weights 13.0, other 0.5)");
        assert_eq!(memory(1024, 0, 512), "1.5 KiB of the device (pool 1.0, weights 0.0, other 0.5)");
        assert_eq!(memory(1 << 30, 0, 0), "1024.0 MiB of the device (pool 1024.0, weights 0.0, other 0.0)");
    }

    fn parts_of(parts_: PartBytes) -> String {
        let planned = parts_;
        parts(&DeviceMemoryReport { parts: parts_, allocated_peak: None, reserved: None, reserved_peak: None, planned })
    }

    #[test]
    fn devices_are_called_by_their_short_name() {
        assert_eq!(name("llvmpipe (LLVM 15.0.6, 256 bits)"), "llvmpipe");
        assert_eq!(name("NVIDIA H100 80GB HBM3"), "NVIDIA H100 80GB HBM3");
    }
}
