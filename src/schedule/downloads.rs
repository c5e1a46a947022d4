//! Graph outputs as records of the pool: rows are downloaded once the last step has written them, and dead after that
//! and the last step that reads them.

use std::ops::Range;

use super::{Access, Schedule, Step, StepKind, StorageId, StorageKind};
use crate::graph::Graph;

impl Schedule {
    /// The graph outputs that can be downloaded out of the pool row by row: not those whose rows are rows of nothing
    /// that a step writes, since a view stands between.
    pub(super) fn downloadable(&self, graph: &Graph) -> Vec<StorageId> {
        let outputs = self.storages.iter().zip(self.viewed(graph)).enumerate();
        outputs
            .filter(|(_, (storage, viewed))| matches!(storage.kind, StorageKind::Output(_)) && !viewed)
            .map(|(id, _)| id)
            .collect()
    }

    /// Adds the downloads of these outputs' rows, a run of neighbours each, behind the steps that write them.
    pub(super) fn download(&mut self, outputs: &[StorageId]) {
        // Of each row of theirs the step that is the last to write some of it.
        let mut written: Vec<Vec<Option<usize>>> = vec![Vec::new(); self.storages.len()];
        for &id in outputs {
            written[id] = vec![None; self.storages[id].rows as usize];
        }
        for (number, step) in self.steps.iter().enumerate() {
            for Access { storage, rows, .. } in &step.writes {
                let last = &mut written[*storage];
                let end = (rows.end as usize).min(last.len());
                last.get_mut(rows.start as usize..end).into_iter().flatten().for_each(|last| *last = Some(number));
            }
        }
        // By the step that they come behind.
        let mut runs: Vec<Vec<(StorageId, Range<u32>)>> = vec![Vec::new(); self.steps.len()];
        for &id in outputs {
            for (row, step) in (0..).zip(&written[id]) {
                let Some(step) = *step else { continue };
                match runs[step].last_mut() {
                    Some((of, run)) if *of == id && run.end == row => run.end = row + 1,
                    _ => runs[step].push((id, row..row + 1)),
                }
            }
        }
        let steps = std::mem::take(&mut self.steps);
        for (step, runs) in steps.into_iter().zip(runs) {
            let (node, slices) = (step.node, step.slices.clone());
            self.steps.push(step);
            for (to, rows) in runs {
                let texels = 0..self.storages[to].row_texels;
                let reads = vec![Access { storage: to, rows: rows.clone(), texels }];
                let (kind, slices, writes) = (StepKind::Download, slices.clone(), Vec::new());
                self.steps.push(Step { kind, node, rows, slices, reads, to, writes });
            }
        }
    }
}
