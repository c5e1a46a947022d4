//! Tensors of the file: extents, element types, and constants, which are borrowed from the file if possible.

use std::{ops::Range, sync::Arc};

use super::{
    schema::{self, Buffer, Sparsity, SubGraph, Tensor},
    sparse,
};
use crate::import::{error::Problem, meter::Meter, model_file::Owner};
use texpool_ops::graph::{
    Act, Bytes, Constant, ElementType, IdVec, MAX_ELEMENTS, QuantParams, Quantization, Shape, TensorId, Unary,
};

/// Maximum rank of a tensor. The reference runtime's operators support at most six or eight axes.
pub(super) const MAX_RANK: usize = 8;

/// Memory needed for a tensor of the file and its tensor in the graph, without the data that it states.
const TENSOR_BYTES: usize = 512;

const TYPES: [&str; 19] = [
    "FLOAT32",
    "FLOAT16",
    "INT32",
    "UINT8",
    "INT64",
    "STRING",
    "BOOL",
    "INT16",
    "COMPLEX64",
    "INT8",
    "FLOAT64",
    "COMPLEX128",
    "UINT64",
    "RESOURCE",
    "VARIANT",
    "UINT32",
    "UINT16",
    "INT4",
    "BFLOAT16",
];
/// Returns the schema's name of a type.
pub(super) fn type_name(dtype: i8) -> &'static str {
    usize::try_from(dtype).ok().and_then(|t| TYPES.get(t)).copied().unwrap_or("of an unknown type")
}

/// Indices into [`TYPES`] of types for quantised values that nothing computes with.
const QUANTISED: [i8; 2] = [16, INT4];

/// Hint for tensors that keep state in the file.
pub(super) const VARIABLES: &str = "make the state an input and an output, or convert the model without variables";

const FLOAT32: i8 = 0;
const FLOAT16: i8 = 1;
const INT32: i8 = 2;
const UINT8: i8 = 3;
const INT64: i8 = 4;
const BOOL: i8 = 6;
const INT16: i8 = 7;
const COMPLEX64: i8 = 8;
const INT8: i8 = 9;
/// Constants alone; two numbers lie in a byte.
const INT4: i8 = 17;

/// Returns the tensor with a number in the file, if it exists.
pub(super) fn tensor_id(id: i32, tensors: &IdVec<TensorId, FileTensor<'_>>) -> Option<TensorId> {
    usize::try_from(id).ok().map(TensorId::new).filter(|&id| tensors.contains_id(id))
}

/// Reads the tensors of a graph.
pub(super) fn tensors<'a>(
    subgraph: &SubGraph<'a>,
    buffers: &[Buffer<'a>],
    file: usize,
    meter: &mut Meter,
) -> Result<IdVec<TensorId, FileTensor<'a>>, Problem> {
    let tensors = subgraph.tensors().unwrap_or_default();
    // Tables in a file may share their parts. A few bytes per tensor could therefore need far more memory.
    meter.memory(tensors.len().saturating_mul(TENSOR_BYTES))?;
    let tensors = tensors.iter().map(|tensor| FileTensor::read(tensor, buffers, file));
    Ok(IdVec::from(tensors.collect::<Result<Vec<_>, _>>().map_err(Problem::malformed)?))
}

/// A tensor as stored in the file.
#[derive(Debug)]
pub(super) struct FileTensor<'a> {
    pub(super) name: String,
    dtype: i8,
    variable: bool,
    /// Byte range of the values in the file, if any.
    values: Option<Range<usize>>,
    sparsity: Option<Sparsity<'a>>,
    /// Maps integers to reals, if there is a scale.
    scale: Result<Option<QuantParams>, Problem>,
    extents: Result<(Vec<usize>, Shape), Problem>,
    /// Extents as the file states them for inputs of any size: negative ones are open.
    signature: Option<Vec<i32>>,
    /// True for an empty list. It can stand for a missing list of axes, or for the extents of a scalar.
    pub(super) empty_list: bool,
    /// Extents of a tensor without elements. Only operators that join tensors read it, and leave it out.
    empty: Option<Vec<usize>>,
}

impl<'a> FileTensor<'a> {
    /// Reads a tensor. `Err` describes a violation of the format.
    pub(super) fn read(tensor: &Tensor<'a>, buffers: &[Buffer<'a>], file: usize) -> Result<Self, String> {
        let name = tensor.name().unwrap_or_default();
        let index = usize::try_from(tensor.buffer()).unwrap_or(usize::MAX);
        let values = match buffers.get(index) {
            Some(buffer) => range(buffer, file).ok_or_else(|| format!("values of tensor `{name}` lie outside it"))?,
            // A missing list of buffers and index 0 both mean that the tensor has no values.
            None if index == 0 => None,
            None => return Err(format!("tensor `{name}` asks for buffer {index} of {}", buffers.len())),
        };
        let shape = tensor.shape().unwrap_or_default();
        let extents = extents(&name, &shape);
        Ok(Self {
            scale: quantised(&name, tensor.quantization(), extents.as_ref().map_or(&[], |(dims, _)| dims)),
            extents,
            signature: tensor.shape_signature().filter(|signature| signature.len() == shape.len().min(MAX_RANK)),
            name,
            dtype: tensor.dtype(),
            variable: tensor.is_variable(),
            values,
            sparsity: tensor.sparsity(),
            empty_list: shape == [0],
            empty: shape
                .contains(&0)
                .then(|| shape.iter().map(|&extent| usize::try_from(extent).ok()).collect())
                .flatten(),
        })
    }

    /// A tensor that is not in the file. Its type is none of the file's.
    pub(super) fn between() -> Self {
        Self {
            name: String::new(),
            dtype: i8::MAX,
            variable: false,
            values: None,
            sparsity: None,
            scale: Ok(None),
            extents: Ok((Vec::new(), Shape::new(1, 1, 1, 1))),
            signature: None,
            empty_list: false,
            empty: None,
        }
    }

    /// Creates the graph's tensor for a tensor of the file. It has no values yet, and no extents if those are invalid.
    pub(super) fn placeholder(&self) -> texpool_ops::graph::Tensor {
        // Invalid extents are reported for the operator that reads or writes the tensor.
        let (dims, shape) = self.extents().cloned().unwrap_or((Vec::new(), Shape::new(1, 1, 1, 1)));
        texpool_ops::graph::Tensor { dims, ..texpool_ops::graph::Tensor::new(self.name.as_str(), shape) }
    }

    /// Returns whether another tensor's bytes mean the same: it has the same type and scale.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.scale.as_ref().ok() == other.scale.as_ref().ok()
    }

    /// Makes every later use fail with this problem.
    pub(super) fn spoil(&mut self, problem: Problem) {
        self.extents = Err(problem);
    }

    /// Returns the extents of a tensor without elements; `None` for all others.
    pub(super) fn without_elements(&self) -> Option<&[usize]> {
        self.empty.as_deref()
    }

    /// Makes the tensor one without elements.
    pub(super) fn set_empty(&mut self, dims: &[usize]) {
        self.empty = Some(dims.to_vec());
        self.spoil(Problem::empty(format!("tensor `{}` is empty: {dims:?}", self.name)));
    }

    /// Extents as stated, and as used for computing.
    pub(super) fn extents(&self) -> Result<&(Vec<usize>, Shape), Problem> {
        self.extents.as_ref().map_err(Problem::clone)
    }

    /// Extents as stated, if they are valid.
    pub(super) fn stated(&self) -> Option<&[usize]> {
        self.extents.as_ref().ok().map(|(dims, _)| dims.as_slice())
    }

    /// Returns whether the file leaves an extent open.
    pub(super) fn is_open(&self, axis: usize) -> bool {
        self.signature.as_ref().and_then(|signature| signature.get(axis)).is_some_and(|&extent| extent < 0)
    }

    /// Returns whether the file leaves any extent open.
    pub(super) fn has_open_axes(&self) -> bool {
        self.signature.iter().flatten().any(|&extent| extent < 0)
    }

    /// Returns whether extents differ from the stated ones at most where the file leaves them open. If the caller bound
    /// extents, any may differ of a tensor for which the file does not say which are open.
    pub(super) fn may_have(&self, dims: &[usize], bound: bool) -> bool {
        let Some(stated) = self.stated().filter(|stated| stated.len() == dims.len()) else { return false };
        let fits =
            |(axis, (&stated, &extent))| stated == extent || bound && self.signature.is_none() || self.is_open(axis);
        stated.iter().zip(dims).enumerate().all(fits)
    }

    /// Sets an extent.
    pub(super) fn bind(&mut self, axis: usize, extent: usize) {
        if let Some(mut dims) = self.stated().map(<[usize]>::to_vec) {
            dims[axis] = extent;
            self.set_extents(&dims);
        }
    }

    /// Sets all extents.
    pub(super) fn set_extents(&mut self, dims: &[usize]) {
        self.extents = computed_shape(&self.name, dims).map(|shape| (dims.to_vec(), shape));
    }

    /// Returns the map from integers to reals, if there is a scale.
    pub(super) fn scale(&self) -> Result<&Option<QuantParams>, Problem> {
        self.scale.as_ref().map_err(Problem::clone)
    }

    /// Returns whether the file contains the values.
    pub(super) const fn has_values(&self) -> bool {
        self.values.is_some()
    }

    /// Returns whether the elements are plain whole numbers, without a scale.
    pub(super) fn is_integer(&self) -> bool {
        matches!(self.dtype, INT32 | INT64 | BOOL) && matches!(self.scale, Ok(None))
    }

    /// Returns whether the tensor keeps its values from run to run.
    pub(super) const fn is_variable(&self) -> bool {
        self.variable
    }

    /// Returns whether the elements are 32-bit floats.
    pub(super) const fn is_float(&self) -> bool {
        self.dtype == FLOAT32
    }

    /// Returns whether the elements are complex.
    pub(super) const fn is_complex(&self) -> bool {
        self.dtype == COMPLEX64
    }

    /// Fails unless the elements are complex.
    pub(super) fn complex(&self) -> Result<(), Problem> {
        self.extents()?;
        let (name, spelled) = (&self.name, type_name(self.dtype));
        match self.is_complex() {
            true => Ok(()),
            false => Err(Problem::malformed(format!("tensor `{name}` is {spelled}, must be COMPLEX64"))),
        }
    }

    /// Returns whether the elements are truth values.
    pub(super) const fn is_bool(&self) -> bool {
        self.dtype == BOOL
    }

    /// Fails for tensors that cannot be used for computing: variables, and types that 32-bit floats cannot hold.
    /// Integers are exact up to 2^24. Quantised integers are computed as reals.
    pub(super) fn computable(&self) -> Result<(), Problem> {
        let name = &self.name;
        self.extents()?;
        if self.variable {
            let reason = format!("tensor `{name}` is a variable, which keeps its values from run to run");
            return Err(Problem::new(reason, VARIABLES));
        }
        match self.dtype {
            FLOAT32 | INT64 | BOOL => Ok(()),
            INT32 => self.scale.as_ref().map(|_| ()).map_err(Problem::clone),
            UINT8 | INT8 | INT16 if self.scale.as_ref().map_err(Problem::clone)?.is_some() => self.sound_grid(),
            FLOAT16 => Err(Problem::new(
                format!("tensor `{name}` is FLOAT16 and computed"),
                "convert the model with 32-bit activations; 16-bit constants are fine",
            )),
            other => Err(self.wrong_type(other)),
        }
    }

    /// Returns the values that the tensor's integers can represent, if they have 8 or 16 bits and a single scale.
    pub(super) fn grid(&self) -> Option<Grid> {
        let bits = bits(self.dtype)?;
        let Quantization { scale, zero_point } = self.scale.as_ref().ok()?.as_ref()?.uniform()?;
        let [least, most] = bits.map(|q| i16::try_from(q - i64::from(zero_point)).ok());
        Some(Grid { scale, least: least?, most: most? })
    }

    /// Returns the grid of 8-bit integers with a single scale.
    pub(super) fn byte_grid(&self) -> Option<ByteGrid> {
        if !matches!(self.dtype, UINT8 | INT8) {
            return None;
        }
        let Grid { scale, least, most } = self.grid()?;
        let zero = self.scale.as_ref().ok()?.as_ref()?.uniform()?.zero_point;
        (scale > 0.0 && least <= 0 && most >= 0).then_some(ByteGrid { scale, zero, least, most })
    }

    /// Returns whether the elements are reals or represent reals.
    pub(super) const fn is_real(&self) -> bool {
        !matches!(self.dtype, INT32 | INT64 | BOOL)
    }

    /// Fails for integers of 8 or 16 bits whose single scale and zero point are invalid: the scale must be positive, and
    /// zero must be representable.
    fn sound_grid(&self) -> Result<(), Problem> {
        let (Ok(Some(stated)), Some([least, most])) = (&self.scale, bits(self.dtype)) else { return Ok(()) };
        let Some(Quantization { scale, zero_point }) = stated.uniform() else { return Ok(()) };
        if scale > 0.0 && (least..=most).contains(&i64::from(zero_point)) {
            return Ok(());
        }
        let name = &self.name;
        let spelled = type_name(self.dtype);
        Err(Problem::malformed(format!("tensor `{name}` is {spelled} of scale {scale} and zero point {zero_point}")))
    }

    /// Element type, if it is a supported one.
    pub(super) const fn element_type(&self) -> Option<ElementType> {
        Some(match self.dtype {
            FLOAT32 => ElementType::F32,
            FLOAT16 => ElementType::F16,
            INT32 => ElementType::I32,
            INT64 => ElementType::I64,
            // Constants of 4 bits are read into bytes.
            INT8 | INT4 => ElementType::I8,
            INT16 => ElementType::I16,
            UINT8 => ElementType::U8,
            BOOL => ElementType::Bool,
            _ => return None,
        })
    }

    /// Returns the caller's element type of an input or output, and the quantisation if the caller's integers
    /// represent reals. If scales differ along an axis, the caller gets reals instead.
    pub(super) fn host_type(&self) -> (ElementType, Option<Quantization>) {
        let element_type = self.element_type().unwrap_or(ElementType::F32);
        let Ok(Some(stated)) = &self.scale else { return (element_type, None) };
        if !matches!(element_type, ElementType::I8 | ElementType::U8 | ElementType::I16 | ElementType::I32) {
            return (element_type, None);
        }
        match stated.uniform() {
            // 32-bit integers need no scale, so an invalid one is ignored.
            Some(Quantization { scale, .. }) if scale <= 0.0 => (element_type, None),
            Some(quantization) => (element_type, Some(quantization)),
            None => (ElementType::F32, None),
        }
    }

    fn wrong_type(&self, dtype: i8) -> Problem {
        let name = &self.name;
        let spelled = type_name(dtype);
        if matches!(dtype, UINT8 | INT8 | INT16) {
            return Problem::new(
                format!("tensor `{name}` is {spelled} without a scale"),
                "convert the model with quantisation parameters, or to compute in 32-bit floats",
            );
        }
        if QUANTISED.contains(&dtype) {
            return Problem::new(
                format!("tensor `{name}` is quantised ({spelled})"),
                "convert the model without quantisation, to 8 or 16 bits, or with fewer bits of the weights only",
            );
        }
        if dtype == COMPLEX64 {
            return Problem::new(
                format!(
                    "tensor `{name}` is complex ({spelled}), and only the result of RFFT2D for some operators may be"
                ),
                "read it by REAL, IMAG or COMPLEX_ABS, and compute with what they give",
            );
        }
        Problem::new(format!("tensor `{name}` is {spelled}"), "convert the model to compute in 32-bit floats")
    }

    /// Returns the values, after checking extents and type. `None` if the file does not contain them.
    ///
    /// Dense values are borrowed. Sparse values and those of 4 bits are expanded, and the memory is charged.
    pub(super) fn constant(&self, owner: &Owner, meter: &mut Meter) -> Result<Option<Constant>, Problem> {
        let Some(range) = self.values.clone() else { return Ok(None) };
        let (dims, shape) = self.extents()?;
        let dtype = self.element_type().ok_or_else(|| self.wrong_type(self.dtype))?;
        let outside = || Problem::malformed(format!("values of tensor `{}` lie outside the file", self.name));
        let bytes = Bytes::new(Arc::clone(owner), range).ok_or_else(outside)?;
        let bytes = match &self.sparsity {
            None if self.dtype == INT4 && bytes.len() == shape.len().div_ceil(2) => {
                meter.memory(shape.len())?;
                Bytes::from(of_halves(bytes.as_slice(), shape.len()))
            }
            None => bytes,
            Some(sparsity) => {
                let values = bytes.as_slice();
                let dense = sparse::densify(sparsity, dims, values, dtype.size(), meter);
                let of = |p: Problem| Problem { reason: format!("tensor `{}`: {}", self.name, p.reason), ..p };
                Bytes::from(dense.map_err(of)?)
            }
        };
        let (length, expected) = (bytes.len(), shape.len() * dtype.size());
        if length != expected {
            let reason =
                format!("constant `{}` has {length} bytes, its extents {dims:?} ask for {expected}", self.name);
            return Err(Problem::malformed(reason));
        }
        let scale = if matches!(dtype, ElementType::F32 | ElementType::F16) { None } else { self.scale.clone()? };
        if scale.is_none() && matches!(dtype, ElementType::U8 | ElementType::I8 | ElementType::I16) {
            return Err(self.wrong_type(self.dtype));
        }
        Ok(Some(Constant { scale, ..Constant::new(dtype, bytes) }))
    }
}

/// The values that integers with one scale can represent: `scale` times a whole number within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) scale: f32,
    pub(super) least: i16,
    pub(super) most: i16,
}

/// A grid of 8-bit integers, with their zero point. Bounds are counted from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ByteGrid {
    pub(super) scale: f32,
    pub(super) zero: i32,
    pub(super) least: i16,
    pub(super) most: i16,
}

/// Quanta of a tensor: its integers, counted from the zero point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quanta {
    /// The tensor that holds them.
    pub(super) tensor: TensorId,
    /// The values are quanta times this.
    pub(super) scale: f32,
}

impl ByteGrid {
    /// The grid alone.
    pub(super) const fn grid(self) -> Grid {
        let Self { scale, least, most, .. } = self;
        Grid { scale, least, most }
    }
}

impl Grid {
    /// Smallest and largest value.
    pub(super) fn range(self) -> [f32; 2] {
        [self.least, self.most].map(|q| (f64::from(self.scale) * f64::from(q)) as f32)
    }

    /// Restricts the grid to the range of an activation. `None` if the activation is not merely a clamp. The bounds
    /// are rounded to the grid, as in TensorFlow Lite.
    pub(super) fn within(self, act: Act) -> Option<Self> {
        // The cast saturates, and a bound beyond 16 bits is beyond the grid as well.
        let on_grid = |bound: f32| (bound / self.scale).round() as i16;
        let [least, most] = match act {
            Act::None => [self.least, self.most],
            Act::Unary(Unary::Relu) => [self.least.max(0), self.most],
            Act::Unary(Unary::Relu6) => [self.least.max(0), self.most.min(on_grid(6.0))],
            Act::Unary(Unary::ReluN1To1) => [self.least.max(on_grid(-1.0)), self.most.min(on_grid(1.0))],
            _ => return None,
        };
        Some(Self { least, most, ..self })
    }

    /// Returns the nearest value of the grid. Ties are rounded away from zero.
    pub(super) fn nearest(self, value: f32) -> f32 {
        self.rounding().of(value)
    }

    /// The function that rounds to the grid.
    pub(super) const fn rounding(self) -> Unary {
        let Self { scale, least, most } = self;
        Unary::FakeQuant { scale, least, most }
    }
}

/// Returns the bytes of numbers of 4 bits with a sign, of which the first of two lies in the lower half of a byte.
fn of_halves(bytes: &[u8], count: usize) -> Vec<u8> {
    let halves = bytes.iter().flat_map(|&byte| [byte << 4, byte]);
    halves.map(|half| ((half as i8) >> 4) as u8).take(count).collect()
}

/// Returns the range of a type of 8 or 16 bits.
const fn bits(dtype: i8) -> Option<[i64; 2]> {
    match dtype {
        UINT8 => Some([0, 255]),
        INT8 => Some([-128, 127]),
        INT16 => Some([-32768, 32767]),
        _ => None,
    }
}

/// Reads the file's scales and zero points. The axis only matters if there are several scales.
fn quantised(
    name: &str,
    stated: Option<schema::Quantization<'_>>,
    dims: &[usize],
) -> Result<Option<QuantParams>, Problem> {
    let Some(scale) = stated.as_ref().and_then(schema::Quantization::scale).filter(|scale| !scale.is_empty()) else {
        return Ok(None);
    };
    let malformed = || Problem::malformed(format!("tensor `{name}` has scales or zero points that do not fit it"));
    let zero = stated.as_ref().and_then(schema::Quantization::zero_point).unwrap_or_default();
    let zero: Vec<i32> = zero.into_iter().map(i32::try_from).collect::<Result<_, _>>().map_err(|_| malformed())?;
    if !scale.iter().all(|scale| scale.is_finite()) {
        return Err(malformed());
    }
    match (&scale[..], &zero[..]) {
        (&[scale], []) => Ok(Some(QuantParams::whole(scale, 0))),
        (&[scale], &[zero]) => Ok(Some(QuantParams::whole(scale, zero))),
        _ => {
            let axis = stated.map_or(0, |stated| stated.axis());
            let zero = if zero.is_empty() { vec![0] } else { zero };
            let along = usize::try_from(axis).ok().and_then(|axis| QuantParams::along(scale, zero, dims, axis));
            along.map(Some).ok_or_else(malformed)
        }
    }
}

/// Returns the byte range of a buffer in the file. `Some(None)` if the buffer is empty, `None` if it exceeds the
/// file.
fn range(buffer: &Buffer<'_>, file: usize) -> Option<Option<Range<usize>>> {
    // Offsets 0 and 1 are placeholders that mean "in the tables". Models above 2 GiB store their values behind the
    // tables.
    if buffer.offset() > 1 {
        let start = usize::try_from(buffer.offset()).ok()?;
        let end = start.checked_add(usize::try_from(buffer.size()).ok()?)?;
        return (end <= file).then_some((start < end).then_some(start..end));
    }
    Some(buffer.data().filter(|range| !range.is_empty()))
}

/// Returns the shape used for computing. With more than four extents, the outer ones are merged.
pub(super) fn shape_of(dims: &[usize]) -> Option<Shape> {
    let Some(inner) = dims.len().checked_sub(3).filter(|&outer| outer > 1) else { return Shape::from_dims(dims) };
    let outer = dims[..inner].iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    Some(Shape::new(outer, dims[inner], dims[inner + 1], dims[inner + 2]))
}

fn extents(name: &str, stated: &[i32]) -> Result<(Vec<usize>, Shape), Problem> {
    if stated.len() > MAX_RANK {
        let reason = format!("tensor `{name}` has {} extents: at most {MAX_RANK} are supported", stated.len());
        return Err(Problem::limit(reason));
    }
    let mut dims = Vec::with_capacity(stated.len());
    for &extent in stated {
        match usize::try_from(extent) {
            Ok(0) => return Err(Problem::empty(format!("tensor `{name}` is empty: {stated:?}"))),
            Ok(extent) => dims.push(extent),
            Err(_) => return Err(Problem::dynamic(format!("tensor `{name}` has an unknown extent: {stated:?}"))),
        }
    }
    computed_shape(name, &dims).map(|shape| (dims, shape))
}

/// Returns the shape used for computing a tensor, if it is not too large.
pub(super) fn computed_shape(name: &str, dims: &[usize]) -> Result<Shape, Problem> {
    if dims.contains(&0) {
        return Err(Problem::empty(format!("tensor `{name}` is empty: {dims:?}")));
    }
    let elements = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_ELEMENTS);
    elements.and_then(|_| shape_of(dims)).ok_or_else(|| {
        Problem::limit(format!("tensor `{name}` is too large: {dims:?}, at most {MAX_ELEMENTS} elements are supported"))
    })
}
