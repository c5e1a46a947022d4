//! What is known of each operator: the registry of both importers, from which the support matrix is written and the
//! tests take what they must cover. A row stands beside what lowers it.
//!
//! Names no operator.

use super::{context::Context, error::Problem, lower, onnx};

/// Adds the nodes that compute an ONNX node's results, or states them as known.
pub(super) type Lower = fn(&mut onnx::Call<'_>) -> Result<(), Problem>;
/// Computes results from operands that are all known.
pub(super) type Fold = fn(&mut onnx::Call<'_>) -> Result<(), Problem>;
/// Adds the nodes that compute the result of an operator of TensorFlow Lite, or makes it a constant.
pub(super) type LowerTfLite = fn(&mut Context<'_, '_>) -> Result<(), Problem>;

/// Elements that an operator takes, beside indices and the like: floats of 32 or 16 bits, and what floats hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Types {
    Floats,
    /// Floats and integers.
    Numbers,
    /// Floats, integers and truth values.
    All,
    Truths,
    /// Floats and the 8, 16 or 32 bits that stand for them.
    Quantised,
}
pub(super) use Types::{All, Floats, Numbers, Quantised, Truths};

impl Types {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Floats => "float",
            Self::Numbers => "float, int",
            Self::All => "float, int, bool",
            Self::Truths => "bool",
            Self::Quantised => "float, 8 to 32 bits with a scale",
        }
    }
}

/// An operator as ONNX knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Onnx {
    pub(super) name: &'static str,
    /// Empty for the format's own.
    pub(super) domain: &'static str,
    /// The operator set of the oldest definition that is read.
    pub(super) since: i64,
    pub(super) lower: Lower,
    pub(super) fold: Option<Fold>,
}

impl Onnx {
    /// Its name with its domain.
    pub(super) fn full(&self) -> String {
        if self.domain.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.domain, self.name) }
    }
}

/// A name in the TensorFlow Lite schema, or `CUSTOM` and the name of a custom operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct TfLite {
    pub(super) name: &'static str,
    pub(super) lower: LowerTfLite,
    /// Whether it may have several results.
    pub(super) many: bool,
}

/// An operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub(super) onnx: Option<Onnx>,
    tflite: [Option<TfLite>; 3],
    pub(super) types: Types,
    /// Families of kernels that compute it; `none` if nothing is computed.
    pub(super) kernels: &'static str,
    /// What is not supported of it, in words.
    pub(super) limits: &'static str,
}

impl Fact {
    /// An operator of ONNX's own domain, without limits.
    pub(super) const fn new(name: &'static str, since: i64, types: Types, kernels: &'static str, lower: Lower) -> Self {
        let onnx = Onnx { name, domain: "", since, lower, fold: None };
        Self { onnx: Some(onnx), tflite: [None; 3], types, kernels, limits: "" }
    }

    /// An operator of TensorFlow Lite alone, without limits.
    pub(super) const fn tflite_alone(
        name: &'static str,
        types: Types,
        kernels: &'static str,
        lower: LowerTfLite,
    ) -> Self {
        let none = Self { onnx: None, tflite: [None; 3], types, kernels, limits: "" };
        none.tflite(name, lower)
    }

    /// With a name in the TensorFlow Lite schema.
    pub(super) const fn tflite(self, name: &'static str, lower: LowerTfLite) -> Self {
        self.named(TfLite { name, lower, many: false })
    }

    /// With a name in the TensorFlow Lite schema of an operator of several results.
    pub(super) const fn tflite_of_many(self, name: &'static str, lower: LowerTfLite) -> Self {
        self.named(TfLite { name, lower, many: true })
    }

    const fn named(mut self, name: TfLite) -> Self {
        let mut free = 0;
        while self.tflite[free].is_some() {
            free += 1;
        }
        self.tflite[free] = Some(name);
        self
    }

    /// With its limits.
    pub(super) const fn limits(self, limits: &'static str) -> Self {
        Self { limits, ..self }
    }

    /// With what computes ONNX's where all operands are known.
    pub(super) const fn fold(mut self, fold: Fold) -> Self {
        if let Some(onnx) = &mut self.onnx {
            onnx.fold = Some(fold);
        }
        self
    }

    /// Of another domain of ONNX.
    pub(super) const fn domain(mut self, domain: &'static str) -> Self {
        if let Some(onnx) = &mut self.onnx {
            onnx.domain = domain;
        }
        self
    }

    /// Its names in the TensorFlow Lite schema.
    pub(super) fn tflites(&self) -> impl Iterator<Item = &TfLite> {
        self.tflite.iter().flatten()
    }
}

/// All operators, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Fact> {
    onnx::FACTS.iter().chain(&lower::FACTS).copied().flatten()
}

/// ONNX's operator of that name.
pub(super) fn onnx(domain: &str, name: &str) -> Option<&'static Onnx> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    all().filter_map(|fact| fact.onnx.as_ref()).find(|onnx| onnx.name == name && onnx.domain == domain)
}

/// TensorFlow Lite's operator of that name.
pub(super) fn tflite(name: &str) -> Option<&'static TfLite> {
    all().flat_map(Fact::tflites).find(|tflite| tflite.name == name)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;
    use crate::import::opcode;

    #[test]
    fn every_name_occurs_once() {
        let (mut onnx, mut tflite) = (BTreeSet::new(), BTreeSet::new());
        for fact in all() {
            assert!(fact.onnx.is_some() || fact.tflites().next().is_some(), "a row without a name");
            let names = fact.onnx.iter().map(|o| onnx.insert(o.full()).then_some(()).ok_or(o.name));
            let names = names.chain(fact.tflites().map(|t| tflite.insert(t.name).then_some(()).ok_or(t.name)));
            names.for_each(|once| assert_eq!(once, Ok(()), "it occurs twice"));
        }
    }

    #[test]
    fn every_name_is_one_of_the_schemas() {
        for TfLite { name, .. } in all().flat_map(Fact::tflites) {
            assert!(opcode::code(name).is_some(), "{name} is no operator of TensorFlow Lite");
        }
        for onnx in all().filter_map(|fact| fact.onnx) {
            assert!((1..=onnx::NEWEST).contains(&onnx.since), "{} since {}", onnx.name, onnx.since);
        }
    }

    #[test]
    fn every_family_of_kernels_has_a_shader() {
        let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        for kernels in all().map(|fact| fact.kernels).filter(|&kernels| kernels != "none") {
            for family in kernels.split(", ") {
                assert!(shaders.join(format!("{family}.wgsl")).is_file(), "`{family}` is no family of kernels");
            }
        }
    }
}
