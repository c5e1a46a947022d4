//! Reads the data of a page back, as its scripts do.

use serde_json::Value;

/// Returns the page's data.
pub(super) fn data(html: &str) -> Value {
    let (_, after) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

/// Unpacks a column: base64, groups of seven bits, zigzag, differences.
pub(super) fn column(value: &Value) -> Vec<u64> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let text = value.as_str().unwrap().trim_end_matches('=').as_bytes();
    let (mut word, mut bits, mut bytes) = (0u32, 0, Vec::new());
    for &c in text {
        word = word << 6 | u32::from(digit(c));
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    let (mut numbers, mut last, mut rest, mut shift) = (Vec::new(), 0u64, 0u64, 0);
    for byte in bytes {
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
