//! Phases: operators run band by band of rows, in the order in which the rows are needed. Knows no texture.
//!
//! [`input_rows`](crate::ops::input_rows) says which rows an operator reads; [`RowDependencies`] is a schedule in those
//! terms; [`order`] drives segments of it on demand; [`SegmentCosts`] finds segments and numbers of phases that keep
//! few rows alive.
//!
//! The model is that of Minakova and Stefanov (2020): layers of a network in phases. They give each edge a buffer of
//! its own; here rows only say when they are born and die, and whoever places them may put them anywhere.

mod drive;
mod in_place;
mod model;
mod segments;

use std::{collections::HashMap, ops::Range};

pub use drive::order;
pub use in_place::select_in_place;
pub use model::{OperandUse, Operator, Producer, RowDependencies, dispatches_of};
pub use segments::{SegmentCost, SegmentCosts, within_bands};

use super::{Access, Schedule, Step, StorageId, StorageKind};
use crate::plan::UsageRecord;

/// Consecutive operators that run interleaved; what one segment leaves behind is complete when the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Indices into [`RowDependencies::operators`].
    pub operators: Range<usize>,
    /// Into how many bands of rows each operator is cut, as far as it has rows.
    pub phases: u32,
    /// How many times as large as [`Streaming`](super::Streaming) says the tiles of weights are that an operator in one
    /// band has uploaded.
    pub tile_scale: u32,
}

impl Segment {
    /// Operators in so many phases, with tiles of weights as they are asked for.
    pub const fn new(operators: Range<usize>, phases: u32) -> Self {
        Self { operators, phases, tile_scale: 1 }
    }
}

/// Some rows of one operator's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Index into [`RowDependencies::operators`].
    pub operator: usize,
    /// Rows of the result.
    pub rows: Range<u32>,
}

/// The schedule whose steps are the bands of `segments`, in demand-driven order; storages stay what they are.
pub fn phased(schedule: &Schedule, model: &RowDependencies, segments: &[Segment]) -> Schedule {
    let mut made = Schedule {
        storages: schedule.storages.clone(),
        storage_of: schedule.storage_of.clone(),
        subtensors: schedule.subtensors.clone(),
        ..Schedule::default()
    };
    let mut touched: Vec<Option<(usize, usize)>> = vec![None; schedule.records.len()];
    // By storage, since a concatenation of thousands of parts runs in thousands of bands. Of equals the first is kept.
    let reads: Vec<HashMap<StorageId, &OperandUse>> = model
        .operators
        .iter()
        .map(|operator| operator.reads.iter().rev().map(|read| (read.storage, read)).collect())
        .collect();
    for Band { operator, rows } in order(model, segments) {
        let (whole, reads, operator) = (&schedule.steps[operator], &reads[operator], &model.operators[operator]);
        let read = |touch: &Access| {
            let read = reads.get(&touch.storage);
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
        let number = made.steps.len();
        let uses = made.uses_of(&step);
        for &record in uses.reads.iter().chain(&uses.writes) {
            let span = touched[record].get_or_insert((number, number));
            span.1 = number;
        }
        made.steps.push(step);
        made.uses.push(uses);
    }
    for storage in &made.storages {
        // Also where no band touches it: kinds name records by their places, so none may be left out.
        if let StorageKind::Intermediate(record) = storage.kind {
            let (first, last) = touched[record].unwrap_or_default();
            made.records.push(UsageRecord::new(first, last, storage.texels()));
        }
    }
    made
}

/// What of `rows` lies in `all`.
fn within(rows: &Range<u32>, all: &Range<u32>) -> Range<u32> {
    let start = rows.start.clamp(all.start, all.end);
    start..rows.end.clamp(start, all.end)
}
