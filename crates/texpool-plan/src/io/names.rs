//! An index of names that must be unique, without a copy of them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

/// The names of a list by their hashes.
#[derive(Default)]
pub(super) struct NameIndex {
    /// The index of the name with this hash, or with a smaller hash if that one was taken (linear probing).
    index_of: HashMap<u64, usize>,
    hasher: RandomState,
}

impl NameIndex {
    /// The index in `names` of an equal name. If there is none, the name is inserted with the next index.
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
