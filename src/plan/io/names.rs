//! Names that must not be there twice, without a second copy of them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

/// The names of a list by their hashes.
#[derive(Default)]
pub(super) struct Seen {
    /// Index of the name with this hash, or with a smaller one where that was taken.
    at: HashMap<u64, usize>,
    hasher: RandomState,
}

impl Seen {
    /// The index in `names` of the same name; where there is none, the name is noted as the next of them.
    pub(super) fn find_or_note(&mut self, names: &[String], name: &str) -> Option<usize> {
        let mut hash = self.hasher.hash_one(name);
        loop {
            match self.at.get(&hash) {
                None => {
                    self.at.insert(hash, names.len());
                    return None;
                }
                Some(&index) if names[index] == name => return Some(index),
                Some(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}
