//! Row tiling: operators run stripe by stripe, a stripe being some rows, in the order in which the rows are needed.
//! Independent of textures.
//!
//! [`input_rows`](texpool_ops::ops::input_rows) lists the rows that an operator reads, and [`RowDependencies`] describes a
//! schedule in those terms. [`order`] runs cascades of it on demand. [`CascadeCosts`] chooses cascades and numbers of
//! stripes that need few live rows.
//!
//! The model follows Minakova and Stefanov (2020), who run the layers of a network in phases. They give each edge a
//! separate buffer. Here a schedule only determines the live range of each row, and the planner may place rows
//! anywhere.

mod cascades;
mod drive;
mod in_place;
mod model;

use std::ops::Range;

pub use cascades::{CascadeCost, CascadeCosts, within_stripes};
pub use drive::order;
pub use in_place::select_in_place;
pub use model::{OperandUse, Operator, Producer, RowDependencies, dispatches_of};

use super::{Access, Schedule, Step, StorageKind};
use texpool_plan::UsageRecord;

/// Consecutive operators that run interleaved. All results that later cascades read are complete when a cascade ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cascade {
    /// Indices into [`RowDependencies::operators`].
    pub operators: Range<usize>,
    /// Number of stripes of rows into which each operator is cut. An operator with fewer rows gets one stripe per row.
    pub stripes: u32,
    /// Scale factor for the size of weight tiles set in [`Streaming`](super::Streaming). It applies to operators that
    /// run as one stripe and upload their weights tile by tile.
    pub tile_scale: u32,
    /// True if the operators have exactly these numbers of stripes, whose rows differ by one at most. Otherwise a stripe
    /// also ends where the rows that another operator needs end.
    pub even: bool,
}

impl Cascade {
    /// Creates a cascade of `operators` in `stripes` stripes, with weight tiles of the normal size.
    pub const fn new(operators: Range<usize>, stripes: u32) -> Self {
        Self { operators, stripes, tile_scale: 1, even: false }
    }
}

/// Some rows of one operator's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Index into [`RowDependencies::operators`].
    pub operator: usize,
    /// Rows of the result.
    pub rows: Range<u32>,
}

/// Returns the schedule whose steps are the stripes of `cascades`, in demand-driven order. The storages do not change.
pub fn tiled(schedule: &Schedule, model: &RowDependencies, cascades: &[Cascade]) -> Schedule {
    let mut tiled = Schedule {
        storages: schedule.storages.clone(),
        storage_of: schedule.storage_of.clone(),
        subtensors: schedule.subtensors.clone(),
        ..Schedule::default()
    };
    let mut touched: Vec<Option<(usize, usize)>> = vec![None; schedule.records.len()];
    for Stripe { operator, rows } in order(model, cascades) {
        let (whole, operator) = (&schedule.steps[operator], &model.operators[operator]);
        let read = |touch: &Access| {
            let read = operator.operand_in(touch.storage);
            Access { rows: read.map_or(0..0, |read| within(&read.rows(&rows), &touch.rows)), ..touch.clone() }
        };
        let written = operator.written(&rows);
        let write = |touch: &Access| Access { rows: within(&written, &touch.rows), ..touch.clone() };
        let step = Step {
            reads: whole.reads.iter().map(read).collect(),
            writes: whole.writes.iter().map(write).filter(|touch| !touch.rows.is_empty()).collect(),
            rows,
            slices: whole.slices.clone(),
            ..*whole
        };
        let number = tiled.steps.len();
        let storages = step.reads.iter().map(|read| read.storage).chain([step.to]);
        for record in storages.filter_map(|storage| tiled.record(storage)) {
            touched[record].get_or_insert((number, number)).1 = number;
        }
        tiled.steps.push(step);
    }
    for storage in &tiled.storages {
        // Records without any stripe stay in the list, because `StorageKind::Intermediate` refers to records by index.
        if let StorageKind::Intermediate(record) = storage.kind {
            let (first, last) = touched[record].unwrap_or_default();
            tiled.records.push(UsageRecord::new(first, last, storage.texels()));
        }
    }
    tiled
}

/// Returns the overlap of `rows` with `all`.
fn within(rows: &Range<u32>, all: &Range<u32>) -> Range<u32> {
    let start = rows.start.clamp(all.start, all.end);
    start..rows.end.clamp(start, all.end)
}
