//! Rows of either CSV format: finds columns by name, reads numbers, and reports errors with their positions.

use super::{
    csv_text::{Field, split},
    names::NameIndex,
    record_set::wrong,
};
use crate::{
    buffers::{BufferGap, Part},
    error::PlanError,
};

/// The four required columns.
const MINIMALLOC: [&str; 4] = ["id", "lower", "upper", "size"];
const USAGE: [&str; 4] = ["tensor", "first_op", "last_op", "size_bytes"];
const ALSO: [&str; 8] = ["alignment", "hint", "gaps", "offset", "memory", "in_place", "shape", "name"];
/// Alternative column names that minimalloc accepts.
const SYNONYMS: [(&str, &str); 5] =
    [("buffer", "id"), ("buffer_id", "id"), ("begin", "lower"), ("start", "lower"), (LAST, "upper")];
/// Name of the column `upper` if it holds the last step, and not one past it.
const LAST: &str = "end";

/// The columns of a header.
struct Columns {
    names: Vec<String>,
    id: usize,
    first: usize,
    end: usize,
    size: usize,
    align: Option<usize>,
    hint: Option<usize>,
    gaps: Option<usize>,
    offset: Option<usize>,
    in_place: Option<usize>,
    /// Positions of the caller's own columns, in the caller's order.
    own: Vec<Option<usize>>,
    /// Set if the end of an interval is one past the last step.
    exclusive: bool,
}

/// A row with the columns that every reader needs.
pub(super) struct Row<'a> {
    columns: &'a Columns,
    line: usize,
    fields: &'a [Field],
    pub(super) first: usize,
    /// The last step, inclusive.
    pub(super) last: usize,
    pub(super) size: u64,
}

/// Calls `visit` with each row and all names read up to then; the last one is the name of the row. Returns all names.
/// The file may have columns named `own`, which both formats lack.
pub(super) fn each_row(
    text: &str,
    own: &[&str],
    mut visit: impl FnMut(&Row<'_>, &[String]) -> Result<(), PlanError>,
) -> Result<Vec<String>, PlanError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((at, header)) = lines.next() else { return wrong(1, 1, "there is no header") };
    let columns = Columns::read(at + 1, &split(at + 1, header)?, own)?;
    let mut names: Vec<String> = Vec::new();
    let mut seen = NameIndex::default();
    let mut line_of: Vec<usize> = Vec::new();
    for (at, text) in lines {
        let line = at + 1;
        let fields = split(line, text)?;
        if fields.len() != columns.names.len() {
            let extra = fields.get(columns.names.len());
            let column = extra.map_or(text.chars().count() + 1, |field| field.0);
            let why = format!("{} fields, but the header has {}", fields.len(), columns.names.len());
            return wrong(line, column, why);
        }
        let row = columns.row(line, &fields)?;
        let (column, name) = &fields[columns.id];
        if let Some(index) = seen.find_or_insert(&names, name) {
            return wrong(line, *column, format!("`{name}` is already on line {}", line_of[index]));
        }
        line_of.push(line);
        names.push(name.clone());
        visit(&row, &names)?;
    }
    Ok(names)
}

impl Columns {
    fn read(line: usize, header: &[Field], own: &[&str]) -> Result<Self, PlanError> {
        let known = [&MINIMALLOC[..], &USAGE, &ALSO].concat();
        let mut names: Vec<String> = Vec::new();
        let mut last_inclusive = false;
        for (column, written) in header {
            let written = written.trim().trim_start_matches('\u{feff}');
            let name = SYNONYMS.iter().find(|(other, _)| *other == written).map_or(written, |(_, name)| name);
            if names.iter().any(|other| other == name) {
                let also = if name == written { String::new() } else { format!(", as another name of `{name}`") };
                return wrong(line, *column, format!("column `{written}` is there twice{also}"));
            }
            if !known.contains(&name) && !own.contains(&name) {
                return wrong(line, *column, format!("column `{name}` is not known"));
            }
            last_inclusive |= written == LAST;
            names.push(name.to_owned());
        }
        let find = |name: &str| names.iter().position(|n| n == name);
        let minimalloc = find("lower").is_some() || find("upper").is_some() || find("id").is_some();
        let columns = if minimalloc { MINIMALLOC } else { USAGE };
        let mut indices = [0; 4];
        for (place, name) in indices.iter_mut().zip(columns) {
            let Some(index) = find(name) else {
                let end = header.last().map_or(1, |(column, name)| column + name.chars().count());
                return wrong(line, end, format!("column `{name}` is missing"));
            };
            *place = index;
        }
        let [id, first, end, size] = indices;
        let (align, hint, gaps, offset) = (find("alignment"), find("hint"), find("gaps"), find("offset"));
        let in_place = find("in_place");
        let own = own.iter().map(|name| find(name).filter(|_| !known.contains(name))).collect();
        let exclusive = minimalloc && !last_inclusive;
        Ok(Self { id, first, end, size, align, hint, gaps, offset, in_place, own, exclusive, names })
    }

    fn row<'a>(&'a self, line: usize, fields: &'a [Field]) -> Result<Row<'a>, PlanError> {
        let (first, end) = (self.step(line, fields, self.first)?, self.step(line, fields, self.end)?);
        let last = if self.exclusive { end.checked_sub(1) } else { Some(end) };
        let Some(last) = last.filter(|&last| last >= first) else {
            let why = if self.exclusive && end == first {
                format!("the tensor is never alive: `upper` is one past its last step, and {end} is its first")
            } else {
                format!("the tensor ends at {end}, before it begins at {first}")
            };
            return wrong(line, fields[self.end].0, why);
        };
        let size = self.number(line, fields, self.size)?;
        Ok(Row { columns: self, line, fields, first, last, size })
    }

    fn step(&self, line: usize, fields: &[Field], index: usize) -> Result<usize, PlanError> {
        let value = self.number(line, fields, index)?;
        usize::try_from(value).or_else(|_| wrong(line, fields[index].0, format!("step {value} is too large")))
    }

    fn number(&self, line: usize, fields: &[Field], index: usize) -> Result<u64, PlanError> {
        let (column, text) = &fields[index];
        number(&self.names[index], text).or_else(|why| wrong(line, *column, why))
    }
}

impl Row<'_> {
    /// Returns the alignment; 1 if the file has no such column.
    pub(super) fn align(&self) -> Result<u64, PlanError> {
        self.columns.align.map_or(Ok(1), |index| self.columns.number(self.line, self.fields, index))
    }

    /// Returns the offset, if the file has a column for it. An empty field is an error.
    pub(super) fn offset(&self) -> Result<Option<u64>, PlanError> {
        self.columns.offset.map(|index| self.columns.number(self.line, self.fields, index)).transpose()
    }

    /// Returns the offset, if the field is not empty.
    pub(super) fn offset_if_given(&self) -> Result<Option<u64>, PlanError> {
        let empty = self.columns.offset.is_some_and(|index| self.fields[index].1.trim().is_empty());
        if empty { Ok(None) } else { self.offset() }
    }

    /// Returns whether the file has any of the caller's own columns.
    pub(super) fn has_own(&self) -> bool {
        self.columns.own.iter().any(Option::is_some)
    }

    /// Returns the number in one of the caller's own columns; `None` if the field is empty or the column is absent.
    pub(super) fn own(&self, at: usize) -> Result<Option<u64>, PlanError> {
        let given = self.columns.own[at].filter(|&index| !self.fields[index].1.trim().is_empty());
        given.map(|index| self.columns.number(self.line, self.fields, index)).transpose()
    }

    /// Returns the buffer's offset in an earlier plan, if the field holds a number that is not negative.
    pub(super) fn hint(&self) -> Result<Option<u64>, PlanError> {
        let Some(index) = self.columns.hint else { return Ok(None) };
        let text = self.fields[index].1.trim();
        let negative = text.strip_prefix('-').is_some_and(|digits| digits.parse::<u64>().is_ok());
        if text.is_empty() || negative {
            Ok(None)
        } else {
            self.columns.number(self.line, self.fields, index).map(Some)
        }
    }

    /// Returns the name of the buffer in whose place this one may be computed, if the field is not empty.
    pub(super) fn in_place(&self) -> Option<&str> {
        let name = self.columns.in_place.map(|index| &*self.fields[index].1);
        name.filter(|name| !name.is_empty())
    }

    /// Returns the line and the column of the field that [`in_place`](Self::in_place) reads.
    pub(super) fn place_of_in_place(&self) -> (usize, usize) {
        (self.line, self.columns.in_place.map_or(1, |index| self.fields[index].0))
    }

    /// Returns the gaps. They are separated by spaces, each `FROM-TO`, or `FROM-TO@LOW:HIGH` if the buffer needs some
    /// of its bytes during the gap.
    pub(super) fn gaps(&self) -> Result<Vec<BufferGap>, PlanError> {
        self.gap_texts().into_iter().map(|(column, text)| self.gap(column, text)).collect()
    }

    /// Returns the error for a contradiction in one part of the buffer.
    pub(super) fn contradiction<T>(&self, part: Part, why: String) -> Result<T, PlanError> {
        let column = |index: usize| self.fields[index].0;
        let gap = |at| self.gap_texts().get(at).map(|&(column, _)| column);
        let at = match part {
            Part::Life => Some(column(self.columns.end)),
            Part::Align => self.columns.align.map(column),
            Part::Gap(at) => gap(at),
            Part::Offset => self.columns.offset.map(column),
        };
        wrong(self.line, at.unwrap_or(1), why)
    }

    /// Returns each gap with the column where it starts. Inside a quoted field, columns are counted from the quote.
    fn gap_texts(&self) -> Vec<(usize, &str)> {
        let Some((start, field)) = self.columns.gaps.map(|index| &self.fields[index]) else { return Vec::new() };
        let mut column = *start;
        let mut gaps = Vec::new();
        for text in field.split(' ') {
            if !text.trim().is_empty() {
                gaps.push((column, text.trim()));
            }
            column += text.chars().count() + 1;
        }
        gaps
    }

    fn gap(&self, column: usize, text: &str) -> Result<BufferGap, PlanError> {
        let wrong = |why: String| wrong(self.line, column, why);
        let form = || format!("a gap is `FROM-TO` or `FROM-TO@LOW:HIGH`, not `{text}`");
        let (steps, window) = match text.split_once('@') {
            Some((steps, window)) => (steps, Some(window)),
            None => (text, None),
        };
        let Some((from, to)) = steps.split_once('-') else { return wrong(form()) };
        let window = match window.map(|window| window.split_once(':')) {
            None => None,
            Some(Some((low, high))) => match (number("gaps", low), number("gaps", high)) {
                (Ok(low), Ok(high)) => Some(low..high),
                (Err(why), _) | (_, Err(why)) => return wrong(why),
            },
            Some(None) => return wrong(form()),
        };
        let step = |text: &str| {
            let value = number("gaps", text)?;
            usize::try_from(value).map_err(|_| format!("step {value} is too large"))
        };
        match (step(from), step(to)) {
            (Ok(from), Ok(to)) => match if self.columns.exclusive { Some(to) } else { to.checked_add(1) } {
                Some(end) => Ok(BufferGap { steps: from..end, window }),
                None => wrong(format!("step {to} is too large")),
            },
            (Err(why), _) | (_, Err(why)) => wrong(why),
        }
    }
}

/// Parses a whole number, or returns a description of the error.
fn number(name: &str, text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|error| match text.trim().strip_prefix('-') {
        Some(digits) if digits.parse::<u64>().is_ok() => format!("`{name}` is negative: {text}"),
        _ => format!("`{name}` is no whole number that 64 bits hold: `{text}` ({error})"),
    })
}
