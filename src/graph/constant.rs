//! Values that are part of the model, borrowed from the mapped file where they can be.

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

/// Element type of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit float.
    F32,
    /// 16-bit float, widened when read.
    F16,
    /// 32-bit integer: indices, paddings, shapes.
    I32,
    /// 64-bit integer: indices, paddings, shapes.
    I64,
}

impl DType {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::I64 => 8,
        }
    }
}

/// A range of shared bytes: of a mapped file, or of a buffer of our own.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Bytes {
    /// The bytes `range` of `owner`, or `None` if they are not all there.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Option<Self> {
        (*owner).as_ref().get(range.clone())?;
        Some(Self { owner, range })
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { owner: Arc::new(bytes), range }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.range.len())
    }
}

/// The values of a constant tensor, little-endian, dense in the order of its extents.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Element type of `bytes`.
    pub dtype: DType,
    /// The elements.
    pub bytes: Bytes,
}

impl Constant {
    /// A constant of 32-bit floats.
    pub fn from_f32(values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { dtype: DType::F32, bytes: bytes.into() }
    }

    /// A constant of 32-bit integers.
    pub fn from_i32(values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { dtype: DType::I32, bytes: bytes.into() }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.as_slice().len() / self.dtype.size()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as 32-bit floats; borrowed where the bytes are such already and aligned.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        let bytes = self.bytes.as_slice();
        match self.dtype {
            #[cfg(target_endian = "little")]
            DType::F32 if bytemuck::try_cast_slice::<u8, f32>(bytes).is_ok() => {
                Cow::Borrowed(bytemuck::cast_slice(bytes))
            }
            DType::F32 => Cow::Owned(elements(bytes, f32::from_le_bytes)),
            DType::F16 => Cow::Owned(elements(bytes, |b| half::f16::from_le_bytes(b).to_f32())),
            DType::I32 => Cow::Owned(elements(bytes, |b| i32::from_le_bytes(b) as f32)),
            DType::I64 => Cow::Owned(elements(bytes, |b| i64::from_le_bytes(b) as f32)),
        }
    }

    /// The elements as integers, or `None` if they are floats.
    pub fn to_i64(&self) -> Option<Vec<i64>> {
        let bytes = self.bytes.as_slice();
        match self.dtype {
            DType::I32 => Some(elements(bytes, |b| i64::from(i32::from_le_bytes(b)))),
            DType::I64 => Some(elements(bytes, i64::from_le_bytes)),
            DType::F32 | DType::F16 => None,
        }
    }
}

fn elements<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect()
}
