//! A folder of a run's outputs: one `INDEX_NAME.npy` each.

use super::{IoError, write_npy};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Longest file name that every common file system takes, in bytes.
const LONGEST_NAME: usize = 255;

/// `INDEX_NAME.npy`, with `_` for every character that some file system cannot hold in a name.
pub fn output_file_name(index: usize, name: &str) -> String {
    let safe = |c: char| if c.is_control() || r#"/\:*?"<>|"#.contains(c) { '_' } else { c };
    let mut file: String = format!("{index}_{name}").chars().map(safe).collect();
    while file.len() + ".npy".len() > LONGEST_NAME {
        file.pop();
    }
    file + ".npy"
}

/// Writes each `(name, extents, values)` into `folder`, which is created if need be. Returns the files in order.
///
/// # Errors
/// [`IoError::Write`], [`IoError::DiskFull`]. Files written before the error stay; the one it struck does not.
pub fn write_outputs<'a>(
    folder: &Path,
    outputs: impl IntoIterator<Item = (&'a str, &'a [usize], &'a [f32])>,
) -> Result<Vec<PathBuf>, IoError> {
    fs::create_dir_all(folder).map_err(|e| IoError::write(folder, e))?;
    outputs
        .into_iter()
        .enumerate()
        .map(|(index, (name, dims, values))| {
            let path = folder.join(output_file_name(index, name));
            write_npy(&path, dims, values)?;
            Ok(path)
        })
        .collect()
}
