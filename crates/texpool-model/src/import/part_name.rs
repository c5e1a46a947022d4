//! Names of temporary files.

use std::{
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
};

/// Prefix and suffix of the names. Between them is this number of random hexadecimal digits, so that names do not
/// collide.
const BEGINNING: &str = ".texpool-";
const DIGITS: usize = 16;
const ENDING: &str = ".part";

/// Returns a path for a temporary file in `folder`.
pub fn part_path(folder: &Path) -> PathBuf {
    // The standard library seeds this hasher with random numbers from the system.
    folder.join(format!("{BEGINNING}{:016x}{ENDING}", RandomState::new().hash_one(())))
}

/// Returns whether a name has the pattern of [`part_path`].
pub fn is_part(name: &str) -> bool {
    let digits = name.strip_prefix(BEGINNING).and_then(|rest| rest.strip_suffix(ENDING));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}
