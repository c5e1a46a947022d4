//! Operators that move values: pad, slice, transpose, reshape, depth and space, concatenation.

use texpool_ops::graph::{
    Concat, DepthOrder, DepthToSpace, Gather, GatherElements, Op, Pad, PadMode, Shape, SpaceToDepth, StridedSlice,
    Transpose,
};

use super::{Source, case, constant, epilogues, harness::Harness, placed, rng::Rng};
use crate::support::graphs::copy;

/// Constants added and elements cut off, on either side of each axis.
#[test]
fn pads_on_every_axis() {
    let mut harness = Harness::new();
    for (dims, before, after, value) in [
        ([1, 3, 4, 5], [0, 1, 2, 0], [0, 2, 1, 0], 0.0),
        ([2, 3, 4, 5], [0, 0, 0, 0], [0, 0, 0, 7], 1.5),
        ([2, 3, 4, 5], [1, 0, 0, 3], [2, 1, 0, 2], -2.0),
        ([1, 2, 3, 8], [0, 0, 1, 4], [0, 0, 0, 4], 0.5),
        ([1, 2, 3, 6], [0, 0, 0, 8], [0, 0, 0, 1], 0.5),
        ([1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], 3.0),
    ] {
        let out = std::array::from_fn(|axis| usize::strict_add_signed(dims[axis], before[axis] + after[axis]));
        case(&mut harness, Op::Pad(Pad { before, after, mode: PadMode::Constant(value) }), &[placed(dims)], out);
    }
    let op = Op::Pad(Pad { before: [0, 1, 1, 0], after: [0, 1, 1, 1], mode: PadMode::Constant(0.0) });
    epilogues(&mut harness, &op, &[placed([1, 3, 3, 5])], [1, 5, 5, 6], true);
}

/// Reflection, symmetry, edge and wrap, wider than the image too.
#[test]
fn pads_with_what_is_there() {
    let mut harness = Harness::new();
    for mode in [PadMode::Reflect, PadMode::Symmetric, PadMode::Edge, PadMode::Wrap, PadMode::Constant(1.5)] {
        for (dims, before, after) in [
            ([1, 3, 4, 5], [0, 1, 2, 0], [0, 2, 1, 0]),
            ([2, 3, 4, 6], [1, 0, 0, 3], [0, 1, 0, 2]),
            ([1, 2, 3, 3], [0, 5, 7, 8], [0, 4, 9, 11]),
            ([3, 4, 7, 9], [-1, 2, -3, -2], [2, -1, 1, 4]),
            ([1, 5, 6, 8], [0, -2, -1, 0], [0, -1, -2, 0]),
            ([1, 2, 3, 8], [0, 0, 1, 4], [0, 3, 0, 4]),
            ([1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]),
        ] {
            let out = std::array::from_fn(|axis| usize::strict_add_signed(dims[axis], before[axis] + after[axis]));
            case(&mut harness, Op::Pad(Pad { before, after, mode }), &[placed(dims)], out);
        }
    }
    let op = Op::Pad(Pad { before: [0, 1, 1, 0], after: [0, 1, -1, 1], mode: PadMode::Reflect });
    epilogues(&mut harness, &op, &[placed([1, 3, 3, 5])], [1, 5, 3, 6], true);
}

/// Every axis, with channels that fill no texel and such that do.
#[test]
fn tiles_on_every_axis() {
    let mut harness = Harness::new();
    for (dims, times) in [
        ([2, 3, 2, 5], [1, 2, 3, 1]),
        ([2, 2, 3, 3], [2, 1, 1, 3]),
        ([1, 2, 3, 8], [1, 1, 2, 2]),
        ([1, 1, 1, 1], [2, 3, 4, 5]),
        ([1, 1, 1, 7], [2, 3, 4, 1]),
    ] {
        let out = std::array::from_fn(|axis| dims[axis] * times[axis]);
        case(&mut harness, Op::Tile, &[placed(dims)], out);
    }
    epilogues(&mut harness, &Op::Tile, &[placed([1, 2, 3, 3])], [1, 4, 3, 6], true);
}

/// Constant indices from `-extent - 1` to `extent`: from the start, from the end, and outside.
fn numbers(dims: [usize; 4], extent: usize) -> Source {
    let mut rng = Rng::new(extent as u64);
    let shape = Shape::from(dims);
    let index = |_| rng.below(2 * extent + 2) as f32 - extent as f32 - 1.0;
    Source::Constant(shape, (0..shape.len()).map(index).collect())
}

/// Indices computed and constant, negative ones, and those out of range, which are clamped.
#[test]
fn elements_are_looked_up_on_every_axis() {
    let mut harness = Harness::new();
    let dims = [2, 3, 5, 6];
    harness.spread(4.0);
    for axis in 0..4 {
        let mut out = dims;
        for n in [1, 4, 7] {
            out[axis] = n;
            for x in [placed(dims), constant(dims)] {
                for indices in [placed([1, 1, 1, n]), numbers([1, 1, 1, n], dims[axis])] {
                    case(&mut harness, Op::Gather(Gather { axis }), &[x.clone(), indices], out);
                }
            }
        }
        let mut each = [1, 2, 4, 5];
        each[axis] = 7;
        for x in [placed(dims), constant(dims)] {
            for indices in [placed(each), numbers(each, dims[axis])] {
                case(&mut harness, Op::GatherElements(GatherElements { axis }), &[x.clone(), indices], each);
            }
        }
    }
    let operands = [placed([1, 2, 5, 6]), numbers([1, 1, 1, 3], 5)];
    epilogues(&mut harness, &Op::Gather(Gather { axis: 2 }), &operands, [1, 2, 3, 6], true);
    let operands = [constant([1, 1, 9, 7]), placed([1, 1, 1, 3])];
    epilogues(&mut harness, &Op::Gather(Gather { axis: 2 }), &operands, [1, 1, 3, 7], true);
    let operands = [placed([1, 2, 5, 6]), placed([1, 2, 3, 6])];
    epilogues(&mut harness, &Op::GatherElements(GatherElements { axis: 2 }), &operands, [1, 2, 3, 6], false);
}

/// Strides of either sign, also along channels inside a texel.
#[test]
fn slices_of_any_stride() {
    let mut harness = Harness::new();
    let dims = [3, 5, 7, 10];
    for (begin, stride, out) in [
        ([0, 1, 2, 0], [1, 1, 1, 1], [3, 3, 4, 10]),
        ([1, 0, 0, 3], [1, 2, 3, 1], [2, 3, 3, 6]),
        ([2, 4, 6, 9], [-1, -1, -1, -1], [3, 5, 7, 10]),
        ([2, 3, 0, 8], [-2, -3, 1, -3], [2, 2, 7, 3]),
        ([0, 0, 0, 4], [1, 1, 1, 1], [3, 5, 7, 5]),
        ([0, 0, 0, 1], [1, 1, 1, 3], [3, 5, 7, 3]),
        ([1, 2, 3, 9], [1, 1, 1, 1], [1, 1, 1, 1]),
    ] {
        case(&mut harness, Op::StridedSlice(StridedSlice { begin, stride }), &[placed(dims)], out);
    }
    let op = Op::StridedSlice(StridedSlice { begin: [0, 0, 0, 1], stride: [1, 1, 2, 1] });
    epilogues(&mut harness, &op, &[placed([1, 3, 4, 6])], [1, 3, 2, 5], true);
}

/// All 24 permutations of four axes.
#[test]
fn transposes_of_every_permutation() {
    let mut harness = Harness::new();
    let dims = [2, 3, 5, 6];
    for i in 0..256usize {
        let perm = [i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6 & 3];
        let mut sorted = perm;
        sorted.sort_unstable();
        if sorted == [0, 1, 2, 3] {
            case(&mut harness, Op::Transpose(Transpose { perm }), &[placed(dims)], perm.map(|axis| dims[axis]));
        }
    }
}

/// Rows that begin inside a texel of the operand.
#[test]
fn reshapes_keep_dense_order() {
    let mut harness = Harness::new();
    for (from, to) in [
        ([1, 3, 4, 5], [1, 1, 1, 60]),
        ([1, 1, 1, 60], [1, 3, 4, 5]),
        ([2, 3, 4, 8], [1, 6, 2, 16]),
        ([2, 3, 4, 6], [3, 2, 8, 3]),
        ([1, 4, 4, 6], [1, 1, 32, 3]),
        ([1, 2, 2, 16], [1, 4, 16, 1]),
        ([1, 1, 7, 1], [1, 1, 1, 7]),
    ] {
        case(&mut harness, Op::Reshape, &[placed(from)], to);
    }
    epilogues(&mut harness, &Op::Reshape, &[placed([1, 4, 4, 6])], [1, 2, 16, 3], true);
}

/// Either order of channels, and channels that fill no texel.
#[test]
fn depth_and_space_are_exchanged() {
    let mut harness = Harness::new();
    for (deep, block, wide) in [
        ([1, 2, 3, 16], [2, 2], [1, 4, 6, 4]),
        ([2, 2, 3, 12], [2, 2], [2, 4, 6, 3]),
        ([1, 3, 2, 9], [3, 3], [1, 9, 6, 1]),
        ([1, 1, 2, 32], [4, 4], [1, 4, 8, 2]),
        ([1, 5, 3, 32], [2, 2], [1, 10, 6, 8]),
        ([2, 1, 5, 24], [3, 1], [2, 3, 5, 8]),
        ([1, 2, 4, 12], [2, 3], [1, 4, 12, 2]),
    ] {
        for order in [DepthOrder::Dcr, DepthOrder::Crd] {
            case(&mut harness, Op::DepthToSpace(DepthToSpace { block, order }), &[placed(deep)], wide);
        }
        case(&mut harness, Op::SpaceToDepth(SpaceToDepth { block }), &[placed(wide)], deep);
    }
}

/// One to eight axes; whole texels, whole pixels of other channels, and single lanes. From the end backwards, too.
#[test]
fn copies_at_strides() {
    let mut harness = Harness::new();
    let eight = [(2, 1), (2, 2), (2, 4), (2, 8), (2, 16), (2, 32), (2, 64), (3, 128)];
    for (dims, offset, axes, out) in [
        ([2, 3, 4, 8], 0, &[(192, 1)][..], [1, 4, 12, 4]),
        ([2, 3, 4, 8], 0, &[(24, 8), (4, 1)], [4, 3, 2, 4]),
        ([2, 3, 4, 8], 2, &[(24, 8), (4, 1)], [4, 3, 2, 4]),
        ([2, 3, 4, 5], 0, &[(4, 5), (6, 20), (5, 1)], [1, 4, 6, 5]),
        ([2, 3, 4, 5], 119, &[(120, -1)], [2, 3, 4, 5]),
        ([1, 4, 4, 4], 0, &[(2, 32), (2, 8), (2, 0), (2, 16), (8, 1)], [2, 2, 2, 16]),
        ([1, 14, 21, 4], 0, &[(2, 588), (3, 28), (7, 84), (28, 1)], [1, 6, 49, 4]),
        ([1, 14, 21, 6], 3, &[(2, 882), (3, 42), (7, 126), (7, 6), (3, 1)], [1, 6, 49, 3]),
        ([1, 6, 8, 8], 0, &eight, [1, 4, 8, 12]),
    ] {
        case(&mut harness, copy(offset, axes), &[placed(dims)], out);
    }
    epilogues(&mut harness, &copy(0, &[(4, 5), (6, 20), (5, 1)]), &[placed([2, 3, 4, 5])], [1, 4, 6, 5], true);
}

/// Concatenates parts of these extents along `axis`; those marked are constants.
fn concat(harness: &mut Harness, axis: usize, parts: &[(usize, bool)]) {
    let mut out = [2, 3, 5, 6];
    let operands: Vec<Source> = parts
        .iter()
        .map(|&(extent, is_constant)| {
            let mut dims = out;
            dims[axis] = extent;
            if is_constant { constant(dims) } else { placed(dims) }
        })
        .collect();
    out[axis] = parts.iter().map(|part| part.0).sum();
    case(harness, Op::Concat(Concat { axis }), &operands, out);
}

/// Computed and constant parts along each axis.
#[test]
fn parts_are_joined_on_every_axis() {
    let mut harness = Harness::new();
    for axis in 0..4 {
        concat(&mut harness, axis, &[(3, false)]);
        concat(&mut harness, axis, &[(1, false), (2, false)]);
        concat(&mut harness, axis, &[(2, false), (4, false), (3, false)]);
        concat(&mut harness, axis, &[(2, true), (3, false), (2, true)]);
        concat(&mut harness, axis, &[(4, false), (5, true), (1, true), (2, false)]);
    }
}

/// Parts along channels that begin and end inside a texel.
#[test]
fn parts_meet_inside_a_texel() {
    let mut harness = Harness::new();
    for parts in [
        &[(5, false), (7, false), (8, false)][..],
        &[(4, false), (8, false), (4, false)],
        &[(1, false), (9, false), (3, false), (3, false)],
        &[(3, false), (1, true), (2, false), (2, false)],
        &[(1, true), (1, false), (1, true), (1, false), (6, true)],
        &[(6, true), (3, false), (5, true), (9, false), (1, true)],
    ] {
        concat(&mut harness, 3, parts);
    }
    let parts = [placed([1, 2, 3, 4]), placed([1, 2, 3, 8])];
    epilogues(&mut harness, &Op::Concat(Concat { axis: 3 }), &parts, [1, 2, 3, 12], true);
    let parts = [placed([1, 2, 3, 3]), constant([1, 2, 3, 4])];
    epilogues(&mut harness, &Op::Concat(Concat { axis: 3 }), &parts, [1, 2, 3, 7], true);
    let parts = [placed([1, 2, 3, 3]), placed([1, 2, 3, 4])];
    epilogues(&mut harness, &Op::Concat(Concat { axis: 3 }), &parts, [1, 2, 3, 7], false);
}
