//! Entry points of the fuzz targets.

mod model;
mod records;
mod saved_plan;

use std::time::{Duration, Instant};

/// Processes the bytes of a model in all steps that need no device.
pub fn model(bytes: &[u8]) {
    let _ = model::drive(bytes);
}

/// Returns the resources that the bytes of a model took: peak memory and duration of an import, peak memory of all
/// later steps, and total duration.
pub fn took(bytes: &[u8]) -> (u64, Duration, u64, Duration) {
    let began = Instant::now();
    let (_, took) = model::drive(bytes);
    (took.import, took.importing, took.rest, began.elapsed())
}

/// Loads a saved plan of a small model.
pub fn saved_plan(bytes: &[u8]) {
    let _ = saved_plan::drive(bytes);
}

/// Reads and plans usage records.
pub fn records(text: &str) {
    records::drive(text);
}
