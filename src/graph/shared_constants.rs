//! Constants with the same elements share them, so that what several nodes use is held once.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher as _},
};

use super::{Bytes, ElementType, Graph, TensorId};

/// Bytes of a constant from which on it is looked for among the others: below, nothing is worth sharing.
const MIN_BYTES: usize = 1 << 10;
/// Bytes that are compared first, at each of three places: a constant of a mapped file is not read whole for others that
/// differ from it.
const SAMPLE: usize = 64;

/// Lets constants of equal elements hold the same bytes, the first one's; [`Bytes::is_same`] then tells that without
/// looking at them. Only constants that agree in type, length and three samples are compared whole.
pub(crate) fn share_constants(graph: &mut Graph) {
    let mut alike: HashMap<(ElementType, usize, u64), Vec<TensorId>> = HashMap::new();
    for id in graph.tensors.ids() {
        let Some(constant) = &graph.tensors[id].constant else { continue };
        // A constant of one value takes no memory, and is the same as another of that value anyway.
        if constant.bytes.len() < MIN_BYTES || constant.bytes.element().is_some() {
            continue;
        }
        let bytes = constant.bytes.clone();
        let others = alike.entry((constant.dtype, bytes.len(), sample(&bytes))).or_default();
        let held = |other: TensorId| graph.tensors[other].constant.as_ref().map(|constant| &constant.bytes);
        let equal = others.iter().filter_map(|&other| held(other)).find(|other| is_equal(other, &bytes)).cloned();
        match equal {
            Some(equal) => {
                if let Some(constant) = &mut graph.tensors[id].constant {
                    constant.bytes = equal;
                }
            }
            None => others.push(id),
        }
    }
}

fn is_equal(a: &Bytes, b: &Bytes) -> bool {
    a.is_same(b) || a.as_slice() == b.as_slice()
}

/// A hash of the first, middle and last bytes.
fn sample(bytes: &Bytes) -> u64 {
    let bytes = bytes.as_slice();
    let mut hash = DefaultHasher::new();
    for start in [0, bytes.len() / 2, bytes.len().saturating_sub(SAMPLE)] {
        hash.write(&bytes[start..bytes.len().min(start + SAMPLE)]);
    }
    hash.finish()
}
