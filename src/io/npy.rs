//! NumPy's `.npy` arrays, read as and written from dense 32-bit floats.

use super::{IoError, write_whole};
use npyz::{DType, NpyFile, Order, TypeChar, WriterBuilder};
use std::{fs::File, io::BufReader, path::Path};

/// Reads an array of floats whose extents must be `expected`, in dense row-major order.
///
/// 16-bit and 64-bit floats are converted; bytes and integers are refused, since only the caller knows their scale.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAnArray`], [`IoError::DType`], [`IoError::Shape`].
pub fn read_npy(path: &Path, expected: &[usize]) -> Result<Vec<f32>, IoError> {
    let file = File::open(path).map_err(|e| IoError::read(path, e))?;
    let bad = |reason: String| IoError::NotAnArray { path: path.into(), reason };
    let npy = NpyFile::new(BufReader::new(file)).map_err(|e| bad(e.to_string()))?;

    let refuse = |got: String| IoError::DType { path: path.into(), expected: "floats (float32)", got };
    let width = match npy.dtype() {
        DType::Plain(t) if t.type_char() == TypeChar::Float => t.size_field(),
        other => return Err(refuse(dtype_name(&other))),
    };
    let shape = npy.shape().to_vec();
    if shape.len() != expected.len() || shape.iter().zip(expected).any(|(&got, &want)| got != want as u64) {
        return Err(IoError::Shape { path: path.into(), expected: expected.into(), got: shape });
    }
    let order = npy.order();
    let name = dtype_name(&npy.dtype());
    let values = match width {
        2 => npy.into_vec::<half::f16>().map(|v| v.into_iter().map(half::f16::to_f32).collect()),
        4 => npy.into_vec::<f32>(),
        8 => npy.into_vec::<f64>().map(|v| v.into_iter().map(|x| x as f32).collect()),
        _ => return Err(refuse(name)),
    };
    let values = values.map_err(|e| bad(e.to_string()))?;
    Ok(match order {
        Order::C => values,
        Order::Fortran => from_fortran(&values, expected),
    })
}

/// Writes an array of 32-bit floats, whole or not at all.
///
/// # Errors
/// [`IoError::Write`], [`IoError::DiskFull`].
pub fn write_npy(path: &Path, dims: &[usize], values: &[f32]) -> Result<(), IoError> {
    let shape: Vec<u64> = dims.iter().map(|&d| d as u64).collect();
    write_whole(path, |out| {
        let mut npy = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
        npy.extend(values.iter().copied())?;
        npy.finish()
    })
    .map_err(|e| IoError::write(path, e))
}

fn dtype_name(dtype: &DType) -> String {
    dtype.descr().trim_matches('\'').to_owned()
}

/// Column-major to row-major.
fn from_fortran(values: &[f32], dims: &[usize]) -> Vec<f32> {
    let mut strides = vec![1; dims.len()];
    for axis in 1..dims.len() {
        strides[axis] = strides[axis - 1] * dims[axis - 1];
    }
    let mut index = vec![0; dims.len()];
    let mut out = Vec::with_capacity(values.len());
    while out.len() < values.len() {
        out.push(values[index.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>()]);
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    out
}
