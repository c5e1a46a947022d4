//! Operators that move elements, at every rank: run on counted elements, and compared with an independent answer.

use super::{eval, import};
use crate::support::tflite::{F32, Field, I32, I64, Model, Options, Table, flags, numbers};

/// Imports one operator on inputs of these extents and constants of integers, and runs it.
fn run(
    code: i32,
    inputs: &[&[i32]],
    ints: &[Vec<i32>],
    options: Option<Options>,
    result: &[i32],
) -> Result<Vec<f32>, String> {
    let mut m = Model::new();
    let xs: Vec<i32> = inputs.iter().enumerate().map(|(i, dims)| m.floats(&format!("x{i}"), dims)).collect();
    let mut operands = xs.clone();
    for (i, values) in ints.iter().enumerate() {
        operands.push(m.ints(&format!("ints{i}"), values));
    }
    let y = m.floats("y", result);
    m.op(code, &operands, y, options);
    let graph = import(m.bytes(&xs, &[y])).map_err(|e| e.to_string())?;
    let dims: Vec<i32> = graph.tensors[graph.outputs[0]].dims.iter().map(|&d| d as i32).collect();
    assert_eq!(dims, result, "the result keeps the file's rank");
    Ok(eval::run(&graph))
}

fn list(text: &str) -> Vec<i32> {
    text.split(',').filter_map(|n| n.parse().ok()).collect()
}

#[test]
fn strided_slices_are_numpys() {
    let cases: Vec<&str> = include_str!("../../data/slices.csv").lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(cases.len(), 23);
    for case in cases {
        let [dims, begin, end, stride, masks, result, values] =
            case.split(';').map(list).collect::<Vec<_>>().try_into().unwrap();
        let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        let output = run(45, &[&dims], &[begin, end, stride], numbers(32, &masks), &result);
        assert_eq!(output, Ok(values), "{case}");
    }
}

#[test]
fn an_end_may_be_relative_to_the_beginning() {
    let mut options = numbers(32, &[0; 5]).unwrap();
    options.1.0.push((14, Field::Bool(true)));
    assert_eq!(run(45, &[&[7]], &[vec![2], vec![3], vec![1]], Some(options), &[3]), Ok(vec![2.0, 3.0, 4.0]));
}

#[test]
fn slices_outside_or_empty_are_refused() {
    for (begin, end, stride, shrink) in
        [(7, 8, 1, 1), (-8, 1, 1, 1), (3, 3, 1, 0), (3, 5, -1, 0), (3, 5, 0, 0), (0, 1, -1, 1)]
    {
        let masks = numbers(32, &[0, 0, 0, 0, shrink]);
        let result: &[i32] = if shrink == 1 { &[] } else { &[1] };
        let outcome = run(45, &[&[7]], &[vec![begin], vec![end], vec![stride]], masks, result);
        assert!(outcome.is_err(), "{begin}..{end} by {stride}, shrink {shrink}: {outcome:?}");
    }
    let two_ellipses =
        run(45, &[&[2, 2]], &[vec![0; 2], vec![0; 2], vec![1; 2]], numbers(32, &[0, 0, 3, 0, 0]), &[2, 2]);
    assert!(two_ellipses.unwrap_err().contains("ellipses"));
}

/// A transposition of counted elements of any rank.
fn transposed(dims: &[i32], perm: &[i32]) -> (Vec<i32>, Vec<f32>) {
    let result: Vec<i32> = perm.iter().map(|&p| dims[p as usize]).collect();
    let values = (0..dims.iter().product::<i32>()).map(|mut i| {
        let mut at = vec![0; dims.len()];
        for (axis, &extent) in result.iter().enumerate().rev() {
            at[perm[axis] as usize] = i % extent;
            i /= extent;
        }
        at.iter().zip(dims).fold(0, |n, (&index, &extent)| n * extent + index) as f32
    });
    (result.clone(), values.collect())
}

/// Ranks below four are padded with leading ones.
#[test]
fn transpositions_of_every_rank() {
    let cases: [(&[i32], &[i32]); 9] = [
        (&[5], &[0]),
        (&[3, 4], &[1, 0]),
        (&[2, 3, 4], &[2, 0, 1]),
        (&[2, 3, 4, 5], &[0, 3, 1, 2]),
        (&[2, 3, 4, 5], &[3, 2, 1, 0]),
        // Channel shuffle, pixel shuffle, and extents of one in between.
        (&[1, 3, 4, 2, 5], &[0, 1, 2, 4, 3]),
        (&[1, 3, 4, 2, 2, 5], &[0, 1, 3, 2, 4, 5]),
        (&[1, 2, 1, 3, 1, 4], &[5, 4, 0, 3, 2, 1]),
        (&[2, 3, 2, 2, 2], &[3, 4, 0, 1, 2]),
    ];
    for (dims, perm) in cases {
        let (result, values) = transposed(dims, perm);
        assert_eq!(run(39, &[dims], &[perm.to_vec()], None, &result), Ok(values), "{dims:?} {perm:?}");
    }
    let odd = run(39, &[&[2, 3, 2, 2, 2]], &[vec![4, 3, 2, 1, 0]], None, &[2, 2, 2, 3, 2]);
    assert!(odd.unwrap_err().contains("more than four axes"), "five axes turned around need five");
    assert!(run(39, &[&[2, 3]], &[vec![0, 0]], None, &[2, 2]).unwrap_err().contains("twice"));
}

/// Negative axes, at every rank.
#[test]
fn concatenations_along_every_axis() {
    // [2, 1] and [2, 2] side by side.
    let output = run(2, &[&[2, 1], &[2, 2]], &[], numbers(10, &[-1]), &[2, 3]);
    assert_eq!(output, Ok(vec![0.0, 2.0, 3.0, 1.0, 4.0, 5.0]));
    let output = run(2, &[&[2], &[3], &[1]], &[], numbers(10, &[0]), &[6]);
    assert_eq!(output, Ok((0..6).map(|i| i as f32).collect::<Vec<_>>()));
    let output = run(2, &[&[1, 2, 1, 2], &[1, 1, 1, 2]], &[], numbers(10, &[-3]), &[1, 3, 1, 2]);
    assert_eq!(output, Ok((0..6).map(|i| i as f32).collect::<Vec<_>>()));
    // Five extents: along the first, a middle and the last.
    let output = run(2, &[&[1, 2, 1, 2, 1], &[2, 2, 1, 2, 1]], &[], numbers(10, &[0]), &[3, 2, 1, 2, 1]);
    assert_eq!(output, Ok((0..12).map(|i| i as f32).collect::<Vec<_>>()));
    let output = run(2, &[&[2, 1, 1, 2, 1], &[2, 2, 1, 2, 1]], &[], numbers(10, &[1]), &[2, 3, 1, 2, 1]);
    assert_eq!(output, Ok([0, 1, 4, 5, 6, 7, 2, 3, 8, 9, 10, 11].map(|i| i as f32).to_vec()));
    let output = run(2, &[&[2, 1, 1, 1, 1], &[2, 1, 1, 1, 2]], &[], numbers(10, &[4]), &[2, 1, 1, 1, 3]);
    assert_eq!(output, Ok([0, 2, 3, 1, 4, 5].map(|i| i as f32).to_vec()));
    for axis in [2, -3] {
        assert!(run(2, &[&[2, 1], &[2, 2]], &[], numbers(10, &[axis]), &[2, 3]).unwrap_err().contains("no axis"));
    }
    assert!(run(2, &[&[2, 1], &[3, 1]], &[], numbers(10, &[1]), &[2, 2]).unwrap_err().contains("do not join"));
}

/// Amounts apply to the last axes.
#[test]
fn paddings_of_every_rank() {
    let pad = |dims: &[i32], by: &[i32], result: &[i32], dtype: i8, value: Option<f32>| {
        let mut m = Model::new();
        let x = m.floats("x", dims);
        let bytes = if dtype == I64 {
            by.iter().flat_map(|&v| i64::from(v).to_le_bytes()).collect()
        } else {
            by.iter().flat_map(|v| v.to_le_bytes()).collect()
        };
        let mut operands = vec![x, m.constant("by", &[dims.len() as i32, 2], dtype, bytes)];
        if let Some(value) = value {
            operands.push(m.constant("value", &[], F32, value.to_le_bytes().to_vec()));
        }
        let y = m.floats("y", result);
        m.op(if value.is_some() { 60 } else { 34 }, &operands, y, None);
        import(m.bytes(&[x], &[y])).map(|graph| eval::run(&graph)).map_err(|e| e.to_string())
    };
    assert_eq!(pad(&[2], &[1, 2], &[5], I32, None), Ok(vec![0.0, 0.0, 1.0, 0.0, 0.0]));
    assert_eq!(pad(&[2], &[1, 2], &[5], I64, Some(9.0)), Ok(vec![9.0, 0.0, 1.0, 9.0, 9.0]));
    assert_eq!(
        pad(&[1, 2, 1], &[0, 1, 0, 0, 1, 0], &[2, 2, 2], I32, None),
        Ok(vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    );
    let five = pad(&[2, 1, 1, 1, 2], &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0], &[2, 2, 1, 1, 2], I32, None);
    assert_eq!(five, Ok(vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 3.0]));
    for by in [[-1, 0], [i32::MAX, 0]] {
        assert!(pad(&[2], &by, &[1], I32, None).is_err(), "{by:?}");
    }
}

/// Extents of -1, and negative axes.
#[test]
fn reshapes_and_squeezes() {
    let counted = |n: i32| Ok((0..n).map(|i| i as f32).collect::<Vec<_>>());
    let new_shape = |dims: &[i32]| Some((17, Table(vec![(4, Field::Ints(dims.to_vec()))])));
    assert_eq!(run(22, &[&[2, 3, 4]], &[vec![4, -1]], None, &[4, 6]), counted(24));
    assert_eq!(run(22, &[&[2, 3, 4]], &[], new_shape(&[4, 6]), &[4, 6]), counted(24));
    assert_eq!(run(22, &[&[2, 3, 4]], &[], None, &[2, 1, 3, 1, 2, 2]), counted(24));
    assert_eq!(run(22, &[&[1, 1]], &[], new_shape(&[0]), &[]), counted(1), "early converters' scalar");
    assert!(run(22, &[&[2, 3, 4]], &[vec![6, 4]], None, &[4, 6]).unwrap_err().contains("stated as [4, 6]"));
    assert!(run(22, &[&[2, 3, 4]], &[vec![5, 5]], None, &[5, 5]).unwrap_err().contains("elements"));

    let squeeze = |dims: &[i32]| Some((30, Table(vec![(4, Field::Ints(dims.to_vec()))])));
    assert_eq!(run(43, &[&[1, 3, 1, 4]], &[], squeeze(&[]), &[3, 4]), counted(12));
    assert_eq!(run(43, &[&[1, 3, 1, 4]], &[], squeeze(&[-2]), &[1, 3, 4]), counted(12));
    assert_eq!(run(43, &[&[1, 3, 1, 4]], &[], squeeze(&[0, 2]), &[3, 4]), counted(12));
    assert!(run(43, &[&[1, 3, 1, 4]], &[], squeeze(&[1]), &[1, 1, 4]).unwrap_err().contains("is not 1"));
}

/// Negative axes, kept or dropped.
#[test]
fn means_over_any_axes() {
    let mean = |dims: &[i32], axes: &[i32], keep: i8, result: &[i32]| {
        run(40, &[dims], &[axes.to_vec()], flags(27, &[keep]), result)
    };
    assert_eq!(mean(&[2, 2, 2, 2], &[1, 2], 1, &[2, 1, 1, 2]), Ok(vec![3.0, 4.0, 11.0, 12.0]));
    assert_eq!(mean(&[2, 2, 2, 2], &[-3, -2], 0, &[2, 2]), Ok(vec![3.0, 4.0, 11.0, 12.0]));
    assert_eq!(mean(&[2, 3], &[0], 0, &[3]), Ok(vec![1.5, 2.5, 3.5]));
    assert_eq!(mean(&[2, 3], &[1, 1], 0, &[2]), Ok(vec![1.0, 4.0]));
    assert_eq!(mean(&[4], &[0], 0, &[]), Ok(vec![1.5]));
    assert_eq!(mean(&[2, 1, 2, 1, 2], &[0, 3], 0, &[1, 2, 2]), Ok(vec![2.0, 3.0, 4.0, 5.0]));
    assert_eq!(mean(&[2, 2, 1, 2, 1, 2], &[0, 3], 1, &[1, 2, 1, 1, 1, 2]), Ok(vec![5.0, 6.0, 9.0, 10.0]));
    // An axis of one that is averaged beside one that is not.
    assert_eq!(mean(&[2, 1, 1, 1, 2], &[1, 4], 1, &[2, 1, 1, 1, 1]), Ok(vec![0.5, 2.5]));
    assert!(mean(&[2, 3], &[2], 0, &[2]).unwrap_err().contains("no axis 2"));
}

/// Extents are aligned at the end.
#[test]
fn additions_broadcast_at_every_rank() {
    let add = |a: &[i32], b: &[i32], result: &[i32]| run(0, &[a, b], &[], flags(11, &[0]), result);
    assert_eq!(add(&[2, 2], &[2], &[2, 2]), Ok(vec![4.0, 6.0, 6.0, 8.0]));
    assert_eq!(add(&[], &[3], &[3]), Ok(vec![1.0, 2.0, 3.0]));
    assert_eq!(add(&[2, 1], &[1, 2], &[2, 2]), Ok(vec![2.0, 3.0, 3.0, 4.0]));
    // Five extents: the second operand repeats along the second alone, then along the outer two.
    assert_eq!(
        add(&[2, 2, 1, 1, 2], &[2, 1, 1, 1, 2], &[2, 2, 1, 1, 2]),
        Ok(vec![8.0, 10.0, 10.0, 12.0, 14.0, 16.0, 16.0, 18.0])
    );
    assert_eq!(
        add(&[2, 2, 1, 1, 2], &[1, 2], &[2, 2, 1, 1, 2]),
        Ok(vec![8.0, 10.0, 10.0, 12.0, 12.0, 14.0, 14.0, 16.0])
    );
    assert!(add(&[2, 3], &[2, 2], &[2, 3]).unwrap_err().contains("do not broadcast"));
}
