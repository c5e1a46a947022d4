//! Tensors whose values fit into bytes: whole multiples of one scale, at most 255 steps apart.

use crate::graph::{
    Act, Binary, Constant, ElementType, Graph, IdVec, Node, Op, Pad, PadMode, PoolKind, QuantizedAdd, ReduceKind,
    ResizeMode, TensorId, TexelStorage, Unary,
};

/// Values `scale * least` to `scale * most`, in steps of the scale. Zero is one of them, because kernels write it behind
/// the last channel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ByteGrid {
    scale: f32,
    least: i16,
    most: i16,
}

impl ByteGrid {
    /// Returns the grid with these bounds and zero, if a byte can number its values.
    fn new(scale: f32, least: i16, most: i16) -> Option<Self> {
        let (least, most) = (least.min(0), most.max(0));
        let fits = most.checked_sub(least).is_some_and(|steps| steps <= i16::from(u8::MAX));
        (fits && scale.is_normal() && scale > 0.0).then_some(Self { scale, least, most })
    }

    /// Returns the grid that contains both.
    fn hull(self, other: Self) -> Option<Self> {
        let (least, most) = (self.least.min(other.least), self.most.max(other.most));
        if self.scale == other.scale { Self::new(self.scale, least, most) } else { None }
    }

    /// Returns the grid that also contains a value.
    fn with(self, value: f32) -> Option<Self> {
        let multiple = (value / self.scale).round();
        let is_on_grid = multiple * self.scale == value && multiple.abs() <= f32::from(i16::MAX);
        if is_on_grid { self.hull(Self::new(self.scale, multiple as i16, multiple as i16)?) } else { None }
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
    let storage = |grid: &Option<ByteGrid>| match *grid {
        Some(ByteGrid { scale, least, .. }) => TexelStorage::Bytes { scale, least },
        None => TexelStorage::Planes,
    };
    grids.iter().map(storage).collect()
}

/// Returns the values of a graph input whose caller passes 8-bit integers or truth values.
fn of_input(graph: &Graph, input: TensorId) -> Option<ByteGrid> {
    let tensor = &graph.tensors[input];
    let (least, most) = match tensor.element_type {
        ElementType::U8 => (0, 255),
        ElementType::I8 => (-128, 127),
        ElementType::Bool => (0, 1),
        _ => return None,
    };
    let Some(quantization) = tensor.quantization else { return ByteGrid::new(1.0, least, most) };
    let zero = i16::try_from(quantization.zero_point).ok()?;
    ByteGrid::new(quantization.scale, least.checked_sub(zero)?, most.checked_sub(zero)?)
}

fn of_result(graph: &Graph, node: &Node, grids: &IdVec<TensorId, Option<ByteGrid>>) -> Option<ByteGrid> {
    let first = activated(of_op(graph, node, grids), node.epilogue.first);
    activated(first.filter(|_| node.epilogue.add.is_none()), node.epilogue.then)
}

/// Returns the values of a node before its epilogue.
fn of_op(graph: &Graph, node: &Node, grids: &IdVec<TensorId, Option<ByteGrid>>) -> Option<ByteGrid> {
    let x = || grids[*node.inputs.first()?];
    match &node.op {
        &Op::QuantizedAdd(QuantizedAdd { least, most, .. }) => ByteGrid::new(1.0, least, most),
        &Op::Unary(unary) => function(x(), unary),
        Op::Binary(Binary::Mul) => scaled(graph, node, grids),
        // The second operand holds indices.
        Op::Gather(_) | Op::GatherElements(_) => x(),
        Op::Pad(Pad { mode: PadMode::Constant(value), .. }) if node.inputs.len() == 1 => x()?.with(*value),
        Op::Pad(Pad { mode: PadMode::Constant(_), .. }) => None,
        Op::Pool2d(pool) if pool.kind == PoolKind::Max => x(),
        Op::Reduce(reduce) if matches!(reduce.kind, ReduceKind::Max | ReduceKind::Min) => x(),
        Op::Resize(resize) if matches!(resize.mode, ResizeMode::Nearest(_)) => x(),
        op if op.moves_only() => {
            let (&first, rest) = node.inputs.split_first()?;
            rest.iter().try_fold(grids[first]?, |grid, &id| grid.hull(grids[id]?))
        }
        _ => None,
    }
}

/// Returns the integers of a grid times one constant. Only whole numbers are rounded once by such a product.
fn scaled(graph: &Graph, node: &Node, grids: &IdVec<TensorId, Option<ByteGrid>>) -> Option<ByteGrid> {
    let &[a, b] = node.inputs.as_slice() else { return None };
    let factor = |id: TensorId| graph.tensors[id].constant.as_ref().filter(|constant| constant.len() == 1);
    let (x, factor) = factor(b).map(|factor| (a, factor)).or_else(|| factor(a).map(|factor| (b, factor)))?;
    let ByteGrid { scale, least, most } = grids[x]?;
    let one = Constant::to_f32(factor).first().copied()?;
    if scale == 1.0 { ByteGrid::new(one, least, most) } else { None }
}

fn activated(x: Option<ByteGrid>, act: Act) -> Option<ByteGrid> {
    match act {
        Act::None => x,
        Act::Unary(unary) => function(x, unary),
        Act::Requantize(requantize) => ByteGrid::new(1.0, requantize.least, requantize.most),
        Act::Prelu(_) => None,
    }
}

fn function(x: Option<ByteGrid>, unary: Unary) -> Option<ByteGrid> {
    match unary {
        Unary::FakeQuant { scale, least, most } => ByteGrid::new(scale, least, most),
        Unary::Quantize { least, most, .. } | Unary::RoundAway { least, most, .. } => ByteGrid::new(1.0, least, most),
        Unary::Relu => x,
        Unary::Relu6 => x?.with(6.0),
        Unary::Clip { min, max } => {
            // An infinite bound changes nothing.
            let bound = |grid: ByteGrid, bound: f32| if bound.is_finite() { grid.with(bound) } else { Some(grid) };
            bound(bound(x?, min)?, max)
        }
        _ => None,
    }
}
