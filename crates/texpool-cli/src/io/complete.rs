//! Checks that a picture file is complete. Decoders show as much as they can of a truncated file, which is right for
//! viewers and wrong for computing.

/// Length of the signature in front of a PNG's chunks.
const PNG_SIGNATURE: usize = 8;
/// Bit of a chunk type's first letter that allows decoders to skip the chunk.
const ANCILLARY: u8 = 0x20;

/// Walks a PNG's chunks up to the last one and verifies the checksums of those that matter. Returns a description of
/// the first defect.
pub(super) fn png(bytes: &[u8]) -> Result<(), String> {
    let cut = || format!("the PNG ends at byte {} without its last chunk, IEND", bytes.len());
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut at = PNG_SIGNATURE;
    loop {
        let length = word(at).ok_or_else(cut)? as usize;
        // A length may overflow on targets with 32-bit addresses.
        let end = at.checked_add(8).and_then(|body| body.checked_add(length)).ok_or_else(cut)?;
        // The type and the data, which the checksum covers. Never empty, because `end` lies behind the type.
        let content = bytes.get(at + 4..end).ok_or_else(cut)?;
        let stated = word(end).ok_or_else(cut)?;
        let mut crc = flate2::Crc::new();
        crc.update(content);
        if content[0] & ANCILLARY == 0 && crc.sum() != stated {
            let name = super::printable(&*String::from_utf8_lossy(&content[..4])).to_string();
            return Err(format!("the checksum of the chunk {name} at byte {at} is wrong"));
        }
        if &content[..4] == b"IEND" {
            return Ok(());
        }
        at = end + 4;
    }
}

/// Order of the coefficients in a JPEG file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Block by block.
    Sequential,
    /// A coarse picture first, then what makes it finer.
    Progressive,
}

/// Walks a JPEG's segments up to the end marker. Returns a description of the first defect.
pub(super) fn jpeg(bytes: &[u8]) -> Result<Coding, String> {
    let cut = || format!("the JPEG ends at byte {} without the marker of its end", bytes.len());
    let mut coding = Coding::Sequential;
    // Behind the start marker.
    let mut at = 2;
    loop {
        // Skips compressed data too: there, 0xff is followed by zero or is a restart marker.
        let marker = loop {
            match bytes.get(at..at + 2).ok_or_else(cut)? {
                // Any number of these bytes may precede a marker as padding.
                [0xff, 0xff] => at += 1,
                // Stuffed zeros, restarts and picture starts state no length.
                [0xff, 0x00 | 0x01 | 0xd0..=0xd8] => at += 2,
                [0xff, marker] => break *marker,
                _ => at += 1,
            }
        };
        match marker {
            0xd9 => return Ok(coding),
            // Frames with Huffman codes and with arithmetic codes.
            0xc2 | 0xca => coding = Coding::Progressive,
            _ => {}
        }
        let length = bytes.get(at + 2..at + 4).ok_or_else(cut)?;
        at += 2 + usize::from(length[0]) * 256 + usize::from(length[1]);
    }
}
