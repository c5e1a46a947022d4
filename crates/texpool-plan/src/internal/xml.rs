//! Text in XML. Pictures and exchange formats contain names from model files, which may be hostile.

use std::fmt::Write;

/// Escapes text for use between tags or in an attribute. Tabs and line breaks become character references, because
/// readers would otherwise replace them with spaces. Characters that XML 1.0 cannot represent become U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\t' | '\n' | '\r' => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "&#{};", c as u32);
            }
            '\0'..=' ' if c != ' ' => escaped.push('\u{FFFD}'),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            _ => escaped.push(c),
        }
    }
    escaped
}
