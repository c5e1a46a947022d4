//! Extents of inputs that differ from run to run.

use super::Session;
use crate::runtime::Error;
use texpool_gpu::Few;
use texpool_model::tensor::TensorView;
use texpool_ops::graph::BoundedInput;

/// An extent, as the values of the hidden input that holds it.
pub(super) type Extent = (usize, [f32; 1]);

impl Session {
    /// Returns the extents of values of an input with bounded axes. `None` if it has none, or if no extents fit the values.
    pub(super) fn bounded_dims(&self, input: usize, values: &TensorView<'_>) -> Result<Option<Vec<usize>>, Error> {
        let graph = self.compiled.model().graph();
        if graph.bounded_axes_of_input(input).next().is_none() {
            return Ok(None);
        }
        let Some(dims) = graph.given_dims(input, values.len(), values.dims())? else { return Ok(None) };
        let exact = self.compiled.texels().max_exact_integer() as usize;
        for bounded in graph.bounded_axes_of_input(input) {
            graph.check_extent(bounded, exact, dims[bounded.axis])?;
        }
        Ok(Some(dims))
    }

    /// Returns the extents of a run for which some inputs are given with these extents. The others have those of their
    /// last values.
    pub(super) fn extents(&self, given: &[(usize, &[usize])]) -> Result<Few<Extent>, Error> {
        let graph = self.compiled.model().graph();
        let extent_of = |bounded: &BoundedInput| {
            let given = given.iter().find(|(input, _)| *input == bounded.input).map(|&(_, dims)| dims);
            given.or(self.dims[bounded.input].as_deref())?.get(bounded.axis).copied()
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
