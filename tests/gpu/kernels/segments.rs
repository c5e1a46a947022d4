//! Reductions of the pixels of each segment, and the search for flags.

use texpool_ops::graph::{Op, SegmentKind, SegmentReduce};

use super::{case, epilogues, harness::Harness, placed};

/// Segments are whole numbers of either sign: some count from the end, some do not exist, and some have no pixels.
#[test]
fn pixels_of_segments_are_combined() {
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 2.0).round());
    for kind in [SegmentKind::Sum, SegmentKind::Prod, SegmentKind::Max, SegmentKind::Min] {
        for (dims, segments) in [([1, 1, 1, 1], 1), ([2, 3, 5, 7], 3), ([1, 1, 41, 4], 1), ([1, 2, 60, 6], 9)] {
            let [b, h, n, c] = dims;
            let op = Op::SegmentReduce(SegmentReduce { kind, sorted: false });
            case(&mut harness, op, &[placed(dims), placed([1, 1, 1, n])], [b, h, segments, c]);
        }
    }
    let op = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: false });
    epilogues(&mut harness, &op, &[placed([1, 2, 6, 6]), placed([1, 1, 1, 6])], [1, 2, 3, 6], false);
}

/// Rows of segments of which some are full, and operands that fill the last row or not.
#[test]
fn pixels_of_listed_segments_are_combined() {
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 2.0).round());
    harness.sorted(true);
    for kind in [SegmentKind::Sum, SegmentKind::Prod, SegmentKind::Max, SegmentKind::Min] {
        for (dims, size, segments) in
            [([1, 1, 1, 1], 1, 1), ([2, 3, 5, 7], 5, 3), ([1, 1, 41, 4], 8, 2), ([1, 2, 60, 6], 13, 9)]
        {
            let [b, h, n, c]: [usize; 4] = dims;
            let op = Op::SegmentReduce(SegmentReduce { kind, sorted: true });
            let lists = placed([1, n.div_ceil(size), 2, size]);
            case(&mut harness, op, &[placed(dims), lists], [b, h, segments, c]);
        }
    }
    let op = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: true });
    epilogues(&mut harness, &op, &[placed([1, 2, 6, 6]), placed([1, 2, 2, 3])], [1, 2, 3, 6], false);
}

/// One row and several, with places behind the last flag, and fewer results than places.
#[test]
fn flags_are_located_by_their_running_sums() {
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 3.0).round());
    harness.sorted(true);
    for (rows, columns, places) in [(1, 1, 1), (1, 9, 9), (3, 5, 14), (7, 4, 28), (65, 12, 771)] {
        let operands = [placed([1, rows, 1, columns]), placed([1, 1, 1, rows])];
        case(&mut harness, Op::Locate, &operands, [1, 1, 1, places]);
    }
    epilogues(&mut harness, &Op::Locate, &[placed([1, 3, 1, 6]), placed([1, 1, 1, 3])], [1, 1, 1, 7], false);
}
