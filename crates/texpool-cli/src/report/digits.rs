//! Formats numbers for reading.

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `21387936` as `20.4 MiB`: with one decimal, in the largest binary unit that the size reaches.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // From 1023.95 on, rounding would print 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `0.00000004312` as `4.3e-8`, `12.3456` as `12.3` and `0.5` as `0.5`: `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    // Rounded already, so that the text has no digits after the last significant one.
    let rounded: f64 = scientific.parse().unwrap_or(value);
    if (1e-3..1e6).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::{rounded, size};

    #[test]
    fn sizes_have_the_unit_that_they_reach() {
        let sizes = [0, 1023, 1024, 1_048_524, 1_048_525, 4 << 20, 21_387_936, u64::MAX].map(size);
        let expected = ["0 B", "1023 B", "1.0 KiB", "1023.9 KiB", "1.0 MiB", "4.0 MiB", "20.4 MiB", "16777216.0 TiB"];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn numbers_are_rounded_to_significant_digits() {
        let numbers = [0.0, 4.312e-8, -12.3456, 0.5, 999.96, 1234.0, 0.001, 9_999_999.0].map(|n| rounded(n, 4));
        assert_eq!(numbers, ["0", "4.312e-8", "-12.35", "0.5", "1000", "1234", "0.001", "1e7"]);
        assert_eq!(rounded(4.312e-8, 2), "4.3e-8");
        assert_eq!(rounded(f64::NAN, 2), "NaN");
    }
}
