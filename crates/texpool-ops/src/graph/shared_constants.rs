//! Makes constants with equal elements share memory, so that data used by several nodes is stored once.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher as _},
};

use super::{Bytes, ElementType, Graph, TensorId};

/// Minimum size in bytes of a constant that is compared with the others. Sharing smaller ones saves too little.
const MIN_BYTES: usize = 1 << 10;
/// Number of bytes compared first, at each of three places. This avoids reading a whole constant of a mapped file
/// just to find that it differs from the others.
const SAMPLE: usize = 64;

/// Lets constants with equal elements share the bytes of the first one, so that `Bytes::is_same` can later detect
/// equality without comparing bytes. Only constants that agree in type, length and three samples are compared in
/// full.
pub fn share_constants(graph: &mut Graph) {
    let mut alike: HashMap<(ElementType, usize, u64), Vec<TensorId>> = HashMap::new();
    for id in graph.tensors.ids() {
        let Some(constant) = &graph.tensors[id].constant else { continue };
        // A constant of one repeated value takes no memory, and always compares equal to another of the same value.
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

/// Returns a hash of the first, middle and last bytes.
fn sample(bytes: &Bytes) -> u64 {
    let bytes = bytes.as_slice();
    let mut hash = DefaultHasher::new();
    for start in [0, bytes.len() / 2, bytes.len().saturating_sub(SAMPLE)] {
        hash.write(&bytes[start..bytes.len().min(start + SAMPLE)]);
    }
    hash.finish()
}
