//! Reads values from external files. Only files in the model's folder are allowed, whatever the model file says.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use crate::import::{error::Problem, meter::Meter, model_file::FileBytes, plain_file::folder_of};
use texpool_ops::graph::Bytes;

const REMEDY: &str = "put the file with the values into the model's folder, and name it relative to that";

/// The model's folder, and the files read from it.
#[derive(Debug, Default)]
pub(super) struct External {
    /// Canonical path without symbolic links. `None` if the model was not opened as a file.
    folder: Option<PathBuf>,
    /// By canonical path, so that a file is read only once even if it is spelled in several ways.
    files: BTreeMap<PathBuf, Arc<FileBytes>>,
}

impl External {
    /// For a model in the file `model`.
    pub(super) fn beside(model: &Path) -> Self {
        Self { folder: folder_of(model).canonicalize().ok(), files: BTreeMap::new() }
    }

    /// Paths of the files that were read.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Returns the bytes that a tensor's `external_data` entries refer to.
    pub(super) fn bytes(&mut self, keys: &[(String, String)], meter: &mut Meter) -> Result<Bytes, Problem> {
        let find = |key: &str| keys.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        let number = |key: &str| match find(key) {
            None => Ok(None),
            Some(text) => match text.parse::<usize>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Problem::malformed(format!("the {key} of its values is `{text}`"))),
            },
        };
        let location = find("location").ok_or_else(|| Problem::malformed("it names no file with its values"))?;
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        let file = self.file(location, meter)?;
        let size = (*file).as_ref().len();
        let end = length.map_or(Some(size), |length| offset.checked_add(length)).filter(|&end| end <= size);
        let range = end.filter(|&end| offset <= end).map(|end| offset..end);
        range.and_then(|range| Bytes::new(file, range)).ok_or_else(|| {
            let length = length.map_or_else(|| "to the end".to_owned(), |l| format!("{l} bytes"));
            Problem::new(format!("`{location}` has {size} bytes, not {length} from {offset} on"), REMEDY)
        })
    }

    fn file(&mut self, location: &str, meter: &mut Meter) -> Result<Arc<FileBytes>, Problem> {
        let Some(folder) = &self.folder else {
            return Err(Problem::new(
                format!("its values lie in the file `{location}`, and the model was given as bytes"),
                "open the model as a file",
            ));
        };
        let relative = Path::new(location);
        let inside = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside || location.is_empty() {
            return Err(Problem::new(format!("its values lie in `{location}`, outside the model's folder"), REMEDY));
        }
        let cannot = |e: std::io::Error| Problem::new(format!("cannot read `{location}`: {e}"), REMEDY);
        let path = folder.join(relative).canonicalize().map_err(cannot)?;
        // Checked on the canonical path, so that no symbolic link can lead outside.
        if !path.starts_with(folder) {
            return Err(Problem::new(format!("`{location}` leads out of the model's folder"), REMEDY));
        }
        if let Some(file) = self.files.get(&path) {
            return Ok(file.clone());
        }
        let file = Arc::new(FileBytes::read(&path).map_err(cannot)?);
        // Once per file: tensors that share its bytes must not increase the allowance repeatedly.
        meter.widen((*file).as_ref().len());
        self.files.insert(path, file.clone());
        Ok(file)
    }
}
