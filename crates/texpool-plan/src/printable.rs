//! Makes names from files safe to print, by escaping characters that could control a terminal. Every layer needs
//! this, so it is in the lowest one.

use std::{
    ffi::OsStr,
    fmt::{self, Write},
};

/// Number of characters after which a text is truncated, so that a long name does not flood every message.
const MAX_CHARS: usize = 512;

/// A text that is safe to print, created by [`printable`].
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a> {
    text: &'a OsStr,
    max_chars: usize,
}

/// Makes a text from a file safe to print to a terminal or in a message. Control characters, and characters that
/// change the writing direction, are escaped (`\u{1b}`, `\n`), so that a name cannot control a terminal or fake a
/// line. A long text is truncated and followed by its length. Bytes that are not UTF-8 are escaped as `\xff`. Text in
/// JSON and XML is escaped by the rules of those formats instead.
///
/// ```
/// use texpool_plan::{Printable, printable};
///
/// assert_eq!(printable("conv\u{1b}[2J").to_string(), "conv\\u{1b}[2J");
/// let long = "a".repeat(1000);
/// let whole: Printable<'_> = printable(&long).untruncated();
/// assert_eq!(whole.to_string().len(), 1000);
/// ```
pub fn printable<T: AsRef<OsStr> + ?Sized>(text: &T) -> Printable<'_> {
    Printable { text: text.as_ref(), max_chars: MAX_CHARS }
}

impl Printable<'_> {
    /// Disables truncation, for names that the user gave.
    #[must_use]
    pub const fn untruncated(self) -> Self {
        Self { max_chars: usize::MAX, ..self }
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut count = 0;
        for chunk in self.text.as_encoded_bytes().utf8_chunks() {
            for c in chunk.valid().chars() {
                if count == self.max_chars {
                    return write!(f, "... ({} bytes)", self.text.len());
                }
                count += 1;
                if needs_escape(c) { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Returns whether a character controls a terminal, breaks lines, changes the writing direction or is invisible.
pub fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_controls_a_terminal_is_left() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}31m\r\nnode 0 is fine\u{202e}\u{7f}\u{0}";
        let text = printable(hostile).to_string();
        assert!(!text.chars().any(needs_escape), "{text}");
        assert!(text.starts_with("a\\u{1b}]0;x\\u{7}"), "{text}");
        assert_eq!(printable("Größe/第1層: `x`").to_string(), "Größe/第1層: `x`");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let text = printable(&"é".repeat(100_000)).to_string();
        assert!(text.len() < 2 * MAX_CHARS + 40 && text.ends_with("... (200000 bytes)"), "{text}");
    }
}
