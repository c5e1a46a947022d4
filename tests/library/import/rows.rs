//! Rows that tuples of indices name, and masks of places, with indices that are known and that a run computes.

use super::one::{I, K, N, S, T, X, near, one, results};
use crate::support::tflite::{F32, I32, numbers};

const ONE_HOT: i32 = 85;
const GATHER_ND: i32 = 107;
const MATRIX_DIAG: i32 = 113;
const SCATTER_ND: i32 = 122;
const SEGMENT_SUM: i32 = 125;

fn counted(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32).collect()
}

/// Tuples name elements, rows and matrices.
#[test]
fn rows_are_read_and_written() {
    let dims = [3, 4, 2];
    let x = counted(24);
    let cases: [(&[i32], &[i32]); 4] = [
        (&[2, 1], &[2, 0]),
        (&[3, 2], &[0, 3, 2, 1, 0, 0]),
        (&[2, 2, 3], &[0, 0, 1, 2, 3, 1, 1, 1, 0, 1, 2, 1]),
        (&[2], &[1, 2]),
    ];
    for (shape, indices) in cases {
        let width = shape[shape.len() - 1] as usize;
        let row: usize = dims[width..].iter().map(|&extent| extent as usize).product();
        let rows: Vec<usize> = indices
            .chunks(width)
            .map(|tuple| {
                tuple.iter().zip(&dims).fold(0, |row, (&index, &extent)| row * extent as usize + index as usize)
            })
            .collect();
        let result = [&shape[..shape.len() - 1], &dims[width..]].concat();
        let gathered: Vec<f32> = rows.iter().flat_map(|&at| x[at * row..][..row].to_vec()).collect();
        let mut scattered = vec![0.0; 24];
        for (update, &at) in rows.iter().enumerate() {
            (0..row).for_each(|i| scattered[at * row + i] += (update * row + i) as f32);
        }
        let computed: Vec<f32> = indices.iter().map(|&index| index as f32).collect();
        let updates = counted(rows.len() * row);
        for given in [I(shape, indices), T(I32, shape, &computed)] {
            let operands = [X(&dims, &x), given];
            near(&one(GATHER_ND, &operands, None, &result), &gathered);
            let [_, given] = operands;
            let operands = [given, X(&result, &updates), N(&dims)];
            near(&one(SCATTER_ND, &operands, None, &dims), &scattered);
        }
    }
    let outside = results(GATHER_ND, &[X(&dims, &x), I(&[1, 2], &[0, 4])], None, &[(F32, &[1, 2])]).unwrap_err();
    assert!(outside.contains("the indices [0.0, 4.0] lie outside [3, 4]"), "{outside}");
}

#[test]
fn places_of_each_axis_are_hot() {
    let indices = [0.0, 2.0, 1.0, 7.0, 1.0, 0.0];
    for (along, dims) in [(0, [3, 2, 3]), (1, [2, 3, 3]), (-1, [2, 3, 3])] {
        let operands = [T(I32, &[2, 3], &indices), S(3), K(&[], &[1.0]), K(&[], &[0.0])];
        let hot = one(ONE_HOT, &operands, numbers(61, &[along]), &dims);
        let expected: Vec<f32> = (0..18)
            .map(|at| {
                let (place, index) = match along {
                    0 => (at / 6, at % 6),
                    1 => (at / 3 % 3, at / 9 * 3 + at % 3),
                    _ => (at % 3, at / 3),
                };
                f32::from(u8::from(indices[index] == place as f32))
            })
            .collect();
        near(&hot, &expected);
    }
}

#[test]
fn lines_become_diagonals() {
    let expected: Vec<f32> =
        (0..18).map(|at| if at / 3 % 3 == at % 3 { (at / 9 * 3 + at % 3) as f32 } else { 0.0 }).collect();
    near(&one(MATRIX_DIAG, &[X(&[2, 3], &counted(6))], None, &[2, 3, 3]), &expected);
}

/// The number of segments follows from the last one, which a run must not compute.
#[test]
fn computed_segments_are_refused() {
    let operands = [X(&[2], &[1.0, 2.0]), T(I32, &[2], &[0.0, 1.0])];
    let refused = results(SEGMENT_SUM, &operands, None, &[(F32, &[2])]).unwrap_err();
    assert!(refused.contains("its segments `x1` are computed at run time"), "{refused}");
}
