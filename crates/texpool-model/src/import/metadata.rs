//! Facts that a model file states about its origin. Nothing is computed from them.

use std::collections::BTreeMap;

/// Facts that a model file states about its origin, as ONNX Runtime's `ModelMetadata` has them. Texts that the file does
/// not state are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelMetadata {
    /// Name of the tool that wrote the file, such as `pytorch`.
    pub producer_name: String,
    /// Name of the main graph.
    pub graph_name: String,
    /// Description of the main graph.
    pub graph_description: String,
    /// Namespace of the model, such as `org.onnx`.
    pub domain: String,
    /// Description of the model.
    pub description: String,
    /// Version of the model, which its author counts.
    pub version: i64,
    /// Further facts by their names, as the author chose them.
    pub custom: BTreeMap<String, String>,
}
