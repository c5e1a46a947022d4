//! A file of packed weights, written once and mapped: those that no run has touched for a while need not be in memory.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use memmap2::Mmap;

use crate::import::map_file;

const MAGIC: [u8; 8] = *b"texwght\0";
/// Bytes in front of the weights: `MAGIC`, what they are, how many, and zeros up to a whole texel.
const HEADER: usize = 32;
/// How files end that are being written.
const PART: &str = "part";

/// Longer than anybody takes from making such a file to locking it.
const UNLOCKED: Duration = Duration::from_secs(60);

/// Packed weights in a file.
#[derive(Debug)]
pub(super) struct PackedFile {
    map: Mmap,
}

impl PackedFile {
    /// The file at `path` if it holds `contents` in so many bytes, else one that is made of `pieces`. It has its name
    /// once it is whole, and is never altered: another one takes its place, and who has mapped the old one keeps that.
    pub(super) fn open_or_write(
        path: &Path,
        contents: u64,
        length: usize,
        pieces: impl Iterator<Item = Vec<u8>>,
    ) -> io::Result<Self> {
        let header = header(contents, length);
        if let Ok(found) = File::open(path).and_then(|file| map_file(&file))
            && found.len() == HEADER + length
            && found.starts_with(&header)
        {
            return Ok(Self { map: found });
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        remove_abandoned(folder);
        let part = Part::create(path)?;
        part.write(&header, pieces)?;
        let map = map_file(&part.file)?;
        if map.len() != HEADER + length {
            return Err(io::Error::other(format!(
                "{} bytes were packed of {length}",
                map.len().saturating_sub(HEADER)
            )));
        }
        part.rename(path)?;
        Ok(Self { map })
    }

    /// The packed weights.
    pub(super) fn bytes(&self) -> &[u8] {
        self.map.get(HEADER..).unwrap_or_default()
    }
}

fn header(contents: u64, length: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let numbers = [MAGIC, contents.to_le_bytes(), (length as u64).to_le_bytes()];
    header.iter_mut().zip(numbers.as_flattened()).for_each(|(to, &from)| *to = from);
    header
}

/// A file that is being written under a name of its own, and locked as long as somebody writes it. Dropped, it is gone.
struct Part {
    file: File,
    path: PathBuf,
}

impl Part {
    fn create(target: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut path = target.as_os_str().to_owned();
        path.push(format!(".{}-{number}.{PART}", process::id()));
        let path = PathBuf::from(path);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let part = Self { file, path };
        part.file.lock()?;
        Ok(part)
    }

    fn write(&self, header: &[u8], pieces: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, &self.file);
        out.write_all(header)?;
        for piece in pieces {
            out.write_all(&piece)?;
        }
        out.flush()?;
        drop(out);
        // Before the rename: else a crash could leave the name with half a file behind it.
        self.file.sync_data()
    }

    fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Once it is renamed there is none.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what processes left that were ended while they wrote: nobody holds the lock on it.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|time| time.elapsed().ok());
        if path.extension().is_some_and(|extension| extension == PART)
            && age.is_some_and(|age| age > UNLOCKED)
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // Another process may have done it.
            let _ = fs::remove_file(&path);
        }
    }
}
