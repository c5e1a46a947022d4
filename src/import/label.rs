//! What a graph's tensors are called after the names of a file.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Most bytes of a name in the graph. While a file is read, names tell tensors apart and are whole; in the graph tensors
/// have ids, and names are for reports, which repeat them. Chosen.
const MAX_BYTES: usize = 1024;

/// The name itself; of a very long one the beginning, how long it is, and a number that differs where the rest does.
pub(super) fn label(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    // Backwards to the next border: a text cut inside a character is none.
    let end = (0..=MAX_BYTES).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    let mut rest = DefaultHasher::new();
    name.hash(&mut rest);
    format!("{}... ({} bytes, {:016x})", &name[..end], name.len(), rest.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(label("conv/Größe"), "conv/Größe");
        let long = label(&"ö".repeat(4000));
        assert!(long.contains("... (8000 bytes, ") && long.starts_with("öö") && long.len() < MAX_BYTES + 64, "{long}");
        assert_ne!(label(&format!("{}a", "x".repeat(2000))), label(&format!("{}b", "x".repeat(2000))));
    }
}
