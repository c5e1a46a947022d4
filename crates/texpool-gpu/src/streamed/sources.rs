//! Sources of the bytes that are uploaded in the middle of a run.

use std::ops::Range;

use crate::{Program, TextureSet, packed_weights::PackedWeights, ports::Port};

/// Name of such a transfer in errors.
pub(super) const WHAT: &str = "a transfer in the middle of a run";

/// A range of bytes to upload.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    pub(super) from: Source,
    pub(super) range: Range<usize>,
}

/// Source of uploaded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Weights,
    Input(usize),
}

/// Resources that a streamed run uses.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Program,
    pub(crate) textures: &'a TextureSet,
    pub(crate) packed: &'a PackedWeights,
    pub(crate) inputs: &'a [Port],
}

impl Run<'_> {
    /// Passes the bytes to `take`, piece by piece, with each piece's offset in the range.
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
