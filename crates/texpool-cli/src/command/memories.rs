//! `texpool plan --records --memory`: places buffers in several memories at the least cost.

use std::{
    fmt::Write,
    path::Path,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{error::CliError, option_names::repeated, out, plan_files::PlanFiles, progress, stopped};
use crate::{io::printable, report::grouped};
use texpool_compile::parse_size;
use texpool_plan::{
    Buffer, Layout, LayoutKind, MemoriesPlan, MemoriesPlanner, Memory, Place, UsageRecord,
    io::{memories_to_csv, memory_choices_from_text},
    plan_svg,
};

/// Arguments for planning several memories.
pub(super) struct MemoriesArgs<'a> {
    pub(super) memories: &'a [Memory],
    pub(super) deadline: Option<Duration>,
    pub(super) files: &'a PlanFiles<'a>,
}

/// The plan as printed in JSON.
#[derive(Serialize)]
struct MemoriesDocument<'a> {
    memories: Vec<MemoryUse<'a>>,
    #[serde(flatten)]
    plan: &'a MemoriesPlan,
    /// Duration of the search in seconds.
    seconds: f64,
}

/// A memory and its share of the plan.
#[derive(Serialize)]
struct MemoryUse<'a> {
    name: &'a str,
    /// The requested capacity; absent if the memory takes any buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    /// End of the last unit in use.
    total: u64,
    /// Number of buffers.
    buffers: usize,
}

/// Parses `NAME` or `NAME=SIZE`.
pub(super) fn memory(text: &str) -> Result<Memory, String> {
    let (name, capacity) = match text.split_once('=') {
        Some((name, size)) => (name, Some(parse_size(size)?)),
        None => (text, None),
    };
    if name.is_empty() {
        return Err(format!("`{text}` names no memory: write NAME or NAME=SIZE, such as sram=512KiB"));
    }
    let memory = Memory::new().named(name);
    Ok(match capacity {
        Some(capacity) => memory.capacity(capacity),
        None => memory,
    })
}

/// Plans the buffers of `text`, the contents of the file at `path`.
pub(super) fn run(path: &Path, text: &str, args: &MemoriesArgs<'_>, json: bool) -> Result<(), CliError> {
    if let Some(name) = repeated(args.memories.iter().map(|memory| memory.name.as_str())) {
        return Err(CliError::Usage(format!("--memory names `{}` twice", printable(name))));
    }
    let wrong = |source| CliError::Records { path: path.into(), source };
    let mut planner = MemoriesPlanner::new(args.memories.iter().cloned());
    let mut buffers = Vec::new();
    for (mut buffer, choices) in memory_choices_from_text(text, args.memories).map_err(wrong)? {
        // An offset is that of an earlier plan, which may be of another memory.
        buffer.offset = None;
        buffers.push(buffer.clone());
        planner.add(buffer, choices);
    }
    let begun = Instant::now();
    let plan = progress::with_progress(args.deadline, |control| planner.plan_until(control)).map_err(wrong)?;
    let seconds = begun.elapsed().as_secs_f64();
    let memories: Vec<MemoryUse<'_>> = (0..args.memories.len()).map(|at| used(args.memories, &plan, at)).collect();
    if json {
        out::json(&MemoriesDocument { memories, plan: &plan, seconds })?;
    } else {
        out::text(&table(&memories, &plan, seconds))?;
    }
    stopped::say(plan.stopped, begun);
    let svg = || {
        let records: Vec<UsageRecord> = buffers.iter().map(record).collect();
        Ok(plan_svg(&printable(path).to_string(), &records, &layout(&plan))?)
    };
    args.files.write(svg, || Ok(memories_to_csv(&buffers, args.memories, &plan)?))?;
    stopped::exit(plan.stopped, 0)
}

fn used<'a>(memories: &'a [Memory], plan: &MemoriesPlan, at: usize) -> MemoryUse<'a> {
    let Memory { name, capacity, .. } = &memories[at];
    let buffers = plan.places.iter().filter(|place| place.memory == at).count();
    MemoryUse { name, capacity: *capacity, total: plan.totals[at], buffers }
}

/// Prints a row for each memory, and the cost.
fn table(memories: &[MemoryUse<'_>], plan: &MemoriesPlan, seconds: f64) -> String {
    let width = memories.iter().map(|memory| memory.name.chars().count()).max().unwrap_or(0).max("memory".len());
    let mut text = format!("{:<width$} {:>15} {:>15} {:>8}\n", "memory", "in use", "capacity", "buffers");
    for &MemoryUse { name, capacity, total, buffers } in memories {
        let (total, capacity) = (grouped(total), capacity.map_or("any".into(), grouped));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<width$} {total:>15} {capacity:>15} {buffers:>8}", printable(name).to_string());
    }
    let proof = match plan.is_optimal() {
        true => "no plan costs less".to_owned(),
        false => format!("no plan costs less than {}", grouped(plan.bound)),
    };
    text + &format!("cost {}; {proof}, {seconds:.3} s\n", grouped(plan.cost))
}

/// Returns the buffer's life and size, which is what the picture shows.
fn record(buffer: &Buffer) -> UsageRecord {
    UsageRecord::new(buffer.live.start, buffer.live.end - 1, buffer.size)
}

/// Returns the plan with a region for each memory.
fn layout(plan: &MemoriesPlan) -> Layout {
    let places = plan.places.iter().map(|place| Place { region: place.memory, offset: place.offset });
    Layout { problem: LayoutKind::Offsets, regions: plan.totals.clone(), places: places.collect() }
}

#[cfg(test)]
mod tests {
    use super::{Memory, memory};

    #[test]
    fn memories_have_names_and_sizes() {
        assert_eq!(memory("sram=2KiB"), Ok(Memory::new().named("sram").capacity(2048)));
        assert_eq!(memory("dram"), Ok(Memory::new().named("dram")));
        for wrong in ["", "=2KiB", "sram=", "sram=much"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }
}
