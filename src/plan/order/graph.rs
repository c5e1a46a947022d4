//! Steps and what must come before what.

use super::records_from_uses;
use crate::plan::{PlanError, StepUse, UsageRecord};

/// Steps with their tensors and their order.
pub(super) struct Graph<'a> {
    uses: &'a [StepUse],
    sizes: &'a [u64],
    /// For each step, the tensors it touches, without doubles.
    pub(super) touches: Vec<Vec<usize>>,
    /// For each step, the steps that must run before it.
    pub(super) before: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    /// The caller has checked that every tensor has a size.
    pub(super) fn new(uses: &'a [StepUse], sizes: &'a [u64]) -> Self {
        let mut touches = Vec::with_capacity(uses.len());
        let mut before: Vec<Vec<usize>> = Vec::with_capacity(uses.len());
        let mut writers: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
        let mut readers = writers.clone();
        for (step, touch) in uses.iter().enumerate() {
            let mut tensors: Vec<usize> = touch.reads.iter().chain(&touch.writes).copied().collect();
            tensors.sort_unstable();
            tensors.dedup();
            touches.push(tensors);
            let mut first: Vec<usize> = touch.reads.iter().flat_map(|&t| writers[t].iter().copied()).collect();
            first.extend(touch.writes.iter().flat_map(|&t| writers[t].iter().chain(&readers[t]).copied()));
            first.sort_unstable();
            first.dedup();
            before.push(first);
            touch.reads.iter().for_each(|&t| readers[t].push(step));
            touch.writes.iter().for_each(|&t| writers[t].push(step));
        }
        Self { uses, sizes, touches, before }
    }

    pub(super) fn len(&self) -> usize {
        self.uses.len()
    }

    pub(super) fn size(&self, tensor: usize) -> u64 {
        self.sizes[tensor]
    }

    pub(super) fn tensors(&self) -> usize {
        self.sizes.len()
    }

    /// Records and steps in another order.
    pub(super) fn apply(&self, order: &[usize]) -> Result<(Vec<UsageRecord>, Vec<StepUse>), PlanError> {
        let uses: Vec<StepUse> = order.iter().map(|&step| self.uses[step].clone()).collect();
        Ok((records_from_uses(&uses, self.sizes)?, uses))
    }
}
