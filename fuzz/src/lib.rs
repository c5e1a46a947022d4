//! What the fuzz targets do with their bytes.

mod model;
mod records;
mod saved_plan;

use std::time::{Duration, Instant};

/// Carries the bytes of a model as far as they go without a device.
pub fn model(bytes: &[u8]) {
    let _ = model::drive(bytes);
}

/// What the bytes of a model took: most bytes at a time of an import and how long it took, most bytes at a time of all
/// that followed, and how long everything took together.
pub fn took(bytes: &[u8]) -> (u64, Duration, u64, Duration) {
    let began = Instant::now();
    let (_, took) = model::drive(bytes);
    (took.import, took.importing, took.rest, began.elapsed())
}

/// Loads a saved plan of a small model.
pub fn saved_plan(bytes: &[u8]) {
    let _ = saved_plan::drive(bytes);
}

/// Reads usage records, and plans them.
pub fn records(text: &str) {
    records::drive(text);
}
