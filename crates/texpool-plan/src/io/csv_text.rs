//! CSV syntax: splits lines into fields, and quotes fields.

use super::record_set::wrong;
use crate::error::PlanError;

/// A field, and the column in characters where it starts.
pub(super) type Field = (usize, String);

/// Splits a line into fields. A field in double quotes may contain commas and doubled quotes.
pub(super) fn split(line: usize, text: &str) -> Result<Vec<Field>, PlanError> {
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

/// Formats a field for CSV, with quotes if necessary.
pub(super) fn quoted(name: &str) -> String {
    let plain = !name.contains([',', '"', '\n', '\r']);
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"").replace(['\n', '\r'], " ")) }
}
