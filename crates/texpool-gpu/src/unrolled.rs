//! Unrolls the loops of a shader over the pixels, slices and taps of an invocation, for drivers that leave loops as they
//! are.
//!
//! Such a driver reads and writes each element of an array by a computed index. SwiftShader takes 1.7 to 1.8 times as long
//! without this (`docs/design/kernels.md`). Others unroll these loops themselves, and a longer text only costs them time.

use std::collections::HashMap;

/// Constants whose loops are unrolled: extents of a block and of a window.
const BOUNDS: [&str; 5] = ["PIXELS", "SLICES", "WINDOW_Y", "WINDOW_X", "COLUMNS"];
/// Greatest number of rounds. Longer loops stay, because their text would take long to compile.
const MAX_ROUNDS: u32 = 16;

/// Returns whether a driver leaves loops as they are.
pub(super) fn is_needed(adapter: &wgpu::AdapterInfo) -> bool {
    adapter.name.contains("SwiftShader")
}

/// Returns the text, in which constants have values, with a copy of the body for each round of these loops. Loops that
/// can end early stay.
pub(super) fn unrolled(text: &str) -> String {
    let mut values: HashMap<&str, u32> = HashMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.strip_prefix("const ").and_then(|line| line.split_once(": u32 = ")) else {
            continue;
        };
        let value = value.trim_end_matches(';');
        let digits = value.trim_start_matches("u32(").trim_end_matches(')').trim_end_matches('u');
        if let Some(value) = digits.parse().ok().or_else(|| values.get(value).copied()) {
            values.insert(name, value);
        }
    }
    with_copies(text, &|bound| values.get(bound).copied().filter(|_| BOUNDS.contains(&bound)))
}

/// A loop in a text.
struct Loop<'a> {
    index: &'a str,
    rounds: u32,
    body: &'a str,
    /// The text behind it.
    rest: &'a str,
}

impl<'a> Loop<'a> {
    /// Reads a loop at the beginning of a text, if it has a known number of rounds and cannot end early.
    fn at_start_of(text: &'a str, value: &dyn Fn(&str) -> Option<u32>) -> Option<Self> {
        let (head, behind) = text.strip_prefix("for (var ")?.split_once(") {")?;
        let (index, condition) = head.split_once(" = 0u; ")?;
        let bound = condition.strip_prefix(index)?.strip_prefix(" < ")?.strip_suffix("++")?.strip_suffix(index)?;
        let rounds = value(bound.strip_suffix("; ")?).filter(|&rounds| rounds <= MAX_ROUNDS)?;
        let mut depth = 1;
        let end = behind.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        })?;
        let (body, rest) = (behind.get(..end)?, behind.get(end + 1..)?);
        let ends_early = ["break", "continue", "return"].iter().any(|word| body.contains(word));
        (!ends_early).then_some(Self { index, rounds, body, rest })
    }
}

fn with_copies(text: &str, value: &dyn Fn(&str) -> Option<u32>) -> String {
    let (mut result, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find("for (var ") {
        let (before, from) = rest.split_at(start);
        result += before;
        match Loop::at_start_of(from, value) {
            Some(Loop { index, rounds, body, rest: behind }) => {
                let body = with_copies(body, value);
                for round in 0..rounds {
                    result += &format!("{{{}}}\n", with_value(&body, index, round));
                }
                rest = behind;
            }
            None => {
                let (keyword, behind) = from.split_at("for ".len());
                result += keyword;
                rest = behind;
            }
        }
    }
    result + rest
}

/// Returns the text with a number in place of a variable. A member of that name stays.
fn with_value(text: &str, variable: &str, value: u32) -> String {
    let (mut result, mut rest) = (String::with_capacity(text.len()), text);
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(start) = rest.find(variable) {
        let (before, from) = rest.split_at(start);
        let behind = &from[variable.len()..];
        let is_whole = !before.ends_with(|c| in_name(c) || c == '.') && !behind.starts_with(in_name);
        result += before;
        result += &if is_whole { format!("{value}u") } else { variable.to_owned() };
        rest = behind;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::unrolled;

    #[test]
    fn loops_over_blocks_have_a_copy_for_each_round() {
        let text = "const MAX_PIXELS: u32 = 2u;\nconst PIXELS: u32 = MAX_PIXELS;\nconst SLICES: u32 = u32(2);\n\
            fn f() {\nfor (var p = 0u; p < PIXELS; p++) {\
            for (var s = 0u; s < SLICES; s++) { sums[p][s] += step.p * sp; } }\nend(); }";
        let (_, body) = unrolled(text).split_once("fn f() {\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let inner = |p: u32, s: u32| format!("{{ sums[{p}u][{s}u] += step.p * sp; }}\n");
        let outer = |p: u32| format!("{{{}{} }}\n", inner(p, 0), inner(p, 1));
        assert_eq!(body, format!("{}{}\nend(); }}", outer(0), outer(1)));
    }

    #[test]
    fn other_loops_stay() {
        for text in [
            "const PIXELS: u32 = 2u;\nfor (var p = 0u; p < PIXELS; p++) { if end { break; } }",
            "const PIXELS: u32 = 64u;\nfor (var p = 0u; p < PIXELS; p++) { f(p); }",
            "const LANES: u32 = 2u;\nfor (var p = 0u; p < LANES; p++) { f(p); }",
            "const PIXELS: u32 = 2u;\nfor (var p = 1u; p < PIXELS; p++) { f(p); }",
            "const PIXELS: u32 = 2u;\nfor (var p = 0u; p < PIXELS; p += 2u) { f(p); }",
            "for (var p = 0u; p < PIXELS; p++) { f(p); }",
        ] {
            assert_eq!(unrolled(text), text);
        }
    }
}
