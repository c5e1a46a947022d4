//! A file of packed weights, written once and mapped: those that no run has touched for a while need not be in memory.

use std::{fs::File, io, path::Path};

use memmap2::Mmap;

use super::part_file::PartFile;
use crate::import::map_file;

const MAGIC: [u8; 8] = *b"texwght\0";
/// Bytes in front of the weights: `MAGIC`, what they are, how many, and zeros up to a whole texel.
const HEADER: usize = 32;
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
        let part = PartFile::create(path)?;
        part.write([header.to_vec()].into_iter().chain(pieces))?;
        let map = map_file(part.file())?;
        if map.len() != HEADER + length {
            return Err(io::Error::other(format!(
                "{} bytes were packed of {length}",
                map.len().saturating_sub(HEADER)
            )));
        }
        part.rename()?;
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
