//! Importers: convert model files to [`Graph`]. They depend on the formats and on the graph, but on nothing above.
//!
//! `texpool::Model` uses them to read files, and takes the same [`ImportOptions`]. Call [`open`] to inspect or change
//! a graph.
//!
//! The contents of a file are never trusted: every shape is inferred again, every constant is checked for size, and
//! the final graph is checked. Resources that a file requests are counted (`meter.rs`) and limited in proportion to
//! its size and stated inputs.
#![doc = include_str!("OPERATORS.md")]

mod common;
mod error;
mod file_kind;
mod label;
mod matrix;
mod metadata;
mod meter;
mod model_file;
mod onnx;
mod op_registry;
mod options;
mod outline;
mod own_copy;
mod part_name;
mod plain_file;
mod tflite;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use error::{ImportError, TooMuch, UnresolvedDim, UnsupportedOp};
pub use file_kind::FileKind;
pub use matrix::{Operator, operators, supported};
pub use metadata::ModelMetadata;
pub use meter::{Excess, Resource};
pub use onnx::Array;
pub use options::{BoundDim, ExtentBound, FakeQuant, ImportOptions, parse_constant, parse_dim, parse_fake_quant};
pub use outline::{
    Format, GraphOutline, NodeOutline, NodesToRead, OpenExtent, Outline, PartReader, Refusal, TensorOutline, Verdict,
};
pub use tflite::micro;

use model_file::{FileBytes, Owner};
pub use part_name::{is_part, part_path};
pub use plain_file::{Links, check_plain, folder_of, open_plain_file};
use texpool_ops::graph::Graph;

/// Reads a `.tflite` or `.onnx` file. The graph is named after the file. Its constants are borrowed from the file's
/// bytes.
///
/// The file is read into memory, so it may be changed or deleted afterwards. A file of more than 1 GiB is mapped
/// instead, so that its pages can be evicted from memory. On Unix that is a copy without a name, beside the file or in a
/// folder for temporary files, so the file may be changed there, too; some file systems copy without time and room. The
/// same applies to external files that an `.onnx` file names.
///
/// # Errors
/// If the file cannot be read, is not a valid model, or contains unsupported operators. All of those are listed.
///
/// ```no_run
/// let graph = texpool::import::open("mobilenet_v2.tflite")?;
/// for &input in &graph.inputs {
///     println!("{} {:?}", graph.tensors[input].name, graph.tensors[input].dims);
/// }
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Graph, ImportError> {
    open_with(path, &ImportOptions::default())
}

/// Reads a file with options, such as values for open extents or inputs.
///
/// # Errors
/// As [`open`], and if a bound name does not occur in the file, or an extent is left open. All of those are listed.
///
/// ```no_run
/// use texpool::import::{ImportOptions, open_with};
///
/// // A batch and a width that the file leaves open.
/// let dims = [("batch".to_owned(), 1), ("width".to_owned(), 320)].into();
/// let graph = open_with("text_reader.onnx", &ImportOptions { dims, ..Default::default() })?;
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
pub fn open_with(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Graph, ImportError> {
    Ok(open_listing(path, options)?.0)
}

/// Reads the same and the facts that the file states about its origin.
///
/// # Errors
/// As [`open_with`].
///
/// ```no_run
/// use texpool::import::{ImportOptions, open_with_metadata};
///
/// let (graph, metadata) = open_with_metadata("model.onnx", &ImportOptions::default())?;
/// println!("{}: {} nodes, written by {}", graph.name, graph.nodes.len(), metadata.producer_name);
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
pub fn open_with_metadata(
    path: impl AsRef<Path>,
    options: &ImportOptions,
) -> Result<(Graph, ModelMetadata), ImportError> {
    let path = path.as_ref();
    let owner = load(path)?;
    let metadata = metadata((*owner).as_ref(), Some(path))?;
    Ok((open_owned(owner, path, options)?.0, metadata))
}

/// Reads a file like [`open_with`], and also returns the paths of the external files that contain its values.
///
/// # Errors
/// As [`open_with`].
pub fn open_listing(path: impl AsRef<Path>, options: &ImportOptions) -> Result<(Graph, Vec<PathBuf>), ImportError> {
    let path = path.as_ref();
    open_owned(load(path)?, path, options)
}

/// Loads the bytes of a model file, as [`open`] does.
///
/// # Errors
/// [`ImportError::Read`].
pub fn load(path: &Path) -> Result<Arc<dyn AsRef<[u8]> + Send + Sync>, ImportError> {
    match FileBytes::read(path) {
        Ok(bytes) => Ok(Arc::new(bytes)),
        Err(source) => Err(ImportError::Read { path: path.to_owned(), source }),
    }
}

fn open_owned(owner: Owner, path: &Path, options: &ImportOptions) -> Result<(Graph, Vec<PathBuf>), ImportError> {
    let mut beside = Vec::new();
    let mut graph = read(owner, Some(path), options, &mut beside)?;
    if let Some(stem) = path.file_stem() {
        graph.name = stem.to_string_lossy().into_owned();
    }
    Ok((graph, beside))
}

/// Reads a model from shared bytes. The graph has the name stated in the file. Its constants are borrowed from the
/// bytes.
///
/// # Errors
/// As [`open`].
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{ImportError, from_bytes};
///
/// let empty: Vec<u8> = Vec::new();
/// assert!(matches!(from_bytes(Arc::new(empty)), Err(ImportError::Empty)));
/// ```
pub fn from_bytes(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Graph, ImportError> {
    from_bytes_with(owner, &ImportOptions::default())
}

/// Reads a model from shared bytes with options.
///
/// # Errors
/// As [`open_with`].
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{ImportOptions, from_bytes_with};
///
/// // An ONNX file of `y = Relu(x)` that leaves the extent `n` of `x` open.
/// let file = *b"\x08\x08:2\n\x0c\n\x01x\x12\x01y\x22\x04ReluZ\x10\n\x01x\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01n\
///     b\x10\n\x01y\x12\x0b\n\x09\x08\x01\x12\x05\n\x03\x12\x01nB\x02\x10\x11";
/// let dims = [("n".to_owned(), 4)].into();
/// let graph = from_bytes_with(Arc::new(file), &ImportOptions { dims, ..ImportOptions::default() })?;
/// assert_eq!(graph.tensors[graph.inputs[0]].dims, [4]);
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
pub fn from_bytes_with(
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    options: &ImportOptions,
) -> Result<Graph, ImportError> {
    read(owner, None, options, &mut Vec::new())
}

/// Reads the same and the facts that the bytes state about the model's origin.
///
/// # Errors
/// As [`open_with`].
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{ImportOptions, from_bytes_with_metadata};
///
/// // An ONNX file of `y = Relu(x)`, written by PyTorch.
/// let file = *b"\x08\x08\x12\x07pytorch:0\n\x0c\n\x01x\x12\x01y\x22\x04ReluZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\
///     \x02\x08\x04b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x04B\x02\x10\x11";
/// let (graph, metadata) = from_bytes_with_metadata(Arc::new(file), &ImportOptions::default())?;
/// assert_eq!((graph.nodes.len(), &*metadata.producer_name), (1, "pytorch"));
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
pub fn from_bytes_with_metadata(owner: Owner, options: &ImportOptions) -> Result<(Graph, ModelMetadata), ImportError> {
    let metadata = metadata((*owner).as_ref(), None)?;
    Ok((from_bytes_with(owner, options)?, metadata))
}

fn metadata(bytes: &[u8], path: Option<&Path>) -> Result<ModelMetadata, ImportError> {
    match format(bytes, path)? {
        Format::TfLite => tflite::metadata(bytes),
        Format::Onnx => onnx::metadata(bytes),
    }
}

/// Reads an array in ONNX's format for single tensors (`.pb`), as used in ONNX's own tests.
///
/// # Errors
/// If the bytes are not such a tensor, or its element type is not supported.
///
/// ```
/// use std::sync::Arc;
///
/// // Two floats: the extent, the type, and the values as bytes.
/// let file = *b"\x08\x02\x10\x01\x4a\x08\0\0\x80\x3f\0\0\0\x40";
/// let array = texpool::import::read_tensor(Arc::new(file))?;
/// assert_eq!((array.dims(), &*array.to_f32()), (&[2][..], &[1.0, 2.0][..]));
/// # Ok::<(), texpool::import::ImportError>(())
/// ```
pub fn read_tensor(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Array, ImportError> {
    onnx::read_tensor(owner)
}

/// Heights and widths of images to try for open ones, the most common first: 224 can be halved five times, and models
/// that read text have lines of 48 or 32 rows.
pub const IMAGES: [usize; 3] = [224, 48, 32];

/// A file to be outlined, with the options for reading it.
pub struct OutlineSource {
    owner: Owner,
    path: Option<PathBuf>,
    options: ImportOptions,
}

impl OutlineSource {
    /// Opens a file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Self, ImportError> {
        let path = path.as_ref();
        Ok(Self { owner: load(path)?, path: Some(path.to_owned()), options: options.clone() })
    }

    /// Takes a model in shared bytes.
    pub fn from_bytes(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, options: &ImportOptions) -> Self {
        Self { owner, path: None, options: options.clone() }
    }

    /// Lists the nodes of the file with the importer's verdict on each. Refused nodes do not affect others. Open
    /// extents are filled with typical values, those of images with `image`.
    ///
    /// # Errors
    /// As [`open_with`], except for errors of single nodes and for open extents.
    pub fn outline(&self, image: usize) -> Result<Outline, ImportError> {
        let (owner, path) = (Owner::clone(&self.owner), self.path.as_deref());
        match format((*owner).as_ref(), path)? {
            Format::TfLite => {
                no_bounds(&self.options)?;
                if !self.options.constants.is_empty() {
                    let names = self.options.constants.keys().cloned().collect();
                    return Err(ImportError::NoConstantInputs { names });
                }
                tflite::outline(owner, &self.options)
            }
            Format::Onnx => onnx::outline(owner, path, &self.options, image),
        }
    }
}

/// Reads a model, and records the external files that it names.
fn read(
    owner: Owner,
    path: Option<&Path>,
    options: &ImportOptions,
    beside: &mut Vec<PathBuf>,
) -> Result<Graph, ImportError> {
    match format((*owner).as_ref(), path)? {
        Format::TfLite => {
            no_bounds(options)?;
            tflite::read(owner, options)
        }
        Format::Onnx => onnx::read(owner, path, options, beside),
    }
}

/// Refuses bounds of extents, for a format whose inputs have one extent each.
fn no_bounds(options: &ImportOptions) -> Result<(), ImportError> {
    match options.bounds.is_empty() {
        true => Ok(()),
        false => Err(ImportError::NoBounds { names: options.bounds.keys().cloned().collect() }),
    }
}

/// Detects the format of a file's bytes.
fn format(bytes: &[u8], path: Option<&Path>) -> Result<Format, ImportError> {
    let named = path.is_some_and(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("onnx")));
    if bytes.is_empty() {
        return Err(ImportError::Empty);
    }
    if tflite::is(bytes) {
        return Ok(Format::TfLite);
    }
    let looks_right = || onnx::looks_right(bytes);
    match FileKind::of_signature(bytes, path) {
        Some(kind) => Err(ImportError::NotAModel { kind }),
        None if looks_right() => Ok(Format::Onnx),
        None => match FileKind::of_content(bytes, path) {
            Some(kind) => Err(ImportError::NotAModel { kind }),
            // A file with the extension `.onnx` is read as one in any case. The error then says at which byte it is
            // damaged.
            None if named => Ok(Format::Onnx),
            None => Err(ImportError::NotAModel { kind: FileKind::Unknown }),
        },
    }
}
