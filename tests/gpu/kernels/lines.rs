//! Operators that work along axes: matrix products, reductions, selections, normalizations, running sums.

use texpool_ops::graph::{CumSum, Lrn, MatMul, Normalize, Op, Reduce, ReduceKind, Statistic, TopK};

use super::{case, constant, epilogues, harness::Harness, placed};

/// Either operand constant or transposed, broadcast batches, and sizes that are not multiples of a block.
#[test]
fn matrix_products_of_any_form() {
    let mut harness = Harness::new();
    // Outer extents of both operands, then rows, depth, columns.
    for (a, b, [m, k, n]) in [
        ([1, 1], [1, 1], [7, 6, 5]),
        ([2, 3], [2, 3], [9, 8, 12]),
        ([2, 1], [1, 3], [1, 5, 4]),
        ([1, 3], [2, 3], [2, 1, 1]),
        ([1, 2], [1, 2], [3, 13, 10]),
        ([1, 1], [1, 1], [10, 400, 33]),
    ] {
        let out = [a[0].max(b[0]), a[1].max(b[1]), m, n];
        let left = [a[0], a[1], m, k];
        for (transpose_b, right) in [(false, [b[0], b[1], k, n]), (true, [b[0], b[1], n, k])] {
            let op = Op::MatMul(MatMul { transpose_b });
            case(&mut harness, op.clone(), &[placed(left), placed(right)], out);
            // Each form of constants needs its own shader, so not all kinds of blocks are tried again.
            if m > 8 && n < 20 {
                case(&mut harness, op.clone(), &[placed(left), constant(right)], out);
                case(&mut harness, op, &[constant(left), placed(right)], out);
            }
        }
    }
    let op = Op::MatMul(MatMul { transpose_b: false });
    epilogues(&mut harness, &op, &[placed([1, 2, 3, 6]), placed([1, 2, 6, 7])], [1, 2, 3, 7], false);
    epilogues(&mut harness, &op, &[placed([1, 2, 3, 6]), constant([1, 2, 6, 7])], [1, 2, 3, 7], true);
}

const DIMS: [usize; 4] = [2, 3, 5, 7];

fn axes(mask: usize) -> [bool; 4] {
    std::array::from_fn(|axis| mask >> axis & 1 == 1)
}

fn reduced(dims: [usize; 4], axes: [bool; 4]) -> [usize; 4] {
    std::array::from_fn(|axis| if axes[axis] { 1 } else { dims[axis] })
}

/// Every function over every set of axes; lanes past the last channel must not win.
#[test]
fn reductions_over_any_axes() {
    let mut harness = Harness::new();
    for kind in [
        ReduceKind::Sum,
        ReduceKind::SumSquare,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::L1,
        ReduceKind::L2,
        ReduceKind::LogSumExp,
    ] {
        for mask in 0..16 {
            let axes = axes(mask);
            case(&mut harness, Op::Reduce(Reduce { kind, axes }), &[placed(DIMS)], reduced(DIMS, axes));
        }
    }
    harness.inputs(|x| x.abs());
    for mask in 0..16 {
        let axes = axes(mask);
        case(&mut harness, Op::Reduce(Reduce { kind: ReduceKind::LogSum, axes }), &[placed(DIMS)], reduced(DIMS, axes));
    }
    // Close to one, of either sign, so that products stay bounded.
    harness.inputs(|x| x.signum() * (0.95 + x.abs() / 20.0));
    for mask in 0..16 {
        let axes = axes(mask);
        case(&mut harness, Op::Reduce(Reduce { kind: ReduceKind::Prod, axes }), &[placed(DIMS)], reduced(DIMS, axes));
    }
    harness.inputs(|x| x - 500.0);
    let far = Op::Reduce(Reduce { kind: ReduceKind::LogSumExp, axes: [false, false, false, true] });
    case(&mut harness, far, &[placed(DIMS)], [2, 3, 5, 1]);
    // Zeros past the last channel must never be the maximum or minimum.
    for (kind, inputs) in [
        (ReduceKind::Max, (|x| -x.abs()) as fn(f32) -> f32),
        (ReduceKind::Min, |x| x.abs()),
        (ReduceKind::ArgMax { last: false }, |x| -x.abs()),
        (ReduceKind::ArgMin { last: true }, |x| x.abs()),
    ] {
        harness.inputs(inputs);
        for channels in [1, 2, 5, 33] {
            let axes = [false, false, false, true];
            case(&mut harness, Op::Reduce(Reduce { kind, axes }), &[placed([1, 2, 1, channels])], [1, 2, 1, 1]);
        }
    }
}

/// Regions so large that a workgroup computes one texel of the result, over every set of axes: several results, rows
/// of a stripe, and a partial last slice.
#[test]
fn reductions_of_very_many_texels() {
    let mut harness = Harness::new();
    let kinds = [
        ReduceKind::Sum,
        ReduceKind::SumSquare,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Prod,
        ReduceKind::L1,
        ReduceKind::L2,
        ReduceKind::LogSumExp,
        ReduceKind::ArgMax { last: false },
        ReduceKind::ArgMin { last: true },
    ];
    for kind in kinds {
        // The reference adds in sequence, so long sums and products are compared on values where nothing rounds.
        harness.inputs(if kind == ReduceKind::Prod { f32::signum } else { |x| (x * 4.0).round() / 4.0 });
        for (dims, mask) in [
            ([1, 2, 8300, 5], 0b0100),
            ([1, 1, 2, 32_801], 0b1000),
            ([1, 8200, 2, 3], 0b0010),
            ([8200, 1, 1, 6], 0b0001),
            ([2, 91, 95, 6], 0b0110),
            ([3, 30, 31, 13], 0b1111),
        ] {
            let axes = axes(mask);
            if kind.is_index() && mask.count_ones() > 1 {
                continue;
            }
            case(&mut harness, Op::Reduce(Reduce { kind, axes }), &[placed(dims)], reduced(dims, axes));
        }
    }
    harness.inputs(|x| (x * 4.0).round() / 4.0);
    let mean = |axes| Op::Reduce(Reduce { kind: ReduceKind::Mean, axes });
    for (dims, mask) in [([1, 2, 16_500, 5], 0b0100), ([1, 1, 2, 65_603], 0b1000), ([1, 16_500, 1, 3], 0b0010)] {
        case(&mut harness, mean(axes(mask)), &[placed(dims)], reduced(dims, axes(mask)));
    }
}

/// The first or the last of equal values, along each axis.
#[test]
fn indices_along_any_axis() {
    let mut harness = Harness::new();
    for last in [false, true] {
        for kind in [ReduceKind::ArgMax { last }, ReduceKind::ArgMin { last }] {
            for axis in 0..4 {
                let axes = axes(1 << axis);
                for inputs in [(|x| x) as fn(f32) -> f32, |x| x.round()] {
                    // Rounding makes some values equal.
                    harness.inputs(inputs);
                    case(&mut harness, Op::Reduce(Reduce { kind, axes }), &[placed(DIMS)], reduced(DIMS, axes));
                }
            }
        }
    }
}

/// TopK in order, with equal values, for values and for indices.
#[test]
fn the_greatest_and_least_channels() {
    let mut harness = Harness::new();
    for inputs in [(|x| x) as fn(f32) -> f32, |x| x.round(), |x| (x * 3.0).round() - 1.0] {
        harness.inputs(inputs);
        for (dims, k) in [([2, 3, 5, 7], 3), ([1, 2, 1, 9], 9), ([1, 1, 2, 5], 1), ([1, 1, 2, 70], 70)] {
            for (largest, indices) in [(true, true), (true, false), (false, true), (false, false)] {
                let out = [dims[0], dims[1], dims[2], k];
                case(&mut harness, Op::TopK(TopK { k, largest, indices }), &[placed(dims)], out);
            }
        }
    }
}

/// TopK of more channels than an invocation scans one by one, and of more places than a workgroup sorts at once.
#[test]
fn the_greatest_and_least_of_many_channels() {
    let mut harness = Harness::new();
    let long = [
        ([2, 1, 2, 1100], 64),
        ([1, 2, 1, 2000], 300),
        ([1, 1, 1, 300], 300),
        ([1, 1, 3, 1025], 2),
        ([1, 1, 1, 8400], 300),
        ([1, 2, 1, 8399], 2500),
        ([1, 1, 1, 2049], 2049),
        ([1, 1, 1, 60_000], 5),
    ];
    // Of 8192 values few are equal in the first case and most in the second; in the third, with one sign, even the
    // leading bytes are equal.
    for inputs in [(|x| x) as fn(f32) -> f32, |x| (x * 4.0).round(), |x| 1.0 + x.abs() / 8192.0] {
        harness.inputs(inputs);
        for (dims, k) in long {
            for (largest, indices) in [(true, true), (false, false)] {
                let out = [dims[0], dims[1], dims[2], k];
                case(&mut harness, Op::TopK(TopK { k, largest, indices }), &[placed(dims)], out);
            }
        }
    }
    let op = Op::TopK(TopK { k: 70, largest: true, indices: false });
    epilogues(&mut harness, &op, &[placed([1, 2, 3, 100])], [1, 2, 3, 70], true);
}

/// Windows of channels that reach over either end.
#[test]
fn local_response_normalizations() {
    let mut harness = Harness::new();
    for (size, channels) in [(1, 3), (3, 7), (4, 10), (5, 33), (9, 5), (50, 6)] {
        let op = Op::Lrn(Lrn { size, alpha: 0.5, beta: 0.75, bias: 1.5 });
        case(&mut harness, op, &[placed([2, 3, 4, channels])], [2, 3, 4, channels]);
    }
    let op = Op::Lrn(Lrn { size: 5, alpha: 1e-4, beta: 0.75, bias: 1.0 });
    epilogues(&mut harness, &op, &[placed([1, 2, 3, 6])], [1, 2, 3, 6], true);
}

/// Every set of axes, short and long ones, and a mean far from zero.
#[test]
fn normalizations_over_any_axes() {
    let mut harness = Harness::new();
    for mask in 1..16 {
        for dims in [DIMS, [2, 9, 10, 6], [1, 3, 1, 150]] {
            case(&mut harness, Op::Normalize(Normalize::variance(axes(mask), 1e-5)), &[placed(dims)], dims);
            let rms = Normalize::new(axes(mask), Statistic::MeanSquare, 1e-5);
            case(&mut harness, Op::Normalize(rms), &[placed(dims)], dims);
            let norm =
                Normalize { scale: 0.25, offset: 0.125, ..Normalize::new(axes(mask), Statistic::SumSquare, 0.0) };
            case(&mut harness, Op::Normalize(norm), &[placed(dims)], dims);
            // Larger than any of the roots.
            let least = Normalize { least: 1e3, ..norm };
            case(&mut harness, Op::Normalize(least), &[placed(dims)], dims);
        }
    }
    // A mean far from zero.
    harness.inputs(|x| x + 30.0);
    let op = Op::Normalize(Normalize::variance(axes(8), 1e-2));
    case(&mut harness, op.clone(), &[placed([2, 3, 4, 30])], [2, 3, 4, 30]);
    harness.inputs(|x| x);
    epilogues(&mut harness, &op, &[placed([1, 2, 3, 6])], [1, 2, 3, 6], true);
}

/// Exclusive and reverse sums along each axis.
#[test]
fn running_sums_along_any_axis() {
    let mut harness = Harness::new();
    for axis in 0..4 {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            for dims in [DIMS, [1, 1, 1, 1], [3, 4, 1, 9]] {
                case(&mut harness, Op::CumSum(CumSum { axis, exclusive, reverse }), &[placed(dims)], dims);
            }
        }
    }
}
