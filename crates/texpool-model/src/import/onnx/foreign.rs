//! Element types that texpool does not have, and constants of those types in types that it has.

use super::{array::Array, model::Tensor};
use crate::import::{error::Problem, meter::Meter};
use texpool_ops::graph::{Constant, ElementType};

/// An element type of ONNX in whose place another type is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// 64-bit floats, rounded to 32 bits.
    Double,
    /// 16-bit floats with the exponent of 32-bit ones, held in 32 bits.
    Bfloat16,
    /// Unsigned integers of 4 bits, held in 8 bits.
    Uint4,
    /// Integers of 4 bits, held in 8 bits.
    Int4,
}

impl Foreign {
    /// Returns the type with an ONNX number.
    pub(super) fn numbered(code: i64) -> Option<Self> {
        match code {
            11 => Some(Self::Double),
            16 => Some(Self::Bfloat16),
            21 => Some(Self::Uint4),
            22 => Some(Self::Int4),
            _ => None,
        }
    }

    /// Returns the type in whose elements values are held.
    pub(super) fn held_as(self) -> ElementType {
        match self {
            Self::Double | Self::Bfloat16 => ElementType::F32,
            Self::Uint4 => ElementType::U8,
            Self::Int4 => ElementType::I8,
        }
    }

    /// Returns the number of bytes of elements in a file. Integers of 4 bits share bytes.
    fn bytes(self, elements: usize) -> usize {
        match self {
            Self::Double => elements.saturating_mul(8),
            Self::Bfloat16 => elements.saturating_mul(2),
            Self::Uint4 | Self::Int4 => elements.div_ceil(2),
        }
    }

    /// Reads the values of a tensor, which are `raw` or in the field for numbers of the type.
    pub(super) fn array(
        self,
        tensor: &Tensor,
        raw: Option<&[u8]>,
        dims: Vec<usize>,
        elements: usize,
        meter: &mut Meter,
    ) -> Result<Array, Problem> {
        let expected = self.bytes(elements);
        let packed = match raw {
            Some(_) => Vec::new(),
            None => self.packed(tensor, &dims, elements, meter)?,
        };
        let bytes = raw.unwrap_or(&packed);
        if bytes.len() != expected {
            let length = bytes.len();
            return Err(Problem::malformed(format!("its values are {length} bytes, {dims:?} needs {expected}")));
        }
        match self {
            Self::Double => {
                let doubles = bytes.as_chunks::<8>().0.iter().map(|&bytes| narrowed(f64::from_le_bytes(bytes)));
                floats(dims, doubles, elements, meter)
            }
            Self::Bfloat16 => {
                let upper = bytes.as_chunks::<2>().0.iter().map(|&[low, high]| f32::from_le_bytes([0, 0, low, high]));
                floats(dims, upper, elements, meter)
            }
            Self::Uint4 | Self::Int4 => {
                // The first of two is in the lower half.
                let halves = bytes.iter().flat_map(|&byte| [byte & 15, byte >> 4]).take(elements);
                // Moving the sign of the lower half to the top and back repeats it.
                let signed = |half: u8| if self == Self::Int4 { ((half << 4) as i8 >> 4) as u8 } else { half };
                let bytes = meter.filled(elements, halves.map(signed))?;
                Ok(Array::of_four_bits(dims, Constant::new(self.held_as(), bytes.into())))
            }
        }
    }

    /// Returns the bytes of values that are stored in a typed field.
    fn packed(self, tensor: &Tensor, dims: &[usize], elements: usize, meter: &mut Meter) -> Result<Vec<u8>, Problem> {
        let (count, expected) = match self {
            Self::Double => (tensor.doubles.len(), elements),
            Self::Bfloat16 => (tensor.ints.len(), elements),
            Self::Uint4 | Self::Int4 => (tensor.ints.len(), self.bytes(elements)),
        };
        if count != expected {
            return Err(Problem::malformed(format!("it has {count} values, {dims:?} needs {expected}")));
        }
        meter.memory(self.bytes(elements))?;
        let outside = |value: i64| Problem::malformed(format!("its value {value} is beyond its type, {self:?}"));
        match self {
            Self::Double => Ok(tensor.doubles.iter().flat_map(|double| double.to_le_bytes()).collect()),
            Self::Bfloat16 => {
                let bits = |&bits: &i64| u16::try_from(bits).map(u16::to_le_bytes).map_err(|_| outside(bits));
                Ok(tensor.ints.iter().map(bits).collect::<Result<Vec<[u8; 2]>, _>>()?.into_flattened())
            }
            Self::Uint4 | Self::Int4 => {
                let byte = |&two: &i64| u8::try_from(two).map_err(|_| outside(two));
                tensor.ints.iter().map(byte).collect()
            }
        }
    }
}

/// Rounds a 64-bit float to 32 bits. Numbers beyond the range become the greatest or the least one, and not infinities,
/// because files mask by such numbers.
fn narrowed(double: f64) -> f32 {
    match double.is_finite() {
        true => double.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32,
        false => double as f32,
    }
}

fn floats(
    dims: Vec<usize>,
    values: impl Iterator<Item = f32>,
    elements: usize,
    meter: &mut Meter,
) -> Result<Array, Problem> {
    // Once as floats, and once as their bytes.
    meter.memory(elements.saturating_mul(size_of::<f32>()))?;
    let floats = meter.filled(elements, values)?;
    Ok(Array::of_floats(dims, ElementType::F32, &floats))
}
