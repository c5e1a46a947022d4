//! Extracts one file from a downloaded package, or copies the whole package, and verifies it while doing so.
//!
//! Never writes to a path stated in an archive. The bytes of the named member go to the given writer, up to the
//! expected length. A link under that name is refused.

use super::{
    Entry, FetchError,
    cache::{HashingWriter, StoreError},
};
use flate2::read::GzDecoder;
use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
};

/// Upper limit on the bytes unpacked from a package, as a defence against archives that never end. Chosen.
const MAX_UNPACKED: u64 = 2 << 30;

/// Writes the member `inside` of the package `archive` to `out`, or the package itself if `inside` is empty. The
/// bytes must be exactly those of `entry`.
pub(super) fn extract(archive: &Path, inside: &str, entry: &Entry, out: &mut dyn Write) -> Result<(), StoreError> {
    let package = Package { archive, inside, entry };
    let mut file = BufReader::new(File::open(archive).map_err(|e| package.damaged(e))?);
    match archive.extension().and_then(|e| e.to_str()) {
        // The package is the file itself, whatever its format.
        _ if inside.is_empty() => package.copy(&mut file, out),
        Some("tgz" | "gz") => package.unpack_tar(file, out),
        _ => package.unpack_zip(file, out),
    }
}

/// Writes the plain file `made` to `out`. The bytes must be exactly those of `entry`.
pub(super) fn copy_file(file: &Path, entry: &Entry, out: &mut dyn Write) -> Result<(), StoreError> {
    let package = Package { archive: file, inside: "", entry };
    package.copy(&mut File::open(file).map_err(|e| package.damaged(e))?, out)
}

struct Package<'a> {
    archive: &'a Path,
    inside: &'a str,
    entry: &'a Entry,
}

impl Package<'_> {
    fn unpack_tar(&self, file: BufReader<File>, out: &mut dyn Write) -> Result<(), StoreError> {
        let mut tar = tar::Archive::new(GzDecoder::new(file).take(MAX_UNPACKED));
        for member in tar.entries().map_err(|e| self.damaged(e))? {
            let mut member = member.map_err(|e| self.damaged(e))?;
            if *member.path_bytes() == *self.inside.as_bytes() {
                return if member.header().entry_type().is_file() {
                    self.copy(&mut member, out)
                } else {
                    self.missing()
                };
            }
        }
        self.missing()
    }

    fn unpack_zip(&self, file: BufReader<File>, out: &mut dyn Write) -> Result<(), StoreError> {
        let mut zip = zip::ZipArchive::new(file).map_err(|e| self.damaged(e))?;
        match zip.by_name(self.inside) {
            Ok(mut member) if member.is_file() => self.copy(&mut (&mut member).take(MAX_UNPACKED), out),
            Ok(_) | Err(zip::result::ZipError::FileNotFound) => self.missing(),
            Err(e) => Err(self.damaged(e)),
        }
    }

    fn copy(&self, member: &mut dyn Read, out: &mut dyn Write) -> Result<(), StoreError> {
        let mut hashing = HashingWriter::new(out, self.entry.bytes);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match member.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => hashing.write_all(&buffer[..n])?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.damaged(e)),
            }
        }
        let (sha256, bytes) = hashing.finish();
        if bytes == self.entry.bytes && sha256 == self.entry.sha256 {
            return Ok(());
        }
        Err(StoreError::Refused(FetchError::Mismatch {
            name: self.entry.name.clone(),
            package: self.name(),
            expected_sha256: self.entry.sha256.clone(),
            got_sha256: sha256,
            expected_bytes: self.entry.bytes,
            got_bytes: bytes,
        }))
    }

    fn name(&self) -> String {
        self.archive.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn damaged(&self, reason: impl ToString) -> StoreError {
        StoreError::Refused(FetchError::Package { package: self.name(), reason: reason.to_string() })
    }

    fn missing(&self) -> Result<(), StoreError> {
        Err(StoreError::Refused(FetchError::NotInPackage { package: self.name(), path: self.inside.into() }))
    }
}
