//! `texpool plan --profile`: the operator profiles of a model, or of usage records.

use std::path::Path;

use super::{error::CliError, out, picture};
use crate::{
    io::{DistinctFiles, printable, read_text},
    report::{MemoryReport, OperatorProfiles},
};
use texpool_compile::CompiledModel;
use texpool_plan::{
    PlanError, UsageRecord,
    io::{RecordSet, buffers_from_text},
    profile_svg,
};

/// Destinations of the profiles.
pub(super) struct ProfileOutput<'a> {
    /// File for a picture of the profiles.
    pub(super) picture: Option<&'a Path>,
    /// All files of the call, including this one.
    pub(super) files: &'a DistinctFiles,
    pub(super) json: bool,
}

/// Prints the profiles of a model's pool, in bytes.
pub(super) fn of_model(compiled: &CompiledModel, output: &ProfileOutput<'_>) -> Result<(), CliError> {
    let schedule = compiled.schedule();
    let texel_bytes = compiled.format().texel_bytes();
    let in_bytes = |r: &UsageRecord| UsageRecord::new(r.first, r.last, r.size.saturating_mul(texel_bytes));
    let records: Vec<UsageRecord> = schedule.records.iter().map(in_bytes).collect();
    let MemoryReport { model, plan, rows, .. } = MemoryReport::from_compiled(compiled);
    let names: Vec<String> = plan.placements.into_iter().map(|placement| placement.tensor).collect();
    let operators: Vec<String> = rows.into_iter().map(|row| row.operator).collect();
    answer(&OperatorProfiles::new((&model, "bytes"), &names, &records, &operators)?, &records, output)
}

/// Prints the profiles of the records of a file.
pub(super) fn of_records(path: &Path, output: &ProfileOutput<'_>) -> Result<(), CliError> {
    let wrong = |source: PlanError| CliError::Records { path: path.into(), source };
    let mut buffers = buffers_from_text(&read_text(path)?).map_err(wrong)?;
    // A plan has an offset for each buffer, which does not change the profiles.
    buffers.iter_mut().for_each(|buffer| buffer.offset = None);
    let Some(RecordSet { names, records, .. }) = RecordSet::from_buffers(&buffers) else {
        let why = "--profile takes records without alignments and gaps";
        return Err(CliError::Usage(format!("{}: {why}", printable(path))));
    };
    let name = printable(path).to_string();
    let profiles = OperatorProfiles::new((&name, "units"), &names, &records, &[]).map_err(wrong)?;
    answer(&profiles, &records, output)
}

fn answer(
    profiles: &OperatorProfiles,
    records: &[UsageRecord],
    ProfileOutput { picture, files, json }: &ProfileOutput<'_>,
) -> Result<(), CliError> {
    let title = format!("{}: operator profiles, sizes in {}", profiles.model, profiles.unit);
    picture::write(*picture, files, || Ok(profile_svg(&title, records)?))?;
    if *json { out::json(profiles) } else { out::text(&profiles.to_string()) }
}
