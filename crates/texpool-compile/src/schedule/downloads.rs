//! Graph outputs as records of the pool. Rows are downloaded after the last step that writes them, and are dead after
//! both the download and the last step that reads them.

use std::ops::Range;

use super::{Access, Accesses, Schedule, Step, StepKind, StorageId, StorageKind};
use smallvec::smallvec;
use texpool_ops::graph::Graph;

impl Schedule {
    /// Returns the graph outputs that can be downloaded from the pool row by row. Excludes outputs that are views
    /// with rows of a different size from the rows that the steps write.
    pub(super) fn downloadable(&self, graph: &Graph) -> Vec<StorageId> {
        let outputs = self.storages.iter().zip(self.viewed(graph)).enumerate();
        outputs
            .filter(|(_, (storage, viewed))| matches!(storage.kind, StorageKind::Output(_)) && !viewed)
            .map(|(id, _)| id)
            .collect()
    }

    /// Adds the downloads of these outputs after the steps that write them, one per run of adjacent rows.
    pub(super) fn download(&mut self, outputs: &[StorageId]) {
        // For each row of these outputs, the last step that writes part of it.
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
        // Indexed by the step that they follow.
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
                let reads = smallvec![Access { storage: to, rows: rows.clone(), texels }];
                let (kind, slices, writes) = (StepKind::Download, slices.clone(), Accesses::new());
                self.steps.push(Step { kind, node, rows, slices, reads, to, writes });
            }
        }
    }
}
