//! Whether a picture file is complete. Decoders show what they can of one that is cut short, which is right for viewers
//! and wrong for computing.

/// Chunks of a PNG begin behind its signature.
const PNG_SIGNATURE: usize = 8;
/// The bit of a chunk's first letter that says that a decoder may pass it over.
const ANCILLARY: u8 = 0x20;

/// Walks a PNG's chunks to its last one, with the checksums of those that make the picture; says what is wrong.
pub(super) fn png(bytes: &[u8]) -> Result<(), String> {
    let cut = || format!("the PNG ends at byte {} without its last chunk, IEND", bytes.len());
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut at = PNG_SIGNATURE;
    loop {
        let length = word(at).ok_or_else(cut)? as usize;
        // A length may wrap where addresses have 32 bits.
        let end = at.checked_add(8).and_then(|body| body.checked_add(length)).ok_or_else(cut)?;
        // The type and the data, which the checksum covers; never empty, since `end` lies behind the type.
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

/// How the coefficients of a JPEG lie in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Block by block.
    Sequential,
    /// A coarse picture first, then what makes it finer.
    Progressive,
}

/// Walks a JPEG's segments to the marker of its end; says what is wrong.
pub(super) fn jpeg(bytes: &[u8]) -> Result<Coding, String> {
    let cut = || format!("the JPEG ends at byte {} without the marker of its end", bytes.len());
    let mut coding = Coding::Sequential;
    // Behind the marker of the start.
    let mut at = 2;
    loop {
        // Compressed data is skipped too: in it 0xff is followed by zero or is a restart marker.
        let marker = loop {
            match bytes.get(at..at + 2).ok_or_else(cut)? {
                // Any number of these may fill up the space before a marker.
                [0xff, 0xff] => at += 1,
                // Stuffed zeros, restarts and starts of a picture state no length.
                [0xff, 0x00 | 0x01 | 0xd0..=0xd8] => at += 2,
                [0xff, marker] => break *marker,
                _ => at += 1,
            }
        };
        match marker {
            0xd9 => return Ok(coding),
            // Frames with Huffman and with arithmetic codes.
            0xc2 | 0xca => coding = Coding::Progressive,
            _ => {}
        }
        let length = bytes.get(at + 2..at + 4).ok_or_else(cut)?;
        at += 2 + usize::from(length[0]) * 256 + usize::from(length[1]);
    }
}
