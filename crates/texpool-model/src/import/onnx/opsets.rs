//! The operator sets that a graph or a function uses.

use std::collections::HashMap;

use super::model::own_domain;
use crate::import::error::{ImportError, Problem};

/// Supported operator sets.
pub(in crate::import) const OLDEST: i64 = 6;
pub(in crate::import) const NEWEST: i64 = 28;

/// Versions of operator sets, by domain.
#[derive(Debug)]
pub(super) struct Opsets<'m>(HashMap<&'m str, i64>);

impl<'m> Opsets<'m> {
    /// Fails if a domain has two versions.
    pub(super) fn new(stated: &'m [(String, i64)]) -> Result<Self, ImportError> {
        let mut versions = HashMap::new();
        for (domain, version) in stated {
            // ONNX's own domain has two names, so two entries may belong to the same domain.
            if versions.insert(own_domain(domain), *version).is_some_and(|other| other != *version) {
                return Err(ImportError::Duplicate { what: "operator set", name: domain.clone() });
            }
        }
        Ok(Self(versions))
    }

    /// Returns the version of a domain's set, or 0.
    pub(super) fn version(&self, domain: &str) -> i64 {
        self.0.get(own_domain(domain)).copied().unwrap_or(0)
    }

    /// Returns whether the version of ONNX's own set is supported.
    pub(super) fn is_supported(&self) -> bool {
        (OLDEST..=NEWEST).contains(&self.version(""))
    }

    /// Returns the problem of an operator of ONNX's own domain whose set is not supported.
    pub(super) fn unsupported(&self) -> Problem {
        let reason = match self.version("") {
            0 => "no version of ONNX's operator set is stated for it".to_owned(),
            version => format!("it is of operator set {version}, {OLDEST} to {NEWEST} are supported"),
        };
        Problem::new(reason, "export the model with another operator set")
    }
}
