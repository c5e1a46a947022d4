//! CSV readers for two formats. Minimalloc's is `id,lower,upper,size[,alignment][,hint][,gaps][,offset]` with `upper`
//! exclusive, and columns for memories and for buffers computed in place of others; the other is `tensor,first_op,last_op,size_bytes[,shape,name]` with both ends inclusive. Columns are
//! found by name.

use std::collections::HashMap;

use super::{
    csv_rows::{Row, each_row},
    record_set::{RecordSet, wrong},
};
use crate::{
    buffers::{Buffer, Part},
    error::PlanError,
    memories::{Memory, MemoryChoice},
    printable::printable,
    record::UsageRecord,
};

/// Reads records in either format. Records cannot have alignments, gaps or others' places; use [`buffers_from_csv`] for those. Hints
/// are ignored.
///
/// ```
/// use texpool_plan::{UsageRecord, io::from_csv};
///
/// let set = from_csv("id,lower,upper,size\na,0,3,4\nb,2,9,4\n")?;
/// assert_eq!(set.records, [UsageRecord::new(0, 2, 4), UsageRecord::new(2, 8, 4)]);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn from_csv(text: &str) -> Result<RecordSet, PlanError> {
    let mut records = Vec::new();
    let mut offsets: Option<Vec<u64>> = None;
    let names = each_row(text, &[], |row, _| {
        let refused = |part, what| row.contradiction(part, format!("a usage record has no {what}"));
        if row.align()? != 1 {
            return refused(Part::Align, "alignment");
        }
        if !row.gaps()?.is_empty() {
            return refused(Part::Gap(0), "gaps");
        }
        if row.in_place().is_some() {
            let (line, column) = row.place_of_in_place();
            return wrong(line, column, "a usage record is computed in no other's place");
        }
        row.hint()?;
        records.push(UsageRecord::new(row.first, row.last, row.size));
        if let Some(offset) = row.offset()? {
            offsets.get_or_insert_default().push(offset);
        }
        Ok(())
    })?;
    Ok(RecordSet { names, records, offsets })
}

/// Reads buffers in either format, with everything that minimalloc writes, in any order of columns:
///
/// - `id`, also called `buffer` or `buffer_id`; `lower`, also `begin` or `start`; `upper`, one past the last step, or
///   `end`, the last step itself; `size`.
/// - `alignment`: the offset is a multiple of it.
/// - `gaps`, separated by spaces: `FROM-TO`, or `FROM-TO@LOW:HIGH` if the buffer needs some of its bytes during the
///   gap. `TO` is the last step if the file has `end`.
/// - `offset`: the fixed offset of the buffer; empty if it may have any.
/// - `hint`: the offset in an earlier plan; empty or negative if it has none.
/// - `in_place`: the `id` of a buffer in whose place this one may be computed, from its last step on.
/// - `memory`, which [`memories_to_csv`](super::memories_to_csv()) writes, is ignored.
///
/// ```
/// use texpool_plan::{ArenaPlanner, io::{buffers_from_csv, buffers_to_csv}};
///
/// let buffers = buffers_from_csv("buffer,start,end,size,alignment,gaps\na,0,5,8,1,2-3\nb,2,3,6,4,\n")?;
/// let plan = ArenaPlanner::from_iter(buffers.clone()).plan()?;
/// // The second lies in the gap of the first.
/// assert_eq!((plan.offsets.as_slice(), plan.total), (&[0, 0][..], 8));
/// let written = buffers_to_csv(&buffers, Some(&plan))?;
/// assert_eq!(written, "id,lower,upper,size,alignment,gaps,offset\na,0,6,8,1,2-4,0\nb,2,4,6,4,,0\n");
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn buffers_from_csv(text: &str) -> Result<Vec<Buffer>, PlanError> {
    let (mut buffers, mut pairs) = (Vec::new(), Pairs::default());
    each_row(text, &[], |row, names| {
        buffers.push(pairs.buffer_of(row, names)?);
        Ok(())
    })?;
    pairs.check(buffers.iter())?;
    Ok(buffers)
}

/// Reads buffers like [`buffers_from_csv`], with the memories that each may be in. A column named like a memory has the
/// cost of placing the buffer there; the buffer may not be in a memory for which its field is empty, or that has no
/// column. If the file has no such column, every buffer may be in every memory: the first costs nothing, and each later
/// one the buffer's size more than the one before, so that as much as possible is in the earlier memories.
///
/// ```
/// use texpool_plan::{MemoriesPlanner, Memory, io::memory_choices_from_csv};
///
/// let memories = [Memory::new().named("sram").capacity(10), Memory::new().named("dram")];
/// let text = "id,lower,upper,size,sram,dram\na,0,2,8,8,80\nb,1,3,6,6,60\nc,2,4,4,,40\n";
/// let mut planner = MemoriesPlanner::new(memories.clone());
/// for (buffer, choices) in memory_choices_from_csv(text, &memories)? {
///     planner.add(buffer, choices);
/// }
/// assert_eq!(planner.plan()?.cost, 8 + 60 + 40);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn memory_choices_from_csv(text: &str, memories: &[Memory]) -> Result<Vec<(Buffer, Vec<MemoryChoice>)>, PlanError> {
    let own: Vec<&str> = memories.iter().map(|memory| memory.name.as_str()).collect();
    let (mut buffers, mut pairs) = (Vec::new(), Pairs::default());
    each_row(text, &own, |row, names| {
        let buffer = pairs.buffer_of(row, names)?;
        let choices = if row.has_own() {
            let cost = |memory| Ok(row.own(memory)?.map(|cost| MemoryChoice { memory, cost }));
            (0..memories.len()).filter_map(|memory| cost(memory).transpose()).collect::<Result<_, PlanError>>()?
        } else {
            costs_by_size(&buffer, memories)
        };
        buffers.push((buffer, choices));
        Ok(())
    })?;
    pairs.check(buffers.iter().map(|(buffer, _)| buffer))?;
    Ok(buffers)
}

/// Returns every memory as a choice, each with the buffer's size more than the one before.
pub(super) fn costs_by_size(buffer: &Buffer, memories: &[Memory]) -> Vec<MemoryChoice> {
    let choice = |memory| MemoryChoice { memory, cost: buffer.size.saturating_mul(memory as u64) };
    (0..memories.len()).map(choice).collect()
}

/// Rows of buffers that may be computed in place of others, which may be on later lines.
#[derive(Default)]
struct Pairs {
    /// The buffer's position, and the line and column of its field.
    rows: Vec<(usize, (usize, usize))>,
    buffers: usize,
}

impl Pairs {
    /// Returns the buffer of a row.
    fn buffer_of(&mut self, row: &Row<'_>, names: &[String]) -> Result<Buffer, PlanError> {
        let Some(end) = row.last.checked_add(1) else {
            return row.contradiction(Part::Life, format!("step {} is too large", row.last));
        };
        let mut buffer = Buffer::new(row.first..end, row.size).aligned(row.align()?);
        buffer.name = names.last().cloned().unwrap_or_default();
        buffer.gaps = row.gaps()?;
        buffer.offset = row.offset_if_given()?;
        buffer.hint = row.hint()?;
        if let Some(before) = row.in_place() {
            buffer.in_place_of = Some(before.to_owned());
            self.rows.push((self.buffers, row.place_of_in_place()));
        }
        self.buffers += 1;
        match buffer.contradiction() {
            Some((part, why)) => row.contradiction(part, why),
            None => Ok(buffer),
        }
    }

    /// Checks that each buffer begins at the last step of the one in whose place it may be computed.
    fn check<'a>(&self, buffers: impl Iterator<Item = &'a Buffer>) -> Result<(), PlanError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let buffers: Vec<&Buffer> = buffers.collect();
        let by_name: HashMap<&str, &Buffer> = buffers.iter().map(|buffer| (&*buffer.name, *buffer)).collect();
        for &(after, (line, column)) in &self.rows {
            let after = buffers[after];
            let Some(name) = after.in_place_of.as_deref() else { continue };
            let Some(before) = by_name.get(name) else {
                return wrong(line, column, format!("there is no `{}`", printable(name)));
            };
            let last = before.live.end - 1;
            if last != after.live.start {
                let (name, start) = (printable(name), after.live.start);
                return wrong(line, column, format!("`{name}` is last needed at {last}, but this begins at {start}"));
            }
        }
        Ok(())
    }
}
