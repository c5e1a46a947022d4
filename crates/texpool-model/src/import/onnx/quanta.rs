//! Replaces layers between dequantisations and quantisations by layers of integers, as ONNX Runtime computes them.
//!
//! Nodes of quantised operators, and `QuantizeLinear` and `DequantizeLinear` around operators of floats, have become the
//! same nodes of the graph: `(q - zero) * scale` in front, [`Unary::QuantizeEven`] and `+ zero` behind. In between stands
//! a layer whose weights are integers with scales. Such a layer is replaced by one of the integers `q - zero`, the
//! *quanta*, whose sums are exact, and other operators by ones that round as ONNX Runtime does. Rewriting removes the
//! nodes that nothing reads any more.

use std::collections::{HashMap, HashSet};

use crate::import::{
    common::{
        graph::{NODE_BYTES, push_tensor, stem},
        layer_integers::{LayerIntegers, QuantizedTo},
    },
    error::Problem,
    meter::Meter,
};
use texpool_ops::graph::{
    Act, Binary, Constant, ElementType, Epilogue, Graph, IdVec, Node, NodeId, Op, Pool2d, PoolKind, QuantParams,
    Quantization, QuantizedAdd, Reduce, ReduceKind, Requantization, Resize, ResizeMode, Softmax, Tensor, TensorId,
    Unary,
};

/// Limit on the nodes between integers and the node that made them, such as pools and reshapes.
const MAX_MOVES: usize = 16;

/// Limit on the integers in a sum, which 32-bit floats then hold.
const MAX_SUMMED: usize = 1 << 16;

/// Bounds of integers of 8 bits.
const BYTES: [[f32; 2]; 2] = [[0.0, 255.0], [-128.0, 127.0]];

/// The quanta of reals, `quanta * scale`, the zero point of their integers, and the bounds counted from it.
#[derive(Clone, Copy, Debug)]
struct Quanta {
    tensor: TensorId,
    scale: f32,
    zero: f32,
    bounds: [f32; 2],
}

/// A quantisation: the reals that are divided by the scale and rounded, the zero point, and the bounds counted
/// from it.
#[derive(Clone, Copy, Debug)]
struct Rounding {
    reals: TensorId,
    scale: f32,
    zero: f32,
    bounds: [f32; 2],
}

impl Rounding {
    /// Returns the zero point and the least integer, counted from zero.
    fn byte(&self) -> [i16; 2] {
        [self.zero, self.zero + self.bounds[0]].map(|value| value as i16)
    }
}

/// The operator, the operands and the activation that replace a node and the rounding of its result.
type Replacement = (Op, Vec<TensorId>, Act);

/// Producers and readers of tensors.
struct Links {
    producer: IdVec<TensorId, Option<NodeId>>,
    readers: IdVec<TensorId, Vec<NodeId>>,
    /// The graph's outputs.
    outputs: HashSet<TensorId>,
    /// Bounds of tensors of quanta.
    bounds: HashMap<TensorId, [f32; 2]>,
}

/// Replaces every layer between 8-bit integers.
pub(super) fn compute_with_quanta(graph: &mut Graph, meter: &mut Meter) -> Result<(), Problem> {
    meter.work(graph.nodes.len())?;
    if !graph.nodes.iter().any(|node| matches!(node.op, Op::Unary(Unary::QuantizeEven { .. }))) {
        return Ok(());
    }
    let mut links = Links::new(graph);
    for id in graph.nodes.ids() {
        let Some(rounding) = links.rounding(graph, id) else { continue };
        let output = graph.nodes[id].output;
        links.bounds.insert(output, rounding.bounds);
        let Some(layer) = links.only_producer(rounding.reals) else { continue };
        let node = graph.nodes[layer].clone();
        let replaced = match (links.moved(graph, &node, &rounding), &node.op) {
            (Some(moved), _) => Some(moved),
            (None, Op::Binary(binary)) => links.of_two(graph, &node, *binary, &rounding, meter)?,
            (None, _) => links.layer(graph, &node, &rounding, meter)?,
        };
        let Some((op, inputs, act)) = replaced else { continue };
        let epilogue = Epilogue::of(act);
        graph.nodes[id] = Node { op, inputs, output, epilogue, op_index: node.op_index, integers: None };
    }
    for id in graph.nodes.ids() {
        // Adding the zero point and subtracting it again changes nothing.
        if let Some(quanta) = links.quanta(graph, graph.nodes[id].output) {
            graph.nodes[id].inputs[0] = quanta.tensor;
        }
    }
    Ok(())
}

/// Adds the quanta of a constant of 8-bit integers with one scale.
fn constant_quanta(graph: &mut Graph, tensor: TensorId, meter: &mut Meter) -> Result<Option<Quanta>, Problem> {
    let Tensor { name, shape, constant: Some(constant), .. } = &graph.tensors[tensor] else { return Ok(None) };
    let range = match constant.dtype {
        ElementType::U8 => BYTES[0],
        ElementType::I8 => BYTES[1],
        _ => return Ok(None),
    };
    let params = constant.scale.as_ref().and_then(QuantParams::uniform);
    let Some(Quantization { scale, zero_point }) = params else { return Ok(None) };
    meter.memory(NODE_BYTES)?;
    let ones = Constant { scale: Some(QuantParams::whole(1.0, zero_point)), ..constant.clone() };
    let zero = zero_point as f32;
    let (name, shape) = (format!("{}/quanta", stem(name)), *shape);
    let tensor = push_tensor(graph, name, shape, Some(ones));
    Ok(Some(Quanta { tensor, scale, zero, bounds: range.map(|bound| bound - zero) }))
}

impl Links {
    fn new(graph: &Graph) -> Self {
        let mut producer = IdVec::from_elem(None, &graph.tensors);
        let mut readers = IdVec::from_elem(Vec::new(), &graph.tensors);
        for (id, node) in graph.nodes.iter_enumerated() {
            producer[node.output] = Some(id);
            node.operands().for_each(|tensor| readers[tensor].push(id));
        }
        let outputs = graph.outputs.iter().copied().collect();
        Self { producer, readers, outputs, bounds: HashMap::new() }
    }

    fn producer<'g>(&self, graph: &'g Graph, tensor: TensorId) -> Option<&'g Node> {
        // Tensors that were added since have no nodes.
        let id = (*self.producer.get(tensor)?)?;
        Some(&graph.nodes[id])
    }

    /// Returns the node that computes a tensor which one node reads, and which is no output.
    fn only_producer(&self, tensor: TensorId) -> Option<NodeId> {
        let is_read_once = self.readers[tensor].len() == 1 && !self.outputs.contains(&tensor);
        self.producer[tensor].filter(|_| is_read_once)
    }

    /// Returns a tensor and the number that a binary function combines it with.
    fn with_number(&self, graph: &Graph, tensor: TensorId, function: Binary) -> Option<(TensorId, f32)> {
        let node = self.producer(graph, tensor)?;
        let (&Op::Binary(binary), &[x, constant], true) = (&node.op, &node.inputs[..], node.epilogue.is_empty()) else {
            return None;
        };
        let number = graph.tensors[constant].constant.as_ref().filter(|constant| constant.len() == 1)?;
        (binary == function).then(|| (x, number.reals().get(0)))
    }

    fn only_reader<'g>(&self, graph: &'g Graph, tensor: TensorId) -> Option<&'g Node> {
        match self.readers[tensor][..] {
            [reader] if !self.outputs.contains(&tensor) => Some(&graph.nodes[reader]),
            _ => None,
        }
    }

    /// Returns the quantisation that a node computes, if its integers have 8 bits.
    fn rounding(&self, graph: &Graph, id: NodeId) -> Option<Rounding> {
        let node = &graph.nodes[id];
        let (&Op::Unary(Unary::QuantizeEven { scale, least, most }), &[reals]) = (&node.op, &node.inputs[..]) else {
            return None;
        };
        let bounds = [least, most].map(f32::from);
        let added =
            self.only_reader(graph, node.output).and_then(|next| self.with_number(graph, next.output, Binary::Add));
        let zero = added.map_or(0.0, |(_, zero)| zero);
        BYTES.contains(&bounds.map(|bound| bound + zero)).then_some(Rounding { reals, scale, zero, bounds })
    }

    /// Returns the bounds of integers of 8 bits.
    fn byte_bounds(&self, graph: &Graph, mut integers: TensorId) -> Option<[f32; 2]> {
        for _ in 0..MAX_MOVES {
            if let Some(&bounds) = self.bounds.get(&integers) {
                return Some(bounds);
            }
            if let Some((quanta, zero)) = self.with_number(graph, integers, Binary::Add) {
                let bounds = self.bounds.get(&quanta)?.map(|bound| bound + zero);
                return BYTES.contains(&bounds).then_some(bounds);
            }
            let Some(node) = self.producer(graph, integers) else {
                return match graph.tensors[integers].element_type {
                    ElementType::U8 => Some(BYTES[0]),
                    ElementType::I8 => Some(BYTES[1]),
                    _ => None,
                };
            };
            match (&node.op, &node.inputs[..]) {
                (Op::Resize(Resize { mode: ResizeMode::LinearInteger, .. }), &[x]) => integers = x,
                (op, &[x]) if op.moves_only() && !matches!(op, Op::Pad(_)) => integers = x,
                _ => return None,
            }
        }
        None
    }

    /// Returns the quanta of reals.
    fn quanta(&self, graph: &Graph, reals: TensorId) -> Option<Quanta> {
        let (shifted, scale) = self.with_number(graph, reals, Binary::Mul)?;
        let (integers, zero) = self.with_number(graph, shifted, Binary::Sub).unwrap_or((shifted, 0.0));
        let [min, max] = self.byte_bounds(graph, integers)?;
        if !(scale > 0.0 && zero.fract() == 0.0 && (min..=max).contains(&zero)) {
            return None;
        }
        // Adding the zero point and subtracting it again changes nothing.
        let tensor = match self.with_number(graph, integers, Binary::Add) {
            Some((quanta, added)) if added == zero => quanta,
            _ => shifted,
        };
        Some(Quanta { tensor, scale, zero, bounds: [min - zero, max - zero] })
    }

    /// Replaces a node that only moves values, if its result is quantised as its operands are.
    fn moved(&self, graph: &Graph, node: &Node, rounding: &Rounding) -> Option<Replacement> {
        let moves = node.op.moves_only() && !matches!(node.op, Op::Pad(_));
        let quanta = |&reals: &TensorId| {
            let Quanta { tensor, scale, zero, bounds } = self.quanta(graph, reals)?;
            let is_same = scale == rounding.scale && zero == rounding.zero && bounds == rounding.bounds;
            is_same.then_some(tensor)
        };
        let operands = node.inputs.iter().map(quanta).collect::<Option<Vec<TensorId>>>()?;
        (moves && node.epilogue.is_empty()).then(|| (node.op.clone(), operands, Act::None))
    }

    /// Replaces a sum or a product of two tensors, or of a tensor and a constant.
    fn of_two(
        &self,
        graph: &mut Graph,
        node: &Node,
        binary: Binary,
        rounding: &Rounding,
        meter: &mut Meter,
    ) -> Result<Option<Replacement>, Problem> {
        let (&[a, b], true) = (&node.inputs[..], node.epilogue.is_empty()) else { return Ok(None) };
        match binary {
            Binary::Add => self.sum(graph, node, [a, b], rounding, meter),
            Binary::Mul => self.product(graph, node, [a, b], rounding, meter),
            _ => Ok(None),
        }
    }

    fn sum(
        &self,
        graph: &mut Graph,
        node: &Node,
        [a, b]: [TensorId; 2],
        rounding: &Rounding,
        meter: &mut Meter,
    ) -> Result<Option<Replacement>, Problem> {
        let is_number = |id: TensorId| graph.tensors[id].constant.as_ref().is_some_and(|number| number.len() == 1);
        // ONNX Runtime takes a number as the second operand.
        let [a, b] = if is_number(a) { [b, a] } else { [a, b] };
        let Some(a) = self.quanta(graph, a) else { return Ok(None) };
        // It adds in another order if the first operand is repeated.
        if graph.shape(a.tensor) != graph.shape(node.output) {
            return Ok(None);
        }
        let Some(b) = self.quanta_or_constant(graph, b, meter)? else { return Ok(None) };
        let Rounding { scale, zero, bounds, .. } = *rounding;
        let [zeros, limits] = [[a.zero, b.zero], bounds].map(|pair| pair.map(|value| value as i16));
        let add = QuantizedAdd::float([a.scale, b.scale], scale, zeros, zero as i16, limits);
        Ok(add.map(|add| (add.into(), vec![a.tensor, b.tensor], Act::None)))
    }

    fn product(
        &self,
        graph: &mut Graph,
        node: &Node,
        [a, b]: [TensorId; 2],
        rounding: &Rounding,
        meter: &mut Meter,
    ) -> Result<Option<Replacement>, Problem> {
        let Some(a) = self.quanta_or_constant(graph, a, meter)? else { return Ok(None) };
        let Some(b) = self.quanta_or_constant(graph, b, meter)? else { return Ok(None) };
        let (ratio, [zero, least]) = (a.scale * b.scale / rounding.scale, rounding.byte());
        let act = Act::Unary(Unary::RequantizeByte { ratio, zero, least });
        Ok(Some((node.op.clone(), vec![a.tensor, b.tensor], act)))
    }

    /// Returns the quanta of reals, which may be known.
    fn quanta_or_constant(
        &self,
        graph: &mut Graph,
        reals: TensorId,
        meter: &mut Meter,
    ) -> Result<Option<Quanta>, Problem> {
        match self.quanta(graph, reals) {
            None => constant_quanta(graph, reals, meter),
            quanta => Ok(quanta),
        }
    }

    /// Replaces a layer or another operator of one tensor.
    fn layer(
        &self,
        graph: &mut Graph,
        node: &Node,
        rounding: &Rounding,
        meter: &mut Meter,
    ) -> Result<Option<Replacement>, Problem> {
        let Rounding { scale, bounds: [least, most], .. } = *rounding;
        let to = QuantizedTo {
            scale,
            least: least as i16,
            most: most as i16,
            arithmetic: Requantization::Float,
            rounds_products: false,
        };
        let name = stem(&graph.tensors[node.output].name);
        let Some(&x) = node.inputs.first() else { return Ok(None) };
        let Some(x) = self.quanta(graph, x) else { return Ok(None) };
        if let Some(layer) = LayerIntegers::new(graph, &node.op, &node.inputs, x.scale, meter)? {
            let (operands, act) = layer.operands(graph, &name, (x.tensor, x.scale), &to, meter)?;
            return Ok(Some((node.op.clone(), operands, act)));
        }
        if let Op::Pool2d(Pool2d { kind: PoolKind::Average, .. }) = node.op {
            // ONNX Runtime adds up reals, and adds the zero point before it rounds.
            let [zero, least] = rounding.byte();
            let act = Act::Unary(Unary::QuantizeByte { scale, zero, least });
            return Ok(Some((node.op.clone(), node.inputs.clone(), act)));
        }
        if let Op::Softmax(Softmax { beta, log: false }) = node.op {
            // ONNX Runtime multiplies by the whole part of the scale's reciprocal.
            let steps = scale.recip().floor();
            let act = Act::Unary(Unary::QuantizeEven { scale: steps.recip(), least: least as i16, most: most as i16 });
            let softmax = Softmax { beta: beta * x.scale, log: false };
            return Ok((steps >= 1.0).then(|| (softmax.into(), vec![x.tensor], act)));
        }
        if let Op::Reduce(Reduce { kind: ReduceKind::Mean, axes }) = node.op {
            let result = graph.shape(node.output);
            let count = graph.shape(x.tensor).len() / result.len().max(1);
            // ONNX Runtime has this arithmetic for global pools of images. Sums of more values may not be exact.
            if axes != [false, true, true, false] || count > MAX_SUMMED {
                return Ok(None);
            }
            let scales = [x.scale, 1.0];
            let to = QuantizedTo { scale: scale * count as f32, ..to };
            let act = to.requantize(graph, &name, &vec![0; result.c], |_| scales, meter)?;
            return Ok(Some((Reduce { kind: ReduceKind::Sum, axes }.into(), vec![x.tensor], act)));
        }
        Ok(None)
    }
}
