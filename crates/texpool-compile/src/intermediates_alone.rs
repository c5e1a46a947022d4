//! Memory counted as in published papers: whole intermediate tensors only, without weights, inputs and outputs.

use crate::{
    error::CompileError,
    lowered::LoweredModel,
    model::CompiledModel,
    options::{CompileOptions, Objective, Tiling},
};
use texpool_ops::graph::Graph;
use texpool_plan::{SearchControl, bounds};

/// Memory of a model by the convention of Pisarchyk and Lee (2020): intermediate tensors only, each stored whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntermediatesAlone {
    /// Total size with a separate texture for every tensor, in bytes.
    pub naive_bytes: u64,
    /// Lower bound on any plan with shared objects, in bytes.
    pub lower_bound_bytes: u64,
    /// The smallest pool of textures that was found, in bytes.
    pub pool_bytes: u64,
}

impl CompiledModel {
    /// Returns the pool size if no operator is divided and nothing is streamed. Unlike the actual pool of this model,
    /// these figures are comparable with published ones. `graph` must be the graph that this model was compiled from.
    /// Plans that pool, which takes milliseconds; `control` can stop it.
    ///
    /// # Errors
    /// Fails if no texture within the model's limits holds a whole tensor; plans in stripes of rows do not need such a
    /// texture.
    pub fn intermediates_alone(
        &self,
        graph: &Graph,
        control: &SearchControl<'_>,
    ) -> Result<IntermediatesAlone, CompileError> {
        let options = CompileOptions {
            rules: self.lowering.rules,
            limits: self.limits,
            format: self.format,
            objective: Objective::Smallest,
            tiling: Tiling::Whole,
            ..CompileOptions::default()
        };
        let whole = LoweredModel::new(graph, None, &options, control)?.planned(&options, control)?;
        let bytes = |texels: u64| texels * self.format.texel_bytes();
        let bounds = bounds(&whole.streamed.records)?;
        Ok(IntermediatesAlone {
            naive_bytes: bytes(bounds.naive),
            lower_bound_bytes: bytes(bounds.shared_objects),
            pool_bytes: whole.plan.bytes(),
        })
    }
}
