//! Reads values of the file's tensors. Borrows them where possible, and checks their size before anything is
//! allocated.

use std::path::Path;

use super::{
    array::{Array, count},
    element_type::element_type,
    external::External,
    foreign::Foreign,
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
    /// True if types that texpool does not have become others, false if they are refused, because a runtime computes in
    /// them.
    pub(super) replaces_types: bool,
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
        Self { external, owner: Owned(owner), replaces_types: false, notes: Notes::default() }
    }

    /// Returns the element type with an ONNX number. Floats of other widths become 32-bit ones where that is allowed.
    pub(super) fn element_type(&mut self, code: i64) -> Result<ElementType, Problem> {
        match Foreign::numbered(code).filter(|_| self.replaces_types) {
            Some(foreign @ (Foreign::Double | Foreign::Bfloat16)) => Ok(self.replaced(foreign)),
            // Only constants may have integers of 4 bits, since nothing rounds to them.
            Some(Foreign::Uint4 | Foreign::Int4) | None => element_type(code),
        }
    }

    /// Returns the type that takes the place of another, and counts it.
    fn replaced(&mut self, foreign: Foreign) -> ElementType {
        match foreign {
            Foreign::Double => self.notes.rounded += 1,
            Foreign::Bfloat16 => self.notes.widened += 1,
            Foreign::Uint4 | Foreign::Int4 => {}
        }
        foreign.held_as()
    }

    /// Reads the values of a tensor. External files increase the allowance of the meter; copies are charged.
    pub(super) fn array(&mut self, tensor: &Tensor, meter: &mut Meter) -> Result<Array, Problem> {
        let foreign = Foreign::numbered(tensor.kind).filter(|_| self.replaces_types);
        let elem = match foreign {
            Some(foreign) => self.replaced(foreign),
            None => element_type(tensor.kind)?,
        };
        let dims = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>();
        let dims = dims.ok_or_else(|| Problem::malformed(format!("it has the extents {:?}", tensor.dims)))?;
        let elements = count(&dims)?;
        let bytes = match (&tensor.raw, tensor.is_external) {
            (_, true) => Some(self.external.bytes(&tensor.external, meter)?),
            (Some(range), false) => {
                let bytes = Bytes::new(self.owner.0.clone(), range.clone());
                Some(bytes.ok_or_else(|| Problem::malformed("its values lie outside the file"))?)
            }
            (None, false) => None,
        };
        if let Some(foreign) = foreign {
            return foreign.array(tensor, bytes.as_ref().map(Bytes::as_slice), dims, elements, meter);
        }
        let Some(bytes) = bytes else { return typed(tensor, elem, dims, elements, meter) };
        let (length, expected) = (bytes.len(), elements.saturating_mul(elem.size()));
        if length != expected {
            return Err(Problem::malformed(format!("its values are {length} bytes, {dims:?} needs {expected}")));
        }
        Ok(match elem {
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
        ElementType::F32 => tensor.floats.len(),
        _ => tensor.ints.len(),
    };
    if count != elements {
        return Err(Problem::malformed(format!("it has {count} values, {dims:?} needs {elements}")));
    }
    meter.memory(elements.saturating_mul(elem.size().max(size_of::<f32>())))?;
    let outside = |value: i64| Problem::malformed(format!("its value {value} is beyond its type, {elem:?}"));
    Ok(match elem {
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
