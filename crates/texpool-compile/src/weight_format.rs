//! Low-precision weights: selects the nodes whose kernels read them, and rounds the weights of a model to the format.
//!
//! A weight has the same value everywhere: uploads into the pool and the CPU references use the value that the kernel
//! decodes from the stored bits. So weights are rounded in the graph, as constants of the requested format, and
//! packed from those constants.

use std::collections::BTreeMap;

use half::f16;

use crate::{error::CompileError, options::WeightFormat};
use texpool_ops::{
    graph::{Bytes, Constant, ElementType, Graph, IdVec, NodeId, QuantParams, Shape, TensorId, exceeds_half},
    kernels::WeightPacking,
    ops,
};
use texpool_plan::TexelFormat;

/// Largest magnitude of quantised weights.
const MOST: f32 = 127.0;

/// Returns the packing of each node's weights, on the device or for uploads into a pool of these texels. Valid both
/// before and after the graph is [rounded].
pub(super) fn packings(
    graph: &Graph,
    format: WeightFormat,
    texels: TexelFormat,
    is_streamed: impl Fn(NodeId) -> bool,
) -> IdVec<NodeId, WeightPacking> {
    let rounded = match format {
        WeightFormat::F32 => return IdVec::from_elem(WeightPacking::Texels, &graph.nodes),
        WeightFormat::File => BTreeMap::new(),
        WeightFormat::F16 | WeightFormat::Int8 => weights_alone(graph),
    };
    let packing = |(id, node)| {
        let is_rounded = ops::channel_weights(graph, node).is_some_and(|(weights, _)| rounded.contains_key(&weights));
        let packing = match format {
            WeightFormat::F16 if is_rounded => WeightPacking::Halves,
            WeightFormat::Int8 if is_rounded => WeightPacking::Bytes,
            _ => ops::stored_packing(graph, node),
        };
        match (packing, texels) {
            // Texels of this format already are 16-bit floats.
            (WeightPacking::Halves, TexelFormat::Rgba16Float) => WeightPacking::Texels,
            // Textures of floats cannot hold words.
            (_, TexelFormat::Rgba32Float | TexelFormat::Rgba16Float) if is_streamed(id) => WeightPacking::Texels,
            (packing, _) => packing,
        }
    };
    graph.nodes.iter_enumerated().map(packing).collect()
}

/// Weights that were rounded.
#[derive(Debug)]
pub(super) struct Rounded {
    pub(super) graph: Graph,
    /// Number of values beyond the range of 16-bit floats, of each constant that was rounded to them.
    pub(super) beyond: BTreeMap<TensorId, u64>,
}

/// Rounds the weights of the graph to values that `format` can represent.
///
/// # Errors
/// Fails with [`CompileError::NotFinite`] if weights to be quantised include a value that is not finite.
pub(super) fn rounded(mut graph: Graph, format: WeightFormat) -> Result<Rounded, CompileError> {
    let mut beyond = BTreeMap::new();
    let round = match format {
        WeightFormat::F32 | WeightFormat::File => return Ok(Rounded { graph, beyond }),
        WeightFormat::F16 => to_halves,
        WeightFormat::Int8 => to_bytes,
    };
    for (weights, axis) in weights_alone(&graph) {
        let shape = graph.shape(weights);
        let Some(constant) = &graph.tensors[weights].constant else { continue };
        if format == WeightFormat::F16 {
            beyond.insert(weights, constant.beyond_half());
        }
        match round(constant, shape, axis) {
            Some(rounded) => graph.tensors[weights].constant = Some(rounded),
            None => return Err(CompileError::NotFinite { tensor: graph.tensors[weights].name.clone() }),
        }
    }
    Ok(Rounded { graph, beyond })
}

/// Returns the constants that nodes use only as weights per channel of a single axis, each with that axis.
fn weights_alone(graph: &Graph) -> BTreeMap<TensorId, usize> {
    // Excludes graph outputs, and tensors that are also used in another way.
    let mut axes: BTreeMap<TensorId, Option<usize>> = graph.outputs.iter().map(|&output| (output, None)).collect();
    for node in &graph.nodes {
        // Tables keep their format: a lookup returns rounding errors as they are, while a sum evens them out.
        let weights = ops::channel_weights(graph, node).filter(|_| ops::multiplies_by_weights(graph, node));
        for (index, tensor) in node.operands().enumerate().filter(|&(_, tensor)| graph.is_constant(tensor)) {
            let read_as = weights.filter(|_| index == 1).map(|(_, axis)| axis);
            axes.entry(tensor).and_modify(|axis| *axis = axis.filter(|_| *axis == read_as)).or_insert(read_as);
        }
    }
    axes.into_iter().filter_map(|(tensor, axis)| Some((tensor, axis?))).collect()
}

/// Rounds to the nearest 16-bit floats. Finite values stay finite, as when they are stored in a 16-bit texture.
fn to_halves(constant: &Constant, _shape: Shape, _axis: usize) -> Option<Constant> {
    let half = |value: f32| {
        let near = f16::from_f32(value);
        if exceeds_half(value) { f16::MAX.copysign(near) } else { near }.to_le_bytes()
    };
    if constant.dtype == ElementType::F16 {
        return Some(constant.clone());
    }
    let bytes = match constant.repeats() {
        Some(value) => Bytes::repeated(&half(value), constant.len())?,
        None => {
            let reals = constant.reals();
            (0..constant.len()).flat_map(|i| half(reals.get(i))).collect::<Vec<u8>>().into()
        }
    };
    Some(Constant::new(ElementType::F16, bytes))
}

/// Quantises to multiples of one scale per index of the axis, such that the greatest magnitude is 127. Returns
/// constants that already have such scales unchanged, and `None` if a value is not finite.
fn to_bytes(constant: &Constant, shape: Shape, axis: usize) -> Option<Constant> {
    if ops::has_channel_scales(constant, shape, axis) {
        return Some(constant.clone());
    }
    let scale_of = |greatest: f32| if greatest > 0.0 { greatest / MOST } else { 1.0 };
    let byte = |value: f32, scale: f32| (value / scale).round().clamp(-MOST, MOST) as i8;
    if let Some(value) = constant.repeats() {
        let scale = scale_of(value.abs());
        let bytes = Bytes::repeated(&byte(value, scale).to_le_bytes(), constant.len())?;
        let scale = Some(QuantParams::whole(scale, 0));
        return value.is_finite().then_some(Constant { dtype: ElementType::I8, bytes, scale });
    }
    let reals = constant.reals();
    let (channels, behind) = (shape.dims()[axis], shape.dims()[axis + 1..].iter().product::<usize>().max(1));
    let channel = |i: usize| i / behind % channels.max(1);
    let mut greatest = vec![0.0f32; channels];
    for i in 0..constant.len() {
        let value = reals.get(i);
        if !value.is_finite() {
            return None;
        }
        let maximum = &mut greatest[channel(i)];
        *maximum = maximum.max(value.abs());
    }
    let scales: Vec<f32> = greatest.into_iter().map(scale_of).collect();
    let bytes: Vec<u8> = (0..constant.len()).map(|i| byte(reals.get(i), scales[channel(i)]).cast_unsigned()).collect();
    let scale = QuantParams::along(scales, vec![0; channels], &shape.dims(), axis);
    Some(Constant { dtype: ElementType::I8, bytes: bytes.into(), scale })
}
