//! Replays inputs and prints the largest resource usage: `cargo run --release --example replay -- FOLDER..`.

use std::{env, fs, path::PathBuf};

/// Maximum size of an input. Larger ones are skipped, because the figures are for files that anybody might send.
const MOST_BYTES: usize = 64 << 10;

fn main() -> std::io::Result<()> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in env::args().skip(1) {
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    let mut all = Vec::new();
    for path in files {
        let bytes = fs::read(&path)?;
        if bytes.len() <= MOST_BYTES {
            all.push((texpool_fuzz::took(&bytes), path));
        }
    }
    println!("{} inputs of at most {MOST_BYTES} bytes", all.len());
    let kib = |bytes: u64| format!("{} KiB", bytes >> 10);
    if let Some(((bytes, ..), path)) = all.iter().max_by_key(|(took, _)| took.0) {
        println!("most memory of an import: {}, {}", kib(*bytes), path.display());
    }
    if let Some(((_, time, ..), path)) = all.iter().max_by_key(|(took, _)| took.1) {
        println!("longest import: {time:.1?}, {}", path.display());
    }
    if let Some(((_, _, bytes, _), path)) = all.iter().max_by_key(|(took, _)| took.2) {
        println!("most memory of what follows: {}, {}", kib(*bytes), path.display());
    }
    if let Some(((.., time), path)) = all.iter().max_by_key(|(took, _)| took.3) {
        println!("longest of all: {time:.1?}, {}", path.display());
    }
    Ok(())
}
