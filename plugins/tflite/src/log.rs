//! Standard error, for what the runtime's interface has no place for.

use std::io::{self, Write as _};

/// Tells lines. That nobody listens is no error.
pub(crate) fn tell(text: &str) {
    for line in text.lines() {
        let _ = writeln!(io::stderr(), "texpool: {line}");
    }
}
