//! Arrays on the host: what is known of a model before any run. Knows no file and no graph node.

use std::{borrow::Cow, sync::Arc};

use crate::{
    graph::{Bytes, Constant, ElementType},
    import::{error::Problem, meter::Meter},
};

/// Most axes of an array: `NPY_MAXDIMS` of NumPy 2, which ONNX's reference computes with. ONNX Runtime states no bound of its
/// own, most of its operators end at eight; what is done per axis here is so never more than a little.
pub(super) const MAX_RANK: usize = 64;

/// Most elements of an array that is made while importing.
pub(super) const MAX_KNOWN: usize = 1 << 28;

#[derive(Clone, Debug)]
enum Elements {
    /// Borrowed, made, or one value over and over.
    Floats(Constant),
    Ints(Arc<[i64]>),
}

/// An array of any rank, dense and row by row.
#[derive(Clone, Debug)]
pub struct Array {
    dims: Vec<usize>,
    elem: ElementType,
    values: Elements,
}

/// Number of elements, if it can be counted and is no more than may be made while importing. An empty array is asked
/// the same of its other extents, so that products of any of them can be counted too.
pub(super) fn count(dims: &[usize]) -> Result<usize, Problem> {
    ranked(dims.len())?;
    let most = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1))).filter(|&n| n <= MAX_KNOWN);
    let most = most.ok_or_else(|| too_many(dims))?;
    Ok(if dims.contains(&0) { 0 } else { most })
}

/// Refuses more axes than an array may have.
pub(super) fn ranked(axes: usize) -> Result<(), Problem> {
    if axes <= MAX_RANK {
        return Ok(());
    }
    Err(Problem::limit(format!("an array of {axes} axes: at most {MAX_RANK} are supported, as in NumPy")))
}

fn too_many(dims: &[usize]) -> Problem {
    Problem::limit(format!("an array of extents {dims:?} is too large: known values have at most {MAX_KNOWN} elements"))
}

impl Array {
    /// 32-bit floats; `None` if there are not as many as the extents say.
    pub fn floats(dims: &[usize], values: &[f32]) -> Option<Self> {
        let fits = count(dims).ok()? == values.len();
        fits.then(|| Self::of_floats(dims.to_vec(), ElementType::F32, values))
    }

    /// 64-bit integers; `None` if there are not as many as the extents say.
    pub fn ints(dims: &[usize], values: &[i64]) -> Option<Self> {
        let fits = count(dims).ok()? == values.len();
        fits.then(|| Self::of_ints(dims.to_vec(), ElementType::I64, values.to_vec()))
    }

    /// Truth values; `None` if there are not as many as the extents say.
    pub fn bools(dims: &[usize], values: &[bool]) -> Option<Self> {
        let fits = count(dims).ok()? == values.len();
        fits.then(|| Self::of_ints(dims.to_vec(), ElementType::Bool, values.iter().map(|&b| b.into()).collect()))
    }

    /// Floats whose number has been checked; those of 16 bits are rounded to such.
    pub(super) fn of_floats(dims: Vec<usize>, elem: ElementType, values: &[f32]) -> Self {
        let constant = if elem == ElementType::F16 {
            let bytes: Vec<u8> = values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect();
            Constant::new(ElementType::F16, bytes.into())
        } else {
            Constant::from_f32(values)
        };
        Self { dims, elem, values: Elements::Floats(constant) }
    }

    /// Integers or truth values whose number has been checked, brought into the type's range.
    pub(super) fn of_ints(dims: Vec<usize>, elem: ElementType, mut values: Vec<i64>) -> Self {
        if elem != ElementType::I64 {
            values.iter_mut().for_each(|v| *v = elem.wrap(*v));
        }
        Self { dims, elem, values: Elements::Ints(values.into()) }
    }

    /// Floats that lie in a file, whose number has been checked.
    pub(super) fn of_constant(dims: Vec<usize>, constant: Constant) -> Self {
        let elem = if constant.dtype == ElementType::F16 { ElementType::F16 } else { ElementType::F32 };
        Self { dims, elem, values: Elements::Floats(constant) }
    }

    /// Extents.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Element type.
    pub fn element_type(&self) -> ElementType {
        self.elem
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as 32-bit floats, borrowed where they are such.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        match &self.values {
            Elements::Floats(constant) => constant.to_f32(),
            Elements::Ints(ints) => ints.iter().map(|&i| i as f32).collect(),
        }
    }

    /// The elements as integers, if they are integers or truth values.
    pub fn to_i64(&self) -> Option<&[i64]> {
        match &self.values {
            Elements::Floats(_) => None,
            Elements::Ints(ints) => Some(ints),
        }
    }

    /// The first integer that no 32-bit float is.
    pub(super) fn first_inexact(&self) -> Option<i64> {
        // In 128 bits: the float next to the greatest integer of 64 is none of them.
        self.to_i64()?.iter().copied().find(|&value| value as f32 as i128 != value.into())
    }

    /// The bytes of the one value that all elements have, if that is how they are held: then they take no memory.
    pub(super) fn repeated(&self) -> Option<&[u8]> {
        match &self.values {
            Elements::Floats(constant) => constant.bytes.element(),
            Elements::Ints(_) => None,
        }
    }

    /// Bytes that the elements take once they are written out as floats or integers.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Elements::Floats(_) => self.len().saturating_mul(size_of::<f32>()),
            Elements::Ints(_) => self.len().saturating_mul(size_of::<i64>()),
        }
    }

    /// The values as a constant of a graph.
    pub(super) fn to_constant(&self) -> Constant {
        match &self.values {
            Elements::Floats(constant) => constant.clone(),
            Elements::Ints(_) => Constant::from_f32(&self.to_f32()),
        }
    }

    /// The same elements under other extents, of which the number must be the same.
    pub(super) fn reshaped(&self, dims: &[usize]) -> Result<Self, Problem> {
        if count(dims)? != self.len() {
            return Err(Problem::malformed(format!("{:?} and {dims:?} are not the same elements", self.dims)));
        }
        Ok(Self { dims: dims.to_vec(), ..self.clone() })
    }

    /// The elements at `indices`, which must lie inside, under new extents. One value stays one, whatever is taken.
    pub(super) fn taken(
        &self,
        dims: Vec<usize>,
        indices: impl Iterator<Item = usize>,
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        let elements = count(&dims)?;
        let elem = self.elem;
        let floats = match &self.values {
            Elements::Ints(ints) => {
                let values = meter.filled(elements, indices.map(|i| ints[i]))?;
                return Ok(Self { dims, elem, values: Elements::Ints(values.into()) });
            }
            Elements::Floats(constant) => constant,
        };
        if let Some(element) = floats.bytes.element() {
            return Self::filled(dims, elem, element, elements, meter);
        }
        // By bytes, without converting: taking a few elements of many must not cost a pass over all. Floats of a constant
        // have 16 bits or 32.
        let bytes = floats.bytes.as_slice();
        let taken: Vec<u8> = if floats.dtype == ElementType::F16 {
            let from = bytes.as_chunks::<2>().0;
            meter.filled(elements, indices.map(|i| from[i]))?.into_flattened()
        } else {
            let from = bytes.as_chunks::<4>().0;
            meter.filled(elements, indices.map(|i| from[i]))?.into_flattened()
        };
        Ok(Self { dims, elem, values: Elements::Floats(Constant::new(floats.dtype, taken.into())) })
    }

    /// One float over and over, by its bytes.
    fn filled(
        dims: Vec<usize>,
        elem: ElementType,
        element: &[u8],
        elements: usize,
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        // Few elements are cheaper written out, and count as what they are.
        let bytes = if elements <= MAX_WRITTEN_OUT {
            let copies = std::iter::repeat_n(element, elements);
            let mut bytes = meter.list(elements.saturating_mul(element.len()))?;
            copies.for_each(|copy| bytes.extend_from_slice(copy));
            bytes.into()
        } else {
            let repeated = Bytes::repeated(element, elements);
            repeated.ok_or_else(|| too_many(&dims))?
        };
        let dtype = if elem == ElementType::F16 { ElementType::F16 } else { ElementType::F32 };
        Ok(Self { dims, elem, values: Elements::Floats(Constant::new(dtype, bytes)) })
    }

    /// This one element over and over, under other extents.
    pub(super) fn repeat(&self, dims: Vec<usize>, meter: &mut Meter) -> Result<Self, Problem> {
        let elements = count(&dims)?;
        match &self.values {
            Elements::Floats(constant) => {
                let element = constant.bytes.as_slice();
                Self::filled(dims, self.elem, element, elements, meter)
            }
            Elements::Ints(_) => self.taken(dims, std::iter::repeat_n(0, elements), meter),
        }
    }

    /// With the axes in the order `perm`.
    pub(super) fn transposed(&self, perm: &[usize], meter: &mut Meter) -> Result<Self, Problem> {
        if perm.iter().copied().eq(0..self.dims.len()) {
            return Ok(self.clone());
        }
        let strides = strides(&self.dims);
        let dims: Vec<usize> = perm.iter().map(|&axis| self.dims[axis]).collect();
        let by: Vec<usize> = perm.iter().map(|&axis| strides[axis]).collect();
        self.taken(dims.clone(), walk(&dims, &by), meter)
    }

    /// Repeated along axes of extent one, and along new ones in front, to extents that it broadcasts to.
    pub(super) fn broadcast(&self, dims: &[usize], meter: &mut Meter) -> Result<Self, Problem> {
        if self.dims == dims {
            return Ok(self.clone());
        }
        count(dims)?;
        let front = dims.len().checked_sub(self.dims.len());
        let fits = front.is_some_and(|front| self.dims.iter().zip(&dims[front..]).all(|(&d, &to)| d == to || d == 1));
        let (Some(front), true) = (front, fits) else {
            return Err(Problem::malformed(format!("{:?} does not broadcast to {dims:?}", self.dims)));
        };
        let strides = strides(&self.dims);
        let by = (0..dims.len()).map(|axis| match axis.checked_sub(front) {
            Some(own) if self.dims[own] != 1 => strides[own],
            _ => 0,
        });
        let by: Vec<usize> = by.collect();
        self.taken(dims.to_vec(), walk(dims, &by), meter)
    }
}

/// Elements up to which a repeated value is written out. Chosen: 4 kB cost less than treating them as a special case.
const MAX_WRITTEN_OUT: usize = 1 << 10;

/// Elements between neighbours along each axis.
pub(super) fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// For each element of `dims` in order, the sum of its indices times `by`.
pub(super) fn walk(dims: &[usize], by: &[usize]) -> impl Iterator<Item = usize> {
    let (dims, by) = (dims.to_vec(), by.to_vec());
    let total: usize = dims.iter().product();
    let mut index = vec![0usize; dims.len()];
    let mut at = 0usize;
    (0..total).map(move |_| {
        let here = at;
        // Counted up like an odometer, from the fastest axis: an element costs no division.
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            at += by[axis];
            if index[axis] < dims[axis] {
                break;
            }
            at -= by[axis] * dims[axis];
            index[axis] = 0;
        }
        here
    })
}
