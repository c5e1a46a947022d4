//! Reading `.npy` files.

use std::{fs::File, io::BufReader, path::Path};

/// The values of an array, dense.
pub(crate) fn array<T: npyz::Deserialize>(path: &Path) -> Vec<T> {
    let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    npyz::NpyFile::new(BufReader::new(file)).unwrap().into_vec().unwrap()
}
