//! Parses sizes in bytes as users write them.

/// Units in lower case, and their sizes in bytes.
// A longer suffix must come before its own suffixes: `2MiB` also ends with `B`.
const UNITS: [(&str, u64); 10] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
];

/// Parses a size such as `2MiB`, `1.5 MB` or `4096`, in bytes. Case is ignored. Units with an `i` and single letters
/// are powers of 1024, the others of 1000.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const SUCH: &str =
        "write a number and a unit, such as 2MiB or 512KiB (powers of 1024), 1.5MB (of 1000) or 4096 (bytes)";
    let trimmed = text.trim().to_ascii_lowercase();
    let unit = UNITS.iter().find(|(unit, _)| trimmed.ends_with(unit));
    let (number, bytes) = match unit {
        Some((unit, bytes)) => (trimmed[..trimmed.len() - unit.len()].trim_end(), *bytes),
        None => (&*trimmed, 1),
    };
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
    let size = value.ok_or_else(|| format!("`{text}` is no size; {SUCH}"))? * bytes as f64;
    match size {
        ..1.0 => Err(format!("`{text}` is less than a byte; {SUCH}")),
        // The first number that does not fit in 64 bits.
        18_446_744_073_709_551_616.0.. => Err(format!("`{text}` is more than any pool can have; {SUCH}")),
        _ => Ok(size as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, bytes) in [
            ("2MiB", 2 << 20),
            ("1KiB", 1024),
            ("1.5 MB", 1_500_000),
            ("4096", 4096),
            ("512K", 512 << 10),
            ("0.5GiB", 1 << 29),
            ("7B", 7),
            ("4mb", 4_000_000),
            ("4 MB", 4_000_000),
            ("4mib", 4 << 20),
            ("1kB", 1000),
            ("1Gib", 1 << 30),
            ("3g", 3 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_size_is_refused() {
        for (why, texts) in [
            ("no size", &["", "MiB", "two", "nan", "inf", "-inf", "1 parsec", "1XB"][..]),
            ("less than a byte", &["-1", "-1KiB", "0", "0MiB", "0.5"]),
            ("more than any pool", &["18446744073709551616", "99999999999999999999", "1e30GiB", "1e308GB"]),
        ] {
            for text in texts {
                let message = parse_size(text).unwrap_err();
                assert!(message.contains(why) && message.contains("2MiB"), "{message}");
            }
        }
    }
}
