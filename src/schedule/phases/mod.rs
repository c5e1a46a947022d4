//! Phases: operators run band by band of rows, in the order in which the rows are needed. Knows no texture.
//!
//! [`needs`] says which rows an operator reads; [`Model`] is a schedule in those terms; [`order`] drives segments of it
//! on demand; [`Table`] finds segments and numbers of phases that keep few rows alive.
//!
//! The model is that of Minakova and Stefanov (2020): layers of a network in phases. They give each edge a buffer of its
//! own; here rows only say when they are born and die, and whoever places them may put them anywhere.

mod drive;
mod model;
mod needs;
mod segments;
mod work;

use std::ops::Range;

pub use drive::order;
pub use model::{Model, Operator, Reading};
pub use needs::needs;
pub use segments::{Outline, Table};
pub use work::{Family, Work, work};

use super::{Schedule, Step, StorageKind};
use crate::plan::{StepUse, UsageRecord};

/// Consecutive operators that run interleaved; what one segment leaves behind is complete when the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Indices into [`Model::operators`].
    pub operators: Range<usize>,
    /// Into how many bands of rows each operator is cut, as far as it has rows.
    pub phases: u32,
}

/// Some rows of one operator's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Index into [`Model::operators`].
    pub operator: usize,
    /// Rows of the result.
    pub rows: Range<u32>,
}

/// The schedule whose steps are the bands of `segments`, in demand-driven order; storages stay what they are.
pub fn phased(schedule: &Schedule, model: &Model, segments: &[Segment]) -> Schedule {
    let mut made = Schedule {
        storages: schedule.storages.clone(),
        storage_of: schedule.storage_of.clone(),
        ..Schedule::default()
    };
    let mut touched: Vec<Option<(usize, usize)>> = vec![None; schedule.records.len()];
    for Band { operator, rows } in order(model, segments) {
        let whole = &schedule.steps[operator];
        let reads = &model.operators[operator].reads;
        let read_rows = whole
            .reads
            .iter()
            .map(|&storage| reads.iter().find(|read| read.storage == storage).map_or(0..0, |read| read.rows(&rows)));
        let step = Step {
            node: whole.node,
            read_rows: read_rows.collect(),
            rows,
            reads: whole.reads.clone(),
            writes: whole.writes,
        };
        let number = made.steps.len();
        let uses = StepUse {
            reads: step.reads.iter().filter_map(|&storage| made.record(storage)).collect(),
            writes: made.record(step.writes).into_iter().collect(),
        };
        for &record in uses.reads.iter().chain(&uses.writes) {
            let span = touched[record].get_or_insert((number, number));
            span.1 = number;
        }
        made.steps.push(step);
        made.uses.push(uses);
    }
    for storage in &made.storages {
        if let StorageKind::Intermediate(record) = storage.kind {
            let (first, last) = touched[record].unwrap_or_default();
            made.records.push(UsageRecord::new(first, last, storage.texels()));
        }
    }
    made
}
