//! Weights in fewer bits: which nodes' kernels read them so, and the model with weights rounded to what those bits
//! hold.
//!
//! A weight has one value, wherever it lies: what is uploaded into the pool in every run, and what the CPU references
//! compute with, is the value that the kernel makes of the bits. So weights are rounded in the graph, as constants of
//! the bits that are asked for, and packed as the constants are.

use std::collections::BTreeMap;

use half::f16;

use super::{error::CompileError, options::WeightFormat};
use crate::{
    graph::{Bytes, Constant, ElementType, Graph, IdVec, NodeId, QuantParams, Shape, TensorId},
    kernels::WeightPacking,
    ops,
    plan::TexelFormat,
};

/// The greatest integer of quantised weights, and the least one's magnitude.
const MOST: f32 = 127.0;

/// How the weights of each node are packed, on the device or on their way through a pool of those texels, before the graph
/// is [rounded] and after.
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
            // They are such texels.
            (WeightPacking::Halves, TexelFormat::Rgba16Float) => WeightPacking::Texels,
            // Words have no room in textures of floats.
            (_, TexelFormat::Rgba32Float | TexelFormat::Rgba16Float) if is_streamed(id) => WeightPacking::Texels,
            (packing, _) => packing,
        }
    };
    graph.nodes.iter_enumerated().map(packing).collect()
}

/// The graph with weights that `format` can hold.
///
/// # Errors
/// [`CompileError::NotFinite`] where weights have no least and greatest value.
pub(super) fn rounded(mut graph: Graph, format: WeightFormat) -> Result<Graph, CompileError> {
    let round = match format {
        WeightFormat::F32 | WeightFormat::File => return Ok(graph),
        WeightFormat::F16 => to_halves,
        WeightFormat::Int8 => to_bytes,
    };
    for (weights, axis) in weights_alone(&graph) {
        let shape = graph.shape(weights);
        let Some(constant) = &graph.tensors[weights].constant else { continue };
        match round(constant, shape, axis) {
            Some(made) => graph.tensors[weights].constant = Some(made),
            None => return Err(CompileError::NotFinite { tensor: graph.tensors[weights].name.clone() }),
        }
    }
    Ok(graph)
}

/// The constants that nodes read as weights by channel of one axis, and nobody reads otherwise; each with the axis.
fn weights_alone(graph: &Graph) -> BTreeMap<TensorId, usize> {
    // None of what is read otherwise as well, or goes out.
    let mut axes: BTreeMap<TensorId, Option<usize>> = graph.outputs.iter().map(|&output| (output, None)).collect();
    for node in &graph.nodes {
        let weights = ops::channel_weights(graph, node);
        for (index, tensor) in node.operands().enumerate().filter(|&(_, tensor)| graph.is_constant(tensor)) {
            let read_as = weights.filter(|_| index == 1).map(|(_, axis)| axis);
            axes.entry(tensor).and_modify(|axis| *axis = axis.filter(|_| *axis == read_as)).or_insert(read_as);
        }
    }
    axes.into_iter().filter_map(|(tensor, axis)| Some((tensor, axis?))).collect()
}

/// The nearest 16-bit floats; of finite values finite ones, as textures of them have it.
fn to_halves(constant: &Constant, _shape: Shape, _axis: usize) -> Option<Constant> {
    let half = |value: f32| {
        let near = f16::from_f32(value);
        if value.is_finite() && near.is_infinite() { f16::MAX.copysign(near) } else { near }.to_le_bytes()
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

/// The nearest multiples of a scale, one for each index of the axis, by which the greatest magnitude is 127; what has
/// scales of the kind already as it is. None where there is no greatest.
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
        let held = &mut greatest[channel(i)];
        *held = held.max(value.abs());
    }
    let scales: Vec<f32> = greatest.into_iter().map(scale_of).collect();
    let bytes: Vec<u8> = (0..constant.len()).map(|i| byte(reals.get(i), scales[channel(i)]).cast_unsigned()).collect();
    let scale = QuantParams::along(scales, vec![0; channels], &shape.dims(), axis);
    Some(Constant { dtype: ElementType::I8, bytes: bytes.into(), scale })
}
