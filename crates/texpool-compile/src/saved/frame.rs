//! Header of a saved plan: magic bytes, version, length and checksum.

use super::{bytes::Reader, error::SavedPlanError, fingerprint::Fnv};

const MAGIC: [u8; 8] = *b"texplan\0";
/// Format version; must be increased whenever the format changes.
const VERSION: u16 = 9;
/// Length of the header, which is not hashed.
const HEADER: usize = MAGIC.len() + 2 + 8 + 8;

/// Returns the body with a header in front.
pub(super) fn sealed(body: &[u8]) -> Vec<u8> {
    let mut hash = Fnv::new();
    hash.bytes(body);
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(((HEADER + body.len()) as u64).to_le_bytes());
    bytes.extend(hash.0.to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Verifies the header and returns a reader positioned after it.
pub(super) fn opened(bytes: &[u8]) -> Result<Reader<'_>, SavedPlanError> {
    // If the first bytes match, the rest may have been cut off.
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if magic.is_empty() || !MAGIC.starts_with(magic) {
        return Err(SavedPlanError::NotAPlan);
    }
    let length = bytes.len() as u64;
    let mut header = Reader::new(bytes, magic.len());
    let cut = |_| SavedPlanError::Length { found: length, expected: HEADER as u64 };
    // Checked before the length, whose position may differ in another version.
    let version = u16::from_le_bytes(header.fixed("the version").map_err(cut)?);
    if version != VERSION {
        return Err(SavedPlanError::Version { found: version, expected: VERSION });
    }
    let expected = u64::from_le_bytes(header.fixed("the length").map_err(cut)?);
    let checksum = u64::from_le_bytes(header.fixed("the checksum").map_err(cut)?);
    if length != expected {
        return Err(SavedPlanError::Length { found: length, expected });
    }
    let mut hash = Fnv::new();
    hash.bytes(&bytes[HEADER..]);
    match hash.0 == checksum {
        true => Ok(header),
        false => Err(SavedPlanError::Damaged { at: HEADER, why: "what follows has another checksum" }),
    }
}
