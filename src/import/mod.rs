//! Importers: model files to [`Graph`]. Knows the formats and the graph, and nothing above.
//!
//! `texpool::Model` reads files by these, and takes the same [`ImportOptions`]; [`open`] is for looking at a graph, or
//! changing it.
//!
//! A file is measured before it is read. What it states is never trusted further: every shape is inferred again, every
//! constant is measured, and the graph is checked at the end. What a file asks for is counted (`meter.rs`) and bounded by
//! what it holds and states.
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
pub use options::{FakeQuant, ImportOptions};
#[cfg(feature = "gpu")]
pub(crate) use options::{parse_dim, parse_fake_quant};
#[doc(hidden)]
pub use outline::{Format, GraphOutline, NodeOutline, Outline, Refusal, TensorOutline, Verdict};

use crate::graph::Graph;
use model_file::{FileBytes, Owner};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub(crate) use plain_file::{Links, check_plain, open_plain_file};

/// Reads a `.tflite` or `.onnx` file. The graph is named after the file; its constants are borrowed from the file's bytes.
///
/// The file is read into memory, so it may change or go afterwards. One of more than 1 GiB is mapped and must not change
/// while the graph is in use: its values would change with it, and cutting it short would end the process at the next read.
/// Of an `.onnx` file the same holds for the files beside it that it names.
///
/// # Errors
/// If the file cannot be read, is no sound model, or holds operators that are not supported; those are all listed.
pub fn open(path: impl AsRef<Path>) -> Result<Graph, ImportError> {
    open_with(path, &ImportOptions::default())
}

/// Reads a file with open extents or inputs bound.
///
/// # Errors
/// As [`open`], and if a name is bound that the file does not have, or an extent is left open; those are all listed.
pub fn open_with(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Graph, ImportError> {
    Ok(open_listing(path, options)?.0)
}

/// Reads the same and the facts that the file states about its origin.
///
/// # Errors
/// As [`open_with`].
pub fn open_with_metadata(
    path: impl AsRef<Path>,
    options: &ImportOptions,
) -> Result<(Graph, ModelMetadata), ImportError> {
    let path = path.as_ref();
    let owner: Owner =
        Arc::new(FileBytes::read(path).map_err(|source| ImportError::Read { path: path.to_owned(), source })?);
    let metadata = metadata((*owner).as_ref(), Some(path))?;
    Ok((open_owned(owner, path, options)?.0, metadata))
}

/// Reads a file as [`open_with`] does, and lists the files beside it in which values of it lie.
///
/// # Errors
/// As [`open_with`].
#[doc(hidden)]
pub fn open_listing(path: impl AsRef<Path>, options: &ImportOptions) -> Result<(Graph, Vec<PathBuf>), ImportError> {
    let path = path.as_ref();
    let bytes = FileBytes::read(path).map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    open_owned(Arc::new(bytes), path, options)
}

fn open_owned(owner: Owner, path: &Path, options: &ImportOptions) -> Result<(Graph, Vec<PathBuf>), ImportError> {
    let mut beside = Vec::new();
    let mut graph = read(owner, Some(path), options, &mut beside)?;
    if let Some(stem) = path.file_stem() {
        graph.name = stem.to_string_lossy().into_owned();
    }
    Ok((graph, beside))
}

/// Reads a model from shared bytes. The graph is named as in the file; its constants are borrowed from the bytes.
///
/// # Errors
/// As [`open`].
pub fn from_bytes(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Graph, ImportError> {
    from_bytes_with(owner, &ImportOptions::default())
}

/// Reads a model from shared bytes with open extents or inputs bound.
///
/// # Errors
/// As [`open_with`].
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

/// Reads an array in ONNX's form for a single tensor (`.pb`), as its own tests have them.
///
/// # Errors
/// If the bytes are none, or the elements are of a type that is not computed with.
pub fn read_tensor(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Array, ImportError> {
    onnx::read_tensor(owner)
}

/// The nodes of a file as they stand in it, with what this importer says of each by itself. A node that is refused refuses
/// no other, and extents that are left open are tried with usual ones.
///
/// # Errors
/// As [`open_with`], but for what is said of single nodes, and for open extents.
#[doc(hidden)]
pub fn outline(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Outline, ImportError> {
    let path = path.as_ref();
    let bytes = FileBytes::read(path).map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    outline_of(Arc::new(bytes), Some(path), options)
}

/// The same of shared bytes.
///
/// # Errors
/// As [`outline`].
#[doc(hidden)]
pub fn outline_from_bytes(
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    options: &ImportOptions,
) -> Result<Outline, ImportError> {
    outline_of(owner, None, options)
}

fn outline_of(owner: Owner, path: Option<&Path>, options: &ImportOptions) -> Result<Outline, ImportError> {
    match format((*owner).as_ref(), path)? {
        Format::TfLite => {
            nothing_bound(&owner, options)?;
            tflite::outline(owner)
        }
        Format::Onnx => onnx::outline(owner, path, options),
    }
}

/// Reads a model, and notes the files beside it that it names.
fn read(
    owner: Owner,
    path: Option<&Path>,
    options: &ImportOptions,
    beside: &mut Vec<PathBuf>,
) -> Result<Graph, ImportError> {
    match format((*owner).as_ref(), path)? {
        Format::TfLite => {
            nothing_bound(&owner, options)?;
            tflite::read(owner, options.fake_quant)
        }
        Format::Onnx => onnx::read(owner, path, options, beside),
    }
}

/// Refuses extents and inputs that are bound where the format has no names for them.
fn nothing_bound(owner: &Owner, options: &ImportOptions) -> Result<(), ImportError> {
    let unbound = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    if !options.dims.is_empty() {
        return Err(tflite::fixed(owner, unbound(options.dims.keys().collect())));
    }
    if !options.constants.is_empty() {
        return Err(ImportError::NoSuchInput { names: unbound(options.constants.keys().collect()) });
    }
    Ok(())
}

/// The format of a file's bytes.
fn format(bytes: &[u8], path: Option<&Path>) -> Result<Format, ImportError> {
    let named = path.is_some_and(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("onnx")));
    if bytes.is_empty() {
        return Err(ImportError::Empty);
    }
    if tflite::is(bytes) {
        return Ok(Format::TfLite);
    }
    let looks_right = || onnx::looks_right(bytes);
    match FileKind::of_signature(bytes) {
        Some(kind) => Err(ImportError::NotAModel { kind }),
        None if looks_right() => Ok(Format::Onnx),
        None => match FileKind::of_content(bytes, path) {
            Some(kind) => Err(ImportError::NotAModel { kind }),
            // A file that is called `.onnx` is read as one however it begins: the error then says where it breaks off.
            None if named => Ok(Format::Onnx),
            None => Err(ImportError::NotAModel { kind: FileKind::Unknown }),
        },
    }
}
