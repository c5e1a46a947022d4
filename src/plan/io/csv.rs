//! CSV: that of minimalloc, `id,lower,upper,size[,alignment][,gaps][,offset]` with `upper` exclusive, and
//! `tensor,first_op,last_op,size_bytes[,shape,name]` with both ends inclusive. Columns are found by name.

use std::fmt::Write;

use super::{csv_rows::each_row, csv_text::quoted, record_set::RecordSet};
use crate::plan::{
    buffers::{ArenaPlan, Buffer, BufferGap, Part},
    error::{InputError, PlanError},
    layout::Layout,
    offsets::back_to_back,
    record::UsageRecord,
};

/// Reads either format. Records have no alignments and no gaps; [`buffers_from_csv`] reads those, too.
///
/// ```
/// use texpool::plan::{UsageRecord, io::from_csv};
///
/// let set = from_csv("id,lower,upper,size\na,0,3,4\nb,2,9,4\n")?;
/// assert_eq!(set.records, [UsageRecord::new(0, 2, 4), UsageRecord::new(2, 8, 4)]);
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of what is wrong.
pub fn from_csv(text: &str) -> Result<RecordSet, PlanError> {
    let mut records = Vec::new();
    let mut offsets: Option<Vec<u64>> = None;
    let names = each_row(text, |row, _| {
        let refused = |part, what| row.contradiction(part, format!("a usage record has no {what}"));
        if row.align()? != 1 {
            return refused(Part::Align, "alignment");
        }
        if !row.gaps()?.is_empty() {
            return refused(Part::Gap(0), "gaps");
        }
        records.push(UsageRecord::new(row.first, row.last, row.size));
        if let Some(offset) = row.offset()? {
            offsets.get_or_insert_default().push(offset);
        }
        Ok(())
    })?;
    Ok(RecordSet { names, records, offsets })
}

/// Reads either format with all that minimalloc writes, in any order of columns:
///
/// - `id`, also called `buffer` or `buffer_id`; `lower`, also `begin` or `start`; `upper`, one past the last step, or
///   `end`, the last step itself; `size`.
/// - `alignment`: the offset is a multiple of it.
/// - `gaps`, separated by spaces: `FROM-TO`, or `FROM-TO@LOW:HIGH` where the buffer takes some of its bytes meanwhile.
///   `TO` is the last step if the file has `end`.
/// - `offset`: where the buffer has to lie; empty if it may lie anywhere.
///
/// ```
/// use texpool::plan::{ArenaPlanner, io::{buffers_from_csv, buffers_to_csv}};
///
/// let buffers = buffers_from_csv("buffer,start,end,size,alignment,gaps\na,0,5,8,1,2-3\nb,2,3,6,4,\n")?;
/// let plan = ArenaPlanner::from_iter(buffers.clone()).plan()?;
/// // The second lies in the gap of the first.
/// assert_eq!((plan.offsets.as_slice(), plan.total), (&[0, 0][..], 8));
/// let written = buffers_to_csv(&buffers, Some(&plan))?;
/// assert_eq!(written, "id,lower,upper,size,alignment,gaps,offset\na,0,6,8,1,2-4,0\nb,2,4,6,4,,0\n");
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of what is wrong.
pub fn buffers_from_csv(text: &str) -> Result<Vec<Buffer>, PlanError> {
    let mut buffers = Vec::new();
    each_row(text, |row, names| {
        let Some(end) = row.last.checked_add(1) else {
            return row.contradiction(Part::Life, format!("step {} is too large", row.last));
        };
        let mut buffer = Buffer::new(row.first..end, row.size).aligned(row.align()?);
        buffer.name = names.last().cloned().unwrap_or_default();
        buffer.gaps = row.gaps()?;
        buffer.offset = row.offset_if_given()?;
        if let Some((part, why)) = buffer.contradiction() {
            return row.contradiction(part, why);
        }
        buffers.push(buffer);
        Ok(())
    })?;
    Ok(buffers)
}

/// Writes minimalloc's CSV: `id,lower,upper,size`, `alignment` and `gaps` if a buffer has some, and `offset` if there is
/// a plan or a place is given. A buffer without a name is called by its number, counted from 0.
///
/// # Errors
/// [`PlanError::Input`] if the plan has offsets for another number of buffers.
pub fn buffers_to_csv(buffers: &[Buffer], plan: Option<&ArenaPlan>) -> Result<String, PlanError> {
    if let Some(found) = plan.map(|plan| plan.offsets.len()).filter(|&found| found != buffers.len()) {
        return Err(InputError::LengthMismatch { what: "offsets", expected: buffers.len(), found }.into());
    }
    let with_align = buffers.iter().any(|b| b.align != 1);
    let with_gaps = buffers.iter().any(|b| !b.gaps.is_empty());
    let with_offset = plan.is_some() || buffers.iter().any(|b| b.offset.is_some());
    let mut text = String::from("id,lower,upper,size");
    for (there, column) in [(with_align, ",alignment"), (with_gaps, ",gaps"), (with_offset, ",offset")] {
        text += if there { column } else { "" };
    }
    text.push('\n');
    for (index, b) in buffers.iter().enumerate() {
        let name = if b.name.is_empty() { index.to_string() } else { quoted(&b.name) };
        // Writing to a string cannot fail.
        let _ = write!(text, "{name},{},{},{}", b.live.start, b.live.end, b.size);
        if with_align {
            let _ = write!(text, ",{}", b.align);
        }
        if with_gaps {
            let gap = |(at, gap): (usize, &BufferGap)| {
                let window = gap.window.as_ref().map(|w| format!("@{}:{}", w.start, w.end)).unwrap_or_default();
                format!("{}{}-{}{window}", if at > 0 { " " } else { "" }, gap.steps.start, gap.steps.end)
            };
            let _ = write!(text, ",{}", b.gaps.iter().enumerate().map(gap).collect::<String>());
        }
        if with_offset {
            let offset = plan.map(|plan| plan.offsets[index]).or(b.offset);
            let _ = write!(text, ",{}", offset.map(|offset| offset.to_string()).unwrap_or_default());
        }
        text.push('\n');
    }
    Ok(text)
}

/// Writes `tensor,first_op,last_op,size_bytes`. The [module](crate::plan::io) has an example.
pub fn to_csv(set: &RecordSet) -> String {
    let mut text = String::from("tensor,first_op,last_op,size_bytes\n");
    for (name, r) in set.names.iter().zip(&set.records) {
        let _ = writeln!(text, "{},{},{},{}", quoted(name), r.first, r.last, r.size);
    }
    text
}

/// Writes `id,lower,upper,size`, and `offset` if there is a layout. Its regions are laid back to back.
///
/// ```
/// use texpool::plan::{Strategy, io::{from_csv, to_minimalloc}};
///
/// let set = from_csv("id,lower,upper,size\na,0,3,4\nb,2,9,6\n")?;
/// let arena = Strategy::OffsetsGreedyBySize.place(&set.records)?;
/// assert_eq!(to_minimalloc(&set, Some(&arena))?, "id,lower,upper,size,offset\na,0,3,4,6\nb,2,9,6,0\n");
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if the layout has places for another number of records, or if a tensor ends at the largest
/// step, after which there is none for `upper`.
pub fn to_minimalloc(set: &RecordSet, layout: Option<&Layout>) -> Result<String, PlanError> {
    let arena = layout.map(back_to_back);
    if let Some(found) = arena.as_ref().map(|a| a.places.len()).filter(|&found| found != set.records.len()) {
        return Err(InputError::LengthMismatch { what: "places", expected: set.records.len(), found }.into());
    }
    let mut text = String::from(if arena.is_some() { "id,lower,upper,size,offset\n" } else { "id,lower,upper,size\n" });
    for (record, (name, r)) in set.names.iter().zip(&set.records).enumerate() {
        let upper = r.last.checked_add(1).ok_or(InputError::Overflow { record })?;
        let _ = write!(text, "{},{},{upper},{}", quoted(name), r.first, r.size);
        let _ = match &arena {
            Some(arena) => writeln!(text, ",{}", arena.places[record].offset),
            None => writeln!(text),
        };
    }
    Ok(text)
}
