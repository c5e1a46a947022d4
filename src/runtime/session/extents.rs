//! Extents of inputs that differ from run to run.

use super::Session;
use crate::runtime::Error;
use texpool_gpu::Few;
use texpool_ops::graph::BoundedInput;

/// An extent, as the values of the hidden input that holds it.
pub(super) type Extent = (usize, [f32; 1]);

impl Session {
    /// Returns the record of an input with a bounded axis, and the extents of this number of values.
    pub(super) fn bounded_dims(&self, input: usize, values: usize) -> Option<(BoundedInput, Vec<usize>)> {
        let bounded = *self.compiled.model().graph().bounded_input(input)?;
        Some((bounded, bounded.dims_of(&self.inputs()[input].dims, values)?))
    }

    /// Returns the extents of a run for which some inputs are given with these extents. The others have those of their
    /// last values.
    pub(super) fn extents(&self, given: &[(usize, usize)]) -> Result<Few<Extent>, Error> {
        let graph = self.compiled.model().graph();
        let extent_of = |input: usize| {
            let given = given.iter().find(|(other, _)| *other == input).map(|&(_, extent)| extent);
            given.or(self.extents[input])
        };
        let exact = self.compiled.texels().max_exact_integer() as usize;
        let mut extents = Few::new();
        for count in graph.extent_inputs() {
            extents.push((count, [graph.shared_extent(count, exact, extent_of)? as f32]));
        }
        Ok(extents)
    }

    /// Checks that every input has values, and writes the extents that they have.
    pub(super) fn settle_inputs(&mut self) -> Result<(), Error> {
        self.check_complete(&[])?;
        for (count, extent) in self.extents(&[])? {
            self.executor.write(count, &extent)?;
        }
        Ok(())
    }
}
