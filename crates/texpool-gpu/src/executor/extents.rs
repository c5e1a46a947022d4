//! Runs whose inputs have less than their greatest extents: the program computes the places that such a run needs.

use super::Executor;
use crate::GpuError;
use texpool_ops::ops::Needed;

impl Executor {
    /// Records the value of an input if it is an extent.
    pub(super) fn note_extent(&mut self, input: usize, values: &[f32]) {
        if self.compiled.graph().extent_inputs().contains(&input)
            && let Some(extent) = self.extents.get_mut(input)
        {
            *extent = values.first().copied();
        }
    }

    /// Makes the program compute what a run with the recorded extents needs. Runs with the extents of the run before keep
    /// its program.
    pub(super) fn narrow(&mut self) -> Result<(), GpuError> {
        let is_open = self.extents.iter().any(Option::is_some);
        if !is_open || self.needed.as_ref().is_some_and(|(extents, _)| *extents == self.extents) {
            return Ok(());
        }
        let Self { gpu, compiled, options, resident, extents, .. } = self;
        let Some(resident) = resident else { return Ok(()) };
        let needed = Needed::new(compiled.graph(), |input| extents.get(input).copied().flatten());
        resident.narrow(gpu, compiled, options, &needed)?;
        self.needed = Some((extents.clone(), needed));
        self.note();
        Ok(())
    }

    /// Writes zeros behind the extents of an output. Extents that only the run finds are left alone.
    pub(super) fn clear_behind_extents(&self, output: usize, values: &mut [f32]) {
        let graph = self.compiled.graph();
        let Some((_, needed)) = &self.needed else { return };
        for bounded in graph.bounded_axes_of_output(output) {
            if let Some(count) = needed.count(graph, bounded.count) {
                bounded.clear(&graph.tensors[graph.outputs[output]].dims, count, values);
            }
        }
    }
}
