//! Small files that ask for much: what importing them takes is counted.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use allocation_counter::measure;
use texpool::{
    graph::Graph,
    import::{ImportError, ImportOptions, from_bytes_with},
};

/// Most bytes at a time: the allowance of a file of so many bytes, and what lies beside what is counted.
fn most(file: usize) -> u64 {
    (192 << 20) + 64 * file as u64
}
/// Longest: hundreds of times what any of these takes, a small part of what they took before they were bounded.
const LONGEST: Duration = Duration::from_secs(30);

/// Imports a file; that it takes little memory and no long time is part of the answer.
pub(crate) fn bounded(bytes: Vec<u8>) -> Result<Graph, ImportError> {
    let most = most(bytes.len());
    let (file, mut answer, began) = (Arc::new(bytes), None, Instant::now());
    let counted = measure(|| answer = Some(from_bytes_with(file, &ImportOptions::default())));
    assert!(counted.bytes_max < most, "{} bytes at a time, more than {most}", counted.bytes_max);
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    answer.unwrap()
}
