//! A plan in the page's data: its textures, and the place and live range of every row.

use serde::Serialize;
use texpool_compile::CompiledModel;
use texpool_plan::{Layout, LayoutKind, LiveRange, PlanError, row_live_ranges};

use super::column::Column;
use crate::report::io_bytes;

/// The kind of a plan, by which the page groups its choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanGroup {
    /// A plan that a run can use.
    Runs,
    /// The result of a strategy, for comparison.
    Strategy,
    /// A point of the Pareto front.
    Front,
}

/// A plan over a schedule.
#[derive(Debug, Serialize)]
pub(super) struct PlanData {
    pub(super) name: String,
    pub(super) group: PlanGroup,
    problem: LayoutKind,
    /// Why it was chosen, or what stopped its search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Index of its schedule.
    schedule: usize,
    /// Bytes of a texel.
    texel_bytes: u64,
    /// Bytes of the pool.
    pub(super) bytes: u64,
    /// Width, height and texels of each texture; without width and height for layouts that were not put into textures.
    textures: Vec<(u32, u32, u64)>,
    /// For each record, its texture.
    texture: Column,
    pub(super) blocks: BlockColumns,
    /// Memory of a session beside the pool, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<(&'static str, u64)>,
    /// Predicted milliseconds of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_ms: Option<f64>,
}

/// Runs of adjacent rows with one live range; a row of the table per run, sorted by record.
#[derive(Debug, Default, Serialize)]
pub(super) struct BlockColumns {
    pub(super) count: usize,
    record: Column,
    first_row: Column,
    rows: Column,
    /// First texel in its texture.
    texel: Column,
    /// First step.
    first: Column,
    /// Number of steps after the first.
    more: Column,
}

impl BlockColumns {
    fn push(&mut self, record: usize, [first_row, rows]: [u32; 2], texel: u64, life: LiveRange) {
        self.count += 1;
        self.record.push(record as u64);
        self.first_row.push(first_row.into());
        self.rows.push(rows.into());
        self.texel.push(texel);
        self.first.push(life.first as u64);
        self.more.push((life.last - life.first) as u64);
    }

    const fn len(&self) -> usize {
        let Self { record, first_row, rows, texel, first, more, .. } = self;
        record.len() + first_row.len() + rows.len() + texel.len() + first.len() + more.len()
    }
}

impl PlanData {
    /// Creates the data of the plan of a compiled model.
    pub(super) fn of_compiled(
        name: &str,
        group: PlanGroup,
        notes: Vec<String>,
        schedule: usize,
        compiled: &CompiledModel,
    ) -> Result<Self, PlanError> {
        let (steps, plan) = (compiled.schedule(), compiled.plan());
        let mut blocks = BlockColumns::default();
        let tensors = steps.tensors();
        for (record, lives) in row_live_ranges(&tensors, &steps.row_steps())?.into_iter().enumerate() {
            let row_texels = tensors[record].row_texels;
            let mut run: Option<(u32, u32, u32, LiveRange)> = None;
            let starts = plan.placements[record].rows.starts();
            for ((row, start), life) in (0..).zip(starts).zip(lives) {
                // A row that no step touches has no place.
                let Some(life) = life else { continue };
                match &mut run {
                    Some((first, rows, texel, lived))
                        if *lived == life && *first + *rows == row && *texel + *rows * row_texels == start =>
                    {
                        *rows += 1;
                    }
                    _ => {
                        if let Some((first, rows, texel, lived)) = run.replace((row, 1, start, life)) {
                            blocks.push(record, [first, rows], texel.into(), lived);
                        }
                    }
                }
            }
            if let Some((first, rows, texel, lived)) = run {
                blocks.push(record, [first, rows], texel.into(), lived);
            }
        }
        let (weights, io) = (compiled.resident_weight_bytes(), io_bytes(compiled));
        let rest = compiled.device_bytes().saturating_sub(plan.bytes() + weights + io);
        Ok(Self {
            name: name.to_owned(),
            group,
            problem: plan.problem,
            notes,
            schedule,
            texel_bytes: compiled.format().texel_bytes(),
            bytes: plan.bytes(),
            textures: plan.textures.iter().map(|spec| (spec.width, spec.height, spec.texels())).collect(),
            texture: plan.placements.iter().map(|placement| placement.texture as u64).collect(),
            blocks,
            beside: vec![
                ("weights", weights),
                ("inputs and outputs beside the pool", io),
                ("tables, transfer buffers and wgpu's own", rest),
            ],
            predicted_ms: compiled.tiled().map(|tiled| tiled.predicted_us / 1e3),
        })
    }

    /// Creates the data of a strategy's layout of whole tensors.
    pub(super) fn of_layout(name: &str, schedule: usize, compiled: &CompiledModel, layout: &Layout) -> Self {
        let steps = compiled.schedule();
        let mut blocks = BlockColumns::default();
        for ((record, used), tensor) in steps.records.iter().enumerate().zip(steps.tensors()) {
            let life = LiveRange { first: used.first, last: used.last };
            blocks.push(record, [0, tensor.rows], layout.places[record].offset, life);
        }
        let texel_bytes = compiled.format().texel_bytes();
        Self {
            name: name.to_owned(),
            group: PlanGroup::Strategy,
            problem: layout.problem,
            notes: Vec::new(),
            schedule,
            texel_bytes,
            bytes: layout.total() * texel_bytes,
            textures: layout.regions.iter().map(|&texels| (0, 0, texels)).collect(),
            texture: layout.places.iter().map(|place| place.region as u64).collect(),
            blocks,
            beside: Vec::new(),
            predicted_ms: None,
        }
    }

    /// Returns the length of its columns as text.
    pub(super) const fn len(&self) -> usize {
        self.blocks.len() + self.texture.len()
    }
}
