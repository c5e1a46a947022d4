//! GridSample: every way to read a position, with computed grids and grids of the model.

use texpool_ops::graph::{Constant, GridSample, Op, Shape};

use super::{Source, case, constant, epilogues, harness::Harness, placed};

/// Every combination of mode, border and alignment.
fn all() -> impl Iterator<Item = Op> {
    (0..8).map(|i| Op::GridSample(GridSample { linear: i & 1 > 0, border: i & 2 > 0, align_corners: i & 4 > 0 }))
}

/// Both kinds of grid read positions inside, on the edges and outside, with a partial last slice, several batches,
/// and an image of one pixel.
#[test]
fn places_inside_and_outside() {
    let mut harness = Harness::new();
    for op in all() {
        for ([b, h, w, c], [oh, ow]) in [([1, 4, 5, 3], [3, 2]), ([2, 3, 7, 6], [5, 4]), ([1, 1, 1, 9], [2, 3])] {
            for grid in [placed([b, oh, ow, 2]), constant([b, oh, ow, 2])] {
                case(&mut harness, op.clone(), &[placed([b, h, w, c]), grid], [b, oh, ow, c]);
            }
        }
    }
}

/// Ties round to the even pixel, positions far outside are bounded, and NaN coordinates sample nothing.
#[test]
fn places_that_are_hard_to_round() {
    let places = [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1e30, -1e30, f32::INFINITY, f32::NAN, 1.25];
    let grid: Vec<f32> = places.iter().flat_map(|&x| places.map(|y| [x, y])).flatten().collect();
    let shape = Shape::new(1, places.len(), places.len(), 2);
    let mut harness = Harness::new();
    for op in all() {
        let grid = Source::Constant(shape, Constant::from_f32(&grid).to_f32().into_owned());
        case(&mut harness, op, &[placed([1, 5, 4, 5]), grid], [1, places.len(), places.len(), 5]);
    }
}

/// Every form of epilogue behind a sample.
#[test]
fn epilogues_after_a_sample() {
    let mut harness = Harness::new();
    let op = Op::GridSample(GridSample { linear: true, border: true, align_corners: false });
    epilogues(&mut harness, &op, &[placed([1, 3, 3, 5]), constant([1, 4, 2, 2])], [1, 4, 2, 5], true);
    epilogues(&mut harness, &op, &[placed([1, 3, 3, 5]), placed([1, 4, 2, 2])], [1, 4, 2, 5], false);
}
