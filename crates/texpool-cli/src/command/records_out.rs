//! `texpool plan MODEL --records-out`: writes a model's usage records for other planners.

use std::{collections::HashSet, path::Path};

use super::{error::CliError, out};
use crate::{
    io::{DistinctFiles, printable},
    report::size,
};
use texpool_compile::{
    CompiledModel,
    schedule::{Contents, Storage},
};
use texpool_ops::graph::Op;
use texpool_plan::{
    Buffer, UsageRecord,
    io::{RecordSet, buffers_to_csv, to_json},
    naive_total,
};

/// Parses an alignment in bytes.
pub(super) fn alignment(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no alignment: write a power of two, such as 64");
    text.parse::<u64>().ok().filter(|bytes| bytes.is_power_of_two()).ok_or_else(wrong)
}

/// The records that are written, and how.
#[derive(Clone, Copy)]
pub(super) struct RecordsOut<'a> {
    pub(super) to: Option<&'a Path>,
    /// Sizes are rounded up to multiples of this.
    pub(super) align: u64,
    /// Name the operand in whose place a function of each element may compute its result.
    pub(super) in_place: bool,
}

/// Writes the records of a plan of whole tensors, as JSON if the name ends in `.json`, and otherwise as minimalloc's
/// CSV. Says so on standard error.
pub(super) fn write(options: RecordsOut<'_>, compiled: &CompiledModel, files: &DistinctFiles) -> Result<(), CliError> {
    let RecordsOut { to: Some(to), align, in_place } = options else { return Ok(()) };
    let mut buffers = buffers(compiled, align);
    let json = to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if in_place && json {
        let why = "JSON has no field for buffers computed in place of others; write CSV, to a name in `.csv`";
        return Err(CliError::Usage(format!("{}: {why}", printable(to))));
    }
    let total = naive_total(&records(&buffers))?;
    let pairs = if in_place { name_pairs(compiled, &mut buffers) } else { 0 };
    let text = match json {
        true => {
            let names = buffers.iter().map(|buffer| buffer.name.clone()).collect();
            to_json(&RecordSet { names, records: records(&buffers), offsets: None })?
        }
        false => buffers_to_csv(&buffers, None)?,
    };
    files.write(to, text.as_bytes())?;
    let pairs = if in_place { format!(", {pairs} of them computed in place of others") } else { String::new() };
    let (count, total) = (buffers.len(), size(total));
    out::stderr(&format!("wrote {count} records to {}, {total} without sharing{pairs}", printable(to)));
    Ok(())
}

/// Returns the buffers in bytes, rounded up to multiples of `align`. A tensor counts its values without the padding
/// of texels, as a runtime on a processor stores it; streamed weights count as they are packed.
fn buffers(compiled: &CompiledModel, align: u64) -> Vec<Buffer> {
    let (schedule, graph) = (compiled.schedule(), compiled.graph());
    let texel_bytes = compiled.format().texel_bytes();
    let value_bytes = texel_bytes / 4;
    let mut used = HashSet::new();
    let pooled = (0..).zip(&schedule.storages).filter_map(|(id, storage)| Some((id, storage, schedule.record(id)?)));
    let buffer = |(id, storage, record): (usize, &Storage, usize)| {
        let bytes = match storage.contents {
            Contents::Tensor(tensor) => graph.shape(tensor).len() as u64 * value_bytes,
            Contents::Weights(_) => storage.texels() * texel_bytes,
        };
        let UsageRecord { first, last, .. } = schedule.records[record];
        let name = unused(schedule.name_of(graph, id), &mut used);
        Buffer::new(first..last + 1, bytes.next_multiple_of(align)).named(name)
    };
    pooled.map(buffer).collect()
}

fn records(buffers: &[Buffer]) -> Vec<UsageRecord> {
    buffers.iter().map(|b| UsageRecord::new(b.live.start, b.live.end - 1, b.size)).collect()
}

/// Names, for each result of a function of single elements, an operand of the same size that no later step reads. Returns
/// their number.
fn name_pairs(compiled: &CompiledModel, buffers: &mut [Buffer]) -> usize {
    let (schedule, graph) = (compiled.schedule(), compiled.graph());
    let mut next = 0..;
    let buffer_of = |id| schedule.record(id).and_then(|_| next.next());
    let buffer_of: Vec<Option<usize>> = (0..schedule.storages.len()).map(buffer_of).collect();
    let position = |storage: usize| buffer_of[storage];
    let mut pairs = 0;
    for (number, step) in schedule.steps.iter().enumerate() {
        let node = &graph.nodes[step.node];
        let is_element_wise = matches!(node.op, Op::Unary(_) | Op::Binary(_) | Op::QuantizedAdd(_) | Op::Prelu);
        // Parts of a larger tensor have no buffer of their own.
        let is_whole = |storage: usize, tensor| schedule.storages[storage].tensor() == Some(tensor);
        let Some(after) = position(step.to).filter(|_| is_element_wise && is_whole(step.to, node.output)) else {
            continue;
        };
        let fits = |before: &usize| {
            let (before, after) = (&buffers[*before], &buffers[after]);
            before.live.end == number + 1 && after.live.start == number && before.size == after.size
        };
        let storages = node.inputs.iter().filter_map(|&operand| {
            let storage = schedule.storage_of[operand]?;
            let same = graph.shape(operand) == graph.shape(node.output);
            (same && is_whole(storage, operand)).then_some(storage)
        });
        if let Some(before) = storages.filter_map(position).find(fits) {
            buffers[after].in_place_of = Some(buffers[before].name.clone());
            pairs += 1;
        }
    }
    pairs
}

/// Returns a name, with a number if another record has it already.
fn unused(name: String, used: &mut HashSet<String>) -> String {
    let numbered = (2u64..).map(|number| format!("{name} #{number}"));
    let name = [name.clone()].into_iter().chain(numbered).find(|name| !used.contains(name)).unwrap_or(name);
    used.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::{HashSet, alignment, unused};

    #[test]
    fn alignments_are_powers_of_two() {
        assert_eq!((alignment("1"), alignment("64")), (Ok(1), Ok(64)));
        for wrong in ["0", "48", "-4", "64B", ""] {
            assert!(alignment(wrong).unwrap_err().contains("power of two"), "{wrong}");
        }
    }

    #[test]
    fn records_of_one_name_are_numbered() {
        let mut used = HashSet::new();
        let names = ["a", "a", "a #2", "b"].map(|name| unused(name.into(), &mut used));
        assert_eq!(names, ["a", "a #2", "a #2 #2", "b"]);
    }
}
