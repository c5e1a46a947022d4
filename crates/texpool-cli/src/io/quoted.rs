//! File names and arguments as they are written in the commands that messages suggest.

use super::printable;
use std::{ffi::OsStr, path::Path};

/// Returns a file name as a word of a shell's command line.
///
/// ```
/// use texpool_cli::io::shell_word;
/// assert_eq!(shell_word("a/net.pt".as_ref()), "a/net.pt");
/// assert_eq!(shell_word("it's my net.pt".as_ref()), r"'it'\''s my net.pt'");
/// ```
pub fn shell_word(path: &Path) -> String {
    // A leading hyphen would be taken for an option.
    match path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        true => shell_word(&Path::new(".").join(path)),
        false => shell_argument(path.as_os_str()),
    }
}

/// Returns an argument, which may be an option, as a word of a shell's command line.
///
/// ```
/// use texpool_cli::io::shell_argument;
/// assert_eq!(shell_argument("--constant=sr=16000".as_ref()), "--constant=sr=16000");
/// assert_eq!(shell_argument("--dim=n<=4".as_ref()), "'--dim=n<=4'");
/// ```
pub fn shell_argument(argument: &OsStr) -> String {
    let text = printable(Path::new(argument)).to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Returns a file name as a literal of Python, for code between the double quotes of a shell.
///
/// ```
/// use texpool_cli::io::python_literal;
/// assert_eq!(python_literal("it's my $net.pt".as_ref()), r"'it\\'s my \$net.pt'");
/// ```
pub fn python_literal(path: &Path) -> String {
    let text = printable(path).to_string().replace('\\', r"\\").replace('\'', r"\'");
    let mut literal = String::from("'");
    for c in text.chars() {
        if matches!(c, '\\' | '"' | '$' | '`') {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal.push('\'');
    literal
}
