//! Columns of numbers in the page's data, packed.

use base64::{Engine, prelude::BASE64_STANDARD};
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
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::Column;

    #[test]
    fn columns_are_zigzag_coded_differences() {
        let column: Column = [0, 1, 0, 64, 63, u64::MAX, 5].into_iter().collect();
        // 64 is two groups of seven bits; the difference from 63 to the largest number wraps to -64, and back by 6.
        assert_eq!(column.bytes, [0, 2, 1, 0x80, 1, 1, 127, 12]);
        assert_eq!(serde_json::to_value(&column).unwrap(), "AAIBgAEBfww=");
    }

    #[test]
    fn equal_steps_take_a_byte_each() {
        let column: Column = (0..30).map(|i| i * 60).collect();
        assert_eq!((column.bytes.len(), column.len()), (30, 40));
        assert_eq!(serde_json::to_string(&column).unwrap().len(), 42, "with its quotes");
    }
}
