//! Reads values of the file's tensors. Borrows them where possible, and checks their size before anything is
//! allocated.

use std::path::Path;

use super::{
    array::{Array, count},
    element_type::{DOUBLE, element_type},
    external::External,
    model::Tensor,
    notes::Notes,
};
use crate::import::{error::Problem, meter::Meter, model_file::Owner};
use texpool_ops::graph::{Bytes, Constant, ElementType};

/// Sources of values: the file's bytes, and external files.
#[derive(Debug)]
pub(super) struct ValueSource {
    pub(super) external: External,
    pub(super) owner: Owned,
    /// True if 64-bit floats become 32-bit ones, false if they are refused.
    pub(super) rounds_doubles: bool,
    /// Counts for warnings.
    pub(super) notes: Notes,
}

/// The file's bytes, shared with every constant borrowed from them.
pub(super) struct Owned(pub(super) Owner);

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Owned({})", (*self.0).as_ref().len())
    }
}

impl ValueSource {
    /// For a model in these bytes. External files are looked up beside `path`.
    pub(super) fn new(owner: Owner, path: Option<&Path>) -> Self {
        let external = path.map(External::beside).unwrap_or_default();
        Self { external, owner: Owned(owner), rounds_doubles: false, notes: Notes::default() }
    }

    /// Returns the element type with an ONNX number. 64-bit floats become 32-bit ones where that is allowed.
    pub(super) fn element_type(&mut self, code: i64) -> Result<ElementType, Problem> {
        if code == DOUBLE && self.rounds_doubles {
            self.notes.rounded += 1;
            return Ok(ElementType::F32);
        }
        element_type(code)
    }

    /// Reads the values of a tensor. External files increase the allowance of the meter; copies are charged.
    pub(super) fn array(&mut self, tensor: &Tensor, meter: &mut Meter) -> Result<Array, Problem> {
        let elem = self.element_type(tensor.kind)?;
        let dims = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>();
        let dims = dims.ok_or_else(|| Problem::malformed(format!("it has the extents {:?}", tensor.dims)))?;
        let elements = count(&dims)?;
        let bytes = match (&tensor.raw, tensor.is_external) {
            (_, true) => self.external.bytes(&tensor.external, meter)?,
            (Some(range), false) => Bytes::new(self.owner.0.clone(), range.clone())
                .ok_or_else(|| Problem::malformed("its values lie outside the file"))?,
            (None, false) => return typed(tensor, elem, dims, elements, meter),
        };
        let size = if tensor.kind == DOUBLE { size_of::<f64>() } else { elem.size() };
        let (length, expected) = (bytes.len(), elements.saturating_mul(size));
        if length != expected {
            return Err(Problem::malformed(format!("its values are {length} bytes, {dims:?} needs {expected}")));
        }
        Ok(match elem {
            ElementType::F32 if tensor.kind == DOUBLE => {
                let doubles = bytes.as_slice().as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes));
                rounded(dims, doubles, elements, meter)?
            }
            ElementType::F32 => Array::of_constant(dims, Constant::new(ElementType::F32, bytes)),
            ElementType::F16 => Array::of_constant(dims, Constant::new(ElementType::F16, bytes)),
            ElementType::I8 | ElementType::U8 => Array::of_stored(dims, Constant::new(elem, bytes)),
            integer => Array::of_ints(dims, integer, integers(integer, bytes.as_slice(), meter.list(elements)?)),
        })
    }
}

/// Reads values that are stored in typed fields.
fn typed(
    tensor: &Tensor,
    elem: ElementType,
    dims: Vec<usize>,
    elements: usize,
    meter: &mut Meter,
) -> Result<Array, Problem> {
    let count = match elem {
        ElementType::F32 if tensor.kind == DOUBLE => tensor.doubles.len(),
        ElementType::F32 => tensor.floats.len(),
        _ => tensor.ints.len(),
    };
    if count != elements {
        return Err(Problem::malformed(format!("it has {count} values, {dims:?} needs {elements}")));
    }
    meter.memory(elements.saturating_mul(elem.size().max(size_of::<f32>())))?;
    let outside = |value: i64| Problem::malformed(format!("its value {value} is beyond its type, {elem:?}"));
    Ok(match elem {
        ElementType::F32 if tensor.kind == DOUBLE => rounded(dims, tensor.doubles.iter().copied(), elements, meter)?,
        ElementType::F32 => Array::of_floats(dims, elem, &tensor.floats),
        ElementType::F16 => {
            let bits = |&bits: &i64| u16::try_from(bits).map(u16::to_le_bytes).map_err(|_| outside(bits));
            let bytes = tensor.ints.iter().map(bits).collect::<Result<Vec<[u8; 2]>, _>>()?;
            Array::of_constant(dims, Constant::new(ElementType::F16, bytes.into_flattened().into()))
        }
        _ => {
            let (least, most) = elem.range();
            // Truth values have no range: any number except 0 is true.
            if let Some(&value) = tensor.ints.iter().find(|v| elem != ElementType::Bool && !(least..=most).contains(*v))
            {
                return Err(outside(value));
            }
            Array::of_ints(dims, elem, meter.filled(elements, tensor.ints.iter().copied())?)
        }
    })
}

/// Rounds 64-bit floats to 32 bits. Numbers beyond the range become the greatest or the least one, and not infinities,
/// because files mask by such numbers.
fn rounded(
    dims: Vec<usize>,
    doubles: impl Iterator<Item = f64>,
    elements: usize,
    meter: &mut Meter,
) -> Result<Array, Problem> {
    let narrow = |double: f64| match double.is_finite() {
        true => double.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32,
        false => double as f32,
    };
    // Once as floats, and once as their bytes.
    meter.memory(elements.saturating_mul(size_of::<f32>()))?;
    let floats = meter.filled(elements, doubles.map(narrow))?;
    Ok(Array::of_floats(dims, ElementType::F32, &floats))
}

/// Appends the integers stored in `bytes` to a list with sufficient capacity.
fn integers(elem: ElementType, bytes: &[u8], mut list: Vec<i64>) -> Vec<i64> {
    fn read<const N: usize>(bytes: &[u8], list: &mut Vec<i64>, number: impl Fn([u8; N]) -> i64) {
        list.extend(bytes.as_chunks::<N>().0.iter().map(|&chunk| number(chunk)));
    }
    match elem.size() {
        1 => read(bytes, &mut list, |b: [u8; 1]| elem.wrap(b[0].into())),
        2 => read(bytes, &mut list, |b| elem.wrap(u16::from_le_bytes(b).into())),
        4 => read(bytes, &mut list, |b| elem.wrap(u32::from_le_bytes(b).into())),
        _ => read(bytes, &mut list, i64::from_le_bytes),
    }
    list
}
