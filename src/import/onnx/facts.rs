//! What is known of each operator of the format: the registry of the importer, and of the support matrix.

use std::fmt::Write;

use super::{NEWEST, OLDEST, call::Call, lower};
use crate::import::error::Problem;

/// Adds the nodes that compute a node's results, or states them as known.
pub(super) type Lower = fn(&mut Call<'_>) -> Result<(), Problem>;
/// Computes results from operands that are all known.
pub(super) type Fold = fn(&mut Call<'_>) -> Result<(), Problem>;

/// An operator of the format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    /// Its name.
    pub(super) name: &'static str,
    /// Its domain; empty for the format's own.
    pub(super) domain: &'static str,
    /// Its names in the TensorFlow Lite schema.
    pub(super) tflite: &'static str,
    /// Families of kernels that compute it.
    pub(super) kernels: &'static str,
    /// What is not supported of it, in words.
    pub(super) limits: &'static str,
    pub(super) lower: Lower,
    pub(super) fold: Option<Fold>,
}

impl Fact {
    /// An operator of the format's own domain without limits.
    pub(super) const fn new(name: &'static str, kernels: &'static str, lower: Lower) -> Self {
        Self { name, domain: "", tflite: "", kernels, limits: "", lower, fold: None }
    }

    /// With its names in the TensorFlow Lite schema.
    pub(super) const fn tflite(self, tflite: &'static str) -> Self {
        Self { tflite, ..self }
    }

    /// With its limits.
    pub(super) const fn limits(self, limits: &'static str) -> Self {
        Self { limits, ..self }
    }

    /// With what computes it where all operands are known.
    pub(super) const fn fold(self, fold: Fold) -> Self {
        Self { fold: Some(fold), ..self }
    }

    /// Of another domain.
    pub(super) const fn domain(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }
}

/// All operators, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Fact> {
    lower::FACTS.iter().flat_map(|group| group.iter())
}

/// The operator of that name.
pub(super) fn find(domain: &str, name: &str) -> Option<&'static Fact> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    all().find(|fact| fact.name == name && fact.domain == domain)
}

/// How many of ONNX's own cases pass, by operator and by folder, as `tests/onnx_nodes` counts them.
const OFFICIAL: &str = include_str!("official.csv");

/// Cases that pass, and all there are, in words.
fn official(key: &str) -> Option<String> {
    let (_, counts) = OFFICIAL.lines().filter_map(|line| line.split_once(',')).find(|(name, _)| *name == key)?;
    let mut counts = counts.split(',');
    let [passed, cases, narrowed, others] = [counts.next()?, counts.next()?, counts.next()?, counts.next()?];
    let more = |number: &str, of: &str| if number == "0" { String::new() } else { format!(", {number} {of}") };
    let (narrowed, others) = (more(narrowed, "in 32 bits for 64"), more(others, "of other types"));
    Some(format!("{passed} of {cases}{narrowed}{others}"))
}

/// The support matrix, as Markdown.
pub(in crate::import) fn matrix() -> String {
    let mut text = format!(
        "# Operators\n\nONNX operator sets {OLDEST} to {NEWEST}. Elements are 32-bit or 16-bit floats; integers and truth \
         values are held in\nfloats, exactly up to 2^24. *Computed on import* is what happens where all operands are known; \
         *kernels* compute the rest.\n*Official cases* are those of ONNX's own tests that are the operator alone, in \
         types that are supported: how many of them pass.\nCases of 64-bit floats are run in 32 bits. Why some do \
         not pass stands in `tests/data/onnx_nodes.json`.\n\n\
         | ONNX | TensorFlow Lite | kernels | computed on import | official cases | limits |\n|---|---|---|---|---|---|\n"
    );
    let mut facts: Vec<&Fact> = all().collect();
    facts.sort_by_key(|fact| (fact.domain, fact.name));
    for Fact { name, domain, tflite, kernels, limits, fold, .. } in facts {
        let name = if domain.is_empty() { (*name).to_owned() } else { format!("{domain}.{name}") };
        let fold = if fold.is_some() { "yes" } else { "" };
        let cases = official(&name).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {tflite} | {kernels} | {fold} | {cases} | {limits} |");
    }
    text.push_str("\n| folder of the official cases | pass |\n|---|---|\n");
    for folder in OFFICIAL.lines().filter_map(|line| line.split(',').next()).filter(|key| key.ends_with('/')) {
        let _ = writeln!(text, "| {folder} | {} |", official(folder).unwrap_or_default());
    }
    text
}
