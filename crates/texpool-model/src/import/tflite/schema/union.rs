//! Unions of the schema: one field contains a tag, which gives the type of the table that another field points to.

use flatbuffers::{ForwardsUOffset, InvalidFlatbuffer, TableVerifier, Verifiable, Verifier};

use super::{
    options::*,
    vectors::{Int32Vector, Uint8Vector, Uint16Vector},
};
use crate::import::tflite::reader::Schema;

/// A table of options.
pub(crate) trait Options: Schema {
    /// Its tag in the union of options.
    const TAG: u8;
}

macro_rules! tags {
    ($($name:ident = $tag:literal),* $(,)?) => {
        $(impl Options for $name<'static> { const TAG: u8 = $tag; })*

        /// Verifies the options of supported operators. Others are never read.
        fn verify_options(tag: u8, verifier: &mut Verifier, at: usize) -> Result<(), InvalidFlatbuffer> {
            match tag {
                $($tag => verifier.verify_union_variant::<ForwardsUOffset<$name<'static>>>(stringify!($name), at),)*
                _ => Ok(()),
            }
        }
    };
}
tags! {
    Conv2dOptions = 1, DepthwiseOptions = 2, PoolOptions = 5, FullyConnectedOptions = 8, SoftmaxOptions = 9,
    ConcatOptions = 10, AddOptions = 11, L2NormOptions = 12, LrnOptions = 13, ResizeBilinearOptions = 15, ReshapeOptions = 17, SpaceToDepthOptions = 19,
    MulOptions = 21, GatherOptions = 23, ReducerOptions = 27, SubOptions = 28, DivOptions = 29, SqueezeOptions = 30,
    SequenceRnnOptions = 31, StridedSliceOptions = 32, TransposeConvOptions = 49, PackOptions = 59, OneHotOptions = 61, UnpackOptions = 64,
    BidirectionalLstmOptions = 69, BidirectionalRnnOptions = 70, SequenceLstmOptions = 71, ResizeNearestOptions = 74, LeakyReluOptions = 75,
    MirrorPadOptions = 77, IfOptions = 92, WhileOptions = 93, DepthToSpaceOptions = 94, BatchMatMulOptions = 101, CumsumOptions = 102,
    CallOnceOptions = 103, Conv3dOptions = 106, VarHandleOptions = 111, GeluOptions = 116,
}

pub(super) const OPTIONS: [u16; 2] = [10, 12];
pub(super) const SEGMENTS: [u16; 2] = [8, 10];
pub(super) const INDICES: [u16; 2] = [12, 14];

type Checked<'v, 'o, 'b> = Result<TableVerifier<'v, 'o, 'b>, InvalidFlatbuffer>;

/// Verifies an operator's options.
pub(super) fn options<'v, 'o, 'b>(mut table: TableVerifier<'v, 'o, 'b>) -> Checked<'v, 'o, 'b> {
    union(&mut table, OPTIONS, verify_options)?;
    Ok(table)
}

/// Verifies both index vectors of a sparse dimension.
pub(super) fn indices<'v, 'o, 'b>(mut table: TableVerifier<'v, 'o, 'b>) -> Checked<'v, 'o, 'b> {
    union(&mut table, SEGMENTS, verify_indices)?;
    union(&mut table, INDICES, verify_indices)?;
    Ok(table)
}

fn union(
    table: &mut TableVerifier,
    [tag, value]: [u16; 2],
    verify: fn(u8, &mut Verifier, usize) -> Result<(), InvalidFlatbuffer>,
) -> Result<(), InvalidFlatbuffer> {
    if let (Some(tag), Some(value)) = (table.deref(tag)?, table.deref(value)?) {
        let tag = table.verifier().get_u8(tag)?;
        verify(tag, table.verifier(), value)?;
    }
    Ok(())
}

fn verify_indices(tag: u8, verifier: &mut Verifier, at: usize) -> Result<(), InvalidFlatbuffer> {
    match tag {
        1 => ForwardsUOffset::<Int32Vector>::run_verifier(verifier, at),
        2 => ForwardsUOffset::<Uint16Vector>::run_verifier(verifier, at),
        3 => ForwardsUOffset::<Uint8Vector>::run_verifier(verifier, at),
        _ => Ok(()),
    }
}
