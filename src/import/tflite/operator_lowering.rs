//! What lowering an operator works with: its operands and options as the file has them, and the graph being made.

use super::{
    schema::{Operator, Options},
    tensors::{FileTensor, Grid, MAX_RANK, shape_of},
};
use crate::{
    graph::{Act, Constant, Epilogue, Graph, IdVec, NodeId, Op, Shape, TensorId, Unary},
    import::{
        FakeQuant,
        common::graph::{NODE_BYTES, inferred, push_node, push_tensor, stem},
        error::Problem,
        meter::Meter,
        model_file::Owner,
    },
    ops::reference,
};

/// The graph being made. Its tensors begin with the file's, under the same indices.
#[derive(Debug)]
pub(super) struct SubgraphLowering<'a> {
    pub(super) tensors: IdVec<TensorId, FileTensor<'a>>,
    pub(super) graph: Graph,
    /// What the import may still take.
    pub(super) meter: Meter,
    /// Whether results of 8 bits are rounded to what those can say, or only held within it.
    pub(super) fake_quant: FakeQuant,
}

/// The tensor that a number of the file names, if there is one.
pub(super) fn known(id: i32, tensors: &IdVec<TensorId, FileTensor<'_>>) -> Option<TensorId> {
    usize::try_from(id).ok().map(TensorId::new).filter(|&id| tensors.contains_id(id))
}

/// The greatest whole number that floats hold with all smaller ones.
const MOST_EXACT: f32 = (1 << f32::MANTISSA_DIGITS) as f32;

/// One operator being lowered.
pub(super) struct OperatorLowering<'l, 'a> {
    lowering: &'l mut SubgraphLowering<'a>,
    owner: &'l Owner,
    operator: Operator<'a>,
    index: usize,
    inputs: Vec<i32>,
    /// The results; most operators have one.
    outputs: Vec<TensorId>,
    /// The result being made.
    output: TensorId,
}

impl<'l, 'a> OperatorLowering<'l, 'a> {
    pub(super) fn new(
        lowering: &'l mut SubgraphLowering<'a>,
        owner: &'l Owner,
        operator: Operator<'a>,
        index: usize,
    ) -> Result<Self, Problem> {
        let outputs = operator.outputs().unwrap_or_default();
        let known = |id: i32| known(id, &lowering.tensors);
        let outputs: Option<Vec<TensorId>> = outputs.into_iter().map(known).collect();
        let outputs = outputs.ok_or_else(|| Problem::malformed("its result is no tensor of the file"))?;
        let &[output, ..] = outputs.as_slice() else {
            return Err(Problem::malformed("it has no result"));
        };
        let inputs = operator.inputs().unwrap_or_default();
        Ok(Self { lowering, owner, operator, index, inputs, outputs, output })
    }

    /// Refuses the operator if it has not so many results.
    pub(super) fn results(&self, wanted: usize) -> Result<(), Problem> {
        let found = self.outputs.len();
        if found == wanted {
            return Ok(());
        }
        Err(Problem::malformed(format!("it has {found} results, must have {wanted}")))
    }

    pub(super) fn result_count(&self) -> usize {
        self.outputs.len()
    }

    /// Makes another result the one that is made.
    pub(super) fn select(&mut self, result: usize) -> Result<(), Problem> {
        let missing = || Problem::malformed(format!("it has no result {result}"));
        self.output = *self.outputs.get(result).ok_or_else(missing)?;
        Ok(())
    }

    /// Whether an operand's elements are whole numbers that stand for themselves.
    pub(super) fn is_integer(&self, id: TensorId) -> bool {
        self.lowering.tensors.get(id).is_some_and(FileTensor::is_integer)
    }

    /// Whether the result's elements are such numbers; and whether they are truth values.
    pub(super) fn gives_integers(&self) -> [bool; 2] {
        let result = &self.lowering.tensors[self.output];
        [result.is_integer(), result.is_bool()]
    }

    /// The options, which must be `O`'s.
    pub(super) fn options<O: Options>(&self) -> Result<O::Of<'a>, Problem> {
        self.operator.options::<O>().ok_or_else(|| Problem::malformed("its options are another operator's"))
    }

    /// The bytes of a custom operator's options.
    pub(super) fn custom_options(&self) -> Result<&[u8], Problem> {
        // 0 and 1 are placeholders for "in the tables", as they are in buffers.
        if self.operator.large_custom_options_offset() > 1 {
            return Err(Problem::unsupported("its options lie behind the model's tables"));
        }
        let range = self.operator.custom_options().unwrap_or_default();
        (**self.owner).as_ref().get(range).ok_or_else(|| Problem::malformed("its options lie outside the file"))
    }

    /// Refuses the operator if it has not so many operands.
    pub(super) fn operands(&self, least: usize, most: usize) -> Result<(), Problem> {
        let found = self.inputs.len();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Err(Problem::malformed(format!("it has {found} operands, must have {wanted}")))
    }

    pub(super) const fn operand_count(&self) -> usize {
        self.inputs.len()
    }

    fn id(&self, position: usize) -> Result<TensorId, Problem> {
        let id = self.inputs.get(position).and_then(|&id| known(id, &self.lowering.tensors));
        id.ok_or_else(|| Problem::malformed(format!("operand {position} is no tensor of the file")))
    }

    /// Whether an optional operand is there.
    pub(super) fn has(&self, position: usize) -> bool {
        self.inputs.get(position).is_some_and(|&id| id != -1)
    }

    /// An operand to compute with: what 32-bit floats hold, or a constant of any type.
    pub(super) fn operand(&mut self, position: usize) -> Result<TensorId, Problem> {
        let id = self.id(position)?;
        self.load(id)?;
        let tensor = &self.lowering.tensors[id];
        match &self.lowering.graph.tensors[id].constant {
            Some(_) => Ok(id),
            None => tensor.computable().map(|()| id),
        }
    }

    /// An operand of which only the extents are asked.
    pub(super) fn measured(&self, position: usize) -> Result<TensorId, Problem> {
        let id = self.id(position)?;
        self.lowering.tensors[id].extents().map(|_| id)
    }

    /// A constant operand of floats.
    pub(super) fn constant(&mut self, position: usize, role: &str) -> Result<TensorId, Problem> {
        let id = self.operand(position)?;
        if self.lowering.graph.is_constant(id) {
            return Ok(id);
        }
        let name = &self.lowering.tensors[id].name;
        Err(Problem::new(format!("its {role} `{name}` are computed at run time"), "make them constants of the model"))
    }

    /// The values of a constant operand of integers.
    pub(super) fn integers(&mut self, position: usize, role: &str) -> Result<Vec<i64>, Problem> {
        let id = self.id(position)?;
        if self.lowering.tensors[id].empty_list {
            return Ok(Vec::new());
        }
        self.load(id)?;
        let name = &self.lowering.tensors[id].name;
        match &self.lowering.graph.tensors[id].constant {
            // Paddings say most of axes, two numbers each, and splits one of each result; a thousand operators could share
            // a list of a million.
            Some(constant) if constant.len() > self.outputs.len().max(2 * MAX_RANK) => {
                Err(Problem::malformed(format!("its {role} `{name}` are {} numbers", constant.len())))
            }
            Some(constant) => {
                constant.to_i64().ok_or_else(|| Problem::malformed(format!("its {role} `{name}` are no integers")))
            }
            None => Err(Problem::dynamic(format!("its {role} `{name}` are computed at run time"))),
        }
    }

    /// The one value of a constant operand of integers.
    pub(super) fn integer(&mut self, position: usize, role: &str) -> Result<i64, Problem> {
        match self.integers(position, role)?.as_slice() {
            &[value] => Ok(value),
            _ => Err(Problem::malformed(format!("its {role} is no single number"))),
        }
    }

    /// The one value of a constant operand.
    pub(super) fn scalar(&mut self, position: usize, role: &str) -> Result<f32, Problem> {
        let id = self.constant(position, role)?;
        match self.lowering.graph.tensors[id].constant.as_ref().map(|c| c.to_f32().into_owned()).as_deref() {
            Some(&[value]) => Ok(value),
            _ => Err(Problem::malformed(format!("its {role} is no single number"))),
        }
    }

    /// Brings the values of a tensor that has some in the file into the graph.
    fn load(&mut self, id: TensorId) -> Result<(), Problem> {
        let SubgraphLowering { tensors, graph, meter, .. } = &mut *self.lowering;
        if graph.tensors[id].constant.is_none() && tensors[id].has_values() {
            match tensors[id].constant(self.owner, meter) {
                Ok(constant) => graph.tensors[id].constant = constant,
                // Not kept, as the import ends with it.
                Err(problem) if problem.excess.is_some() => return Err(problem),
                // Kept, so that a thousand operators that share the constant do not unfold it a thousand times.
                Err(problem) => tensors[id].spoil(problem),
            }
        }
        tensors[id].extents().map(|_| ())
    }

    /// Gives the operand on: a constant stays one, a computed tensor is the same under another name.
    pub(super) fn pass_on(&mut self) -> Result<(), Problem> {
        let input = self.operand(0)?;
        if !self.lowering.graph.is_constant(input) {
            self.gives(self.dims(input))?;
            return self.emit(Op::Reshape, &[input], Act::None);
        }
        let requantised = self.requantised().filter(|_| self.lowering.fake_quant == FakeQuant::On);
        self.lowering.tensors[self.output].extents()?;
        let name = &self.lowering.tensors[self.output].name;
        // Asked here, because the graph's check looks for tensors that two nodes write, and there is no node.
        if self.lowering.tensors[self.output].has_values() || self.lowering.graph.is_constant(self.output) {
            return Err(Problem::malformed(format!("its result `{name}` has a value already")));
        }
        let mut constant = self.shared(input)?;
        let tensors = &self.lowering.graph.tensors;
        if tensors[input].dims != tensors[self.output].dims {
            return Err(Problem::malformed("operand and result differ in shape"));
        }
        if let (Some(grid), Some(constant)) = (requantised, constant.as_mut()) {
            self.lowering.meter.memory(constant.len().saturating_mul(2 * size_of::<f32>()))?;
            let on_grid: Vec<f32> = constant.to_f32().iter().map(|&value| grid.nearest(value)).collect();
            *constant = Constant::from_f32(&on_grid);
        }
        self.lowering.graph.tensors[self.output].constant = constant;
        Ok(())
    }

    /// Makes the result a constant of integers.
    pub(super) fn give_integers(&mut self, values: &[i32]) -> Result<(), Problem> {
        self.gives(&[values.len()])?;
        self.lowering.meter.memory(NODE_BYTES)?;
        let name = &self.lowering.tensors[self.output].name;
        if self.lowering.tensors[self.output].has_values() || self.lowering.graph.is_constant(self.output) {
            return Err(Problem::malformed(format!("its result `{name}` has a value already")));
        }
        self.lowering.graph.tensors[self.output].constant = Some(Constant::from_i32(values));
        Ok(())
    }

    /// Makes short lists of integers constants where the graph's nodes from `first` on compute them from constants: converters
    /// leave the arithmetic of extents in the file.
    pub(super) fn fold_lists(&mut self, first: usize) -> Result<(), Problem> {
        let SubgraphLowering { tensors, graph, meter, .. } = &mut *self.lowering;
        let made = &(*graph.nodes)[first..];
        let results = made.iter().map(|node| node.output).collect::<Vec<_>>();
        let short = |id: &TensorId| graph.shape(*id).len() <= 2 * MAX_RANK;
        let known = |id: &TensorId| graph.is_constant(*id) || results.contains(id);
        let read = || made.iter().flat_map(|node| &node.inputs);
        let integers = self.outputs.iter().all(|&id| tensors[id].is_integer() && !tensors[id].is_bool());
        if made.is_empty() || !integers || !results.iter().chain(read()).all(short) || !read().all(known) {
            return Ok(());
        }
        // Not as many elements as a node takes, and no operator does more than a few steps for each.
        meter.memory(results.len().saturating_mul(NODE_BYTES))?;
        meter.work(results.len().saturating_mul(64 * MAX_RANK * MAX_RANK))?;
        let mut values = IdVec::from_elem(None, &graph.tensors);
        for node in &(*graph.nodes)[first..] {
            let Ok(result) = reference::node(graph, node, &values) else { return Ok(()) };
            values[node.output] = Some(result);
        }
        let exact = |value: &f32| value.fract() == 0.0 && value.abs() <= MOST_EXACT;
        if !self.outputs.iter().all(|&id| values[id].as_ref().is_some_and(|list| list.iter().all(exact))) {
            return Ok(());
        }
        graph.nodes.truncate(first);
        for &id in &self.outputs {
            let list: Vec<i32> = values[id].iter().flatten().map(|&value| value as i32).collect();
            graph.tensors[id].constant = Some(Constant::from_i32(&list));
        }
        Ok(())
    }

    /// The values of a constant under another name. They are shared; its scales are not, of which there may be many.
    fn shared(&mut self, id: TensorId) -> Result<Option<Constant>, Problem> {
        let constant = self.lowering.graph.tensors[id].constant.clone();
        let scales =
            constant.as_ref().and_then(|constant| constant.scale.as_ref()).map_or(0, |scale| scale.scale.len());
        self.lowering.meter.memory(scales.saturating_mul(size_of::<f32>() + size_of::<i32>()))?;
        Ok(constant)
    }

    /// Extents as the file states them.
    pub(super) fn dims(&self, id: TensorId) -> &[usize] {
        &self.lowering.graph.tensors[id].dims
    }

    pub(super) fn shape(&self, id: TensorId) -> Shape {
        self.lowering.graph.shape(id)
    }

    /// The shape of an operand that must be an image: `[B, H, W, C]`.
    pub(super) fn image(&self, id: TensorId, what: &str) -> Result<Shape, Problem> {
        match self.dims(id) {
            &[b, h, w, c] => Ok(Shape::new(b, h, w, c)),
            dims => Err(Problem::malformed(format!("{what} must have four extents, has {dims:?}"))),
        }
    }

    /// The result, which 32-bit floats must hold.
    pub(super) fn output(&self) -> Result<TensorId, Problem> {
        self.lowering.tensors[self.output].computable().map(|()| self.output)
    }

    /// Refuses the operator if the file states other extents for its result.
    pub(super) fn gives(&self, dims: &[usize]) -> Result<(), Problem> {
        let stated = self.dims(self.output()?);
        if stated == dims {
            return Ok(());
        }
        Err(Problem::malformed(format!("its result is stated as {stated:?}, its operands give {dims:?}")))
    }

    /// The node whose result has the shape that the file states.
    pub(super) fn emit(&mut self, op: Op, inputs: &[TensorId], act: Act) -> Result<(), Problem> {
        let shape = self.shape(self.output()?);
        self.emit_as(op, inputs, act, shape)
    }

    /// The node with a result of `shape`, brought to the stated shape by a RESHAPE if that is another.
    pub(super) fn emit_as(&mut self, op: Op, inputs: &[TensorId], act: Act, shape: Shape) -> Result<(), Problem> {
        let output = self.output()?;
        let (op, epilogue) = self.stored(op, inputs, act, shape);
        let inferred = inferred(&self.lowering.graph, &op, inputs, shape)?;
        if inferred != shape {
            return Err(Problem::malformed(format!("its result is stated as {shape}, its operands give {inferred}")));
        }
        if shape == self.shape(output) {
            return self.append(op, inputs, epilogue, output);
        }
        let between = self.tensor(output, shape)?;
        self.append(op, inputs, epilogue, between)?;
        self.append(Op::Reshape, &[between], Epilogue::default(), output)
    }

    /// The elements of `id` under another shape: itself, a constant borrowed again, or the result of a RESHAPE.
    pub(super) fn view(&mut self, id: TensorId, shape: Shape) -> Result<TensorId, Problem> {
        if self.shape(id) == shape {
            return Ok(id);
        }
        let view = self.tensor(id, shape)?;
        match self.shared(id)? {
            Some(constant) => self.lowering.graph.tensors[view].constant = Some(constant),
            None => self.append(Op::Reshape, &[id], Epilogue::default(), view)?,
        }
        Ok(view)
    }

    /// The elements of `id` under other extents of the file's kind.
    pub(super) fn view_as(&mut self, id: TensorId, dims: &[usize]) -> Result<TensorId, Problem> {
        let shape = shape_of(dims).ok_or_else(|| Problem::malformed(format!("{dims:?} is no shape")))?;
        let view = self.tensor(id, shape)?;
        self.lowering.graph.tensors[view].dims = dims.to_vec();
        match self.shared(id)? {
            Some(constant) => self.lowering.graph.tensors[view].constant = Some(constant),
            None => self.append(Op::Reshape, &[id], Epilogue::default(), view)?,
        }
        Ok(view)
    }

    /// The result of a node in between, of `shape`.
    pub(super) fn between(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem> {
        let shape = inferred(&self.lowering.graph, &op, inputs, shape)?;
        let name = format!("{}/{}", self.stem(self.output), self.lowering.graph.nodes.len());
        let id = push_tensor(&mut self.lowering.graph, name, shape, None);
        // What 8 bits can say binds the result, not what is on the way to it.
        self.append(op, inputs, Epilogue::default(), id)?;
        Ok(id)
    }

    /// What new tensors are called after.
    fn stem(&self, id: TensorId) -> String {
        stem(&self.lowering.graph.tensors[id].name)
    }

    /// A tensor that the file does not have: the elements of `like` under another shape.
    fn tensor(&mut self, like: TensorId, shape: Shape) -> Result<TensorId, Problem> {
        if shape.checked_len() != Some(self.shape(like).len()) {
            let stated = self.dims(like);
            return Err(Problem::malformed(format!("{stated:?} and {shape} are not the same elements")));
        }
        self.lowering.meter.memory(NODE_BYTES)?;
        let name = format!("{} as {shape}", self.stem(like));
        Ok(push_tensor(&mut self.lowering.graph, name, shape, None))
    }

    /// The operator and its epilogue, so that its result is what the file's type can say: of 8 bits one of 256 values, the bounds
    /// of which often are the activation. Values that are moved alone are such already, unless their scale changes.
    fn stored(&self, op: Op, inputs: &[TensorId], act: Act, shape: Shape) -> (Op, Epilogue) {
        let grid = match op.moves_only() {
            true => self.requantised(),
            false => self.lowering.tensors[self.output].grid(),
        };
        let Some(grid) = grid else { return (op, Epilogue::of(act)) };
        // RELU and the like are bounds and nothing else, so rounding to the part of the grid within them does it all:
        // what is left of the node is a reshape with that as its epilogue.
        let (op, act) = match (op, act) {
            (Op::Unary(unary), Act::None) if grid.within(Act::Unary(unary)).is_some() => {
                (Op::Reshape, Act::Unary(unary))
            }
            other => other,
        };
        let last = match (self.lowering.fake_quant, grid.within(act)) {
            (FakeQuant::On, Some(part)) => part.rounding(),
            (FakeQuant::On, None) => {
                return (op, Epilogue { first: act, add: None, then: Act::Unary(grid.rounding()) });
            }
            (FakeQuant::Off, _) => match bounds(act) {
                Some([least, most]) => {
                    let [low, high] = grid.range();
                    Unary::Clip { min: low.max(least), max: high.min(most) }
                }
                None => return (op, Epilogue::of(act)),
            },
        };
        match (&op, inputs) {
            // A reshape to the shape that it has would only copy.
            (Op::Reshape, &[from, ..]) if self.shape(from) == shape => (Op::Unary(last), Epilogue::default()),
            _ => (op, Epilogue::of(Act::Unary(last))),
        }
    }

    /// The values that the result's 8 bits can say, if those of an operand can say others: where values are moved alone,
    /// they are then rounded once more.
    fn requantised(&self) -> Option<Grid> {
        let tensors = &self.lowering.tensors;
        let grid = tensors[self.output].grid()?;
        let operands = self.inputs.iter().filter_map(|&id| Some(&tensors[known(id, tensors)?]));
        operands.filter(|operand| operand.is_real()).any(|operand| operand.grid() != Some(grid)).then_some(grid)
    }

    fn append(&mut self, op: Op, inputs: &[TensorId], epilogue: Epilogue, output: TensorId) -> Result<(), Problem> {
        self.lowering.meter.memory(NODE_BYTES)?;
        push_node(&mut self.lowering.graph, op, inputs, epilogue, output, self.index);
        Ok(())
    }

    /// Number of nodes that the graph has so far.
    pub(super) fn node_count(&self) -> usize {
        self.lowering.graph.nodes.len()
    }

    /// Marks the graph's nodes from `first` on, if they compute integers from integers, so that compiling a model sees to
    /// it that floats hold them.
    pub(super) fn mark_integers(&mut self, first: usize) {
        let OperatorLowering { lowering: SubgraphLowering { tensors, graph, .. }, inputs, output, .. } = self;
        let integers = |tensor: &FileTensor<'_>| tensor.is_integer() && !tensor.is_bool();
        let operands = inputs.iter().filter_map(|&id| known(id, tensors)).filter(|&id| !graph.is_constant(id));
        if operands.into_iter().any(|id| integers(&tensors[id])) && integers(&tensors[*output]) {
            for index in first..graph.nodes.len() {
                graph.nodes[NodeId::new(index)].integers = tensors[*output].element_type();
            }
        }
    }
}

/// The bounds that an activation is, where it is nothing else.
fn bounds(act: Act) -> Option<[f32; 2]> {
    match act {
        Act::None => Some([f32::NEG_INFINITY, f32::INFINITY]),
        Act::Unary(Unary::Relu) => Some([0.0, f32::INFINITY]),
        Act::Unary(Unary::Relu6) => Some([0.0, 6.0]),
        Act::Unary(Unary::ReluN1To1) => Some([-1.0, 1.0]),
        Act::Unary(_) | Act::Prelu(_) => None,
    }
}
