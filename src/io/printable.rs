//! Foreign text as it may be shown: nothing in it moves a cursor, colours a terminal or begins a line of its own.

use crate::plan::{self, Shown, steers};
use std::{borrow::Cow, ffi::OsStr};

/// A file name or another text that the user gave, as it may be printed within a line: as
/// [`plan::shown`](crate::plan::shown) shows it, with nothing cut off.
///
/// ```
/// assert_eq!(texpool::io::shown("a\u{1b}[31m.png").to_string(), "a\\u{1b}[31m.png");
/// ```
pub fn shown<T: AsRef<OsStr> + ?Sized>(text: &T) -> Shown<'_> {
    plan::shown(text).whole()
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
