//! Reductions of the pixels of each segment.

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
            let op = Op::SegmentReduce(SegmentReduce { kind });
            case(&mut harness, op, &[placed(dims), placed([1, 1, 1, n])], [b, h, segments, c]);
        }
    }
    let op = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum });
    epilogues(&mut harness, &op, &[placed([1, 2, 6, 6]), placed([1, 1, 1, 6])], [1, 2, 3, 6], false);
}
