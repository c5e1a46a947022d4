//! The table of supported operators, also as data for tests.

use std::fmt::Write;

use super::{
    onnx::{self, NEWEST, OLDEST, OnnxOpEntry},
    op_registry::Support,
    tflite::{self, Described},
};

/// Numbers of ONNX's own test cases that pass, by operator and by folder, as counted by `tests/gpu/onnx_nodes`.
const OFFICIAL: &str = include_str!("onnx/official.csv");

/// A supported operator, with its names in both formats.
///
/// ```
/// use texpool::import::supported;
///
/// let operators = supported();
/// let shape = operators.iter().find(|operator| operator.onnx.as_deref() == Some("Shape")).unwrap();
/// // The importer computes it, so it needs no kernel.
/// assert!(shape.folds && shape.kernels.is_empty());
/// assert_eq!((shape.since, &shape.tflite[..]), (Some(6), &[("SHAPE", 77)][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Name in ONNX, prefixed with the domain unless it is ONNX's own.
    pub onnx: Option<String>,
    /// First ONNX operator set whose definition is supported.
    pub since: Option<i64>,
    /// Names in TensorFlow Lite, each with its code.
    pub tflite: Vec<(&'static str, i32)>,
    /// Kernels that compute it. Empty if nothing needs to be computed.
    pub kernels: Vec<&'static str>,
    /// Supported element types, as text.
    pub types: &'static str,
    /// Limitations, as text.
    pub limits: &'static str,
    /// True if the ONNX operator is evaluated at import when all operands are constant.
    pub folds: bool,
}

impl Operator {
    fn new(Support { types, kernels, limits }: Support, tflite: Vec<(&'static str, i32)>) -> Self {
        let kernels = kernels.split(", ").filter(|&kernel| kernel != "none").collect();
        Self { onnx: None, since: None, tflite, kernels, types: types.words(), limits, folds: false }
    }

    /// Creates the row of an ONNX operator, with the TensorFlow Lite operators that are described in the same row.
    fn of_onnx(entry: &OnnxOpEntry) -> Self {
        let own = entry.domain.is_empty();
        let here = |described| matches!(described, Described::LikeOnnx(name) if own && name == entry.name);
        let tflite = tflite::operators().filter(|entry| here(entry.described)).filter_map(|entry| entry.coded());
        Self {
            onnx: Some(entry.full_name()),
            // Table rows contain 1 for definitions that are older than the oldest supported operator set.
            since: Some(if own { entry.since.max(OLDEST) } else { entry.since }),
            folds: entry.fold.is_some(),
            ..Self::new(entry.support, tflite.collect())
        }
    }
}

/// Lists the supported operators: ONNX's by name, its own domain first, then those that only TensorFlow Lite has.
///
/// ```
/// let operators = texpool::import::supported();
/// let conv = operators.iter().find(|operator| operator.onnx.as_deref() == Some("Conv"));
/// assert!(conv.is_some_and(|conv| conv.tflite.contains(&("CONV_2D", 3))));
/// ```
pub fn supported() -> Vec<Operator> {
    let alone = tflite::operators().filter_map(|entry| match entry.described {
        Described::Alone(support) => Some(Operator::new(support, entry.coded().into_iter().collect())),
        Described::LikeOnnx(_) => None,
    });
    let mut all: Vec<Operator> = onnx::operators().map(Operator::of_onnx).chain(alone).collect();
    all.sort_by_cached_key(|operator| {
        let foreign = operator.onnx.as_ref().is_some_and(|name| name.contains('.'));
        (operator.onnx.is_none(), foreign, operator.onnx.clone(), operator.tflite.clone())
    });
    all
}

/// Returns passing and total numbers of test cases, as text.
fn official(key: &str) -> Option<String> {
    let (_, counts) = OFFICIAL.lines().filter_map(|line| line.split_once(',')).find(|(name, _)| *name == key)?;
    let mut counts = counts.split(',');
    let [passed, cases, narrowed, others] = [counts.next()?, counts.next()?, counts.next()?, counts.next()?];
    let more = |number: &str, of: &str| if number == "0" { String::new() } else { format!(", {number} {of}") };
    let (narrowed, others) = (more(narrowed, "in 32 bits for 64"), more(others, "of other types"));
    Some(format!("{passed} of {cases}{narrowed}{others}"))
}

/// Returns the supported operators as Markdown. `OPERATORS.md` in this folder holds the result.
///
/// ```
/// let table = texpool::import::operators();
/// let relu = table.lines().find(|line| line.starts_with("| Relu |")).unwrap();
/// assert!(relu.starts_with("| Relu | 6 | RELU | unary | float, int | yes |"));
/// ```
pub fn operators() -> String {
    let mut text = format!(
        "# Operators\n\nONNX operator sets {OLDEST} to {NEWEST}; *since* is the operator set of the oldest \
         definition that is read. Floats have\n32 or 16 bits, and those of 64 bits or bfloat16 in an ONNX model \
         get 32; integers and truth values are held in floats,\nexactly up to 2^24: those of 8 and 16 bits wrap \
         around as a processor's, a run refuses inputs of which others would\nbe rounded, and the importer nodes \
         where no inputs would help; tensors of TensorFlow Lite that hold 8 bits with a scale\nare the real \
         values that they stand for. *Computed on import* is what happens where all operands are known; \
         *kernels*\ncompute the rest. *Official cases* are those of ONNX's own tests that are the operator alone, \
         in types that are\nsupported: how many of them pass; those of 64-bit floats are run in 32 bits. Why some \
         do not pass stands in\n`tests/data/onnx_nodes.json`.\n\n\
         | ONNX | since | TensorFlow Lite | kernels | types | computed on import | official cases | limits |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for Operator { onnx, since, tflite, kernels, types, limits, folds } in supported() {
        let name = onnx.as_deref().unwrap_or_default();
        let since = since.map(|since| since.to_string()).unwrap_or_default();
        let tflite: Vec<&str> = tflite.into_iter().map(|(name, _)| name).collect();
        let kernels = if kernels.is_empty() { "none".to_owned() } else { kernels.join(", ") };
        let fold = if folds { "yes" } else { "" };
        let cases = official(name).unwrap_or_default();
        let tflite = tflite.join(", ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {since} | {tflite} | {kernels} | {types} | {fold} | {cases} | {limits} |");
    }
    text.push_str("\n| folder of the official cases | pass |\n|---|---|\n");
    for folder in OFFICIAL.lines().filter_map(|line| line.split(',').next()).filter(|key| key.ends_with('/')) {
        let _ = writeln!(text, "| {folder} | {} |", official(folder).unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_of_either_format_stands_in_one_row() {
        let listed: usize = supported().iter().map(|operator| operator.tflite.len()).sum();
        assert_eq!(listed, tflite::operators().count(), "a counterpart is named that ONNX does not have");
    }
}
