//! An index of names that must be unique. It does not copy the names.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

/// Maps the hashes of names to their indices in a list.
#[derive(Default)]
pub(super) struct NameIndex {
    /// The index of the name with this hash, or with a smaller hash if that slot was taken (linear probing).
    index_of: HashMap<u64, usize>,
    hasher: RandomState,
}

impl NameIndex {
    /// Returns the index in `names` of an equal name. Without one, inserts the name with the next index and returns
    /// `None`.
    pub(super) fn find_or_insert(&mut self, names: &[String], name: &str) -> Option<usize> {
        let mut hash = self.hasher.hash_one(name);
        loop {
            match self.index_of.get(&hash) {
                None => {
                    self.index_of.insert(hash, names.len());
                    return None;
                }
                Some(&index) if names[index] == name => return Some(index),
                Some(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}
