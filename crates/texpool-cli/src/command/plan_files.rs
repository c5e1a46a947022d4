//! Files to which `texpool plan --records` writes a plan besides the answer.

use std::path::Path;

use super::{error::CliError, picture};
use crate::io::DistinctFiles;

/// The files that the user names.
pub(super) struct PlanFiles<'a> {
    /// File for a picture of the plan.
    pub(super) picture: Option<&'a Path>,
    /// File for the plan as CSV.
    pub(super) csv: Option<&'a Path>,
    /// All files of the call, including these two.
    pub(super) all: &'a DistinctFiles,
}

impl PlanFiles<'_> {
    /// Writes the files that are named, each completely or not at all.
    pub(super) fn write(
        &self,
        svg: impl FnOnce() -> Result<String, CliError>,
        csv: impl FnOnce() -> Result<String, CliError>,
    ) -> Result<(), CliError> {
        picture::write(self.picture, self.all, svg)?;
        self.csv.map_or(Ok(()), |to| Ok(self.all.write(to, csv()?.as_bytes())?))
    }
}
