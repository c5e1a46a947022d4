//! Writes a run's outputs into a folder: one `INDEX_NAME.npy` each.

use super::{IoError, atomic::StagedFile, npy::typed_npy_into};
use std::{
    fs,
    path::{Path, PathBuf},
};
use texpool_ops::graph::{ElementType, Tensor};
use texpool_plan::internal::needs_escape;

/// Longest file name that all common file systems accept, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// An output to be written.
#[derive(Clone, Copy, Debug)]
pub struct OutputArray<'a> {
    /// Name of the output.
    pub name: &'a str,
    /// Its extents.
    pub dims: &'a [usize],
    /// Its values, in row-major order.
    pub values: &'a [f32],
    /// Type of the file's elements.
    pub element_type: ElementType,
}

impl<'a> OutputArray<'a> {
    /// An output of a model with its values. Values of quantised tensors are real numbers, which are written as floats.
    pub fn of_tensor(tensor: &'a Tensor, dims: &'a [usize], values: &'a [f32]) -> Self {
        let element_type = if tensor.quantization.is_some() { ElementType::F32 } else { tensor.element_type };
        Self { name: &tensor.name, dims, values, element_type }
    }
}

/// Returns `INDEX_NAME.npy`. Characters that some file system cannot store, or that control a terminal, become `_`.
/// The index distinguishes names that are equal or differ only in case.
pub fn output_file_name(index: usize, name: &str) -> String {
    let safe = |c: char| if needs_escape(c) || r#"/\:*?"<>|"#.contains(c) { '_' } else { c };
    let mut file: String = format!("{index}_{name}").chars().map(safe).collect();
    // By characters, because half a character is not text. The index in front stays.
    while file.len() + ".npy".len() > MAX_NAME_BYTES {
        file.pop();
    }
    file + ".npy"
}

/// Writes each output into `folder`, which is created if necessary. Returns the files in order.
///
/// All files are written before the first is renamed into place, so a full disk leaves the files of an earlier run
/// unchanged.
///
/// # Errors
/// [`IoError::Write`], [`IoError::DiskFull`].
pub fn write_outputs<'a>(
    folder: &Path,
    outputs: impl IntoIterator<Item = OutputArray<'a>>,
) -> Result<Vec<PathBuf>, IoError> {
    super::check_folder(folder)?;
    fs::create_dir_all(folder).map_err(|e| IoError::write(folder, e))?;
    let staged = |(index, OutputArray { name, dims, values, element_type })| {
        let path = folder.join(output_file_name(index, name));
        let staged = StagedFile::write(&path, |out| typed_npy_into(out, element_type, dims, values));
        let staged = staged.map_err(|e| IoError::write(&path, e))?;
        Ok((path, staged))
    };
    let staged = outputs.into_iter().enumerate().map(staged).collect::<Result<Vec<_>, _>>()?;
    let commit = |(path, staged): (PathBuf, StagedFile)| match staged.commit() {
        Ok(()) => Ok(path),
        Err(e) => Err(IoError::write(&path, e)),
    };
    staged.into_iter().map(commit).collect()
}
