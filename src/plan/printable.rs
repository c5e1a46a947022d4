//! Names from files, as a terminal may be given them.

use std::{
    ffi::OsStr,
    fmt::{self, Write},
};

/// Most characters of a text that are shown: a name must not swell every message that it stands in.
const MOST: usize = 512;

/// A text as it is shown to people: made by [`shown`].
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    text: &'a OsStr,
    /// Most characters of it.
    most: usize,
}

/// A text from a file, to be written to a terminal or into a message. Control characters, and those that turn the
/// direction of writing, stand as escapes (`\u{1b}`, `\n`), so that a name can neither steer a terminal nor forge a
/// line; of a long text the beginning is shown, and its length. Bytes that are no UTF-8 stand as `\xff`. For pictures
/// and exchange formats there is XML's own escaping, for JSON JSON's.
///
/// ```
/// assert_eq!(texpool::plan::shown("conv\u{1b}[2J").to_string(), "conv\\u{1b}[2J");
/// ```
pub fn shown<T: AsRef<OsStr> + ?Sized>(text: &T) -> Shown<'_> {
    Shown { text: text.as_ref(), most: MOST }
}

impl Shown<'_> {
    /// The same with nothing cut off, for names that the user gave.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self { most: usize::MAX, ..self }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut count = 0;
        for chunk in self.text.as_encoded_bytes().utf8_chunks() {
            for c in chunk.valid().chars() {
                if count == self.most {
                    return write!(f, "... ({} bytes)", self.text.len());
                }
                count += 1;
                if steers(c) { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Whether a character steers a terminal, breaks lines, changes the direction of writing or cannot be seen.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}31m\r\nnode 0 is fine\u{202e}\u{7f}\u{0}";
        let text = shown(hostile).to_string();
        assert!(!text.chars().any(steers), "{text}");
        assert!(text.starts_with("a\\u{1b}]0;x\\u{7}"), "{text}");
        assert_eq!(shown("Größe/第1層: `x`").to_string(), "Größe/第1層: `x`");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let text = shown(&"é".repeat(100_000)).to_string();
        assert!(text.len() < 2 * MOST + 40 && text.ends_with("... (200000 bytes)"), "{text}");
    }
}
