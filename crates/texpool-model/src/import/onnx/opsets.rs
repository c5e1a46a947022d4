//! The operator sets that a model uses, and the operators of its nodes.

use std::collections::{HashMap, HashSet};

use super::{
    lower,
    model::{Model, Node, own_domain},
    op_registry::OnnxOpEntry,
};
use crate::import::error::{ImportError, Problem};

/// Supported operator sets.
pub(in crate::import) const OLDEST: i64 = 6;
pub(in crate::import) const NEWEST: i64 = 28;

/// The operator sets that a model uses.
#[derive(Debug)]
pub(super) struct Opsets<'m> {
    functions: &'m HashSet<String>,
    versions: HashMap<&'m str, i64>,
}

impl<'m> Opsets<'m> {
    pub(super) fn new(model: &'m Model) -> Result<Self, ImportError> {
        let mut versions = HashMap::new();
        for (domain, version) in &model.opsets {
            // ONNX's own domain has two names, so two entries may belong to the same domain.
            if versions.insert(own_domain(domain), *version).is_some_and(|other| other != *version) {
                return Err(ImportError::Duplicate { what: "operator set", name: domain.clone() });
            }
        }
        let version = versions.get("").copied().unwrap_or(0);
        if (OLDEST..=NEWEST).contains(&version) {
            return Ok(Self { functions: &model.functions, versions });
        }
        Err(ImportError::Opset { version, oldest: OLDEST, newest: NEWEST })
    }

    /// Returns the version of a domain's set, or 0.
    pub(super) fn version(&self, domain: &str) -> i64 {
        self.versions.get(own_domain(domain)).copied().unwrap_or(0)
    }

    /// Finds the operator of a node.
    pub(super) fn find(&self, node: &Node) -> Result<&'static OnnxOpEntry, Problem> {
        if let Some(entry) = lower::find(&node.domain, &node.op) {
            return Ok(entry);
        }
        if node.attributes.iter().any(|attribute| !attribute.bodies.is_empty()) {
            return Err(Problem::unsupported("control flow is not supported"));
        }
        if self.functions.contains(&node.op) {
            return Err(Problem::new(
                "it is a function defined in the file",
                "export the model with functions inlined",
            ));
        }
        Err(Problem::unsupported("the operator is not supported"))
    }
}
