//! Breaks text into lines that fit an ordinary terminal, in a pipe too, so that output is the same everywhere.

/// Most characters of a line.
const WIDTH: usize = 80;

/// Returns the text with its longer lines broken between words. What follows is indented more than the line. A word that is
/// too long stays whole.
pub(super) fn fitted(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words = line.trim_start_matches(' ');
        let indent = " ".repeat(line.len() - words.len());
        let (mut begin, mut rest) = (indent.clone(), words);
        while let Some(at) = break_of(rest, WIDTH.saturating_sub(begin.len())) {
            lines += &format!("{begin}{}\n", rest[..at].trim_end());
            begin = format!("{indent}  ");
            rest = rest[at..].trim_start_matches(' ');
        }
        lines += &begin;
        lines += rest;
    }
    lines
}

/// Returns the place of the last space at which the line fits into `room`, or else of its first space. Returns `None` if
/// the line fits as it is, or has no space.
fn break_of(line: &str, room: usize) -> Option<usize> {
    let line = line.trim_end();
    if line.chars().count() <= room {
        return None;
    }
    let mut spaces =
        line.char_indices().enumerate().filter(|(_, (_, c))| *c == ' ').map(|(count, (at, _))| (count, at));
    let first = spaces.next()?;
    // A space may stand behind the last character that fits.
    let last = std::iter::once(first).chain(spaces).take_while(|(count, _)| *count <= room).last();
    Some(last.unwrap_or(first).1)
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn lines_that_fit_stay_as_they_are() {
        let full = ["ab"; 26].join(" ");
        let text = format!("  a   b\n\n  {full}\nno end");
        assert_eq!(fitted(&text), text, "79 characters are one line, and columns stay");
        assert_eq!(fitted(&format!(" {full} c\n")), format!(" {full} c\n"), "80, too");
        assert_eq!(fitted(""), "");
    }

    #[test]
    fn longer_lines_break_between_words() {
        let full = ["ab"; 26].join(" ");
        assert_eq!(fitted(&format!("  {full} cd\n  e\n")), format!("  {full}\n    cd\n  e\n"));
        let long = "ü".repeat(100);
        assert_eq!(fitted(&format!("  one two {long} three")), format!("  one two\n    {long}\n    three"));
        assert_eq!(fitted(&format!("{long}\n")), format!("{long}\n"));
    }
}
