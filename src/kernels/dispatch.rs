//! What a kernel answers.

use std::sync::Arc;

use super::{
    grid::GRID_ROW,
    params::{COUNTER_WORD, COUNTS_PER_NODE, DISPATCH_WORDS},
    shader::Shader,
    step::{Constants, Reach},
};

/// One GPU dispatch. Only kernels make them: what it is told and its shader fit each other.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Which shader.
    pub(crate) shader: Shader,
    /// Its `override` constants: with the shader, what tells pipelines apart.
    pub(crate) constants: Constants,
    /// What it alone is told.
    pub(crate) own: [u32; DISPATCH_WORDS],
    /// Parameters and row tables, which other dispatches of its operator share.
    pub(crate) block: Arc<[u32]>,
    /// Texture written.
    pub(crate) output: usize,
    /// Texture of the first input, if one is read.
    pub(crate) input: Option<usize>,
    /// Texture of the second input (or of what the epilogue adds), if one is read.
    pub(crate) second: Option<usize>,
    /// Weight texture, if one is read.
    pub(crate) weights: Option<usize>,
    /// Rounds that an invocation takes in all its loops together, at most ([`Shader::rounds`]).
    pub(crate) rounds: u64,
    /// Workgroups needed, in all.
    pub(crate) groups: u32,
    /// What all its texels lie in; all dispatches of a step share it.
    pub(crate) reach: Arc<[Reach]>,
    /// The node of the graph that its counts are those of.
    pub(crate) counted_node: usize,
}

impl Dispatch {
    /// Has it count for a node of the graph.
    pub(crate) fn counting_for(&mut self, node: usize) {
        self.counted_node = node;
        if let Some(word) = Arc::make_mut(&mut self.block).get_mut(COUNTER_WORD) {
            *word = (node * COUNTS_PER_NODE) as u32;
        }
    }

    /// Workgroups along x and y: the grid begins a new row every `GRID_ROW` groups.
    pub const fn grid(&self) -> [u32; 2] {
        // The last row may have groups too many; their invocations are beyond `items`.
        if self.groups <= GRID_ROW { [self.groups, 1] } else { [GRID_ROW, self.groups.div_ceil(GRID_ROW)] }
    }
}
