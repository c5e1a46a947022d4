//! Values that are part of the model, borrowed from the file's bytes where they can be.

use std::{
    borrow::Cow,
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{ElementType, Quantization};

/// A range of shared bytes, of a file or of a buffer of our own; or one element over and over, which takes no
/// memory until it is asked for whole.
#[derive(Clone)]
pub struct Bytes(Source);

#[derive(Clone)]
enum Source {
    Shared { owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize> },
    Repeated(Arc<Repeated>),
}

/// One element over and over.
struct Repeated {
    element: Vec<u8>,
    bytes: usize,
    written: OnceLock<Vec<u8>>,
}

impl Bytes {
    /// The bytes `range` of `owner`, or `None` if they are not all there.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Option<Self> {
        (*owner).as_ref().get(range.clone())?;
        Some(Self(Source::Shared { owner, range }))
    }

    /// The bytes of `element`, `count` times; `None` if that is more than can be addressed.
    pub fn repeated(element: &[u8], count: usize) -> Option<Self> {
        // A vector holds `isize::MAX` bytes at most, and `repeat` would panic beyond.
        let bytes = element.len().checked_mul(count).filter(|&bytes| isize::try_from(bytes).is_ok())?;
        let repeated = Repeated { element: element.to_vec(), bytes, written: OnceLock::new() };
        Some(Self(Source::Repeated(Arc::new(repeated))))
    }

    /// Number of bytes; those of a repeated element are not written out for it.
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::Shared { range, .. } => range.len(),
            Source::Repeated(repeated) => repeated.bytes,
        }
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes. Those of a repeated element are written out when they are asked for first, and kept.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Source::Shared { owner, range } => &(**owner).as_ref()[range.clone()],
            Source::Repeated(repeated) => repeated.written.get_or_init(|| {
                // An element of no bytes makes no bytes, however often it is repeated.
                let count = repeated.bytes.checked_div(repeated.element.len()).unwrap_or(0);
                repeated.element.repeat(count)
            }),
        }
    }

    /// Where the bytes lie and how many they are, by which those that are held once are known; `None` for a repeated
    /// element, which lies nowhere until it is written out.
    pub(crate) fn identity(&self) -> Option<(usize, usize)> {
        match &self.0 {
            Source::Shared { owner, range } => Some(((**owner).as_ref()[range.clone()].as_ptr().addr(), range.len())),
            Source::Repeated(_) => None,
        }
    }

    /// Whether these are the same bytes as the others without a look at them: held once, or the same element as often.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Source::Repeated(a), Source::Repeated(b)) => (&a.element, a.bytes) == (&b.element, b.bytes),
            _ => self.identity().is_some() && self.identity() == other.identity(),
        }
    }

    /// The element that all bytes are repetitions of, if that is how they were made.
    pub fn element(&self) -> Option<&[u8]> {
        match &self.0 {
            Source::Shared { .. } => None,
            Source::Repeated(repeated) => Some(&repeated.element),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self(Source::Shared { owner: Arc::new(bytes), range })
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the bytes: they are megabytes, and repeated ones would be written out for it.
        write!(f, "Bytes({})", self.len())
    }
}

/// What quantised integers stand for: `(q - zero) * scale`, with numbers of their own for each index of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantParams {
    /// Scales, one for each index of the axis, or one for all.
    pub scale: Vec<f32>,
    /// Zero points, as many as there are scales.
    pub zero: Vec<i32>,
    /// Elements from one index of the axis to the next. Unlike the axis itself, it outlives a reshape.
    pub inner: usize,
}

impl QuantParams {
    /// One scale and one zero point for all elements.
    pub fn whole(scale: f32, zero: i32) -> Self {
        Self { scale: vec![scale], zero: vec![zero], inner: 1 }
    }

    /// Scales and zero points along `axis` of a tensor of these extents; a zero point may stand for all. `None` where
    /// their numbers do not fit.
    pub fn along(scale: Vec<f32>, mut zero: Vec<i32>, dims: &[usize], axis: usize) -> Option<Self> {
        if let &[one] = zero.as_slice() {
            zero.resize(scale.len(), one);
        }
        let fits = dims.get(axis).is_some_and(|&extent| extent == scale.len()) && zero.len() == scale.len();
        // An empty tensor would have an `inner` of 0, by which `value` divides.
        fits.then(|| Self { scale, zero, inner: dims[axis + 1..].iter().product::<usize>().max(1) })
    }

    /// The scale and the zero point, if there is one of each for all elements.
    pub fn uniform(&self) -> Option<Quantization> {
        match (&self.scale[..], &self.zero[..]) {
            (&[scale], &[zero_point]) => Some(Quantization { scale, zero_point }),
            _ => None,
        }
    }

    /// The value of element `i`.
    pub fn value(&self, i: usize, q: i64) -> f32 {
        let at = i / self.inner % self.scale.len().max(1);
        let scale = self.scale.get(at).copied().unwrap_or(1.0);
        let zero_point = self.zero.get(at).copied().unwrap_or(0);
        Quantization { scale, zero_point }.dequantize(q)
    }
}

/// The values of a constant tensor, little-endian, dense in the order of its extents.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Element type of `bytes`.
    pub dtype: ElementType,
    /// The elements.
    pub bytes: Bytes,
    /// What integers stand for, where they do not stand for themselves.
    pub scale: Option<QuantParams>,
}

impl Constant {
    /// A constant whose elements stand for themselves.
    pub const fn new(dtype: ElementType, bytes: Bytes) -> Self {
        Self { dtype, bytes, scale: None }
    }

    /// A constant of 32-bit floats.
    pub fn from_f32(values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self::new(ElementType::F32, bytes.into())
    }

    /// A constant of one 32-bit float over and over; it takes no memory until its elements are asked for. `None` if
    /// there are more than can be addressed.
    pub fn repeated(value: f32, count: usize) -> Option<Self> {
        Bytes::repeated(&value.to_le_bytes(), count).map(|bytes| Self::new(ElementType::F32, bytes))
    }

    /// The value that all elements have, if the constant was made of one value: no element is looked at.
    pub fn repeats(&self) -> Option<f32> {
        match (self.dtype, &self.scale) {
            (ElementType::F32, None) => Some(f32::from_le_bytes(self.bytes.element()?.try_into().ok()?)),
            _ => None,
        }
    }

    /// A constant of 32-bit integers.
    pub fn from_i32(values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self::new(ElementType::I32, bytes.into())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as 32-bit floats, scaled where a scale is stated; borrowed where the bytes are such already and
    /// aligned.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        match aligned(self.dtype, self.bytes.as_slice()) {
            Some(values) => Cow::Borrowed(values),
            None => {
                let values = self.reals();
                Cow::Owned((0..self.len()).map(|i| values.get(i)).collect())
            }
        }
    }

    /// The elements as 32-bit floats, each turned into one where it lies when it is asked for: nothing is copied, and a
    /// constant of one value is not written out.
    pub fn reals(&self) -> Reals<'_> {
        if let Some(value) = self.repeats() {
            return Reals(Elements::Repeated(value));
        }
        let bytes = self.bytes.as_slice();
        match aligned(self.dtype, bytes) {
            Some(values) => Reals(Elements::Aligned(values)),
            None => Reals(Elements::Stored { dtype: self.dtype, bytes, scale: self.scale.as_ref() }),
        }
    }

    /// The elements as the integers they are, scaled or not, or `None` if they are floats.
    pub fn to_i64(&self) -> Option<Vec<i64>> {
        if matches!(self.dtype, ElementType::F32 | ElementType::F16) {
            return None;
        }
        let bytes = self.bytes.as_slice();
        (0..self.len()).map(|i| integer(self.dtype, bytes, i)).collect()
    }
}

/// The elements of a constant as 32-bit floats, scaled where a scale is stated ([`Constant::reals`]).
#[derive(Clone, Copy, Debug)]
pub struct Reals<'a>(Elements<'a>);

#[derive(Clone, Copy, Debug)]
enum Elements<'a> {
    Repeated(f32),
    Aligned(&'a [f32]),
    Stored { dtype: ElementType, bytes: &'a [u8], scale: Option<&'a QuantParams> },
}

impl Reals<'_> {
    /// Element `i`; where the constant has no such element, zero, or the one value that it was made of.
    pub fn get(&self, i: usize) -> f32 {
        match self.0 {
            Elements::Repeated(value) => value,
            Elements::Aligned(values) => values.get(i).copied().unwrap_or(0.0),
            Elements::Stored { dtype, bytes, scale } => stored(dtype, bytes, scale, i).unwrap_or(0.0),
        }
    }
}

/// Element `i` as it is stored; `None` where there is none.
fn stored(dtype: ElementType, bytes: &[u8], scale: Option<&QuantParams>, i: usize) -> Option<f32> {
    Some(match (dtype, scale) {
        (ElementType::F32, _) => f32::from_le_bytes(element(bytes, i)?),
        (ElementType::F16, _) => half::f16::from_le_bytes(element(bytes, i)?).to_f32(),
        (_, None) => integer(dtype, bytes, i)? as f32,
        (_, Some(scale)) => scale.value(i, integer(dtype, bytes, i)?),
    })
}

/// Bytes as the 32-bit floats that they are. Those of a mapped file need not be aligned, and those of a machine with the
/// other byte order must be turned.
fn aligned(dtype: ElementType, bytes: &[u8]) -> Option<&[f32]> {
    let same = dtype == ElementType::F32 && cfg!(target_endian = "little");
    same.then(|| bytemuck::try_cast_slice(bytes).ok()).flatten()
}

/// Element `i` as the integer that it is; `None` if it is a float, or there is none.
fn integer(dtype: ElementType, bytes: &[u8], i: usize) -> Option<i64> {
    match dtype {
        ElementType::I8 => Some(i8::from_le_bytes(element(bytes, i)?).into()),
        ElementType::U8 => Some(u8::from_le_bytes(element(bytes, i)?).into()),
        ElementType::I16 => Some(i16::from_le_bytes(element(bytes, i)?).into()),
        ElementType::U16 => Some(u16::from_le_bytes(element(bytes, i)?).into()),
        ElementType::I32 => Some(i32::from_le_bytes(element(bytes, i)?).into()),
        ElementType::U32 => Some(u32::from_le_bytes(element(bytes, i)?).into()),
        // Numbers from 2^63 on become negative, as in `ElementType::wrap`: no wider integer is computed with.
        ElementType::I64 | ElementType::U64 => Some(i64::from_le_bytes(element(bytes, i)?)),
        ElementType::Bool => Some((u8::from_le_bytes(element(bytes, i)?) != 0).into()),
        ElementType::F32 | ElementType::F16 => None,
    }
}

/// The bytes of element `i`. What is left over makes no element; `check` refuses constants of other lengths.
fn element<const N: usize>(bytes: &[u8], i: usize) -> Option<[u8; N]> {
    bytes.as_chunks().0.get(i).copied()
}
