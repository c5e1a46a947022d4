//! Dispatches, the output of kernels.

use std::sync::Arc;

use super::{
    grid::GRID_ROW,
    params::{COUNTER_WORD, COUNTS_PER_NODE, DISPATCH_WORDS},
    shader::Shader,
    step::{Constants, Reach},
};

/// One GPU dispatch. Only kernels create dispatches, so its parameters always match its shader.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The shader.
    pub shader: Shader,
    /// The `override` constants. Shader and constants together identify a pipeline.
    pub constants: Constants,
    /// Words specific to this dispatch.
    pub own: [u32; DISPATCH_WORDS],
    /// Parameters and row tables, shared by all dispatches of an operator.
    pub block: Arc<[u32]>,
    /// Texture written.
    pub output: usize,
    /// Texture of the first input, if one is read.
    pub input: Option<usize>,
    /// Texture of the second input (or of the tensor that the epilogue adds), if one is read.
    pub second: Option<usize>,
    /// Weight texture, if one is read.
    pub weights: Option<usize>,
    /// True if the weights are in texels of bytes, four for each texel of weights.
    pub byte_weights: bool,
    /// Maximum number of rounds of all loops together, per invocation (`Shader::rounds`).
    pub rounds: u64,
    /// Total number of workgroups.
    pub(crate) groups: u32,
    /// Texture ranges that contain all accessed texels; shared by all dispatches of a step.
    pub reach: Arc<[Reach]>,
    /// The graph node that this dispatch's counts belong to.
    pub counted_node: usize,
}

impl Dispatch {
    /// Assigns the dispatch's counts to a node of the graph.
    pub fn counting_for(&mut self, node: usize) {
        self.counted_node = node;
        if let Some(word) = Arc::make_mut(&mut self.block).get_mut(COUNTER_WORD) {
            *word = (node * COUNTS_PER_NODE) as u32;
        }
    }

    /// Returns whether both run in the same pipeline on the same textures.
    pub fn has_pipeline_of(&self, other: &Self) -> bool {
        let textures = |dispatch: &Self| [Some(dispatch.output), dispatch.input, dispatch.second, dispatch.weights];
        self.shader == other.shader
            && self.constants == other.constants
            && self.byte_weights == other.byte_weights
            && textures(self) == textures(other)
    }

    /// Returns the number of workgroups along x and y. The grid starts a new row every `GRID_ROW` groups.
    pub const fn grid(&self) -> [u32; 2] {
        // The last row may have too many groups; their invocations are beyond `items`.
        if self.groups <= GRID_ROW { [self.groups, 1] } else { [GRID_ROW, self.groups.div_ceil(GRID_ROW)] }
    }
}
