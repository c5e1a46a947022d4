//! Arrays on the host: what is known of a model before any run. Knows no file and no graph node.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use crate::{
    graph::{Bytes, Constant, ElementType, QuantParams},
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
    /// Integers with the scales that make floats of them. Shared, because there may be many scales.
    Quantized(Arc<Constant>),
    Ints(Arc<[i64]>),
    /// Integers of 8 bits where they lie in the file.
    Stored(Arc<Stored>),
}

/// Integers that are widened when they are asked for: of quantised weights only the bytes are needed.
#[derive(Debug)]
struct Stored {
    constant: Constant,
    widened: OnceLock<Vec<i64>>,
}

impl Stored {
    fn widened(&self) -> &[i64] {
        self.widened.get_or_init(|| self.constant.to_i64().unwrap_or_default())
    }
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

    /// Integers of 8 bits that lie in a file, whose number has been checked.
    pub(super) fn of_stored(dims: Vec<usize>, constant: Constant) -> Self {
        let elem = constant.dtype;
        Self { dims, elem, values: Elements::Stored(Arc::new(Stored { constant, widened: OnceLock::new() })) }
    }

    /// What integers of 8 bits stand for, as floats: the bytes are shared where they lie in a file. `None` where these are
    /// other integers, or the scales and zero points do not fit.
    pub(super) fn dequantized(&self, scale: QuantParams, meter: &mut Meter) -> Result<Option<Self>, Problem> {
        let bytes = match &self.values {
            Elements::Stored(stored) => stored.constant.bytes.clone(),
            Elements::Ints(ints) if matches!(self.elem, ElementType::I8 | ElementType::U8) => {
                // The cast keeps the bits of what lies in the type's range.
                meter.filled(ints.len(), ints.iter().map(|&v| v as u8))?.into()
            }
            Elements::Ints(_) | Elements::Floats(_) | Elements::Quantized(_) => return Ok(None),
        };
        meter.memory(bytes_of(&scale))?;
        let constant = Constant { scale: Some(scale), ..Constant::new(self.elem, bytes) };
        let dims = self.dims.clone();
        Ok(Some(Self { dims, elem: ElementType::F32, values: Elements::Quantized(Arc::new(constant)) }))
    }

    /// Takes what it costs to read the elements as integers, and makes them such.
    pub(super) fn widen(&self, meter: &mut Meter) -> Result<(), Problem> {
        if let Elements::Stored(stored) = &self.values
            && stored.widened.get().is_none()
        {
            meter.memory(self.bytes())?;
            meter.work(self.len())?;
            stored.widened();
        }
        Ok(())
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
            Elements::Quantized(constant) => constant.to_f32(),
            Elements::Stored(stored) => stored.constant.to_f32(),
            Elements::Ints(ints) => ints.iter().map(|&i| i as f32).collect(),
        }
    }

    /// The elements as integers, if they are integers or truth values.
    pub fn to_i64(&self) -> Option<&[i64]> {
        match &self.values {
            Elements::Floats(_) | Elements::Quantized(_) => None,
            Elements::Ints(ints) => Some(ints),
            Elements::Stored(stored) => Some(stored.widened()),
        }
    }

    /// The first integer that no 32-bit float is.
    pub(super) fn first_inexact(&self) -> Option<i64> {
        // Integers of 8 bits are floats; they are not widened for this.
        if matches!(self.values, Elements::Stored(_)) {
            return None;
        }
        // In 128 bits: the float next to the greatest integer of 64 is none of them.
        self.to_i64()?.iter().copied().find(|&value| value as f32 as i128 != value.into())
    }

    /// The bytes of the one value that all elements have, if that is how they are held: then they take no memory.
    pub(super) fn repeated(&self) -> Option<&[u8]> {
        match &self.values {
            Elements::Floats(constant) => constant.bytes.element(),
            Elements::Ints(_) | Elements::Stored(_) | Elements::Quantized(_) => None,
        }
    }

    /// Bytes that the elements take once they are written out as floats or integers.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Elements::Floats(_) | Elements::Quantized(_) => self.len().saturating_mul(size_of::<f32>()),
            Elements::Ints(_) | Elements::Stored(_) => self.len().saturating_mul(size_of::<i64>()),
        }
    }

    /// The values as a constant of a graph.
    pub(super) fn to_constant(&self) -> Constant {
        match &self.values {
            Elements::Floats(constant) => constant.clone(),
            Elements::Quantized(constant) => Constant::clone(constant),
            Elements::Ints(_) | Elements::Stored(_) => Constant::from_f32(&self.to_f32()),
        }
    }

    /// Bytes that [`to_constant`](Self::to_constant) copies of what is shared otherwise, or makes.
    pub(super) fn constant_bytes(&self) -> usize {
        match &self.values {
            Elements::Floats(_) => 0,
            Elements::Quantized(constant) => constant.scale.as_ref().map_or(0, bytes_of),
            // They become floats, and those bytes.
            Elements::Ints(_) | Elements::Stored(_) => self.len().saturating_mul(2 * size_of::<f32>()),
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
            Elements::Ints(_) | Elements::Stored(_) => {
                let ints = self.to_i64().unwrap_or_default();
                let values = meter.filled(elements, indices.map(|i| ints[i]))?;
                return Ok(Self { dims, elem, values: Elements::Ints(values.into()) });
            }
            Elements::Quantized(constant) => return Self::taken_quantized(constant, dims, indices, meter),
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

    /// The same of integers with scales. One scale for all stays; of several it is not known whose elements are taken.
    fn taken_quantized(
        constant: &Constant,
        dims: Vec<usize>,
        indices: impl Iterator<Item = usize>,
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        let elements = count(&dims)?;
        if constant.scale.as_ref().is_some_and(|scale| scale.uniform().is_some()) {
            let bytes = constant.bytes.as_slice();
            let taken = meter.filled(elements, indices.map(|i| bytes[i]))?;
            let constant = Constant { bytes: taken.into(), ..constant.clone() };
            return Ok(Self { dims, elem: ElementType::F32, values: Elements::Quantized(Arc::new(constant)) });
        }
        let reals = constant.reals();
        let mut bytes = meter.list(elements.saturating_mul(size_of::<f32>()))?;
        indices.take(elements).for_each(|i| bytes.extend_from_slice(&reals.get(i).to_le_bytes()));
        Ok(Self::of_constant(dims, Constant::new(ElementType::F32, bytes.into())))
    }

    /// With the axes in the order `perm`, where the elements are integers with scales along one axis; `None` where they are
    /// others.
    fn transposed_quantized(&self, perm: &[usize], meter: &mut Meter) -> Result<Option<Self>, Problem> {
        let Elements::Quantized(constant) = &self.values else { return Ok(None) };
        let Some(scale) = constant.scale.as_ref().filter(|scale| scale.uniform().is_none()) else { return Ok(None) };
        let strides = strides(&self.dims);
        let of_axis = |&at: &usize| self.dims[perm[at]] == scale.scale.len() && strides[perm[at]] == scale.inner;
        let Some(at) = (0..perm.len()).find(of_axis) else { return Ok(None) };
        let dims: Vec<usize> = perm.iter().map(|&axis| self.dims[axis]).collect();
        let by: Vec<usize> = perm.iter().map(|&axis| strides[axis]).collect();
        let bytes = constant.bytes.as_slice();
        let turned = meter.filled(count(&dims)?, walk(&dims, &by).map(|i| bytes[i]))?;
        meter.memory(bytes_of(scale))?;
        let inner = dims[at + 1..].iter().product::<usize>().max(1);
        let scale = QuantParams { inner, ..scale.clone() };
        let constant = Constant { scale: Some(scale), ..Constant::new(constant.dtype, turned.into()) };
        Ok(Some(Self { dims, elem: ElementType::F32, values: Elements::Quantized(Arc::new(constant)) }))
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
            Elements::Ints(_) | Elements::Stored(_) | Elements::Quantized(_) => {
                self.taken(dims, std::iter::repeat_n(0, elements), meter)
            }
        }
    }

    /// With the axes in the order `perm`.
    pub(super) fn transposed(&self, perm: &[usize], meter: &mut Meter) -> Result<Self, Problem> {
        if perm.iter().copied().eq(0..self.dims.len()) {
            return Ok(self.clone());
        }
        if let Some(turned) = self.transposed_quantized(perm, meter)? {
            return Ok(turned);
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

/// Bytes that scales and zero points take.
const fn bytes_of(scale: &QuantParams) -> usize {
    scale.scale.len() * size_of::<f32>() + scale.zero.len() * size_of::<i32>()
}

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
