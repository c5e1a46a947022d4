//! Creates a file with one operator and runs it with the CPU references.

use texpool_ops::ops::reference;

use super::import;
use crate::support::tflite::{F32, I32, Model, Options};

pub(crate) const BOOL: i8 = 6;

/// An operand of a case.
pub(crate) enum Operand<'a> {
    /// Floats, computed.
    X(&'a [i32], &'a [f32]),
    /// Computed values of another type.
    T(i8, &'a [i32], &'a [f32]),
    /// Constant integers.
    N(&'a [i32]),
    /// Constant integers with extents.
    I(&'a [i32], &'a [i32]),
    /// One constant integer.
    S(i32),
    /// Constant floats.
    K(&'a [i32], &'a [f32]),
}
pub(crate) use Operand::{I, K, N, S, T, X};

/// Returns the results of one operator, with these types and extents.
pub(crate) fn results(
    code: i32,
    operands: &[Operand<'_>],
    options: Option<Options>,
    outputs: &[(i8, &[i32])],
) -> Result<Vec<Vec<f32>>, String> {
    let mut m = Model::new();
    let (mut inputs, mut ids, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (i, operand) in operands.iter().enumerate() {
        let name = format!("x{i}");
        let id = match operand {
            X(dims, _) => m.floats(&name, dims),
            T(dtype, dims, _) => m.tensor(&name, dims, *dtype),
            N(numbers) => m.ints(&name, numbers),
            I(dims, numbers) => m.constant(&name, dims, I32, numbers.iter().flat_map(|v| v.to_le_bytes()).collect()),
            S(number) => m.constant(&name, &[], I32, number.to_le_bytes().to_vec()),
            K(dims, values) => m.constant(&name, dims, F32, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        };
        if let X(_, floats) | T(_, _, floats) = operand {
            inputs.push(id);
            values.push(floats.to_vec());
        }
        ids.push(id);
    }
    let outputs: Vec<i32> =
        outputs.iter().enumerate().map(|(i, (dtype, dims))| m.tensor(&format!("y{i}"), dims, *dtype)).collect();
    m.op_of_many(code, &ids, &outputs, options);
    let graph = import(m.bytes(&inputs, &outputs)).map_err(|e| e.to_string())?;
    let mut all = reference::graph(&graph, &values).map_err(|e| e.to_string())?;
    Ok(graph.outputs.iter().map(|&id| all[id].take().unwrap()).collect())
}

/// Returns the result of an operator with a single output of floats.
pub(crate) fn one(code: i32, operands: &[Operand<'_>], options: Option<Options>, dims: &[i32]) -> Vec<f32> {
    results(code, operands, options, &[(F32, dims)]).unwrap().remove(0)
}

pub(crate) fn near(actual: &[f32], expected: &[f32]) {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    assert!(actual.len() == expected.len() && actual.iter().zip(expected).all(close), "{actual:?} is not {expected:?}");
}
