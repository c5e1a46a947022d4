//! Numbers and texts to bytes.

/// Bytes that are written one after another.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    /// A number of any size, in LEB128: seven bits a byte, the least first, all but the last with their eighth bit set.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A number with a sign, small ones of either sign in few bytes: 0, -1, 1, -2 and so on are numbered from 0.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    pub(super) fn fixed<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes.extend(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }
}
