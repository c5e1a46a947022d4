//! Columns of numbers in the page's data, packed.

use serde::{Serialize, Serializer};

/// Numbers as differences to their predecessors, zigzag-coded in groups of seven bits, written as base64. A table of
/// 20,000 steps takes a sixth of what its numbers take as JSON, and the page reads it without parsing text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    bytes: Vec<u8>,
    last: u64,
}

impl Column {
    pub(super) fn push(&mut self, number: u64) {
        // Both casts keep all bits, so that the difference wraps and unwraps to the same number.
        let difference = number.wrapping_sub(self.last) as i64;
        self.last = number;
        let mut rest = ((difference << 1) ^ (difference >> 63)) as u64;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    /// Returns the length of the text.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len().div_ceil(3) * 4
    }
}

impl FromIterator<u64> for Column {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut column = Self::default();
        numbers.into_iter().for_each(|number| column.push(number));
        column
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64(&self.bytes))
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit > group.len() { '=' } else { char::from(DIGITS[value]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Column, base64};

    /// Reads a column back, as the page does after decoding the base64.
    fn read(column: &Column) -> Vec<u64> {
        let (mut numbers, mut last, mut rest, mut shift) = (Vec::new(), 0u64, 0u64, 0);
        for &byte in &column.bytes {
            rest |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                last = last.wrapping_add((rest >> 1) ^ (rest & 1).wrapping_neg());
                numbers.push(last);
                (rest, shift) = (0, 0);
            }
        }
        numbers
    }

    #[test]
    fn columns_hold_every_number() {
        let numbers = [0, 1, 0, 64, 63, u64::from(u32::MAX), 5, u64::MAX, 0, 1 << 53];
        assert_eq!(read(&numbers.into_iter().collect()), numbers);
    }

    #[test]
    fn equal_steps_take_a_byte_each() {
        let column: Column = (0..30).map(|i| i * 60).collect();
        assert_eq!((column.bytes.len(), column.len()), (30, 40));
    }

    #[test]
    fn base64_is_padded_as_the_standard_says() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
