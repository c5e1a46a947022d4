//! Reads the data of a page back, as its scripts do.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

/// Returns the page's data.
pub(super) fn data(html: &str) -> Value {
    let (_, after) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

/// Unpacks a column: base64, groups of seven bits, zigzag, differences.
pub(super) fn column(value: &Value) -> Vec<u64> {
    let bytes = BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
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
