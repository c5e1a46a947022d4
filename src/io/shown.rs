//! Foreign text as it may be shown: nothing in it moves a cursor, colours a terminal or begins a line of its own.

use crate::plan::steers;
use std::{
    borrow::Cow,
    ffi::OsStr,
    fmt::{self, Display, Write},
};

/// Text that did not come from texpool, with what steers a terminal written out; see [`shown`].
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(&'a OsStr);

/// A file name or another piece of foreign text, as it may be printed within a line.
///
/// Escapes what [`plan::shown`](crate::plan::shown) escapes, but cuts nothing off, and takes names that are no UTF-8: such
/// bytes stand as `\xff`.
///
/// ```
/// assert_eq!(texpool::io::shown("a\u{1b}[31m.png").to_string(), "a\\u{1b}[31m.png");
/// ```
pub fn shown<T: AsRef<OsStr> + ?Sized>(text: &T) -> Shown<'_> {
    Shown(text.as_ref())
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_encoded_bytes().utf8_chunks() {
            for c in chunk.valid().chars() {
                if steers(c) { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Whole lines of text with everything but the ends of lines escaped as [`shown`] does it.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    let kept = |c: char| matches!(c, '\n' | '\t') || !steers(c);
    if text.chars().all(kept) {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len());
    for c in text.chars() {
        if kept(c) { lines.push(c) } else { lines.extend(c.escape_default()) }
    }
    Cow::Owned(lines)
}
