//! Tensors whose values fit into bytes: whole multiples of one scale, at most 255 steps apart.

use crate::graph::{
    Act, Binary, DynamicQuantize, ElementType, Graph, IdVec, Node, Op, Pad, PadMode, PoolKind, QuantizedAdd,
    ReduceKind, ResizeMode, TensorId, TexelStorage, Unary,
};

/// Values `scale * least` to `scale * most`, in steps of the scale. Bounds are whole numbers or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Multiples {
    scale: f32,
    least: f32,
    most: f32,
}

/// Whole numbers of any size.
const WHOLE: Multiples = Multiples { scale: 1.0, least: f32::NEG_INFINITY, most: f32::INFINITY };

impl Multiples {
    fn new(scale: f32, least: i16, most: i16) -> Option<Self> {
        let is_scale = scale.is_normal() && scale > 0.0;
        is_scale.then_some(Self { scale, least: least.into(), most: most.into() })
    }

    /// Returns the representation in bytes of these values and zero, which kernels write behind the last channel.
    fn storage(self) -> TexelStorage {
        let (least, most) = (self.least.min(0.0), self.most.max(0.0));
        let fits = most - least <= f32::from(u8::MAX) && least >= f32::from(i16::MIN);
        if fits { TexelStorage::Bytes { scale: self.scale, least: least as i16 } } else { TexelStorage::Planes }
    }

    /// Returns the values of both.
    fn hull(self, other: Self) -> Option<Self> {
        let (least, most) = (self.least.min(other.least), self.most.max(other.most));
        (self.scale == other.scale).then_some(Self { least, most, ..self })
    }

    /// Returns the number of steps from zero to a value, if it is one of a whole number.
    fn steps(self, value: f32) -> Option<f32> {
        let steps = (value / self.scale).round();
        (steps * self.scale == value).then_some(steps)
    }

    /// Returns these values within bounds; infinite ones bound nothing.
    fn within(self, least: f32, most: f32) -> Option<Self> {
        let bound = |bound: f32| if bound.is_finite() { self.steps(bound) } else { Some(bound) };
        let (low, high) = (bound(least)?, bound(most)?);
        // Clips as the kernels do: if the bounds are swapped, the upper one wins.
        let bounded = |x: f32| x.max(low).min(high);
        Some(Self { least: bounded(self.least), most: bounded(self.most), ..self })
    }

    /// Returns these whole numbers plus another; `None` for values in other steps, whose sums are rounded.
    fn plus(self, number: f32) -> Option<Self> {
        let is_whole = self.scale == 1.0 && number.fract() == 0.0;
        is_whole.then_some(Self { least: self.least + number, most: self.most + number, ..self })
    }

    /// Returns these whole numbers times a factor; `None` for values in other steps, whose products are rounded twice.
    fn times(self, factor: f32) -> Option<Self> {
        let is_scale = self.scale == 1.0 && factor.is_normal() && factor > 0.0;
        is_scale.then_some(Self { scale: factor, ..self })
    }
}

/// Returns the representation of each tensor in a pool of bytes. Bytes give back exactly the values that a step computed:
/// the scales are those of the last rounding.
pub fn byte_storages(graph: &Graph) -> IdVec<TensorId, TexelStorage> {
    let mut grids = IdVec::from_elem(None, &graph.tensors);
    for &input in &graph.inputs {
        grids[input] = of_input(graph, input);
    }
    for node in &graph.nodes {
        grids[node.output] = of_result(graph, node, &grids);
    }
    grids.iter().map(|values: &Option<Multiples>| values.map_or(TexelStorage::Planes, Multiples::storage)).collect()
}

/// Returns the values of a graph input whose caller passes 8-bit integers or truth values.
fn of_input(graph: &Graph, input: TensorId) -> Option<Multiples> {
    let tensor = &graph.tensors[input];
    let (least, most) = match tensor.element_type {
        ElementType::U8 => (0, 255),
        ElementType::I8 => (-128, 127),
        ElementType::Bool => (0, 1),
        _ => return None,
    };
    let Some(quantization) = tensor.quantization else { return Multiples::new(1.0, least, most) };
    let zero = i16::try_from(quantization.zero_point).ok()?;
    Multiples::new(quantization.scale, least.checked_sub(zero)?, most.checked_sub(zero)?)
}

fn of_result(graph: &Graph, node: &Node, grids: &IdVec<TensorId, Option<Multiples>>) -> Option<Multiples> {
    let first = activated(graph, of_op(graph, node, grids), node.epilogue.first);
    activated(graph, first.filter(|_| node.epilogue.add.is_none()), node.epilogue.then)
}

/// Returns the values of a node before its epilogue.
fn of_op(graph: &Graph, node: &Node, grids: &IdVec<TensorId, Option<Multiples>>) -> Option<Multiples> {
    let x = || grids[*node.inputs.first()?];
    match &node.op {
        &Op::QuantizedAdd(QuantizedAdd { least, most, .. }) => Multiples::new(1.0, least, most),
        &Op::DynamicQuantize(DynamicQuantize { from_zero: false }) => Multiples::new(1.0, 0, 255),
        &Op::Unary(unary) => function(x(), unary),
        &Op::Binary(binary) => with_number(graph, node, binary, grids),
        // The second operand holds indices.
        Op::Gather(_) | Op::GatherElements(_) => x(),
        Op::Pad(Pad { mode: PadMode::Constant(value), .. }) if node.inputs.len() == 1 => {
            let (values, steps) = (x()?, x()?.steps(*value)?);
            values.hull(Multiples { least: steps, most: steps, ..values })
        }
        Op::Pad(Pad { mode: PadMode::Constant(_), .. }) => None,
        Op::Pool2d(pool) if pool.kind == PoolKind::Max => x(),
        Op::Reduce(reduce) if matches!(reduce.kind, ReduceKind::Max | ReduceKind::Min) => x(),
        Op::Resize(resize) if resize.mode == ResizeMode::LinearInteger => x().filter(|x| x.scale == 1.0),
        op if op.moves_only() => {
            let (&first, rest) = node.inputs.split_first()?;
            rest.iter().try_fold(grids[first]?, |grid, &id| grid.hull(grids[id]?))
        }
        _ => None,
    }
}

/// Returns the number that all values of a constant are.
fn number(graph: &Graph, id: TensorId) -> Option<f32> {
    let constant = graph.tensors[id].constant.as_ref()?;
    let values = constant.reals();
    let first = values.get(0);
    (1..constant.len()).all(|i| values.get(i) == first).then_some(first)
}

/// Returns the results of a function of a tensor and one number.
fn with_number(
    graph: &Graph,
    node: &Node,
    binary: Binary,
    grids: &IdVec<TensorId, Option<Multiples>>,
) -> Option<Multiples> {
    let &[a, b] = node.inputs.as_slice() else { return None };
    match (binary, number(graph, a), number(graph, b)) {
        (Binary::Add, None, Some(number)) => grids[a]?.plus(number),
        (Binary::Add, Some(number), None) => grids[b]?.plus(number),
        (Binary::Sub, None, Some(number)) => grids[a]?.plus(-number),
        (Binary::Mul, None, Some(number)) => grids[a]?.times(number),
        (Binary::Mul, Some(number), None) => grids[b]?.times(number),
        _ => None,
    }
}

fn activated(graph: &Graph, x: Option<Multiples>, act: Act) -> Option<Multiples> {
    match act {
        Act::None => x,
        Act::Unary(unary) => function(x, unary),
        Act::Requantize(requantize) => Multiples::new(1.0, requantize.least, requantize.most),
        Act::Plus(constant) => x?.plus(number(graph, constant)?),
        Act::Times(constant) => x?.times(number(graph, constant)?),
        Act::Prelu(_) | Act::DividedBy(_) => None,
    }
}

fn function(x: Option<Multiples>, unary: Unary) -> Option<Multiples> {
    match unary {
        Unary::FakeQuant { scale, least, most } | Unary::FakeQuantEven { scale, least, most } => {
            Multiples::new(scale, least, most)
        }
        Unary::Quantize { least, most, .. }
        | Unary::QuantizeEven { least, most, .. }
        | Unary::RoundAway { least, most, .. } => Multiples::new(1.0, least, most),
        Unary::QuantizeByte { zero, least, .. } | Unary::RequantizeByte { zero, least, .. } => {
            let least = least.checked_sub(zero)?;
            Multiples::new(1.0, least, least.checked_add(u8::MAX.into())?)
        }
        Unary::Round | Unary::Floor | Unary::Ceil | Unary::Trunc => Some(x.filter(|x| x.scale == 1.0).unwrap_or(WHOLE)),
        Unary::Relu => x?.within(0.0, f32::INFINITY),
        Unary::Relu6 => x?.within(0.0, 6.0),
        Unary::Clip { min, max } => x?.within(min, max),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{GraphBuilder, Quantization};

    /// Returns the storage of the result of a chain of nodes on an 8-bit input.
    fn storage(chain: impl Fn(&mut GraphBuilder, TensorId) -> TensorId) -> TexelStorage {
        let mut b = GraphBuilder::new("chain");
        let x = b.input("x", &[1, 2, 3, 4]).unwrap();
        let y = chain(&mut b, x);
        let mut graph = b.finish(&[y]).unwrap();
        graph.tensors[x].element_type = ElementType::U8;
        graph.tensors[x].quantization = Some(Quantization { scale: 0.5, zero_point: 100 });
        byte_storages(&graph)[y]
    }

    fn bytes(scale: f32, least: i16) -> TexelStorage {
        TexelStorage::Bytes { scale, least }
    }

    #[test]
    fn bounds_must_be_values_of_the_grid() {
        let clip = |min, max| storage(move |b, x| b.unary("y", Unary::Clip { min, max }, x).unwrap());
        assert_eq!(clip(f32::NEG_INFINITY, 6.5), bytes(0.5, -100));
        assert_eq!(clip(-3.0, f32::INFINITY), bytes(0.5, -6));
        assert_eq!(clip(-3.1, f32::INFINITY), TexelStorage::Planes);
        // Zero has a byte even if no value is zero.
        assert_eq!(clip(5.0, 9.0), bytes(0.5, 0));
        assert_eq!(storage(|b, x| b.unary("y", Unary::Relu, x).unwrap()), bytes(0.5, 0));
    }

    #[test]
    fn paddings_must_be_values_of_the_grid() {
        let pad = |value| {
            let pad = Pad { before: [0, 1, 0, 0], after: [0; 4], mode: PadMode::Constant(value) };
            storage(move |b, x| b.node("y", Op::Pad(pad), &[x], Act::None).unwrap())
        };
        assert_eq!(pad(0.0), bytes(0.5, -100));
        assert_eq!(pad(7.5), bytes(0.5, -100));
        assert_eq!(pad(7.4), TexelStorage::Planes);
        // 256 steps above the least value.
        assert_eq!(pad(78.0), TexelStorage::Planes);
    }

    #[test]
    fn quantisation_in_single_nodes_is_found() {
        let quantised = |max: f32, scale: f32| {
            storage(move |b, x| {
                let divisor = b.constant("divisor", &[1], &[0.3]).unwrap();
                let zero = b.constant("zero", &[1], &[128.0]).unwrap();
                let scale = b.constant("scale", &[1], &[scale]).unwrap();
                let y = b.binary("divided", Binary::Div, x, divisor, Act::None).unwrap();
                let y = b.unary("rounded", Unary::Round, y).unwrap();
                let y = b.binary("raised", Binary::Add, y, zero, Act::Unary(Unary::Clip { min: 0.0, max })).unwrap();
                let y = b.binary("lowered", Binary::Sub, y, zero, Act::None).unwrap();
                b.binary("scaled", Binary::Mul, y, scale, Act::None).unwrap()
            })
        };
        assert_eq!(quantised(255.0, 0.3), bytes(0.3, -128));
        assert_eq!(quantised(256.0, 0.3), TexelStorage::Planes);
        assert_eq!(quantised(255.0, -0.3), TexelStorage::Planes);
    }

    #[test]
    fn parts_must_have_one_scale() {
        let joined = |scale: f32| {
            storage(move |b, x| {
                let quantised = b.unary("quantised", Unary::FakeQuant { scale, least: -20, most: 200 }, x).unwrap();
                b.concat("y", 3, &[x, quantised]).unwrap()
            })
        };
        assert_eq!(joined(0.25), TexelStorage::Planes);
        // -100 to 200 are more than a byte numbers.
        assert_eq!(joined(0.5), TexelStorage::Planes);
        let alike = storage(|b, x| {
            let clipped = b.unary("clipped", Unary::Clip { min: -20.0, max: 20.0 }, x).unwrap();
            b.concat("y", 3, &[x, clipped]).unwrap()
        });
        assert_eq!(alike, bytes(0.5, -100));
        // A sum of values in other steps is rounded.
        let sum = storage(|b, x| {
            let one = b.constant("one", &[1], &[1.0]).unwrap();
            b.binary("y", Binary::Add, x, one, Act::None).unwrap()
        });
        assert_eq!(sum, TexelStorage::Planes);
    }
}
