//! Fingerprint of a graph: the shapes of its tensors, and its nodes.
//!
//! Names and values are left out, because a network with other weights has the same plan. Attributes are left out,
//! too. A plan depends on them only through the rows that nodes read, and the checker recomputes those.

use texpool_ops::graph::{Act, Graph, TensorId};

/// Returns the fingerprint of a rewritten graph.
pub(super) fn fingerprint(graph: &Graph) -> u64 {
    let mut hash = Fnv::new();
    hash.number(graph.tensors.len());
    for tensor in &graph.tensors {
        tensor.shape.dims().into_iter().for_each(|extent| hash.number(extent));
        hash.number(usize::from(tensor.constant.is_some()));
    }
    hash.number(graph.nodes.len());
    for node in &graph.nodes {
        hash.text(node.op.name());
        tensors(&mut hash, &node.inputs);
        tensors(&mut hash, &[node.output]);
        act(&mut hash, node.epilogue.first);
        tensors(&mut hash, node.epilogue.add.as_slice());
        act(&mut hash, node.epilogue.then);
    }
    tensors(&mut hash, &graph.inputs);
    tensors(&mut hash, &graph.outputs);
    hash.0
}

fn tensors(hash: &mut Fnv, tensors: &[TensorId]) {
    hash.number(tensors.len());
    tensors.iter().for_each(|tensor| hash.number(tensor.index()));
}

fn act(hash: &mut Fnv, act: Act) {
    hash.text(act.name().unwrap_or_default());
    if let Some(constant) = act.constant() {
        tensors(hash, &[constant]);
    }
}

/// Running 64-bit FNV-1a hash by Fowler, Noll and Vo. Changing one byte always changes the hash. It does not protect
/// against forgery and need not, because a loaded plan is checked.
pub(super) struct Fnv(pub(super) u64);

impl Fnv {
    /// Returns the hash of an empty input.
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    /// Adds a string with its length, so that its end is unambiguous.
    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes(text.as_bytes());
    }
}
