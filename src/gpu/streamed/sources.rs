//! Where the bytes that are uploaded in the middle of a run come from.

use std::ops::Range;

use crate::gpu::{Program, TextureSet, packed_weights::PackedWeights, ports::Port};

/// What errors call it.
pub(super) const WHAT: &str = "a transfer in the middle of a run";

/// Bytes that are uploaded.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    pub(super) from: Source,
    pub(super) range: Range<usize>,
}

/// What bytes are some of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Weights,
    Input(usize),
}

/// What a run is of.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Run<'a> {
    pub(in crate::gpu) program: &'a Program,
    pub(in crate::gpu) textures: &'a TextureSet,
    pub(in crate::gpu) packed: &'a PackedWeights,
    pub(in crate::gpu) inputs: &'a [Port],
}

impl Run<'_> {
    /// Hands the bytes to `take`, piece by piece, with the place of each piece among them.
    pub(super) fn read(&self, bytes: &Bytes, take: &mut dyn FnMut(usize, &[u8])) {
        match bytes.from {
            Source::Weights => self.packed.read(&bytes.range, take),
            Source::Input(input) => {
                let packed = self.inputs.get(input).and_then(|port| port.packed(bytes.range.clone()));
                packed.into_iter().for_each(|bytes| take(0, bytes));
            }
        }
    }
}
