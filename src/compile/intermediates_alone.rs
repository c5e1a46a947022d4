//! What the papers count: intermediate tensors as wholes, with weights, inputs and outputs apart.

use super::{
    compile_for::compile_within,
    error::CompileError,
    model::CompiledModel,
    options::{CompileOptions, Phases},
    select::Effort,
};
use crate::{
    graph::Graph,
    plan::{SearchControl, bounds},
};

/// The memory of a model by the convention of Pisarchyk and Lee (2020): intermediate tensors alone, each of them whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntermediatesAlone {
    /// Every tensor in a texture of its own, in bytes.
    pub naive_bytes: u64,
    /// What no plan of shared objects goes below, in bytes.
    pub lower_bound_bytes: u64,
    /// The smallest pool of textures that was found, in bytes.
    pub pool_bytes: u64,
}

impl CompiledModel {
    /// What the pool of `graph`, which this model was compiled from, takes where no operator is divided and nothing is
    /// streamed, so that published figures can be compared with this model's, whatever else its pool holds. Plans that pool,
    /// which takes milliseconds; `control` can stop it.
    ///
    /// # Errors
    /// Where no texture within the model's limits holds a whole tensor, as plans in bands of rows do not need.
    pub fn intermediates_alone(
        &self,
        graph: &Graph,
        control: &SearchControl<'_>,
    ) -> Result<IntermediatesAlone, CompileError> {
        let (rules, limits, phases, format) = (self.lowering.rules, self.limits, Phases::Off, self.format);
        let options = CompileOptions { rules, limits, phases, format, ..CompileOptions::default() };
        let whole = compile_within(graph, &options, None, Effort::Full, None, control)?.compiled;
        let bytes = |texels: u64| texels * format.texel_bytes();
        let bounds = bounds(&whole.schedule.records)?;
        Ok(IntermediatesAlone {
            naive_bytes: bytes(bounds.naive),
            lower_bound_bytes: bytes(bounds.shared_objects),
            pool_bytes: whole.plan.bytes(),
        })
    }
}
