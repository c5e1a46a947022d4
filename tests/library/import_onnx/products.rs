//! Products of matrices whose outer axes broadcast.

use super::support::{onnx::Model, run};

/// Operands that repeat along each other's outer axes, in turns.
#[test]
fn outer_axes_broadcast_in_any_order() {
    let cases: [(&[usize], &[usize]); 4] = [
        (&[2, 1, 3], &[1, 2, 1]),
        (&[2, 1, 2, 1], &[1, 3, 1, 2]),
        (&[1, 2, 3], &[2, 1, 3]),
        (&[2, 1, 3, 2], &[1, 2, 1, 2]),
    ];
    for (a, b) in cases {
        let dims = |outer: &[usize], last: [usize; 2]| [outer, &last].concat();
        let (a_dims, b_dims) = (dims(a, [2, 3]), dims(b, [3, 2]));
        let [a_len, b_len] = [&a_dims, &b_dims].map(|dims| dims.iter().product::<usize>());
        let mut m = Model::new();
        for (name, dims) in [("a", &a_dims), ("b", &b_dims)] {
            m.input(name, &dims.iter().map(|&extent| extent as i64).collect::<Vec<_>>());
        }
        m.node("MatMul", &["a", "b"], &["y"], &[]);
        m.output("y");
        let (found_dims, found) = run(&m).remove(0);

        // The inputs count on from 1.
        let value = |first: usize, len: usize, at: usize| ((at % len) + first + 1) as f32;
        let batch: Vec<usize> = a.iter().zip(b).map(|(&a, &b)| a.max(b)).collect();
        assert_eq!(found_dims, dims(&batch, [2, 2]));
        let matrix = |own: &[usize], mut at: usize| {
            let (mut flat, mut stride) = (0, 1);
            for (axis, &extent) in batch.iter().enumerate().rev() {
                flat += if own[axis] == 1 { 0 } else { at % extent * stride };
                (at, stride) = (at / extent, stride * own[axis]);
            }
            flat
        };
        for (i, found) in found.iter().enumerate() {
            let (at, row, column) = (i / 4, i / 2 % 2, i % 2);
            let product = |k: usize| {
                value(0, a_len, matrix(a, at) * 6 + row * 3 + k)
                    * value(a_len, b_len, matrix(b, at) * 6 + k * 2 + column)
            };
            assert_eq!(*found, (0..3).map(product).sum::<f32>(), "{a:?} by {b:?}, element {i}");
        }
    }
}
