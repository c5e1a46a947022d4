//! The files that texpool keeps in the cache folder, told from files of others by their names and places.

use super::{
    Catalog, FetchError, Kind,
    cache::{holds, is_profile},
};
use serde::Serialize;
use std::{
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
};
use texpool_cache::{PLANS, WEIGHTS, is_kept_name};

/// What a kept file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredKind {
    /// A model, or weights that a model is made from.
    Model,
    /// A photo.
    Picture,
    /// Names of classes.
    Labels,
    /// A whole package.
    Package,
    /// A plan that took a search.
    Plan,
    /// Packed weights that are streamed.
    Weights,
    /// Measurements of a device.
    Profile,
}

impl StoredKind {
    /// Returns the name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Picture => "picture",
            Self::Labels => "labels",
            Self::Package => "package",
            Self::Plan => "plan",
            Self::Weights => "weights",
            Self::Profile => "profile",
        }
    }

    /// Returns true if a package brings such files, so that they are fetched again when they are needed.
    pub const fn is_fetched(self) -> bool {
        matches!(self, Self::Model | Self::Picture | Self::Labels | Self::Package)
    }
}

impl From<Kind> for StoredKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Model | Kind::Weights => Self::Model,
            Kind::Picture => Self::Picture,
            Kind::Labels => Self::Labels,
            Kind::Package => Self::Package,
        }
    }
}

/// A file that texpool keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it is for.
    pub kind: StoredKind,
    /// Name in the catalogue, or the name of the file.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Lists the files of `folder`, by kind and name.
pub(super) fn list(folder: &Path, catalog: &Catalog) -> Vec<Stored> {
    let mut files = Vec::new();
    for entry in &catalog.files {
        let path = folder.join(&entry.file);
        if let Some(file) = own(&path).filter(|file| file.len() == entry.bytes) {
            files.push(Stored { kind: entry.kind.into(), name: entry.name.clone(), path, bytes: file.len() });
        }
    }
    for (kind, folder) in [
        (StoredKind::Plan, folder.join(PLANS)),
        (StoredKind::Weights, folder.join(WEIGHTS)),
        (StoredKind::Profile, folder.into()),
    ] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if let Some(name) = entry.file_name().to_str().filter(|name| is_called(kind, name))
                && let Some(file) = own(&path)
            {
                files.push(Stored { kind, name: name.to_owned(), path, bytes: file.len() });
            }
        }
    }
    files.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    files
}

/// Removes the file, if it is still texpool's.
pub(super) fn remove(stored: &Stored, catalog: &Catalog) -> Result<bool, FetchError> {
    let Stored { kind, name, path, .. } = stored;
    let is_own = own(path).is_some()
        && match kind.is_fetched() {
            // The user may have put a file of the same name and size there.
            true => catalog.entry(name).is_ok_and(|entry| holds(path, entry)),
            false => is_called(*kind, name),
        };
    if !is_own {
        return Ok(false);
    }
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FetchError::folder(path, error)),
    }
}

/// Returns the metadata of a plain file of this user; links are not followed, since they are others' files.
fn own(path: &Path) -> Option<Metadata> {
    let metadata = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(&metadata);
        if owner != rustix::process::geteuid().as_raw() {
            return None;
        }
    }
    Some(metadata)
}

/// Returns true if texpool gives such names to files of the kind.
fn is_called(kind: StoredKind, name: &str) -> bool {
    match kind {
        StoredKind::Plan => is_kept_name(PLANS, name),
        StoredKind::Weights => is_kept_name(WEIGHTS, name),
        StoredKind::Profile => is_profile(name),
        StoredKind::Model | StoredKind::Picture | StoredKind::Labels | StoredKind::Package => false,
    }
}
