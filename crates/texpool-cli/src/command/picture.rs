//! Writes pictures of plans to files.

use std::path::Path;

use super::error::CliError;
use crate::io::{DistinctFiles, check_picture_name};

/// Returns an error if the SVG cannot be written to this path, before anything is computed.
pub(super) fn check(path: &Path, files: &mut DistinctFiles) -> Result<(), CliError> {
    check_picture_name(path, "svg").map_err(|e| CliError::Usage(e.to_string()))?;
    Ok(files.writes("the picture", path)?)
}

/// Writes the requested picture, if any, completely or not at all.
pub(super) fn write(
    to: Option<&Path>,
    files: &DistinctFiles,
    svg: impl FnOnce() -> Result<String, CliError>,
) -> Result<(), CliError> {
    let Some(to) = to else { return Ok(()) };
    Ok(files.write(to, svg()?.as_bytes())?)
}
