//! Writes pictures of plans to files.

use std::path::Path;

use super::{error::CliError, out};
use crate::{
    io::{DistinctFiles, check_picture_name, printable},
    report::size,
};

/// Returns an error if the SVG cannot be written to this path, before anything is computed.
pub(super) fn check(path: &Path, files: &mut DistinctFiles) -> Result<(), CliError> {
    check_picture_name(path, "svg").map_err(|e| CliError::Usage(e.to_string()))?;
    Ok(files.writes("the picture", path)?)
}

/// Writes the requested picture, if any, completely or not at all, and says so on standard error.
pub(super) fn write(
    to: Option<&Path>,
    files: &DistinctFiles,
    svg: impl FnOnce() -> Result<String, CliError>,
) -> Result<(), CliError> {
    let Some(to) = to else { return Ok(()) };
    let svg = svg()?;
    files.write(to, svg.as_bytes())?;
    out::stderr(&format!("wrote the picture to {}, {}", printable(to), size(svg.len() as u64)));
    Ok(())
}
