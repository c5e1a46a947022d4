//! Shortens names from a file for use in a graph.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Limit on the length of a name in the graph, in bytes. Importers use full names to identify tensors; in the graph,
/// tensors have ids and names only serve for reports, which repeat them. Chosen, not tuned.
const MAX_BYTES: usize = 1024;

/// Returns the name, or for a very long one its beginning, its length, and a hash of the whole name.
pub(super) fn label(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    // Moves back to a character boundary, since slicing inside a character would panic.
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
