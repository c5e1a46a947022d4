//! What the fuzz targets do with their bytes.

mod model;
mod records;

/// Carries the bytes of a model as far as they go without a device.
pub fn model(bytes: &[u8]) {
    let _ = model::drive(bytes);
}

/// Reads usage records, and plans them.
pub fn records(text: &str) {
    records::drive(text);
}
