//! Writes to standard error what the runtime's interface cannot report.

use std::io::{self, Write as _};

/// Prints lines to standard error, and ignores errors.
pub(crate) fn tell(text: &str) {
    for line in text.lines() {
        let _ = writeln!(io::stderr(), "texpool: {line}");
    }
}
