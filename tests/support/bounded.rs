//! Imports small files that claim to be huge, and limits the memory and time that importing them takes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use allocation_counter::measure;
use texpool_model::import::{ImportError, ImportOptions, from_bytes_with};
use texpool_ops::graph::Graph;

/// Upper limit on the memory in use at a time: the import allowance for a file of `file` bytes, plus memory that the
/// allowance does not count.
fn most(file: usize) -> u64 {
    (192 << 20) + 64 * file as u64
}
/// Upper limit on the time: hundreds of times what any of these files takes, and a small part of what they took
/// before importing was bounded.
const LONGEST: Duration = Duration::from_secs(30);

/// Imports a file and asserts that this takes little memory and time.
pub(crate) fn bounded(bytes: Vec<u8>) -> Result<Graph, ImportError> {
    let most = most(bytes.len());
    let (file, mut answer, began) = (Arc::new(bytes), None, Instant::now());
    let counted = measure(|| answer = Some(from_bytes_with(file, &ImportOptions::default())));
    assert!(counted.bytes_max < most, "{} bytes at a time, more than {most}", counted.bytes_max);
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    answer.unwrap()
}
