//! Values of the file's tensors: borrowed where they lie, measured against the extents before anything is taken.

use super::{
    array::{Array, Elem, count},
    external::External,
    model::Tensor,
};
use crate::{
    graph::{Bytes, Constant, DType},
    import::{error::Problem, tensors::Owner},
};

/// Where values come from: the file's bytes, and files beside it.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) external: External,
    pub(super) owner: Owned,
}

/// The file's bytes, shared with every constant borrowed from them.
pub(super) struct Owned(pub(super) Owner);

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Owned({})", (*self.0).as_ref().len())
    }
}

impl Values {
    /// The values of a tensor.
    pub(super) fn array(&mut self, tensor: &Tensor) -> Result<Array, Problem> {
        let elem = Elem::of(tensor.kind)?;
        let dims = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>();
        let dims = dims.ok_or_else(|| Problem::malformed(format!("it has the extents {:?}", tensor.dims)))?;
        let elements = count(&dims)?;
        let bytes = match (&tensor.raw, tensor.is_external) {
            (_, true) => self.external.bytes(&tensor.external)?,
            (Some(range), false) => Bytes::new(self.owner.0.clone(), range.clone())
                .ok_or_else(|| Problem::malformed("its values lie outside the file"))?,
            (None, false) => return typed(tensor, elem, dims, elements),
        };
        let (found, expected) = (bytes.as_slice().len(), elements.saturating_mul(elem.size()));
        if found != expected {
            return Err(Problem::malformed(format!("its values are {found} bytes, {dims:?} needs {expected}")));
        }
        Ok(match elem {
            Elem::F32 => Array::of_constant(dims, Constant::new(DType::F32, bytes)),
            Elem::F16 => Array::of_constant(dims, Constant::new(DType::F16, bytes)),
            _ => Array::of_ints(dims, elem, integers(elem, bytes.as_slice())),
        })
    }
}

/// Values in fields of numbers.
fn typed(tensor: &Tensor, elem: Elem, dims: Vec<usize>, elements: usize) -> Result<Array, Problem> {
    let found = if elem == Elem::F32 { tensor.floats.len() } else { tensor.ints.len() };
    if found != elements {
        return Err(Problem::malformed(format!("it has {found} values, {dims:?} needs {elements}")));
    }
    Ok(match elem {
        Elem::F32 => Array::of_floats(dims, elem, &tensor.floats),
        Elem::F16 => {
            let bytes: Vec<u8> = tensor.ints.iter().flat_map(|&bits| (bits as u16).to_le_bytes()).collect();
            Array::of_constant(dims, Constant::new(DType::F16, bytes.into()))
        }
        _ => Array::of_ints(dims, elem, tensor.ints.clone()),
    })
}

fn integers(elem: Elem, bytes: &[u8]) -> Vec<i64> {
    fn read<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> i64) -> Vec<i64> {
        bytes.as_chunks::<N>().0.iter().map(|&chunk| number(chunk)).collect()
    }
    match elem.size() {
        1 => read(bytes, |b: [u8; 1]| elem.wrap(b[0].into())),
        2 => read(bytes, |b| elem.wrap(u16::from_le_bytes(b).into())),
        4 => read(bytes, |b| elem.wrap(u32::from_le_bytes(b).into())),
        _ => read(bytes, i64::from_le_bytes),
    }
}
