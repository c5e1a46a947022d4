//! Packed weights in a file in the user's cache folder. If the file turns out to be damaged, it is written again.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use super::{packed_file::PackedFile, packing_key::PackingKey, weight_source::WeightSource};
use texpool_compile::CompiledModel;
use texpool_ops::ops::WeightGroup;

/// A file with the packed weights that a model uploads in every run.
#[derive(Debug)]
pub(super) struct KeptWeights {
    /// Source of the weights.
    compiled: Arc<CompiledModel>,
    path: PathBuf,
    contents: u64,
    length: usize,
    held: RwLock<Arc<Held>>,
}

#[derive(Debug)]
enum Held {
    /// The file found or written at creation.
    File(PackedFile),
    /// The file written again because the first was damaged.
    Rewritten(PackedFile),
    /// Used if the second file was damaged, too, or could not be written.
    Memory(Vec<u8>),
}

impl KeptWeights {
    /// Opens the file in `folder` with the weights of `groups`, `length` bytes in total, or writes it.
    pub(super) fn new(
        compiled: &Arc<CompiledModel>,
        source: &WeightSource<'_>,
        groups: &[WeightGroup],
        length: usize,
        folder: &Path,
    ) -> io::Result<Self> {
        let key = PackingKey::new(source, groups);
        let (path, contents) = (folder.join(key.file_name(&source.graph.name)), key.contents());
        let found = PackedFile::open(&path, contents, length).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "packed weights that were kept cannot be used");
            None
        });
        let file = match found {
            Some(file) => file,
            None => PackedFile::write(&path, contents, length, pieces(source, groups))?,
        };
        let held = RwLock::new(Arc::new(Held::File(file)));
        Ok(Self { compiled: Arc::clone(compiled), path, contents, length, held })
    }

    /// Passes some of the weights to `take`, piece by piece, with each piece's offset in `range`. If damage is found,
    /// everything is passed again from the start of the range.
    pub(super) fn read(&self, range: &Range<usize>, take: &mut dyn FnMut(usize, &[u8])) {
        let mut held = Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner));
        loop {
            let error = match &*held {
                Held::Memory(bytes) => return bytes.get(range.clone()).into_iter().for_each(|bytes| take(0, bytes)),
                Held::File(file) | Held::Rewritten(file) => match file.read(range, take) {
                    Ok(()) => return,
                    Err(error) => error,
                },
            };
            held = self.pack_again(&held, &error);
        }
    }

    /// Returns the replacement for weights that cannot be read.
    fn pack_again(&self, failed: &Arc<Held>, error: &io::Error) -> Arc<Held> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        // Another session of the model may already have replaced them.
        if Arc::ptr_eq(&held, failed) {
            tracing::warn!(path = %self.path.display(), %error, "kept weights are damaged, and are packed again");
            *held = Arc::new(self.packed(failed));
        }
        Arc::clone(&held)
    }

    /// Packs the weights into a file if this is the first failure, else into memory.
    fn packed(&self, failed: &Held) -> Held {
        let source = WeightSource::new(&self.compiled);
        let streamed = self.compiled.schedule().streamed();
        let groups = source.groups(|id| streamed.contains(id)).groups;
        if let Held::File(_) = failed {
            match PackedFile::write(&self.path, self.contents, self.length, pieces(&source, &groups)) {
                Ok(file) => return Held::Rewritten(file),
                Err(error) => {
                    tracing::warn!(path = %self.path.display(), %error, "packed weights are not kept");
                }
            }
        }
        Held::Memory(pieces(&source, &groups).flatten().collect())
    }
}

/// Packs weights piece by piece.
fn pieces<'a>(source: &'a WeightSource<'_>, groups: &'a [WeightGroup]) -> impl Iterator<Item = Vec<u8>> + 'a {
    groups.iter().flat_map(|group| source.pieces(group))
}
