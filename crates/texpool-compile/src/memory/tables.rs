//! Computes the sizes of the tables that dispatches read: parameters and row tables. As in a session, blocks with
//! equal contents are stored once.

use std::collections::{BTreeSet, HashSet};

use super::{device_format::DeviceFormat, placed_steps::PlacedSteps};
use crate::schedule::{Schedule, StorageKind};
use texpool_ops::{
    graph::{Graph, NodeId},
    kernels::{Dispatch, EpilogueParams, UNIFORM_WORDS},
};
use texpool_plan::{Plan, TextureSpec};

/// Alignment of each block in bytes. Core WebGPU requires this much, and so do the devices that the library opens. A
/// device opened by the caller may require less. On devices without immediates, the words specific to a dispatch lie
/// in another buffer, which is not counted here.
const ALIGN: u64 = 256;

/// Returns the sizes of the buffers for blocks in uniform memory and in storage memory, in bytes.
pub(crate) fn table_buffers(graph: &Graph, schedule: &Schedule, plan: &Plan, format: DeviceFormat) -> [u64; 2] {
    let mut blocks = Blocks::default();
    each_dispatch(graph, schedule, plan, format, |_, dispatch| blocks.add(dispatch.block.to_vec()));
    blocks.bytes()
}

/// Calls `visit` with the dispatches of each operator, once for all of its stripes of rows and once for all of its
/// weight tiles of equal size, because these share their blocks and shaders.
pub(crate) fn each_dispatch(
    graph: &Graph,
    schedule: &Schedule,
    plan: &Plan,
    format: DeviceFormat,
    mut visit: impl FnMut(NodeId, &Dispatch),
) {
    let packings = format.packings(graph, schedule);
    let io = |&tensor| format.io_texture(graph, tensor);
    let pool = plan.textures.len();
    let specs: Vec<TextureSpec> =
        plan.textures.iter().copied().chain(graph.inputs.iter().chain(&graph.outputs).map(io)).collect();
    let texture_of_storage: Vec<usize> = schedule
        .storages
        .iter()
        .map(|storage| match storage.kind {
            StorageKind::Intermediate(record) => plan.placements.get(record).map_or(0, |placed| placed.texture),
            StorageKind::Input(i) => pool + i,
            StorageKind::Output(i) => pool + graph.inputs.len() + i,
        })
        .collect();
    let spec = |texture: usize| specs.get(texture).copied();
    let steps = PlacedSteps {
        graph,
        schedule,
        plan,
        packings: &packings,
        texture_of_storage: &texture_of_storage,
        spec: &spec,
    };
    // Blocks hold the locations of alphas relative to the weights before them.
    let places = format.resident_weights(graph, schedule).places;
    let mut seen = BTreeSet::new();
    for step in schedule.steps.iter().filter(|step| !step.kind.is_transfer()) {
        let node = &graph.nodes[step.node];
        // All stripes of an operator share their blocks. Weight tiles of equal size also share them, except for the
        // offset of PReLU's alphas.
        let alphas = EpilogueParams::of_node(graph, node).reads_weights();
        let tile = if alphas { step.slices.start } else { step.slices.len() as u32 };
        if !seen.insert((step.node, tile)) {
            continue;
        }
        // A step without a kernel is ignored here, because creating the session reports the error.
        let dispatches = steps.dispatches(step, places[step.node], None).and_then(Result::ok);
        dispatches.unwrap_or_default().iter().for_each(|dispatch| visit(step.node, dispatch));
    }
}

/// Set of blocks; blocks with equal contents are stored once.
#[derive(Default)]
struct Blocks {
    seen: HashSet<Vec<u32>>,
    /// Number of words of each block in order, in uniform memory and in storage memory.
    uniform: Vec<u64>,
    storage: Vec<u64>,
}

impl Blocks {
    fn add(&mut self, block: Vec<u32>) {
        let words = block.len() as u64;
        if self.seen.insert(block) {
            let fits = UNIFORM_WORDS.iter().any(|&most| words <= u64::from(most));
            if fits { &mut self.uniform } else { &mut self.storage }.push(words);
        }
    }

    fn bytes(&self) -> [u64; 2] {
        // In uniform memory, a shader binds the shortest array type that holds the longest block, starting at its
        // block's offset.
        let longest = self.uniform.iter().copied().max().unwrap_or(0);
        let seen = UNIFORM_WORDS.iter().copied().map(u64::from).find(|&most| longest <= most).unwrap_or(longest);
        let uniform = end(&self.uniform, |_| seen);
        [uniform, end(&self.storage, |words| words.next_multiple_of(4))]
    }
}

/// Returns the size of a buffer in bytes. `seen` gives the number of words that the shader binds for the last block.
fn end(blocks: &[u64], seen: impl Fn(u64) -> u64) -> u64 {
    let Some((last, before)) = blocks.split_last() else { return 0 };
    before.iter().fold(0, |begin, words| (begin + 4 * words).next_multiple_of(ALIGN)) + 4 * seen(*last)
}
