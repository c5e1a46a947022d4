//! Text inside XML: pictures and exchange formats hold names that come from model files.

use std::fmt::Write;

/// The tag that opens a picture of so many pixels.
pub(crate) fn svg_tag(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"11\">"
    )
}

/// Text as it stands between tags or quotation marks. White space is written by number, because readers make spaces of
/// it otherwise; characters that XML 1.0 has no way to hold become U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
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
