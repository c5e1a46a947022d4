//! `texpool plan MODEL --records-out`: writes a model's usage records for other planners.

use std::{collections::HashSet, path::Path};

use super::{error::CliError, out};
use crate::{
    io::{DistinctFiles, printable},
    report::size,
};
use texpool_compile::{CompiledModel, schedule::Contents};
use texpool_plan::{
    UsageRecord,
    io::{RecordSet, to_json, to_minimalloc},
    naive_total,
};

/// Parses an alignment in bytes.
pub(super) fn alignment(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no alignment: write a power of two, such as 64");
    text.parse::<u64>().ok().filter(|bytes| bytes.is_power_of_two()).ok_or_else(wrong)
}

/// Writes the records of a plan of whole tensors, as JSON if the name ends in `.json`, and otherwise as minimalloc's
/// CSV. Says so on standard error.
pub(super) fn write(
    to: Option<&Path>,
    align: u64,
    compiled: &CompiledModel,
    files: &DistinctFiles,
) -> Result<(), CliError> {
    let Some(to) = to else { return Ok(()) };
    let set = record_set(compiled, align);
    let json = to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = if json { to_json(&set)? } else { to_minimalloc(&set, None)? };
    files.write(to, text.as_bytes())?;
    let (count, total) = (set.records.len(), size(naive_total(&set.records)?));
    out::stderr(&format!("wrote {count} records to {}, {total} without sharing", printable(to)));
    Ok(())
}

/// Returns the records in bytes, rounded up to multiples of `align`. A tensor counts its values without the padding
/// of texels, as a runtime on a processor stores it; streamed weights count as they are packed.
fn record_set(compiled: &CompiledModel, align: u64) -> RecordSet {
    let (schedule, graph) = (compiled.schedule(), compiled.graph());
    let texel_bytes = compiled.format().texel_bytes();
    let value_bytes = texel_bytes / 4;
    let mut set = RecordSet::default();
    let mut used = HashSet::new();
    for (id, storage) in schedule.storages.iter().enumerate() {
        let Some(record) = schedule.record(id) else { continue };
        let bytes = match storage.contents {
            Contents::Tensor(tensor) => graph.shape(tensor).len() as u64 * value_bytes,
            Contents::Weights(_) => storage.texels() * texel_bytes,
        };
        let UsageRecord { first, last, .. } = schedule.records[record];
        set.records.push(UsageRecord::new(first, last, bytes.next_multiple_of(align)));
        set.names.push(unused(schedule.name_of(graph, id), &mut used));
    }
    set
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
