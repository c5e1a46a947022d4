//! A file of packed weights, with a checksum for each block of it.
//!
//! | bytes | contents |
//! |---|---|
//! | 32 | header: magic, hash of the weights, number of bytes, zeros |
//! | as in the header | the weights |
//! | 4 per block | CRC-32 of each block of the weights |
//! | 4 | CRC-32 of the header and of the checksums |
//!
//! The file is read piece by piece, not memory-mapped: reading a truncated file gives an error, while a mapping would
//! kill the process. A block is verified against its checksum when it is first read, and again after the file has
//! changed.

use std::{
    fs::{File, Metadata},
    io,
    ops::Range,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use texpool_cache::{PartFile, open_kept, read_exact_at};

const MAGIC: [u8; 8] = *b"texwght\x01";
/// Index of the format version in [`MAGIC`].
const VERSION: usize = 7;
/// Bytes before the weights.
const HEADER: usize = 32;
/// Bytes of weights per checksum. A run that needs only part of a block reads all of it the first time.
const BLOCK: usize = 64 << 10;
const SUM: usize = size_of::<u32>();

/// Packed weights in a file.
#[derive(Debug)]
pub(super) struct PackedFile {
    file: File,
    length: usize,
    sums: Vec<u32>,
    /// Set for blocks that have been read and verified.
    checked: Vec<AtomicBool>,
    /// Modification time of the file for which `checked` is valid.
    modified: Mutex<Option<SystemTime>>,
}

impl PackedFile {
    /// Opens the file at `path` if it holds `contents` in `length` bytes. `None` if it does not exist, or holds other
    /// weights or another version undamaged.
    pub(super) fn open(path: &Path, contents: u64, length: usize) -> io::Result<Option<Self>> {
        let Some((file, found)) = open_kept(path)? else { return Ok(None) };
        let mut head = [0; HEADER];
        if found.len() < HEADER as u64 {
            return Err(damaged(format!("it has {} bytes", found.len())));
        }
        read_exact_at(&file, &mut head, 0)?;
        if head == header(contents, length) {
            let sums = read_sums(&file, &found, &head)?;
            return Ok(Some(Self::new(file, &found, length, sums)));
        }
        let is_other_version = head.starts_with(&MAGIC[..VERSION]) && head[VERSION] != MAGIC[VERSION];
        if !is_other_version {
            read_sums(&file, &found, &head)?;
        }
        Ok(None)
    }

    /// Writes a new file from `pieces`. It gets its name only when complete and is never modified: a newer file
    /// replaces it, while processes that have the old one open continue to use that.
    pub(super) fn write(
        path: &Path,
        contents: u64,
        length: usize,
        pieces: impl Iterator<Item = Vec<u8>>,
    ) -> io::Result<Self> {
        let header = header(contents, length);
        let part = PartFile::create(path)?;
        let mut summed = BlockSums::default();
        part.write(|out| {
            out.write_all(&header)?;
            for piece in pieces {
                summed.update(&piece);
                out.write_all(&piece)?;
            }
            summed.close();
            let all = sum_of_sums(&header, &summed.sums);
            summed.sums.iter().chain([&all]).try_for_each(|sum| out.write_all(&sum.to_le_bytes()))
        })?;
        if summed.bytes != length {
            return Err(io::Error::other(format!("{} bytes were packed of {length}", summed.bytes)));
        }
        let file = part.rename()?;
        let found = file.metadata()?;
        Ok(Self::new(file, &found, length, summed.sums))
    }

    fn new(file: File, found: &Metadata, length: usize, sums: Vec<u32>) -> Self {
        let checked = sums.iter().map(|_| AtomicBool::new(false)).collect();
        Self { file, length, sums, checked, modified: Mutex::new(found.modified().ok()) }
    }

    /// Passes some of the weights to `take`, piece by piece, with each piece's offset in `range`.
    pub(super) fn read(&self, range: &Range<usize>, take: &mut dyn FnMut(usize, &[u8])) -> io::Result<()> {
        self.notice_change()?;
        let end = range.end.min(self.length);
        let mut at = range.start;
        let mut buffer = Vec::new();
        while at < end {
            let block = at / BLOCK;
            let whole = block * BLOCK..((block + 1) * BLOCK).min(self.length);
            let wanted = at..end.min(whole.end);
            let is_checked = self.checked.get(block).is_some_and(|checked| checked.load(Ordering::Relaxed));
            let read = if is_checked { wanted.clone() } else { whole };
            buffer.resize(read.len(), 0);
            read_exact_at(&self.file, &mut buffer, (HEADER + read.start) as u64).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::UnexpectedEof => damaged("it was cut short while it was in use".to_owned()),
                    _ => error,
                }
            })?;
            if !is_checked {
                if self.sums.get(block) != Some(&crc32fast::hash(&buffer)) {
                    return Err(damaged(format!("the checksum of bytes {} to {} is wrong", read.start, read.end)));
                }
                if let Some(checked) = self.checked.get(block) {
                    checked.store(true, Ordering::Relaxed);
                }
            }
            take(wanted.start - range.start, &buffer[wanted.start - read.start..wanted.end - read.start]);
            at = wanted.end;
        }
        Ok(())
    }

    /// Invalidates the verified blocks if the file has been modified.
    fn notice_change(&self) -> io::Result<()> {
        let now = self.file.metadata()?.modified().ok();
        let mut modified = self.modified.lock().unwrap_or_else(PoisonError::into_inner);
        if *modified != now {
            self.checked.iter().for_each(|checked| checked.store(false, Ordering::Relaxed));
            *modified = now;
        }
        Ok(())
    }
}

/// Reads the checksums of the weights, for the length that a header states.
fn read_sums(file: &File, found: &Metadata, head: &[u8; HEADER]) -> io::Result<Vec<u32>> {
    let [magic, _, length, _] = head.as_chunks().0 else { return Err(damaged("its header is damaged".to_owned())) };
    let length = u64::from_le_bytes(*length);
    if *magic != MAGIC || length > found.len() {
        return Err(damaged("its header is damaged".to_owned()));
    }
    let table_bytes = (length.div_ceil(BLOCK as u64) + 1) * SUM as u64;
    let sums_at = HEADER as u64 + length;
    if found.len() != sums_at + table_bytes {
        return Err(damaged(format!("it has {} bytes", found.len())));
    }
    // No larger than the file, which has been measured.
    let mut table = vec![0; table_bytes as usize];
    read_exact_at(file, &mut table, sums_at)?;
    let mut sums: Vec<u32> = table.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let last = sums.pop();
    if last != Some(sum_of_sums(head, &sums)) {
        return Err(damaged("its checksums are wrong".to_owned()));
    }
    Ok(sums)
}

fn damaged(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn header(contents: u64, length: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let numbers = [MAGIC, contents.to_le_bytes(), (length as u64).to_le_bytes()];
    header.iter_mut().zip(numbers.as_flattened()).for_each(|(to, &from)| *to = from);
    header
}

/// Returns the checksum of the header and the other checksums.
fn sum_of_sums(header: &[u8; HEADER], sums: &[u32]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    sums.iter().for_each(|sum| hasher.update(&sum.to_le_bytes()));
    hasher.finalize()
}

/// Computes block checksums while pieces are written.
#[derive(Default)]
struct BlockSums {
    sums: Vec<u32>,
    /// State of the block that is not full yet, and its number of bytes.
    hasher: crc32fast::Hasher,
    filled: usize,
    bytes: usize,
}

impl BlockSums {
    fn update(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len();
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.hasher.update(now);
            self.filled += now.len();
            if self.filled == BLOCK {
                self.close();
            }
            bytes = later;
        }
    }

    /// Finishes the current block unless it is empty.
    fn close(&mut self) {
        if self.filled > 0 {
            self.sums.push(std::mem::take(&mut self.hasher).finalize());
            self.filled = 0;
        }
    }
}
