//! Values that are part of the model, borrowed from the file's bytes where they can be.

use std::{
    borrow::Cow,
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{ElementType, Quantization};

/// The bytes of a constant. Either a range of shared bytes (of a file or of a buffer in memory), or one element
/// repeated many times, which takes no memory until the bytes are needed as a slice.
///
/// ```
/// use std::sync::Arc;
/// use texpool::graph::Bytes;
///
/// let file: Arc<Vec<u8>> = Arc::new((0..100).collect());
/// let part = Bytes::new(file.clone(), 10..14).unwrap();
/// assert_eq!((part.len(), part.as_slice()), (4, &[10, 11, 12, 13][..]));
/// assert!(Bytes::new(file, 90..101).is_none()); // beyond the end
///
/// let zeros = Bytes::repeated(&[0, 0], 1 << 30).unwrap();
/// assert_eq!((zeros.len(), zeros.element()), (2 << 30, Some(&[0, 0][..]))); // without 2 GiB of memory
/// ```
#[derive(Clone)]
pub struct Bytes(Source);

#[derive(Clone)]
enum Source {
    Shared { owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize> },
    Repeated(Arc<Repeated>),
}

/// One element, repeated.
struct Repeated {
    element: Vec<u8>,
    bytes: usize,
    written: OnceLock<Vec<u8>>,
}

impl Bytes {
    /// Returns the bytes `range` of `owner`, or `None` if `owner` is shorter than that.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Option<Self> {
        (*owner).as_ref().get(range.clone())?;
        Some(Self(Source::Shared { owner, range }))
    }

    /// Returns `element` repeated `count` times, or `None` if that is more than can be addressed.
    pub fn repeated(element: &[u8], count: usize) -> Option<Self> {
        // A vector holds `isize::MAX` bytes at most, and `repeat` would panic beyond.
        let bytes = element.len().checked_mul(count).filter(|&bytes| isize::try_from(bytes).is_ok())?;
        let repeated = Repeated { element: element.to_vec(), bytes, written: OnceLock::new() };
        Some(Self(Source::Repeated(Arc::new(repeated))))
    }

    /// Returns a range of these bytes, which it shares. `None` if there are fewer.
    ///
    /// ```
    /// use texpool::graph::Bytes;
    ///
    /// let bytes = Bytes::from(vec![1, 2, 3, 4]);
    /// assert_eq!(bytes.part(1..3).unwrap().as_slice(), [2, 3]);
    /// assert!(bytes.part(3..5).is_none());
    /// ```
    pub fn part(&self, part: Range<usize>) -> Option<Self> {
        match &self.0 {
            _ if part.start > part.end || part.end > self.len() => None,
            Source::Shared { owner, range } => {
                Self::new(owner.clone(), range.start + part.start..range.start + part.end)
            }
            // Parts of elements are written out.
            Source::Repeated(repeated) => match repeated.element.len() {
                size if size > 0 && part.start.is_multiple_of(size) && part.end.is_multiple_of(size) => {
                    Self::repeated(&repeated.element, part.len() / size)
                }
                _ => Some(self.as_slice()[part].to_vec().into()),
            },
        }
    }

    /// Number of bytes. Does not write out a repeated element.
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::Shared { range, .. } => range.len(),
            Source::Repeated(repeated) => repeated.bytes,
        }
    }

    /// Returns whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes. A repeated element is written out on the first call and stays in memory.
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

    /// Address and length, which identify bytes that several constants share. `None` for a repeated element, which
    /// has no address until it is written out.
    pub fn identity(&self) -> Option<(usize, usize)> {
        match &self.0 {
            Source::Shared { owner, range } => Some(((**owner).as_ref()[range.clone()].as_ptr().addr(), range.len())),
            Source::Repeated(_) => None,
        }
    }

    /// Returns the number of bytes that are freed together with this value, which is 0 if anything else holds them. A
    /// repeated element counts as nothing.
    ///
    /// ```
    /// use texpool::graph::Bytes;
    ///
    /// let bytes = Bytes::from(vec![0; 64]);
    /// assert_eq!(bytes.freed(), 64);
    /// let other = bytes.clone();
    /// assert_eq!((bytes.freed(), other.len()), (0, 64));
    /// ```
    pub fn freed(&self) -> usize {
        match &self.0 {
            Source::Shared { owner, .. } if Arc::strong_count(owner) == 1 => (**owner).as_ref().len(),
            Source::Shared { .. } | Source::Repeated(_) => 0,
        }
    }

    /// Returns whether both are known to be equal without comparing bytes: they share the same memory, or they repeat
    /// the same element equally often.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Source::Repeated(a), Source::Repeated(b)) => (&a.element, a.bytes) == (&b.element, b.bytes),
            _ => self.identity().is_some() && self.identity() == other.identity(),
        }
    }

    /// The repeated element, if these bytes were created with [`Bytes::repeated`].
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
        // Does not print the bytes: there may be megabytes of them, and a repeated element would have to be written
        // out.
        write!(f, "Bytes({})", self.len())
    }
}

/// Maps quantised integers to reals: `(q - zero) * scale`, with a separate scale and zero point for each index of one
/// axis.
///
/// ```
/// use texpool::graph::{QuantParams, Quantization};
///
/// // A scale for each of two output channels of weights.
/// let params = QuantParams::along(vec![0.5, 0.25], vec![0], &[2, 1, 1, 3], 0).unwrap();
/// assert_eq!((params.value(2, 4), params.value(3, 4)), (2.0, 1.0)); // elements 0 to 2 are of the first channel
/// assert_eq!(params.uniform(), None);
/// assert!(QuantParams::along(vec![0.5], vec![0], &[2, 1, 1, 3], 0).is_none()); // one scale for two channels
///
/// assert_eq!(QuantParams::whole(0.5, 128).uniform(), Some(Quantization { scale: 0.5, zero_point: 128 }));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QuantParams {
    /// Scales, one for each index of the axis, or one for all.
    pub scale: Vec<f32>,
    /// Zero points, as many as there are scales.
    pub zero: Vec<i32>,
    /// Number of elements from one index of the axis to the next. Unlike the axis itself, it stays valid after a
    /// reshape.
    pub inner: usize,
}

impl QuantParams {
    /// Parameters with one scale and one zero point for all elements.
    pub fn whole(scale: f32, zero: i32) -> Self {
        Self { scale: vec![scale], zero: vec![zero], inner: 1 }
    }

    /// Parameters with a scale and a zero point per index of `axis`, for a tensor of these extents. A single zero
    /// point applies to all indices. `None` if the numbers of scales or zero points do not match the extent.
    pub fn along(scale: Vec<f32>, mut zero: Vec<i32>, dims: &[usize], axis: usize) -> Option<Self> {
        if let &[one] = zero.as_slice() {
            zero.resize(scale.len(), one);
        }
        let fits = dims.get(axis).is_some_and(|&extent| extent == scale.len()) && zero.len() == scale.len();
        // An empty tensor would have an `inner` of 0, by which `value` divides.
        fits.then(|| Self { scale, zero, inner: dims[axis + 1..].iter().product::<usize>().max(1) })
    }

    /// The scale and the zero point, if all elements share them.
    pub fn uniform(&self) -> Option<Quantization> {
        match (&self.scale[..], &self.zero[..]) {
            (&[scale], &[zero_point]) => Some(Quantization { scale, zero_point }),
            _ => None,
        }
    }

    /// The real that the integer `q` of element `i` represents.
    pub fn value(&self, i: usize, q: i64) -> f32 {
        let at = i / self.inner % self.scale.len().max(1);
        let scale = self.scale.get(at).copied().unwrap_or(1.0);
        let zero_point = self.zero.get(at).copied().unwrap_or(0);
        Quantization { scale, zero_point }.dequantize(q)
    }
}

/// The values of a constant tensor, little-endian, dense in the order of its extents.
///
/// ```
/// use texpool::graph::{Constant, ElementType, QuantParams};
///
/// let integers = Constant::new(ElementType::U8, vec![126, 128, 130].into());
/// assert_eq!(*integers.to_f32(), [126.0, 128.0, 130.0]);
/// let weights = Constant { scale: Some(QuantParams::whole(0.5, 128)), ..integers };
/// assert_eq!((weights.len(), weights.reals().get(2)), (3, 1.0));
/// assert_eq!(*weights.to_f32(), [-1.0, 0.0, 1.0]);
/// assert_eq!(weights.to_i64(), Some(vec![126, 128, 130])); // as stored
/// ```
#[derive(Clone, Debug)]
pub struct Constant {
    /// Element type of `bytes`.
    pub dtype: ElementType,
    /// The elements.
    pub bytes: Bytes,
    /// Maps integers to reals. `None` if the integers are used as plain numbers.
    pub scale: Option<QuantParams>,
}

impl Constant {
    /// A constant without a scale.
    pub const fn new(dtype: ElementType, bytes: Bytes) -> Self {
        Self { dtype, bytes, scale: None }
    }

    /// A constant of 32-bit floats.
    ///
    /// ```
    /// use texpool::graph::Constant;
    ///
    /// let one = Constant::from_f32(&[1.0]);
    /// assert_eq!(one.bytes.as_slice(), [0, 0, 0x80, 0x3f]);
    /// assert_eq!(one.to_i64(), None); // floats are no integers
    /// ```
    pub fn from_f32(values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self::new(ElementType::F32, bytes.into())
    }

    /// A constant that repeats one 32-bit float. It takes no memory until its elements are written out. `None` if
    /// there are more than can be addressed.
    ///
    /// ```
    /// use texpool::graph::Constant;
    ///
    /// let ones = Constant::repeated(1.0, 1 << 20).unwrap();
    /// assert_eq!((ones.len(), ones.repeats()), (1 << 20, Some(1.0)));
    /// assert_eq!(Constant::from_f32(&[1.0, 1.0]).repeats(), None); // equal elements, but each is stored
    /// ```
    pub fn repeated(value: f32, count: usize) -> Option<Self> {
        Bytes::repeated(&value.to_le_bytes(), count).map(|bytes| Self::new(ElementType::F32, bytes))
    }

    /// The value of all elements, if the constant was created by repeating one. Reads no elements.
    pub fn repeats(&self) -> Option<f32> {
        match (self.dtype, &self.scale) {
            (ElementType::F32, None) => Some(f32::from_le_bytes(self.bytes.element()?.try_into().ok()?)),
            _ => None,
        }
    }

    /// A constant of 32-bit integers.
    ///
    /// ```
    /// use texpool::graph::Constant;
    ///
    /// let indices = Constant::from_i32(&[2, -1]);
    /// assert_eq!((indices.bytes.len(), indices.to_i64()), (8, Some(vec![2, -1])));
    /// ```
    pub fn from_i32(values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self::new(ElementType::I32, bytes.into())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Returns whether the constant has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as 32-bit floats, with the scale applied if there is one. Borrowed if the bytes are already
    /// aligned floats.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        match aligned(self.dtype, self.bytes.as_slice()) {
            Some(values) => Cow::Borrowed(values),
            None => {
                let values = self.reals();
                Cow::Owned((0..self.len()).map(|i| values.get(i)).collect())
            }
        }
    }

    /// Gives access to the elements as 32-bit floats and converts each one on reading. Copies nothing, and does not
    /// write out a constant of one repeated value.
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

    /// Number of elements beyond the range of 16-bit floats.
    ///
    /// ```
    /// use texpool::graph::Constant;
    ///
    /// // 65504 is the greatest 16-bit float; infinities are not beyond the range, since they are kept.
    /// let weights = Constant::from_f32(&[1.0, 65504.0, 70000.0, f32::INFINITY]);
    /// assert_eq!(weights.beyond_half(), 1);
    /// ```
    pub fn beyond_half(&self) -> u64 {
        if let Some(value) = self.repeats() {
            return if exceeds_half(value) { self.len() as u64 } else { 0 };
        }
        let reals = self.reals();
        let beyond = |i: &usize| exceeds_half(reals.get(*i));
        // 16-bit floats need not be read: each of them is within their range.
        if self.dtype == ElementType::F16 { 0 } else { (0..self.len()).filter(beyond).count() as u64 }
    }

    /// The stored integers, without applying a scale. `None` if the elements are floats.
    pub fn to_i64(&self) -> Option<Vec<i64>> {
        if matches!(self.dtype, ElementType::F32 | ElementType::F16) {
            return None;
        }
        let bytes = self.bytes.as_slice();
        (0..self.len()).map(|i| integer(self.dtype, bytes, i)).collect()
    }
}

/// Returns whether a value is finite, but the nearest 16-bit float is not. Such values are stored as the largest 16-bit
/// float; infinities are stored as they are.
pub fn exceeds_half(value: f32) -> bool {
    value.is_finite() && half::f16::from_f32(value).is_infinite()
}

/// Read access to the elements of a constant as 32-bit floats, with the scale applied if there is one
/// ([`Constant::reals`]).
///
/// ```
/// use texpool::graph::Constant;
///
/// let masks = Constant::repeated(1.0, 1 << 28).unwrap();
/// assert_eq!(masks.reals().get(123_456_789), 1.0); // 1 GiB, which is not written out
/// let indices = Constant::from_i32(&[3, 4]);
/// assert_eq!((indices.reals().get(1), indices.reals().get(2)), (4.0, 0.0)); // zero past the end
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Reals<'a>(Elements<'a>);

#[derive(Clone, Copy, Debug)]
enum Elements<'a> {
    Repeated(f32),
    Aligned(&'a [f32]),
    Stored { dtype: ElementType, bytes: &'a [u8], scale: Option<&'a QuantParams> },
}

impl Reals<'_> {
    /// Element `i`. Past the end this is zero, or the repeated value of a constant that was created from one.
    pub fn get(&self, i: usize) -> f32 {
        match self.0 {
            Elements::Repeated(value) => value,
            Elements::Aligned(values) => values.get(i).copied().unwrap_or(0.0),
            Elements::Stored { dtype, bytes, scale } => stored(dtype, bytes, scale, i).unwrap_or(0.0),
        }
    }
}

/// Reads element `i`, with the scale applied. `None` past the end.
fn stored(dtype: ElementType, bytes: &[u8], scale: Option<&QuantParams>, i: usize) -> Option<f32> {
    Some(match (dtype, scale) {
        (ElementType::F32, _) => f32::from_le_bytes(element(bytes, i)?),
        (ElementType::F16, _) => half::f16::from_le_bytes(element(bytes, i)?).to_f32(),
        (_, None) => integer(dtype, bytes, i)? as f32,
        (_, Some(scale)) => scale.value(i, integer(dtype, bytes, i)?),
    })
}

/// Returns the bytes as 32-bit floats without a copy, if possible. The bytes of a mapped file may be unaligned, and
/// machines with the other byte order have to swap them.
fn aligned(dtype: ElementType, bytes: &[u8]) -> Option<&[f32]> {
    let same = dtype == ElementType::F32 && cfg!(target_endian = "little");
    same.then(|| bytemuck::try_cast_slice(bytes).ok()).flatten()
}

/// Reads element `i` as an integer. `None` for floats and past the end.
fn integer(dtype: ElementType, bytes: &[u8], i: usize) -> Option<i64> {
    match dtype {
        ElementType::I8 => Some(i8::from_le_bytes(element(bytes, i)?).into()),
        ElementType::U8 => Some(u8::from_le_bytes(element(bytes, i)?).into()),
        ElementType::I16 => Some(i16::from_le_bytes(element(bytes, i)?).into()),
        ElementType::U16 => Some(u16::from_le_bytes(element(bytes, i)?).into()),
        ElementType::I32 => Some(i32::from_le_bytes(element(bytes, i)?).into()),
        ElementType::U32 => Some(u32::from_le_bytes(element(bytes, i)?).into()),
        // Numbers from 2^63 on become negative, as in `ElementType::wrap`. No wider integers are used in
        // computations.
        ElementType::I64 | ElementType::U64 => Some(i64::from_le_bytes(element(bytes, i)?)),
        ElementType::Bool => Some((u8::from_le_bytes(element(bytes, i)?) != 0).into()),
        ElementType::F32 | ElementType::F16 => None,
    }
}

/// The bytes of element `i`. Trailing bytes that do not fill an element are ignored; `check` refuses such constants.
fn element<const N: usize>(bytes: &[u8], i: usize) -> Option<[u8; N]> {
    bytes.as_chunks().0.get(i).copied()
}
