//! CSV writers for minimalloc's format and for usage records.

use std::{fmt::Write, ops::Range};

use super::{csv_text::quoted, record_set::RecordSet};
use crate::{
    buffers::{ArenaPlan, Buffer, BufferGap},
    error::{InputError, PlanError},
    layout::Layout,
    memories::{MemoriesPlan, Memory},
    offsets::back_to_back,
    record::UsageRecord,
};

/// Writes minimalloc's CSV: `id,lower,upper,size`, and those of `alignment`, `hint`, `gaps`, `in_place` and `offset` that any
/// buffer has. `offset` is the offset in the plan, or else the fixed offset. A buffer without a name is named by its
/// number, counted from 0. [`buffers_from_csv`](super::buffers_from_csv()) has an example; it can read this output if
/// all names are different.
///
/// # Errors
/// [`PlanError::Input`] if the number of offsets in the plan differs from the number of buffers.
pub fn buffers_to_csv(buffers: &[Buffer], plan: Option<&ArenaPlan>) -> Result<String, PlanError> {
    if let Some(count) = plan.map(|plan| plan.offsets.len()).filter(|&count| count != buffers.len()) {
        return Err(InputError::LengthMismatch { what: "offsets", expected: buffers.len(), found: count }.into());
    }
    let row = |(index, b): (usize, &Buffer)| {
        let offset = plan.map(|plan| plan.offsets[index]).or(b.offset);
        MinimallocRow { offset, ..MinimallocRow::of(index, b) }
    };
    Ok(minimalloc_text(&buffers.iter().enumerate().map(row).collect::<Vec<_>>()))
}

/// Writes minimalloc's CSV like [`buffers_to_csv`], with a column `memory` that names the memory of each buffer, and
/// the offset in that memory.
///
/// ```
/// use texpool_plan::{Buffer, MemoriesPlanner, Memory, io::memories_to_csv};
///
/// let memories = [Memory::new().named("sram").capacity(8), Memory::new().named("dram")];
/// let buffers = [Buffer::new(0..2, 8).named("a"), Buffer::new(1..3, 6).named("b")];
/// let mut planner = MemoriesPlanner::new(memories.clone());
/// buffers.iter().for_each(|buffer| {
///     planner.add(buffer.clone(), [(0, 0), (1, buffer.size)]);
/// });
/// let text = memories_to_csv(&buffers, &memories, &planner.plan()?)?;
/// assert_eq!(text, "id,lower,upper,size,memory,offset\na,0,2,8,sram,0\nb,1,3,6,dram,0\n");
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if the number of places in the plan differs from the number of buffers.
pub fn memories_to_csv(buffers: &[Buffer], memories: &[Memory], plan: &MemoriesPlan) -> Result<String, PlanError> {
    if plan.places.len() != buffers.len() {
        let (expected, found) = (buffers.len(), plan.places.len());
        return Err(InputError::LengthMismatch { what: "places", expected, found }.into());
    }
    let row = |(index, b): (usize, &Buffer)| {
        let place = plan.places[index];
        let name = memories.get(place.memory).map(|memory| memory.name.as_str()).filter(|name| !name.is_empty());
        let memory = name.map_or_else(|| place.memory.to_string(), quoted);
        MinimallocRow { memory: Some(memory), offset: Some(place.offset), ..MinimallocRow::of(index, b) }
    };
    Ok(minimalloc_text(&buffers.iter().enumerate().map(row).collect::<Vec<_>>()))
}

/// Writes `id,lower,upper,size`, and `offset` if a layout is given. Its regions are laid back to back.
///
/// ```
/// use texpool_plan::{Strategy, io::{from_csv, to_minimalloc}};
///
/// let set = from_csv("id,lower,upper,size\na,0,3,4\nb,2,9,6\n")?;
/// let arena = Strategy::OffsetsGreedyBySize.place(&set.records)?;
/// assert_eq!(to_minimalloc(&set, Some(&arena))?, "id,lower,upper,size,offset\na,0,3,4,6\nb,2,9,6,0\n");
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if the number of places in the layout differs from the number of records, or if a tensor ends
/// at the largest step, so that `upper` would overflow.
pub fn to_minimalloc(set: &RecordSet, layout: Option<&Layout>) -> Result<String, PlanError> {
    let arena = layout.map(back_to_back);
    if let Some(count) = arena.as_ref().map(|a| a.places.len()).filter(|&count| count != set.records.len()) {
        return Err(InputError::LengthMismatch { what: "places", expected: set.records.len(), found: count }.into());
    }
    let row = |(record, (name, r)): (usize, (&String, &UsageRecord))| {
        let upper = r.last.checked_add(1).ok_or(InputError::Overflow { record })?;
        Ok(MinimallocRow {
            name: quoted(name),
            live: r.first..upper,
            size: r.size,
            align: 1,
            hint: None,
            gaps: String::new(),
            memory: None,
            in_place: None,
            offset: arena.as_ref().map(|arena| arena.places[record].offset),
        })
    };
    let rows = set.names.iter().zip(&set.records).enumerate().map(row).collect::<Result<Vec<_>, PlanError>>()?;
    Ok(minimalloc_text(&rows))
}

/// Writes `tensor,first_op,last_op,size_bytes`. The [module](crate::io) has an example.
pub fn to_csv(set: &RecordSet) -> String {
    let mut text = String::from("tensor,first_op,last_op,size_bytes\n");
    for (name, r) in set.names.iter().zip(&set.records) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},{},{},{}", quoted(name), r.first, r.last, r.size);
    }
    text
}

/// A row of minimalloc's CSV.
struct MinimallocRow {
    /// The name, already quoted.
    name: String,
    live: Range<usize>,
    size: u64,
    align: u64,
    hint: Option<u64>,
    /// The gaps, already formatted.
    gaps: String,
    /// The name of the memory, already quoted.
    memory: Option<String>,
    /// The name of the buffer in whose place it may be computed, already quoted.
    in_place: Option<String>,
    offset: Option<u64>,
}

impl MinimallocRow {
    /// Returns the row of a buffer without a place. A buffer without a name gets its number.
    fn of(index: usize, b: &Buffer) -> Self {
        Self {
            name: if b.name.is_empty() { index.to_string() } else { quoted(&b.name) },
            live: b.live.clone(),
            size: b.size,
            align: b.align,
            hint: b.hint,
            gaps: b.gaps.iter().map(gap_text).collect::<Vec<_>>().join(" "),
            memory: None,
            in_place: b.in_place_of.as_deref().map(quoted),
            offset: None,
        }
    }
}

/// Formats the header and the rows, with all columns that any row needs, in minimalloc's order.
fn minimalloc_text(rows: &[MinimallocRow]) -> String {
    let with_align = rows.iter().any(|row| row.align != 1);
    let with_hint = rows.iter().any(|row| row.hint.is_some());
    let with_gaps = rows.iter().any(|row| !row.gaps.is_empty());
    let with_memory = rows.iter().any(|row| row.memory.is_some());
    let with_in_place = rows.iter().any(|row| row.in_place.is_some());
    let with_offset = rows.iter().any(|row| row.offset.is_some());
    let mut text = String::from("id,lower,upper,size");
    let also = [
        (with_align, ",alignment"),
        (with_hint, ",hint"),
        (with_gaps, ",gaps"),
        (with_memory, ",memory"),
        (with_in_place, ",in_place"),
        (with_offset, ",offset"),
    ];
    also.into_iter().filter(|(there, _)| *there).for_each(|(_, column)| text += column);
    text.push('\n');
    for MinimallocRow { name, live, size, align, hint, gaps, memory, in_place, offset } in rows {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name},{},{},{size}", live.start, live.end);
        if with_align {
            let _ = write!(text, ",{align}");
        }
        if with_hint {
            text += &hint.map_or(",-1".to_owned(), |hint| format!(",{hint}"));
        }
        if with_gaps {
            let _ = write!(text, ",{gaps}");
        }
        if with_memory {
            let _ = write!(text, ",{}", memory.as_deref().unwrap_or_default());
        }
        if with_in_place {
            let _ = write!(text, ",{}", in_place.as_deref().unwrap_or_default());
        }
        if with_offset {
            text += &offset.map_or(",".to_owned(), |offset| format!(",{offset}"));
        }
        text.push('\n');
    }
    text
}

fn gap_text(gap: &BufferGap) -> String {
    let window = gap.window.as_ref().map(|w| format!("@{}:{}", w.start, w.end)).unwrap_or_default();
    format!("{}-{}{window}", gap.steps.start, gap.steps.end)
}
