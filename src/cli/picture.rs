//! Pictures of plans, as files.

use std::path::Path;

use super::error::CliError;
use crate::io::{IoError, check_picture_name, check_target, write_atomic};

/// Refuses a place for an SVG that cannot be written, before anything is computed for it.
pub(super) fn check(path: &Path) -> Result<(), CliError> {
    check_picture_name(path, "svg").map_err(|e| CliError::Usage(e.to_string()))?;
    Ok(check_target(path)?)
}

/// Writes the picture that was asked for, if one was, whole or not at all.
pub(super) fn write(to: Option<&Path>, svg: impl FnOnce() -> Result<String, CliError>) -> Result<(), CliError> {
    let Some(to) = to else { return Ok(()) };
    let svg = svg()?;
    write_atomic(to, |file| file.write_all(svg.as_bytes())).map_err(|e| CliError::Io(IoError::write(to, e)))
}
