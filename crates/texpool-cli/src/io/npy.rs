//! NumPy's `.npy` arrays, read as dense 32-bit floats and written from these.

use super::{
    IoError, dtype,
    element::{Conversion, Target},
    write_atomic,
};
use npyz::{AutoSerialize, Deserialize, NpyFile, Order, TypeChar, WriterBuilder};
use std::{
    fmt::Debug,
    io::{self, Write},
    path::Path,
};
use texpool_ops::graph::ElementType;

/// Magic bytes of every array.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read, in bytes: NumPy's own limit (`numpy.load`, `max_header_size`).
pub(super) const MAX_HEADER_BYTES: usize = 10_000;
/// Deepest nesting of brackets in a header, because the parser recurses. An array's header has two levels, and
/// records add two each.
const MAX_HEADER_NESTING: usize = 8;

/// Reads an array's extents and values from the bytes of its file, for the target.
pub(super) fn parse(
    path: &Path,
    bytes: &[u8],
    expected: Expected<'_>,
    target: Target<'_>,
) -> Result<(Vec<usize>, Vec<f32>), IoError> {
    let Expected { dims: expected, bounded_axes } = expected;
    let bad = |reason: &str| IoError::NotAnArray { path: path.into(), reason: reason.into() };
    check_header(bytes).map_err(bad)?;
    // Zeros count as ones here, so that products of any of the extents cannot overflow, here and in the parser.
    if expected.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1))).is_none() {
        return Err(bad("it would have more elements than can be counted"));
    }
    // The parser's message has several lines and repeats the header.
    let npy = NpyFile::new(bytes).map_err(|_| bad("its header is none that NumPy writes"))?;
    let shape = npy.shape().to_vec();
    let elements = npy.dtype();
    let refused = |instead| IoError::DType { path: path.into(), got: dtype::in_words(&elements), instead };
    const FLOATS: &str = "save numbers, as with array.astype(\"float32\")";
    let (kind, size) = dtype::numeric(&elements).ok_or_else(|| refused(FLOATS.into()))?;
    let fits = |(axis, (&actual, &extent)): (usize, (&u64, &usize))| {
        if bounded_axes.contains(&axis) { (1..=extent as u64).contains(&actual) } else { actual == extent as u64 }
    };
    if shape.len() != expected.len() || !shape.iter().zip(expected).enumerate().all(fits) {
        let (expected, bounded_axes) = (expected.into(), bounded_axes.into());
        return Err(IoError::Shape { path: path.into(), expected, got: shape, bounded_axes });
    }
    // They fit, so they are no more than the expected ones.
    let own: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let expected = &own[..];
    let array = Array { path, expected, order: npy.order(), stored: bytes.len() };
    let conversion = Conversion::new(target, kind, size).map_err(refused)?;
    let values = match (kind, size) {
        (TypeChar::Float, 2) => array.each(npy, |v: half::f16| conversion.float(v.into())),
        (TypeChar::Float, 4) => array.each(npy, |v: f32| conversion.float(v.into())),
        (TypeChar::Float, 8) => array.each(npy, |v: f64| conversion.float(v)),
        (TypeChar::Int, 1) => array.integers::<i8>(npy, conversion),
        (TypeChar::Int, 2) => array.integers::<i16>(npy, conversion),
        (TypeChar::Int, 4) => array.integers::<i32>(npy, conversion),
        (TypeChar::Int, 8) => array.integers::<i64>(npy, conversion),
        (TypeChar::Uint, 1) => array.integers::<u8>(npy, conversion),
        (TypeChar::Uint, 2) => array.integers::<u16>(npy, conversion),
        (TypeChar::Uint, 4) => array.integers::<u32>(npy, conversion),
        (TypeChar::Uint, 8) => array.integers::<u64>(npy, conversion),
        (TypeChar::Bool, _) => array.integers::<bool>(npy, conversion),
        _ => Err(refused(FLOATS.into())),
    }?;
    let values = match array.order {
        Order::C => values,
        Order::Fortran => from_fortran(&values, expected),
    };
    Ok((own, values))
}

/// Extents that an array must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) dims: &'a [usize],
    /// Axes along which it may have fewer.
    pub(super) bounded_axes: &'a [usize],
}

/// State of reading an array's elements.
struct Array<'a> {
    path: &'a Path,
    expected: &'a [usize],
    order: Order,
    /// Bytes of the file that were read. Memory is allocated for no more elements than these contain.
    stored: usize,
}

impl Array<'_> {
    /// Converts every element. An error names the element.
    fn each<T: Deserialize + Copy + Debug>(
        &self,
        npy: NpyFile<&[u8]>,
        convert: impl Fn(T) -> Result<f32, String>,
    ) -> Result<Vec<f32>, IoError> {
        let elements = self.expected.iter().product();
        let bad = |reason: String| IoError::NotAnArray { path: self.path.into(), reason };
        let mut values = Vec::with_capacity(self.stored.min(elements));
        for element in npy.data::<T>().map_err(|e| bad(e.to_string()))? {
            let at = values.len();
            let element = element.map_err(|e| match e.kind() {
                io::ErrorKind::UnexpectedEof => bad(format!("it ends after {at} of its {elements} elements")),
                _ => bad(e.to_string()),
            })?;
            values.push(convert(element).map_err(|why| {
                let value = format!("{element:?}");
                IoError::Element { path: self.path.into(), at: self.index(at), value, why }
            })?);
        }
        Ok(values)
    }

    fn integers<T: Deserialize + Copy + Debug + Into<i128>>(
        &self,
        npy: NpyFile<&[u8]>,
        conversion: Conversion<'_>,
    ) -> Result<Vec<f32>, IoError> {
        self.each(npy, |element: T| conversion.integer(element.into()))
    }

    /// Returns the index along each axis of the element at position `at` of the file.
    fn index(&self, mut at: usize) -> Vec<usize> {
        let mut index = vec![0; self.expected.len()];
        let mut place = |axis: usize| {
            let extent = self.expected[axis].max(1);
            (index[axis], at) = (at % extent, at / extent);
        };
        match self.order {
            Order::C => (0..self.expected.len()).rev().for_each(&mut place),
            Order::Fortran => (0..self.expected.len()).for_each(&mut place),
        }
        index
    }
}

/// Checks a header before it is parsed, because parsers recurse as deep as its brackets and allocate as much as it
/// states.
fn check_header(bytes: &[u8]) -> Result<(), &'static str> {
    if bytes.is_empty() {
        return Err("it is empty");
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let zip = bytes.starts_with(b"PK\x03\x04");
        return Err(if zip {
            "it is a zip archive, as .npz and .pt files are; save the array by itself, with np.save"
        } else {
            "it begins as none"
        });
    };
    const CUT: &str = "its header is cut short";
    let (length, text) = match rest {
        // The first version states the length in two bytes, later ones in four.
        [1, _, a, b, text @ ..] => (u32::from_le_bytes([*a, *b, 0, 0]), text),
        [_, _, a, b, c, d, text @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]), text),
        _ => return Err(CUT),
    };
    if length as usize > MAX_HEADER_BYTES {
        return Err("its header is too long");
    }
    let header = text.get(..length as usize).ok_or(CUT)?;
    let mut depth = 0usize;
    for byte in header {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_HEADER_NESTING {
            return Err("its header is nested too deeply");
        }
    }
    Ok(())
}

/// Writes an array of 32-bit floats completely or not at all.
///
/// # Errors
/// [`IoError::Write`], [`IoError::DiskFull`].
pub fn write_npy(path: &Path, dims: &[usize], values: &[f32]) -> Result<(), IoError> {
    write_atomic(path, |out| npy_into(out, dims, values.iter().copied())).map_err(|e| IoError::write(path, e))
}

/// Writes an array with elements of this type into an open file. Floats are written with 32 bits. Values outside an
/// integer type become its nearest integer.
pub(super) fn typed_npy_into(
    out: &mut dyn Write,
    element_type: ElementType,
    dims: &[usize],
    values: &[f32],
) -> io::Result<()> {
    let values = values.iter().copied();
    match element_type {
        ElementType::F32 | ElementType::F16 => npy_into(out, dims, values),
        ElementType::I8 => npy_into(out, dims, values.map(|v| v as i8)),
        ElementType::U8 => npy_into(out, dims, values.map(|v| v as u8)),
        ElementType::I16 => npy_into(out, dims, values.map(|v| v as i16)),
        ElementType::U16 => npy_into(out, dims, values.map(|v| v as u16)),
        ElementType::I32 => npy_into(out, dims, values.map(|v| v as i32)),
        ElementType::U32 => npy_into(out, dims, values.map(|v| v as u32)),
        ElementType::I64 => npy_into(out, dims, values.map(|v| v as i64)),
        ElementType::U64 => npy_into(out, dims, values.map(|v| v as u64)),
        ElementType::Bool => npy_into(out, dims, values.map(|v| v != 0.0)),
    }
}

/// Writes an array into an open file.
fn npy_into<T: AutoSerialize>(out: &mut dyn Write, dims: &[usize], values: impl Iterator<Item = T>) -> io::Result<()> {
    let shape: Vec<u64> = dims.iter().map(|&d| d as u64).collect();
    let mut npy = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    npy.extend(values)?;
    npy.finish()
}

/// Converts column-major to row-major order.
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
