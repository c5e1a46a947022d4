//! Facts that a model file states about its origin. Nothing is computed from them.

use std::collections::BTreeMap;

/// Facts that a model file states about its origin, as ONNX Runtime's `ModelMetadata` has them. Texts that the file does
/// not state are empty.
///
/// ```no_run
/// use texpool::import::{ImportOptions, open_with_metadata};
///
/// let (_, metadata) = open_with_metadata("yolov8n.onnx", &ImportOptions::default())?;
/// // Ultralytics writes the names of the classes and the stride of the grid.
/// for fact in ["names", "stride"] {
///     println!("{fact}: {:?}", metadata.custom.get(fact));
/// }
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
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
