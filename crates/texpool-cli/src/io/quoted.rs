//! File names as they are written in the commands that messages suggest.

use super::printable;
use std::path::Path;

/// Returns a file name as a word of a shell's command line.
///
/// ```
/// use texpool_cli::io::shell_word;
/// assert_eq!(shell_word("a/net.pt".as_ref()), "a/net.pt");
/// assert_eq!(shell_word("it's my net.pt".as_ref()), r"'it'\''s my net.pt'");
/// ```
pub fn shell_word(path: &Path) -> String {
    let text = printable(path).to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    // A leading hyphen would be taken for an option.
    match text.starts_with('-') {
        true => shell_word(&Path::new(".").join(path)),
        false if !text.is_empty() && text.chars().all(is_plain) => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
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
