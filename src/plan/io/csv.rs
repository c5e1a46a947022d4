//! CSV: `id,lower,upper,size[,offset]` with `upper` exclusive, the format of minimalloc, and
//! `tensor,first_op,last_op,size_bytes[,shape,name]` with both ends inclusive. Columns are found by name.

use std::fmt::Write;

use super::{
    names::NameIndex,
    record_set::{RecordSet, wrong},
};
use crate::plan::{
    error::{InputError, PlanError},
    layout::Layout,
    offsets::back_to_back,
    record::UsageRecord,
};

/// A field and the column, in characters, where it starts.
type Field = (usize, String);

/// The columns of a header.
struct Columns {
    names: Vec<String>,
    id: usize,
    first: usize,
    end: usize,
    size: usize,
    offset: Option<usize>,
    /// Whether the end of the interval is one past the last step.
    exclusive: bool,
}

const MINIMALLOC: [&str; 4] = ["id", "lower", "upper", "size"];
const USAGE: [&str; 4] = ["tensor", "first_op", "last_op", "size_bytes"];
const ALSO: [&str; 3] = ["offset", "shape", "name"];

/// Reads either format.
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
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((at, header)) = lines.next() else { return wrong(1, 1, "there is no header") };
    let columns = Columns::read(at + 1, &split(at + 1, header)?)?;
    let mut set = RecordSet { offsets: columns.offset.map(|_| Vec::new()), ..RecordSet::default() };
    let mut seen = NameIndex::default();
    let mut line_of: Vec<usize> = Vec::new();
    for (at, line) in lines {
        let line_number = at + 1;
        let fields = split(line_number, line)?;
        if fields.len() != columns.names.len() {
            let extra = fields.get(columns.names.len());
            let column = extra.map_or(line.chars().count() + 1, |field| field.0);
            let why = format!("{} fields, but the header has {}", fields.len(), columns.names.len());
            return wrong(line_number, column, why);
        }
        let number = |index: usize| columns.number(line_number, &fields, index);
        let step = |index: usize| -> Result<usize, PlanError> {
            let value = number(index)?;
            usize::try_from(value)
                .or_else(|_| wrong(line_number, fields[index].0, format!("step {value} is too large")))
        };
        let (first, end) = (step(columns.first)?, step(columns.end)?);
        let last = if columns.exclusive { end.checked_sub(1) } else { Some(end) };
        let Some(last) = last.filter(|&last| last >= first) else {
            let why = format!("the tensor ends at {end}, before it begins at {first}");
            return wrong(line_number, fields[columns.end].0, why);
        };
        let (column, name) = &fields[columns.id];
        if let Some(index) = seen.find_or_insert(&set.names, name) {
            return wrong(line_number, *column, format!("`{name}` is already on line {}", line_of[index]));
        }
        line_of.push(line_number);
        set.names.push(name.clone());
        set.records.push(UsageRecord::new(first, last, number(columns.size)?));
        if let (Some(offsets), Some(index)) = (&mut set.offsets, columns.offset) {
            offsets.push(number(index)?);
        }
    }
    Ok(set)
}

impl Columns {
    fn read(line: usize, header: &[Field]) -> Result<Self, PlanError> {
        let mut names: Vec<String> = Vec::new();
        for (column, name) in header {
            let name = name.trim().trim_start_matches('\u{feff}').to_owned();
            if names.contains(&name) {
                return wrong(line, *column, format!("column `{name}` is there twice"));
            }
            if ![&MINIMALLOC[..], &USAGE, &ALSO].concat().contains(&name.as_str()) {
                return wrong(line, *column, format!("column `{name}` is not known"));
            }
            names.push(name);
        }
        let find = |name: &str| names.iter().position(|n| n == name);
        let exclusive = find("lower").is_some() || find("upper").is_some() || find("id").is_some();
        let wanted = if exclusive { MINIMALLOC } else { USAGE };
        let mut found = [0; 4];
        for (place, name) in found.iter_mut().zip(wanted) {
            let Some(index) = find(name) else {
                let end = header.last().map_or(1, |(column, name)| column + name.chars().count());
                return wrong(line, end, format!("column `{name}` is missing"));
            };
            *place = index;
        }
        let [id, first, end, size] = found;
        Ok(Self { id, first, end, size, offset: find("offset"), exclusive, names })
    }

    fn number(&self, line: usize, fields: &[Field], index: usize) -> Result<u64, PlanError> {
        let (column, text) = &fields[index];
        let name = &self.names[index];
        text.trim().parse().or_else(|error| {
            let why = match text.trim().strip_prefix('-') {
                Some(digits) if digits.parse::<u64>().is_ok() => format!("`{name}` is negative: {text}"),
                _ => format!("`{name}` is no whole number that 64 bits hold: `{text}` ({error})"),
            };
            wrong(line, *column, why)
        })
    }
}

/// The fields of a line; a field in double quotes may hold commas, and quotes doubled.
fn split(line: usize, text: &str) -> Result<Vec<Field>, PlanError> {
    let mut fields = Vec::new();
    let mut chars = text.chars().zip(1..).peekable();
    let mut column = 1;
    loop {
        let mut field = String::new();
        if chars.next_if(|&(c, _)| c == '"').is_some() {
            loop {
                match chars.next() {
                    Some(('"', _)) if chars.next_if(|&(c, _)| c == '"').is_some() => field.push('"'),
                    Some(('"', _)) => break,
                    Some((c, _)) => field.push(c),
                    None => return wrong(line, column, "a quote is not closed"),
                }
            }
        } else {
            while let Some((c, _)) = chars.next_if(|&(c, _)| c != ',') {
                field.push(c);
            }
        }
        fields.push((column, field));
        match chars.next() {
            Some((',', at)) => column = at + 1,
            Some((_, at)) => return wrong(line, at, "a comma must follow a closing quote"),
            None => return Ok(fields),
        }
    }
}

fn quoted(name: &str) -> String {
    let plain = !name.contains([',', '"', '\n', '\r']);
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"").replace(['\n', '\r'], " ")) }
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
