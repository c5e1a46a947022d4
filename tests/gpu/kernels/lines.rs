//! Operators that look along axes: matrix products, reductions, selections, normalizations, running sums.

use texpool::graph::Op;

use super::{case, constant, hostile::Bench, placed, tails};

#[test]
fn matrix_products_of_any_form() {
    let mut bench = Bench::new();
    // Outer extents of both, rows, depth, columns.
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
            let op = Op::MatMul { transpose_b };
            case(&mut bench, op.clone(), &[placed(left), placed(right)], out);
            case(&mut bench, op.clone(), &[placed(left), constant(right)], out);
            case(&mut bench, op, &[constant(left), placed(right)], out);
        }
    }
    let op = Op::MatMul { transpose_b: false };
    tails(&mut bench, &op, &[placed([1, 2, 3, 6]), placed([1, 2, 6, 7])], [1, 2, 3, 7], false);
    tails(&mut bench, &op, &[placed([1, 2, 3, 6]), constant([1, 2, 6, 7])], [1, 2, 3, 7], true);
    bench.finish();
}
