//! Suggests a known name for a mistyped one.

/// Returns the known name that differs from `text` by only a few typing errors.
///
/// ```
/// use texpool_compile::option_text::nearest_name;
///
/// assert_eq!(nearest_name("cnv1", ["conv1", "dense"]), Some("conv1"));
/// assert_eq!(nearest_name("softmax", ["conv1", "dense"]), None);
/// ```
pub fn nearest_name<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    // Long names allow more errors; a short name would be close to any other short name.
    let most = (text.len() / 3).min(3);
    let near = names.into_iter().map(|name| (slips(&text, &name.to_lowercase().chars().collect::<Vec<_>>()), name));
    near.filter(|&(slips, _)| slips <= most).min_by_key(|&(slips, _)| slips).map(|(_, name)| name)
}

/// Returns the number of characters to insert, delete or replace to turn one text into the other (Levenshtein
/// distance).
fn slips(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest_name;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let names = ["mobilenet_v1", "mobilenet_v2", "minilm", "page"];
        for (typed, meant) in [
            ("mobilnet_v2", Some("mobilenet_v2")),
            ("MobileNet_V1", Some("mobilenet_v1")),
            ("minlim", Some("minilm")),
            ("resnet50", None),
            ("pa", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(typed, names), meant, "{typed}");
        }
    }
}
