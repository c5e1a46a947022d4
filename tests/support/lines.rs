//! A model in one line: nodes separated by `;`, each `OPERATOR operands -> results attributes`.
//!
//! An operand is a name known before, `_` for none, or declares itself: `x:1,3,8,8` an input of floats (`x:2~i64` of
//! another type, `x:n,3` with an extent of a name), `w=4,3` a constant of floats, `s*1,2.5` a list of these floats, `s!1,-1` a constant list of integers,
//! `k!!1` a single one.

/// A token of a node.
#[derive(Clone, Debug)]
pub(crate) enum Operand<'a> {
    None,
    Known(&'a str),
    Input(&'a str, Vec<&'a str>, &'a str),
    Floats(&'a str, Vec<i64>),
    Values(&'a str, Vec<f32>),
    Ints(&'a str, Vec<i64>),
    Single(&'a str, i64),
}

/// A node of a line.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) operator: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
    pub(crate) results: Vec<Operand<'a>>,
    /// Attributes or options: names and values.
    pub(crate) attributes: Vec<(&'a str, &'a str)>,
}

/// The nodes of a line.
pub(crate) fn nodes(line: &str) -> Vec<Node<'_>> {
    line.split(';').map(node).collect()
}

fn node(text: &str) -> Node<'_> {
    let (head, epilogue) = text.split_once("->").unwrap();
    let mut head = head.split_whitespace();
    let operator = head.next().unwrap();
    let operands = head.map(operand).collect();
    let (attributes, results) = epilogue.split_whitespace().partition::<Vec<_>, _>(|token| token.contains('='));
    let attributes = attributes.into_iter().map(|token| token.split_once('=').unwrap()).collect();
    Node { operator, operands, results: results.into_iter().map(operand).collect(), attributes }
}

fn operand(token: &str) -> Operand<'_> {
    if token == "_" {
        return Operand::None;
    }
    if let Some((name, value)) = token.split_once("!!") {
        return Operand::Single(name, value.parse().unwrap_or(0));
    }
    if let Some((name, values)) = token.split_once('!') {
        return Operand::Ints(name, list(values));
    }
    if let Some((name, values)) = token.split_once('*') {
        return Operand::Values(name, list(values));
    }
    if let Some((name, dims)) = token.split_once('=') {
        return Operand::Floats(name, list(dims));
    }
    match token.split_once(':') {
        Some((name, rest)) => {
            let (dims, kind) = rest.split_once('~').unwrap_or((rest, "f32"));
            Operand::Input(name, dims.split(',').filter(|dim| !dim.is_empty()).collect(), kind)
        }
        None => Operand::Known(token),
    }
}

/// Parses numbers separated by commas; drops everything else.
pub(crate) fn list<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split(',').filter_map(|part| part.parse().ok()).collect()
}

/// Extreme values put in place of a file's numbers.
const EXTREMES: [&str; 9] =
    ["0", "-1", "1", "7", "2147483647", "-2147483648", "1099511627776", "9223372036854775807", "-9223372036854775808"];

/// Returns variants of the line: each of its numbers in turn set to extreme values, each list emptied, each operand,
/// result and attribute left out.
pub(crate) fn changed(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut at = 0;
    for token in line.split_inclusive([' ', ';']) {
        let bare = token.trim_end_matches([' ', ';']);
        let with = |new: &str| format!("{}{new}{}", &line[..at], &line[at + bare.len()..]);
        let separator = bare.find(['=', ':', '!', '*']);
        if at > 0 && bare != "->" && !line[..at].ends_with(';') {
            all.extend([with(""), with("_")]);
        }
        if let Some(separator) = separator {
            let list = bare.rfind('!').unwrap_or(separator) + 1;
            all.push(with(&bare[..list]));
            all.push(with(&format!("{}1,{}", &bare[..list], &bare[list..])));
            for (number, text) in numbers(bare, list) {
                let end = number + text.len();
                all.extend(EXTREMES.map(|new| with(&format!("{}{new}{}", &bare[..number], &bare[end..]))));
            }
        }
        at += token.len();
    }
    all
}

/// Returns the numbers of a list that begins at a given position of a token, with their positions.
fn numbers(token: &str, list: usize) -> Vec<(usize, &str)> {
    let part = |c: char| c.is_ascii_digit() || c == '-' || c == '.';
    let mut names = Vec::new();
    let mut at = list;
    for piece in token[list..].split_inclusive(|c| !part(c)) {
        let text = piece.trim_end_matches(|c| !part(c));
        // The type behind the extents contains digits, too.
        if !text.is_empty() && !token[..at].contains('~') {
            names.push((at, text));
        }
        at += piece.len();
    }
    names
}
