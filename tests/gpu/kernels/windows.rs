//! Pools and resizes.

use texpool_ops::graph::{CoordMode, Op, Padding, Pool2d, PoolKind, Resize, ResizeMode, Rounding};

use super::{case, epilogues, harness::Harness, placed};

/// Windows, strides and padding, for the greatest and the mean.
#[test]
fn pools_of_any_window() {
    let mut harness = Harness::new();
    let none = Padding::default();
    let around = Padding { top: 1, bottom: 1, left: 2, right: 1 };
    for kind in [PoolKind::Max, PoolKind::Average] {
        for (window, stride, padding, input) in [
            ([2, 2], [2, 2], none, [1, 6, 8, 4]),
            ([3, 3], [1, 1], around, [2, 5, 7, 6]),
            ([3, 2], [2, 1], Padding { top: 0, bottom: 1, left: 1, right: 0 }, [1, 7, 5, 3]),
            ([1, 1], [2, 3], none, [1, 7, 9, 9]),
            ([5, 7], [1, 1], none, [2, 5, 7, 10]),
            ([3, 3], [2, 2], around, [1, 9, 66, 5]),
        ] {
            let pool = Pool2d::plain(kind, window, stride, padding);
            let out = [
                input[0],
                (input[1] + padding.top + padding.bottom - window[0]) / stride[0] + 1,
                (input[2] + padding.left + padding.right - window[1]) / stride[1] + 1,
                input[3],
            ];
            case(&mut harness, Op::Pool2d(pool), &[placed(input)], out);
        }
        let pool = Pool2d::plain(kind, [2, 2], [1, 1], none);
        epilogues(&mut harness, &Op::Pool2d(pool), &[placed([1, 4, 5, 6])], [1, 3, 4, 6], true);
    }
}

/// Dilation, windows that hang over the image, and padding that counts in a mean; norms too.
#[test]
fn pools_with_dilation_overhang_and_counted_borders() {
    let mut harness = Harness::new();
    let wide = Padding { top: 1, bottom: 3, left: 2, right: 2 };
    let border = Padding { top: 1, bottom: 1, left: 2, right: 1 };
    let kinds = [PoolKind::Max, PoolKind::Average, PoolKind::Lp { p: 1 }, PoolKind::Lp { p: 2 }, PoolKind::Lp { p: 3 }];
    for kind in kinds {
        for counted in [None, Some(border), Some(Padding::default())] {
            for (window, stride, dilation, padding, input) in [
                ([3, 3], [2, 2], [1, 1], wide, [2, 6, 7, 5]),
                ([3, 2], [1, 2], [2, 3], wide, [1, 6, 7, 6]),
                ([2, 3], [2, 1], [3, 2], Padding::default(), [1, 7, 9, 3]),
                ([3, 3], [2, 2], [2, 2], border, [2, 5, 6, 9]),
            ] {
                let pool = Pool2d { kind, window, stride, dilation, padding, counted };
                let extent = |n: usize, axis: usize| (n - (window[axis] - 1) * dilation[axis] - 1) / stride[axis] + 1;
                let (h, w) = (input[1] + padding.top + padding.bottom, input[2] + padding.left + padding.right);
                case(
                    &mut harness,
                    Op::Pool2d(pool),
                    &[placed(input)],
                    [input[0], extent(h, 0), extent(w, 1), input[3]],
                );
            }
        }
    }
    let pool = Pool2d::plain(PoolKind::Lp { p: 2 }, [2, 2], [1, 1], Padding::default());
    epilogues(&mut harness, &Op::Pool2d(pool), &[placed([1, 4, 5, 6])], [1, 3, 4, 6], true);
}

/// ONNX's coordinate modes, rounding modes, cubics and regions.
#[test]
fn resizes_by_any_definition() {
    let mut harness = Harness::new();
    let modes = [
        ResizeMode::Nearest(Rounding::PreferFloor),
        ResizeMode::Nearest(Rounding::PreferCeil),
        ResizeMode::Nearest(Rounding::Floor),
        ResizeMode::Nearest(Rounding::Ceil),
        ResizeMode::Linear,
        ResizeMode::Cubic { a: -0.75, exclude_outside: false },
        ResizeMode::Cubic { a: -0.5, exclude_outside: true },
    ];
    let crop = CoordMode::TfCropAndResize { start: [0.2, -0.1], end: [1.3, 0.8], extrapolation: 3.5 };
    for mode in modes {
        for coords in [
            CoordMode::Asymmetric,
            CoordMode::HalfPixel,
            CoordMode::PytorchHalfPixel,
            CoordMode::AlignCorners,
            CoordMode::HalfPixelSymmetric,
            crop,
        ] {
            for (from, to, scale) in [
                ([2, 3, 4, 5], [2, 6, 8, 5], None),
                ([1, 3, 5, 4], [1, 7, 3, 4], Some([2.5, 0.7])),
                ([1, 1, 1, 6], [1, 5, 4, 6], None),
                ([1, 9, 7, 3], [1, 4, 1, 3], None),
            ] {
                case(&mut harness, Op::Resize(Resize { mode, coords, scale }), &[placed(from)], to);
            }
        }
    }
    let crop = CoordMode::TfCropAndResize { start: [0.2, -0.1], end: [1.3, 0.8], extrapolation: 3.0 };
    harness.inputs(|x| (x * 60.0).round());
    for coords in [CoordMode::HalfPixel, CoordMode::AlignCorners, crop] {
        for (from, to) in [([2, 3, 4, 5], [2, 6, 8, 5]), ([1, 9, 7, 3], [1, 4, 1, 3]), ([1, 1, 1, 6], [1, 5, 4, 6])] {
            let resize = Resize { mode: ResizeMode::LinearInteger, coords, scale: None };
            case(&mut harness, Op::Resize(resize), &[placed(from)], to);
        }
    }
    harness.inputs(|x| x);
    let mode = ResizeMode::Cubic { a: -0.75, exclude_outside: false };
    let op = Op::Resize(Resize { mode, coords: CoordMode::HalfPixel, scale: None });
    epilogues(&mut harness, &op, &[placed([1, 3, 3, 6])], [1, 6, 6, 6], true);
}

/// TensorFlow Lite's three conventions, larger and smaller.
#[test]
fn resizes_in_every_convention() {
    let mut harness = Harness::new();
    for coords in [CoordMode::Asymmetric, CoordMode::HalfPixel, CoordMode::AlignCorners] {
        for mode in [ResizeMode::Linear, ResizeMode::nearest_in(coords)] {
            for (from, to) in [
                ([2, 3, 4, 5], [2, 6, 8, 5]),
                ([1, 3, 5, 4], [1, 7, 3, 4]),
                ([1, 1, 1, 6], [1, 5, 4, 6]),
                ([1, 9, 7, 3], [1, 4, 1, 3]),
                ([1, 4, 4, 8], [1, 4, 4, 8]),
                ([1, 5, 3, 2], [1, 33, 40, 2]),
            ] {
                case(&mut harness, Op::Resize(Resize { mode, coords, scale: None }), &[placed(from)], to);
            }
        }
    }
    let op = Op::Resize(Resize { mode: ResizeMode::Linear, coords: CoordMode::HalfPixel, scale: None });
    epilogues(&mut harness, &op, &[placed([1, 3, 3, 6])], [1, 6, 6, 6], true);
}
