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

impl<'a> Run<'a> {
    pub(super) fn bytes(&self, bytes: &Bytes) -> Option<&'a [u8]> {
        let range = bytes.range.clone();
        match bytes.from {
            Source::Weights => self.packed.get(range),
            Source::Input(input) => self.inputs.get(input)?.packed(range),
        }
    }
}
