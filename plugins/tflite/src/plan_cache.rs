//! Plans that took long to find, kept in a folder of the user's.

use std::{
    fmt::{self, Write as _},
    fs,
    hash::{DefaultHasher, Hasher as _},
    io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use texpool::{CompiledModel, Context, Model};

/// The file of one plan.
#[derive(Debug)]
pub(crate) struct PlanCache {
    file: PathBuf,
}

/// Tells files apart that threads of this process write at once.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

impl PlanCache {
    /// The file in `folder` of the plan that options ask for, on this device, by this version.
    pub(crate) fn new(folder: &Path, key: &str, context: &Context, model: &Model) -> Self {
        let mut hash = Hash(DefaultHasher::new());
        let extent = context.device().limits().max_texture_dimension_2d;
        // A hash takes whatever is written to it.
        let _ = write!(hash, "{:?} {key} {extent} {}", model.graph(), env!("CARGO_PKG_VERSION"));
        Self { file: folder.join(format!("{:016x}.plan", hash.0.finish())) }
    }

    /// The plan, checked as a new one is; none where there is none that holds.
    pub(crate) fn load(&self, context: &Context, model: &Model) -> Option<CompiledModel> {
        context.load(model, &fs::read(&self.file).ok()?).ok()
    }

    /// Keeps a plan whose search was done. That a folder cannot be written to is no error: the next start searches
    /// again.
    pub(crate) fn store(&self, compiled: &CompiledModel) {
        if compiled.stopped().is_none() {
            let _ = self.write(&compiled.save());
        }
    }

    /// Under another name until it is whole.
    fn write(&self, plan: &[u8]) -> io::Result<()> {
        self.file.parent().map_or(Ok(()), fs::create_dir_all)?;
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let part = self.file.with_extension(format!("{}.{number}.part", process::id()));
        fs::write(&part, plan)?;
        fs::rename(&part, &self.file)
    }
}

/// The hash of what is written.
struct Hash(DefaultHasher);

impl fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
