//! Text made printable: nothing in it moves a cursor, colours a terminal or begins a line.

use std::{borrow::Cow, ffi::OsStr};
use texpool_plan::{self, Printable, internal::needs_escape};

/// A file name or another text that the user gave, safe to print within a line: as
/// [`plan::printable`](texpool_plan::printable()), without cutting.
///
/// ```
/// assert_eq!(texpool_cli::io::printable("a\u{1b}[31m.png").to_string(), "a\\u{1b}[31m.png");
/// ```
pub fn printable<T: AsRef<OsStr> + ?Sized>(text: &T) -> Printable<'_> {
    texpool_plan::printable(text).untruncated()
}

/// Lines of text with everything but the line breaks escaped as by [`printable`].
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !needs_escape(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { lines.push(c) } else { lines.extend(c.escape_default()) }
    }
    Cow::Owned(lines)
}
