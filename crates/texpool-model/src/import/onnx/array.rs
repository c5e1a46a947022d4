//! Arrays in host memory, which hold values that are known before any run. Independent of files and graph nodes.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use crate::import::{error::Problem, meter::Meter};
use texpool_ops::graph::{Bytes, Constant, ElementType, QuantParams};

/// Maximum rank of an array: `NPY_MAXDIMS` of NumPy 2, on which ONNX's reference implementation is based. ONNX
/// Runtime states no limit, and most of its operators support at most eight axes. The limit keeps the work per axis
/// small.
pub(super) const MAX_RANK: usize = 64;

/// Maximum number of elements of an array that is created while importing.
pub(super) const MAX_KNOWN: usize = 1 << 28;

#[derive(Clone, Debug)]
enum Elements {
    /// Borrowed, owned, or one repeated value.
    Floats(Constant),
    /// Integers with scales for converting them to floats. Shared, because there may be many scales.
    Quantized(Arc<Constant>),
    Ints(Arc<[i64]>),
    /// Integers of 8 bits, borrowed from the file.
    Stored(Arc<Stored>),
}

/// Integers that are widened on first use. For quantised weights only the bytes are needed.
#[derive(Debug)]
struct Stored {
    constant: Constant,
    /// True for integers that have 4 bits in the file.
    has_four_bits: bool,
    widened: OnceLock<Vec<i64>>,
}

impl Stored {
    fn widened(&self) -> &[i64] {
        self.widened.get_or_init(|| self.constant.to_i64().unwrap_or_default())
    }
}

/// A dense, row-major array of any rank.
///
/// ```
/// use texpool::import::Array;
/// use texpool::graph::ElementType;
///
/// let floats = Array::floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap();
/// assert_eq!((floats.dims(), floats.len(), floats.element_type()), (&[2, 2][..], 4, ElementType::F32));
/// assert_eq!(floats.to_i64(), None);
/// let sizes = Array::ints(&[2], &[640, 480]).unwrap();
/// assert_eq!((&*sizes.to_f32(), sizes.to_i64()), (&[640.0, 480.0][..], Some(&[640, 480][..])));
/// assert!(Array::bools(&[3], &[true, false]).is_none()); // two values for three
/// ```
#[derive(Clone, Debug)]
pub struct Array {
    dims: Vec<usize>,
    elem: ElementType,
    values: Elements,
}

/// Returns the number of elements, or an error if it overflows or exceeds the limit for arrays created while
/// importing. For an empty array the product of the other extents must also be within the limit, so that products of
/// any of them cannot overflow.
pub(super) fn count(dims: &[usize]) -> Result<usize, Problem> {
    ranked(dims.len())?;
    let most = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1))).filter(|&n| n <= MAX_KNOWN);
    let most = most.ok_or_else(|| too_many(dims))?;
    Ok(if dims.contains(&0) { 0 } else { most })
}

/// Fails if an array would have too many axes.
pub(super) fn ranked(axes: usize) -> Result<(), Problem> {
    if axes <= MAX_RANK {
        return Ok(());
    }
    Err(Problem::limit(format!("an array of {axes} axes: at most {MAX_RANK} are supported, as in NumPy")))
}

fn too_many(dims: &[usize]) -> Problem {
    Problem::limit(format!("an array of extents {dims:?} is too large: known values have at most {MAX_KNOWN} elements"))
}

/// Address and length of elements in memory.
pub(super) type Identity = (usize, usize);

impl Array {
    /// Creates an array of 32-bit floats. `None` if the number of values does not match the extents.
    pub fn floats(dims: &[usize], values: &[f32]) -> Option<Self> {
        let fits = count(dims).ok()? == values.len();
        fits.then(|| Self::of_floats(dims.to_vec(), ElementType::F32, values))
    }

    /// Creates an array of 64-bit integers. `None` if the number of values does not match the extents.
    pub fn ints(dims: &[usize], values: &[i64]) -> Option<Self> {
        let fits = count(dims).ok()? == values.len();
        fits.then(|| Self::of_ints(dims.to_vec(), ElementType::I64, values.to_vec()))
    }

    /// Creates an array of truth values. `None` if the number of values does not match the extents.
    pub fn bools(dims: &[usize], values: &[bool]) -> Option<Self> {
        let fits = count(dims).ok()? == values.len();
        fits.then(|| Self::of_ints(dims.to_vec(), ElementType::Bool, values.iter().map(|&b| b.into()).collect()))
    }

    /// Creates an array of floats whose number has been checked. Rounds them if the type is `F16`.
    pub(super) fn of_floats(dims: Vec<usize>, elem: ElementType, values: &[f32]) -> Self {
        let constant = if elem == ElementType::F16 {
            let bytes: Vec<u8> = values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect();
            Constant::new(ElementType::F16, bytes.into())
        } else {
            Constant::from_f32(values)
        };
        Self { dims, elem, values: Elements::Floats(constant) }
    }

    /// Creates an array of integers or truth values whose number has been checked. Wraps them to the range of the
    /// type.
    pub(super) fn of_ints(dims: Vec<usize>, elem: ElementType, mut values: Vec<i64>) -> Self {
        if elem != ElementType::I64 {
            values.iter_mut().for_each(|v| *v = elem.wrap(*v));
        }
        Self { dims, elem, values: Elements::Ints(values.into()) }
    }

    /// An array without elements.
    pub(super) fn nothing(dims: Vec<usize>, elem: ElementType) -> Self {
        if elem.is_float() { Self::of_floats(dims, elem, &[]) } else { Self::of_ints(dims, elem, Vec::new()) }
    }

    /// Creates an array of floats borrowed from a file, whose number has been checked.
    pub(super) fn of_constant(dims: Vec<usize>, constant: Constant) -> Self {
        let elem = if constant.dtype == ElementType::F16 { ElementType::F16 } else { ElementType::F32 };
        Self { dims, elem, values: Elements::Floats(constant) }
    }

    /// Creates an array of 8-bit integers borrowed from a file, whose number has been checked.
    pub(super) fn of_stored(dims: Vec<usize>, constant: Constant) -> Self {
        Self::stored(dims, constant, false)
    }

    /// Creates an array of 4-bit integers that are held in 8 bits, whose number has been checked.
    pub(super) fn of_four_bits(dims: Vec<usize>, constant: Constant) -> Self {
        Self::stored(dims, constant, true)
    }

    fn stored(dims: Vec<usize>, constant: Constant, has_four_bits: bool) -> Self {
        let elem = constant.dtype;
        let stored = Stored { constant, has_four_bits, widened: OnceLock::new() };
        Self { dims, elem, values: Elements::Stored(Arc::new(stored)) }
    }

    /// Returns whether the file has the integers in 4 bits. What rounds to their type may not use the type of the array.
    pub(super) fn has_four_bits(&self) -> bool {
        matches!(&self.values, Elements::Stored(stored) if stored.has_four_bits)
    }

    /// Converts 8-bit integers to floats by attaching scales. Bytes borrowed from the file are shared. `None` for
    /// other integers. The caller has checked that the scales fit.
    pub(super) fn dequantized(&self, scale: QuantParams, meter: &mut Meter) -> Result<Option<Self>, Problem> {
        let bytes = match &self.values {
            Elements::Stored(stored) => stored.constant.bytes.clone(),
            Elements::Ints(ints) if matches!(self.elem, ElementType::I8 | ElementType::U8) => {
                // The values are in the range of the type, so the cast keeps their bits.
                meter.filled(ints.len(), ints.iter().map(|&v| v as u8))?.into()
            }
            Elements::Ints(_) | Elements::Floats(_) | Elements::Quantized(_) => return Ok(None),
        };
        meter.memory(bytes_of(&scale))?;
        let constant = Constant { scale: Some(scale), ..Constant::new(self.elem, bytes) };
        let dims = self.dims.clone();
        Ok(Some(Self { dims, elem: ElementType::F32, values: Elements::Quantized(Arc::new(constant)) }))
    }

    /// Converts 8-bit integers of the file to floats, of which the bytes are kept. `None` for all other arrays.
    pub(super) fn as_reals(&self, meter: &mut Meter) -> Result<Option<Self>, Problem> {
        match &self.values {
            Elements::Stored(_) if !self.is_empty() => self.dequantized(QuantParams::whole(1.0, 0), meter),
            _ => Ok(None),
        }
    }

    /// Multiplies floats that are kept as bytes without scales by one factor, or by one for each index of an axis, which
    /// become the scales. `None` for all other arrays and factors.
    pub(super) fn scaled_by(&self, factors: &Self, meter: &mut Meter) -> Result<Option<Self>, Problem> {
        let Elements::Quantized(constant) = &self.values else { return Ok(None) };
        let own = constant.scale.as_ref().and_then(QuantParams::uniform).filter(|own| own.scale == 1.0);
        let front = self.dims.len().checked_sub(factors.dims.len());
        let (Some(own), Some(front), ElementType::F32) = (own, front, factors.elem) else { return Ok(None) };
        let mut axes = (0..factors.dims.len()).filter(|&axis| factors.dims[axis] != 1);
        let (axis, None) = (axes.next(), axes.next()) else { return Ok(None) };
        let values = factors.to_f32();
        if values.is_empty() || values.iter().any(|&factor| !factor.is_normal() || factor < 0.0) {
            return Ok(None);
        }
        let scale = match axis {
            None => Some(QuantParams::whole(values[0], own.zero_point)),
            Some(axis) => QuantParams::along(values.to_vec(), vec![own.zero_point], &self.dims, front + axis),
        };
        let Some(scale) = scale else { return Ok(None) };
        meter.memory(bytes_of(&scale))?;
        let constant = Constant { scale: Some(scale), ..Constant::clone(constant) };
        Ok(Some(Self { values: Elements::Quantized(Arc::new(constant)), ..self.clone() }))
    }

    /// Parts floats that are kept as bytes with a scale for each index of an axis: into such without scales, and the scales,
    /// with extents of one along the other axes. `None` for all other arrays.
    pub(super) fn parted(&self, axis: usize, meter: &mut Meter) -> Result<Option<[Self; 2]>, Problem> {
        let Elements::Quantized(constant) = &self.values else { return Ok(None) };
        let Some(QuantParams { scale, zero, inner }) = &constant.scale else { return Ok(None) };
        let by_index = scale.len() > 1 && scale.len() == self.dims[axis] && *inner == strides(&self.dims)[axis];
        let Some(&first) = zero.first().filter(|&first| by_index && zero.iter().all(|zero| zero == first)) else {
            return Ok(None);
        };
        meter.memory(scale.len().saturating_mul(size_of::<f32>()))?;
        let mut dims = vec![1; self.dims.len()];
        dims[axis] = scale.len();
        let scales = Self::of_floats(dims, ElementType::F32, scale);
        let constant = Constant { scale: Some(QuantParams::whole(1.0, first)), ..Constant::clone(constant) };
        Ok(Some([Self { values: Elements::Quantized(Arc::new(constant)), ..self.clone() }, scales]))
    }

    /// Widens 8-bit integers so that they can be read as integers, and charges the cost.
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

    /// Returns whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as 32-bit floats, borrowed if they are stored as such.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        match &self.values {
            Elements::Floats(constant) => constant.to_f32(),
            Elements::Quantized(constant) => constant.to_f32(),
            Elements::Stored(stored) => stored.constant.to_f32(),
            Elements::Ints(ints) => ints.iter().map(|&i| i as f32).collect(),
        }
    }

    /// The elements as integers. `None` if they are floats.
    pub fn to_i64(&self) -> Option<&[i64]> {
        match &self.values {
            Elements::Floats(_) | Elements::Quantized(_) => None,
            Elements::Ints(ints) => Some(ints),
            Elements::Stored(stored) => Some(stored.widened()),
        }
    }

    /// The bytes of unsigned integers of 8 bits. `None` for other elements.
    pub(super) fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
        match &self.values {
            _ if self.elem != ElementType::U8 => None,
            Elements::Stored(stored) => Some(Cow::Borrowed(stored.constant.bytes.as_slice())),
            // The values are in the range of the type.
            Elements::Ints(ints) => Some(ints.iter().map(|&value| value as u8).collect()),
            Elements::Floats(_) | Elements::Quantized(_) => None,
        }
    }

    /// Returns the first integer that 32-bit floats cannot represent exactly.
    pub(super) fn first_inexact(&self) -> Option<i64> {
        // Floats hold all 8-bit integers, so those need not be widened.
        if matches!(self.values, Elements::Stored(_)) {
            return None;
        }
        // Compares in 128 bits, because the greatest 64-bit integers round to a float beyond their range.
        self.to_i64()?.iter().copied().find(|&value| value as f32 as i128 != value.into())
    }

    /// Returns the bytes of the repeated element, if the array is stored as one repeated value and therefore takes no
    /// memory.
    pub(super) fn repeated(&self) -> Option<&[u8]> {
        match &self.values {
            Elements::Floats(constant) => constant.bytes.element(),
            Elements::Ints(_) | Elements::Stored(_) | Elements::Quantized(_) => None,
        }
    }

    /// Size of the elements once they are written out as floats or integers, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Elements::Floats(_) | Elements::Quantized(_) => self.len().saturating_mul(size_of::<f32>()),
            Elements::Ints(_) | Elements::Stored(_) => self.len().saturating_mul(size_of::<i64>()),
        }
    }

    /// Returns the number of bytes of elements that are freed together with this array, which is 0 if anything else
    /// holds them: the file, the graph, or another array.
    pub(super) fn freed(&self) -> usize {
        match &self.values {
            Elements::Floats(constant) => constant.bytes.freed(),
            Elements::Quantized(constant) if Arc::strong_count(constant) == 1 => {
                constant.bytes.freed() + constant.scale.as_ref().map_or(0, bytes_of)
            }
            Elements::Ints(ints) if Arc::strong_count(ints) == 1 => size_of_val(&**ints),
            Elements::Stored(stored) if Arc::strong_count(stored) == 1 => {
                stored.constant.bytes.freed() + stored.widened.get().map_or(0, |ints| size_of_val(&**ints))
            }
            Elements::Quantized(_) | Elements::Ints(_) | Elements::Stored(_) => 0,
        }
    }

    /// Identifies the memory of floats, and its length; two arrays with the same identity hold the same elements.
    pub(super) fn identity(&self) -> Option<Identity> {
        match &self.values {
            Elements::Floats(constant) => constant.bytes.identity(),
            Elements::Quantized(_) | Elements::Ints(_) | Elements::Stored(_) => None,
        }
    }

    /// Converts the array to a constant of a graph.
    pub(super) fn to_constant(&self) -> Constant {
        match &self.values {
            Elements::Floats(constant) => constant.clone(),
            Elements::Quantized(constant) => Constant::clone(constant),
            Elements::Stored(stored) => Constant { scale: Some(QuantParams::whole(1.0, 0)), ..stored.constant.clone() },
            Elements::Ints(_) => Constant::from_f32(&self.to_f32()),
        }
    }

    /// Number of bytes that [`to_constant`](Self::to_constant) allocates.
    pub(super) fn constant_bytes(&self) -> usize {
        match &self.values {
            Elements::Floats(_) => 0,
            Elements::Quantized(constant) => constant.scale.as_ref().map_or(0, bytes_of),
            Elements::Stored(_) => bytes_of(&QuantParams::whole(1.0, 0)),
            // Once as floats, and once as their bytes.
            Elements::Ints(_) => self.len().saturating_mul(2 * size_of::<f32>()),
        }
    }

    /// Converts the elements to another type, if it can represent each of them.
    pub(super) fn converted(&self, elem: ElementType, meter: &mut Meter) -> Result<Self, Problem> {
        if elem == self.elem {
            return Ok(self.clone());
        }
        meter.memory(self.len().saturating_mul(2 * size_of::<i64>()))?;
        meter.work(self.len())?;
        if elem.is_float() {
            return Ok(Self::of_floats(self.dims.clone(), elem, &self.to_f32()));
        }
        let whole = match self.to_i64() {
            Some(ints) => Some(ints.to_vec()),
            None => self.to_f32().iter().map(|&v| (v as i64 as f32 == v).then_some(v as i64)).collect(),
        };
        match whole {
            Some(ints) if ints.iter().all(|&v| elem.wrap(v) == v) => Ok(Self::of_ints(self.dims.clone(), elem, ints)),
            _ => Err(Problem::malformed(format!("some of the numbers bound to it are no {elem}"))),
        }
    }

    /// Changes the extents. The number of elements must stay the same.
    pub(super) fn reshaped(&self, dims: &[usize]) -> Result<Self, Problem> {
        if count(dims)? != self.len() {
            return Err(Problem::malformed(format!("{:?} and {dims:?} are not the same elements", self.dims)));
        }
        Ok(Self { dims: dims.to_vec(), ..self.clone() })
    }

    /// Selects the elements at `indices`, which must be in range, and gives them new extents. A repeated value stays
    /// a repeated value.
    pub(super) fn gathered(
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
        // Copies bytes without converting: selecting a few elements must not cost a pass over all. Constants of
        // floats have 16-bit or 32-bit elements.
        let bytes = floats.bytes.as_slice();
        let result: Vec<u8> = if floats.dtype == ElementType::F16 {
            let from = bytes.as_chunks::<2>().0;
            meter.filled(elements, indices.map(|i| from[i]))?.into_flattened()
        } else {
            let from = bytes.as_chunks::<4>().0;
            meter.filled(elements, indices.map(|i| from[i]))?.into_flattened()
        };
        Ok(Self { dims, elem, values: Elements::Floats(Constant::new(floats.dtype, result.into())) })
    }

    /// Like `taken`, for integers with scales. With one scale for all, the result stays quantised. With several
    /// scales the elements become floats, because it is unknown which scale belongs to which selected element.
    fn taken_quantized(
        constant: &Constant,
        dims: Vec<usize>,
        indices: impl Iterator<Item = usize>,
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        let elements = count(&dims)?;
        if constant.scale.as_ref().is_some_and(|scale| scale.uniform().is_some()) {
            let bytes = constant.bytes.as_slice();
            let result = meter.filled(elements, indices.map(|i| bytes[i]))?;
            let constant = Constant { bytes: result.into(), ..constant.clone() };
            return Ok(Self { dims, elem: ElementType::F32, values: Elements::Quantized(Arc::new(constant)) });
        }
        let reals = constant.reals();
        let mut bytes = meter.list(elements.saturating_mul(size_of::<f32>()))?;
        indices.take(elements).for_each(|i| bytes.extend_from_slice(&reals.get(i).to_le_bytes()));
        Ok(Self::of_constant(dims, Constant::new(ElementType::F32, bytes.into())))
    }

    /// Transposes integers with scales along one axis. `None` for all other arrays.
    fn transposed_quantized(&self, perm: &[usize], meter: &mut Meter) -> Result<Option<Self>, Problem> {
        let Elements::Quantized(constant) = &self.values else { return Ok(None) };
        let Some(scale) = constant.scale.as_ref().filter(|scale| scale.uniform().is_none()) else { return Ok(None) };
        let strides = strides(&self.dims);
        let of_axis = |&at: &usize| self.dims[perm[at]] == scale.scale.len() && strides[perm[at]] == scale.inner;
        let Some(at) = (0..perm.len()).find(of_axis) else { return Ok(None) };
        let dims: Vec<usize> = perm.iter().map(|&axis| self.dims[axis]).collect();
        let by: Vec<usize> = perm.iter().map(|&axis| strides[axis]).collect();
        let bytes = constant.bytes.as_slice();
        let transposed = meter.filled(count(&dims)?, walk(&dims, &by).map(|i| bytes[i]))?;
        meter.memory(bytes_of(scale))?;
        let inner = dims[at + 1..].iter().product::<usize>().max(1);
        let scale = QuantParams { inner, ..scale.clone() };
        let constant = Constant { scale: Some(scale), ..Constant::new(constant.dtype, transposed.into()) };
        Ok(Some(Self { dims, elem: ElementType::F32, values: Elements::Quantized(Arc::new(constant)) }))
    }

    /// Creates an array that repeats one float, given as bytes.
    fn filled(
        dims: Vec<usize>,
        elem: ElementType,
        element: &[u8],
        elements: usize,
        meter: &mut Meter,
    ) -> Result<Self, Problem> {
        // Small arrays are cheaper if they are written out.
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

    /// Repeats the single element of this array to new extents.
    pub(super) fn repeat(&self, dims: Vec<usize>, meter: &mut Meter) -> Result<Self, Problem> {
        let elements = count(&dims)?;
        match &self.values {
            Elements::Floats(constant) => {
                let element = constant.bytes.as_slice();
                Self::filled(dims, self.elem, element, elements, meter)
            }
            Elements::Ints(_) | Elements::Stored(_) | Elements::Quantized(_) => {
                self.gathered(dims, std::iter::repeat_n(0, elements), meter)
            }
        }
    }

    /// Transposes the array so that its axes are in the order `perm`.
    pub(super) fn transposed(&self, perm: &[usize], meter: &mut Meter) -> Result<Self, Problem> {
        if perm.iter().copied().eq(0..self.dims.len()) {
            return Ok(self.clone());
        }
        if let Some(transposed) = self.transposed_quantized(perm, meter)? {
            return Ok(transposed);
        }
        let strides = strides(&self.dims);
        let dims: Vec<usize> = perm.iter().map(|&axis| self.dims[axis]).collect();
        let by: Vec<usize> = perm.iter().map(|&axis| strides[axis]).collect();
        self.gathered(dims.clone(), walk(&dims, &by), meter)
    }

    /// Broadcasts the array: repeats it along axes of extent one, and along new axes in front.
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
        self.gathered(dims.to_vec(), walk(dims, &by), meter)
    }
}

/// Maximum number of elements for which a repeated value is written out. Chosen: 4 kB cost less than a special case.
const MAX_WRITTEN_OUT: usize = 1 << 10;

/// Size of scales and zero points, in bytes.
const fn bytes_of(scale: &QuantParams) -> usize {
    scale.scale.len() * size_of::<f32>() + scale.zero.len() * size_of::<i32>()
}

/// Strides of the axes, in elements.
pub(super) fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// Iterates over the elements of `dims` in order, and yields for each the sum of its indices times `by`.
pub(super) fn walk(dims: &[usize], by: &[usize]) -> impl Iterator<Item = usize> {
    let (dims, by) = (dims.to_vec(), by.to_vec());
    let total: usize = dims.iter().product();
    let mut index = vec![0usize; dims.len()];
    let mut at = 0usize;
    (0..total).map(move |_| {
        let here = at;
        // Increments the indices like an odometer, from the fastest axis, which avoids divisions.
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
