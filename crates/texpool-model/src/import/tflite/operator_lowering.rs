//! Context for lowering an operator: its operands and options in the file, and the graph that is being built.

use std::collections::HashSet;

use super::{
    schema::{Model, Operator, Options},
    tensors::{FileTensor, Grid, MAX_RANK, computed_shape, shape_of},
    variables::{Value, Variables},
};
use crate::import::{
    FakeQuant,
    common::{
        axes::axis,
        graph::{NODE_BYTES, inferred, push_node, push_tensor, stem},
    },
    error::Problem,
    meter::Meter,
    model_file::Owner,
};
use texpool_ops::{
    graph::{Act, Constant, Epilogue, Graph, IdVec, NodeId, Op, Shape, TensorId, Unary},
    ops::reference,
};

/// The graph that is being built. Its tensors begin with those of the file, with the same indices.
#[derive(Debug)]
pub(super) struct SubgraphLowering<'a> {
    /// Tensors by their numbers in the graph of the file whose operators are being lowered.
    pub(super) ids: Vec<TensorId>,
    pub(super) tensors: IdVec<TensorId, FileTensor<'a>>,
    pub(super) graph: Graph,
    /// Allowances of the import.
    pub(super) meter: Meter,
    /// Selects whether 8-bit results are rounded to the representable values, or only limited to their range.
    pub(super) fake_quant: FakeQuant,
    pub(super) variables: Variables<'a>,
    /// True if the caller bound extents that the file leaves open.
    pub(super) is_resized: bool,
    pub(super) model: Model<'a>,
    /// Lowers an operator.
    pub(super) lower: Lower,
    /// Indices of the graphs that operators have as branches.
    pub(super) called: HashSet<usize>,
    /// Number of branches that contain the operator that is being lowered.
    pub(super) depth: usize,
}

/// Adds the nodes of an operator.
type Lower = fn(&mut OperatorLowering<'_, '_>, &str) -> Result<(), Problem>;

impl SubgraphLowering<'_> {
    /// Returns the tensor with a number in the graph of the file, if it exists.
    pub(super) fn id(&self, number: i32) -> Option<TensorId> {
        usize::try_from(number).ok().and_then(|number| self.ids.get(number)).copied()
    }
}

/// Upper end of the range in which floats hold all whole numbers.
const MOST_EXACT: f32 = (1 << f32::MANTISSA_DIGITS) as f32;

/// An operator that is being lowered.
pub(super) struct OperatorLowering<'l, 'a> {
    lowering: &'l mut SubgraphLowering<'a>,
    owner: &'l Owner,
    operator: Operator<'a>,
    index: usize,
    inputs: Vec<i32>,
    /// All results; most operators have one.
    outputs: Vec<TensorId>,
    /// The current result. An arbitrary tensor if the operator has none, which `lower` checks before any use.
    output: TensorId,
    /// Number of nodes after the last branch of the operator; those before were marked there.
    pub(super) after_bodies: usize,
}

impl<'l, 'a> OperatorLowering<'l, 'a> {
    pub(super) fn new(
        lowering: &'l mut SubgraphLowering<'a>,
        owner: &'l Owner,
        operator: Operator<'a>,
        index: usize,
    ) -> Result<Self, Problem> {
        let outputs = operator.outputs().unwrap_or_default();
        let outputs: Option<Vec<TensorId>> = outputs.into_iter().map(|number| lowering.id(number)).collect();
        let outputs = outputs.ok_or_else(|| Problem::malformed("its result is no tensor of the file"))?;
        let output = outputs.first().copied().unwrap_or(TensorId::new(0));
        let inputs = operator.inputs().unwrap_or_default();
        Ok(Self { lowering, owner, operator, index, inputs, outputs, output, after_bodies: 0 })
    }

    /// Fails unless the operator has `expected` results.
    pub(super) fn results(&self, expected: usize) -> Result<(), Problem> {
        let count = self.outputs.len();
        if count == expected {
            return Ok(());
        }
        Err(Problem::malformed(format!("it has {count} results, must have {expected}")))
    }

    pub(super) fn result_count(&self) -> usize {
        self.outputs.len()
    }

    /// Selects the current result.
    pub(super) fn select(&mut self, result: usize) -> Result<(), Problem> {
        let missing = || Problem::malformed(format!("it has no result {result}"));
        self.output = *self.outputs.get(result).ok_or_else(missing)?;
        Ok(())
    }

    /// Returns whether a tensor's elements are plain whole numbers, without a scale.
    pub(super) fn is_integer(&self, id: TensorId) -> bool {
        self.lowering.tensors.get(id).is_some_and(FileTensor::is_integer)
    }

    /// Returns two flags for the result: plain whole numbers, and truth values.
    pub(super) fn gives_integers(&self) -> [bool; 2] {
        let result = &self.lowering.tensors[self.output];
        [result.is_integer(), result.is_bool()]
    }

    /// Returns the options. Fails if they belong to another operator, that is, have another type than `O`.
    pub(super) fn options<O: Options>(&self) -> Result<O::Wrapper<'a>, Problem> {
        self.operator.options::<O>().ok_or_else(|| Problem::malformed("its options are another operator's"))
    }

    /// Returns the bytes of a custom operator's options.
    pub(super) fn custom_options(&self) -> Result<&[u8], Problem> {
        // 0 and 1 are placeholders that mean "in the tables", as in buffers.
        if self.operator.large_custom_options_offset() > 1 {
            return Err(Problem::unsupported("its options lie behind the model's tables"));
        }
        let range = self.operator.custom_options().unwrap_or_default();
        (**self.owner).as_ref().get(range).ok_or_else(|| Problem::malformed("its options lie outside the file"))
    }

    /// Fails unless the number of operands is in the range.
    pub(super) fn operands(&self, least: usize, most: usize) -> Result<(), Problem> {
        let count = self.inputs.len();
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let expected = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Err(Problem::malformed(format!("it has {count} operands, must have {expected}")))
    }

    pub(super) const fn operand_count(&self) -> usize {
        self.inputs.len()
    }

    fn id(&self, position: usize) -> Result<TensorId, Problem> {
        let id = self.inputs.get(position).and_then(|&number| self.lowering.id(number));
        id.ok_or_else(|| Problem::malformed(format!("operand {position} is no tensor of the file")))
    }

    /// Returns whether an optional operand is present.
    pub(super) fn has(&self, position: usize) -> bool {
        self.inputs.get(position).is_some_and(|&id| id != -1)
    }

    /// Returns an operand for computing. It must be a constant, or have a type that 32-bit floats can hold.
    pub(super) fn operand(&mut self, position: usize) -> Result<TensorId, Problem> {
        let id = self.id(position)?;
        self.load(id)?;
        let tensor = &self.lowering.tensors[id];
        match &self.lowering.graph.tensors[id].constant {
            Some(_) => Ok(id),
            None => tensor.computable().map(|()| id),
        }
    }

    /// Returns an operand for which only the extents matter.
    pub(super) fn measured(&self, position: usize) -> Result<TensorId, Problem> {
        let id = self.id(position)?;
        self.lowering.tensors[id].extents().map(|_| id)
    }

    /// Returns an operand that must be constant.
    pub(super) fn constant(&mut self, position: usize, role: &str) -> Result<TensorId, Problem> {
        let id = self.operand(position)?;
        if self.lowering.graph.is_constant(id) {
            return Ok(id);
        }
        let name = &self.lowering.tensors[id].name;
        Err(Problem::new(format!("its {role} `{name}` are computed at run time"), "make them constants of the model"))
    }

    /// Returns the values of a constant operand as floats.
    pub(super) fn reals(&mut self, position: usize, role: &str) -> Result<Vec<f32>, Problem> {
        let id = self.constant(position, role)?;
        let Some(constant) = &self.lowering.graph.tensors[id].constant else { return Ok(Vec::new()) };
        let reals = constant.reals();
        Ok(self.lowering.meter.filled(constant.len(), (0..constant.len()).map(|i| reals.get(i)))?)
    }

    /// Adds a constant that is not in the file.
    pub(super) fn new_constant(&mut self, shape: Shape, values: &[f32]) -> Result<TensorId, Problem> {
        self.lowering.meter.memory(NODE_BYTES.saturating_add(size_of_val(values)))?;
        let name = format!("{}/constant {}", self.stem(self.output), self.lowering.graph.tensors.len());
        Ok(push_tensor(&mut self.lowering.graph, name, shape, Some(Constant::from_f32(values))))
    }

    /// Allowances of the import.
    pub(super) const fn meter(&mut self) -> &mut Meter {
        &mut self.lowering.meter
    }

    /// The graph that is being built, the file's bytes, and the index of the operator of the main graph that this one
    /// is or is contained in.
    pub(super) fn parts(&mut self) -> (&mut SubgraphLowering<'a>, &'l Owner, usize) {
        (self.lowering, self.owner, self.index)
    }

    /// Lets the result stand for a variable.
    pub(super) fn name_variable(&mut self) -> Result<(), Problem> {
        self.outside_branches()?;
        self.operands(0, 0)?;
        self.lowering.variables.name(self.output, &self.operator)
    }

    /// Fails in a branch, which may be computed where it is not taken.
    fn outside_branches(&self) -> Result<(), Problem> {
        match self.lowering.depth {
            0 => Ok(()),
            _ => Err(Problem::unsupported("it names variables in a branch")),
        }
    }

    /// Lets the result be the value of a variable.
    pub(super) fn read_variable(&mut self) -> Result<(), Problem> {
        self.operands(1, 1)?;
        let (handle, output) = (self.id(0)?, self.output()?);
        let SubgraphLowering { variables, tensors, .. } = &mut *self.lowering;
        let constant = match variables.read(handle, output, &tensors[output])? {
            Value::Input => return Ok(()),
            Value::Tensor(current) => match self.shared(current)? {
                Some(constant) => constant,
                None => return self.append(Op::Reshape, &[current], Epilogue::default(), output),
            },
            Value::Constant(Some(constant)) => constant,
            Value::Constant(None) => {
                let elements = self.shape(output).len();
                self.lowering.meter.repeat(elements)?;
                let zeros = Constant::repeated(0.0, elements);
                zeros.ok_or_else(|| Problem::limit(format!("{elements} zeros are too many")))?
            }
        };
        self.lowering.graph.tensors[output].constant = Some(constant);
        Ok(())
    }

    /// Assigns an operand to a variable.
    pub(super) fn assign_variable(&mut self) -> Result<(), Problem> {
        self.operands(2, 2)?;
        let (handle, value) = (self.id(0)?, self.operand(1)?);
        let SubgraphLowering { variables, tensors, graph, .. } = &mut *self.lowering;
        tensors[value].computable()?;
        if tensors[value].stated() != Some(&graph.tensors[value].dims) {
            return Err(Problem::unsupported(
                "a variable takes other extents than the file states, as they were bound",
            ));
        }
        variables.assign(handle, value, &tensors[value])
    }

    /// Takes the first values of variables from another graph of the model.
    pub(super) fn call_once(&mut self, graph: i32) -> Result<(), Problem> {
        self.outside_branches()?;
        let SubgraphLowering { variables, meter, .. } = &mut *self.lowering;
        variables.call_once(graph, self.owner, meter)
    }

    /// Returns whether an operand is a variable, which keeps its values from run to run.
    pub(super) fn is_variable(&self, position: usize) -> Result<bool, Problem> {
        self.id(position).map(|id| self.lowering.tensors[id].is_variable())
    }

    /// Returns whether an operand has 32-bit floats.
    pub(super) fn is_float(&self, id: TensorId) -> bool {
        self.lowering.tensors.get(id).is_some_and(FileTensor::is_float)
    }

    /// Returns the values of a constant operand of integers.
    pub(super) fn integers(&mut self, position: usize, role: &str) -> Result<Vec<i64>, Problem> {
        let id = self.id(position)?;
        if self.lowering.tensors[id].empty_list {
            return Ok(Vec::new());
        }
        self.load(id)?;
        let name = &self.lowering.tensors[id].name;
        match &self.lowering.graph.tensors[id].constant {
            // Paddings are the longest lists per axis, with two numbers each; splits have one number per result.
            // Limited, because a thousand operators could share a list of a million numbers.
            Some(constant) if constant.len() > self.outputs.len().max(2 * MAX_RANK) => {
                Err(Problem::malformed(format!("its {role} `{name}` are {} numbers", constant.len())))
            }
            Some(constant) => {
                constant.to_i64().ok_or_else(|| Problem::malformed(format!("its {role} `{name}` are no integers")))
            }
            None => Err(Problem::dynamic(format!("its {role} `{name}` are computed at run time"))),
        }
    }

    /// Fails if a constant holds an index outside an axis of `dims`. Negative ones count from its end.
    pub(super) fn indices_within(&mut self, indices: TensorId, along: usize, dims: &[usize]) -> Result<(), Problem> {
        let Some(constant) = &self.lowering.graph.tensors[indices].constant else { return Ok(()) };
        self.lowering.meter.work(constant.len())?;
        let list = constant.to_i64().unwrap_or_default();
        match list.iter().find(|&&index| axis(index, dims[along]).is_err()) {
            None => Ok(()),
            Some(index) => Err(Problem::malformed(format!("the index {index} lies outside axis {along} of {dims:?}"))),
        }
    }

    /// Returns the only value of a constant operand of integers.
    pub(super) fn integer(&mut self, position: usize, role: &str) -> Result<i64, Problem> {
        match self.integers(position, role)?.as_slice() {
            &[value] => Ok(value),
            _ => Err(Problem::malformed(format!("its {role} is no single number"))),
        }
    }

    /// Returns the only value of a constant operand.
    pub(super) fn scalar(&mut self, position: usize, role: &str) -> Result<f32, Problem> {
        let id = self.constant(position, role)?;
        self.known_number(id).ok_or_else(|| Problem::malformed(format!("its {role} is no single number")))
    }

    /// Loads the values of a tensor into the graph, if the file contains them.
    fn load(&mut self, id: TensorId) -> Result<(), Problem> {
        let SubgraphLowering { tensors, graph, meter, .. } = &mut *self.lowering;
        if graph.tensors[id].constant.is_none() && tensors[id].has_values() {
            match tensors[id].constant(self.owner, meter) {
                Ok(constant) => graph.tensors[id].constant = constant,
                // Not stored, because this error ends the import.
                Err(problem) if problem.excess.is_some() => return Err(problem),
                // Stored, so that many operators that share the constant do not expand it again.
                Err(problem) => tensors[id].spoil(problem),
            }
        }
        tensors[id].extents().map(|_| ())
    }

    /// Passes the operand through: a constant stays constant, a computed tensor becomes a reshape.
    pub(super) fn pass_on(&mut self) -> Result<(), Problem> {
        let input = self.operand(0)?;
        self.pass(input)
    }

    /// Returns whether a tensor's elements are truth values.
    pub(super) fn is_bool(&self, id: TensorId) -> bool {
        self.lowering.tensors.get(id).is_some_and(FileTensor::is_bool)
    }

    /// Returns the only value of a constant.
    pub(super) fn known_number(&self, id: TensorId) -> Option<f32> {
        match self.lowering.graph.tensors[id].constant.as_ref().map(|c| c.to_f32().into_owned()).as_deref() {
            Some(&[value]) => Some(value),
            _ => None,
        }
    }

    /// Loads a tensor that becomes a result as it is. Fails unless it has the type and the extents of the result.
    pub(super) fn load_result(&mut self, id: TensorId) -> Result<(), Problem> {
        self.load(id)?;
        let SubgraphLowering { tensors, .. } = &*self.lowering;
        if !tensors[id].is_like(&tensors[self.output]) {
            let [from, to] = [id, self.output].map(|id| &tensors[id].name);
            return Err(Problem::malformed(format!("its result `{to}` and `{from}` differ in type")));
        }
        self.gives_like(id)
    }

    /// Passes a tensor on as the result.
    pub(super) fn pass(&mut self, input: TensorId) -> Result<(), Problem> {
        if !self.lowering.graph.is_constant(input) {
            self.gives_like(input)?;
            return self.emit(Op::Reshape, &[input], Act::None);
        }
        let requantised = self.requantised().filter(|_| self.lowering.fake_quant == FakeQuant::On);
        self.lowering.tensors[self.output].extents()?;
        let name = &self.lowering.tensors[self.output].name;
        // Checked here: the graph's check only detects tensors that are written by two nodes, and a constant has no
        // node.
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

    /// Turns the result into a constant of integers.
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

    /// Folds short lists of integers: if the graph's nodes from `first` on compute them from constants, they become
    /// constants. Converters leave the arithmetic of extents in the file.
    pub(super) fn fold_lists(&mut self, first: usize) -> Result<(), Problem> {
        let SubgraphLowering { tensors, graph, meter, .. } = &mut *self.lowering;
        let new_nodes = &(*graph.nodes)[first..];
        let results = new_nodes.iter().map(|node| node.output).collect::<Vec<_>>();
        let short = |id: &TensorId| graph.shape(*id).len() <= 2 * MAX_RANK;
        let is_known = |id: &TensorId| graph.is_constant(*id) || results.contains(id);
        let read = || new_nodes.iter().flat_map(|node| &node.inputs);
        let integers = self.outputs.iter().all(|&id| tensors[id].is_integer() && !tensors[id].is_bool());
        if new_nodes.is_empty() || !integers || !results.iter().chain(read()).all(short) || !read().all(is_known) {
            return Ok(());
        }
        // A list needs less memory than a node, and every operator takes only a few steps per element.
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

    /// Returns a constant for use under another name. The values are shared, but the scales are copied, and there may
    /// be many of them.
    fn shared(&mut self, id: TensorId) -> Result<Option<Constant>, Problem> {
        let constant = self.lowering.graph.tensors[id].constant.clone();
        let scales =
            constant.as_ref().and_then(|constant| constant.scale.as_ref()).map_or(0, |scale| scale.scale.len());
        self.lowering.meter.memory(scales.saturating_mul(size_of::<f32>() + size_of::<i32>()))?;
        Ok(constant)
    }

    /// Extents as stated in the file.
    pub(super) fn dims(&self, id: TensorId) -> &[usize] {
        &self.lowering.graph.tensors[id].dims
    }

    pub(super) fn shape(&self, id: TensorId) -> Shape {
        self.lowering.graph.shape(id)
    }

    /// Returns the shape of an operand that must be an image: `[B, H, W, C]`.
    pub(super) fn image(&self, id: TensorId, what: &str) -> Result<Shape, Problem> {
        match self.dims(id) {
            &[b, h, w, c] => Ok(Shape::new(b, h, w, c)),
            dims => Err(Problem::malformed(format!("{what} must have four extents, has {dims:?}"))),
        }
    }

    /// Returns the result. Fails if 32-bit floats cannot hold it.
    pub(super) fn output(&self) -> Result<TensorId, Problem> {
        self.lowering.tensors[self.output].computable().map(|()| self.output)
    }

    /// Sets the extents of the result, which follow from those of its operands. Fails if the file states others,
    /// unless it leaves some open and the caller bound them.
    pub(super) fn gives(&mut self, dims: &[usize]) -> Result<(), Problem> {
        let output = self.output()?;
        let stated = self.dims(output);
        if stated == dims {
            return Ok(());
        }
        if self.lowering.is_resized && self.lowering.tensors[output].may_have(dims) {
            let shape = computed_shape(&self.lowering.tensors[output].name, dims)?;
            let tensor = &mut self.lowering.graph.tensors[output];
            (tensor.dims, tensor.shape) = (dims.to_vec(), shape);
            return Ok(());
        }
        Err(Problem::malformed(format!("its result is stated as {stated:?}, its operands give {dims:?}")))
    }

    /// Sets the extents of the result like [`gives`](Self::gives), also if the file states none: converters leave out
    /// those of some custom operators.
    pub(super) fn gives_if_stated(&mut self, dims: &[usize]) -> Result<(), Problem> {
        let output = self.output()?;
        if !self.dims(output).is_empty() {
            return self.gives(dims);
        }
        let shape = computed_shape(&self.lowering.tensors[output].name, dims)?;
        let tensor = &mut self.lowering.graph.tensors[output];
        (tensor.dims, tensor.shape) = (dims.to_vec(), shape);
        Ok(())
    }

    /// Returns whether a tensor is a constant.
    pub(super) fn is_constant(&self, id: TensorId) -> bool {
        self.lowering.graph.is_constant(id)
    }

    /// Sets the extents of the result to those of a tensor.
    pub(super) fn gives_like(&mut self, id: TensorId) -> Result<(), Problem> {
        let dims = self.dims(id).to_vec();
        self.gives(&dims)
    }

    /// Returns whether the caller bound extents, so that those that the file states are others.
    pub(super) const fn is_resized(&self) -> bool {
        self.lowering.is_resized
    }

    /// Adds a node whose result has the shape stated in the file.
    pub(super) fn emit(&mut self, op: Op, inputs: &[TensorId], act: Act) -> Result<(), Problem> {
        let output = self.output()?;
        if self.lowering.is_resized {
            let inferred = inferred(&self.lowering.graph, &op, inputs, self.shape(output))?;
            let rank = self.dims(output).len();
            let dims = inferred.dims();
            if inferred != self.shape(output) && rank <= dims.len() {
                self.gives(&dims[dims.len() - rank..])?;
            }
        }
        let shape = self.shape(output);
        self.emit_as(op, inputs, act, shape)
    }

    /// Adds a node with a result of `shape`, followed by a RESHAPE if the stated shape differs.
    pub(super) fn emit_as(&mut self, op: Op, inputs: &[TensorId], act: Act, shape: Shape) -> Result<(), Problem> {
        let output = self.output()?;
        let (op, epilogue) = self.stored(op, inputs, act, shape);
        let inferred = inferred(&self.lowering.graph, &op, inputs, shape)?;
        if inferred != shape {
            let [stated, inferred] =
                [shape, inferred].map(|shape| without_leading_ones(shape, self.dims(output).len()));
            return Err(Problem::malformed(format!(
                "its result is stated as {stated:?}, its operands give {inferred:?}"
            )));
        }
        if shape == self.shape(output) {
            return self.append(op, inputs, epilogue, output);
        }
        let between = self.tensor(output, shape)?;
        self.append(op, inputs, epilogue, between)?;
        self.append(Op::Reshape, &[between], Epilogue::default(), output)
    }

    /// Returns the elements of `id` in another shape: the tensor itself, a constant with shared values, or the result
    /// of a RESHAPE.
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

    /// Returns the elements of `id` with other extents of any rank.
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

    /// Adds an intermediate node and returns its result, of shape `shape`.
    pub(super) fn between(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem> {
        let shape = inferred(&self.lowering.graph, &op, inputs, shape)?;
        let name = format!("{}/{}", self.stem(self.output), self.lowering.graph.nodes.len());
        let id = push_tensor(&mut self.lowering.graph, name, shape, None);
        // The limits of 8-bit types apply to the final result, not to intermediate ones.
        self.append(op, inputs, Epilogue::default(), id)?;
        Ok(id)
    }

    /// Prefix for the names of new tensors.
    fn stem(&self, id: TensorId) -> String {
        stem(&self.lowering.graph.tensors[id].name)
    }

    /// Adds a tensor that is not in the file, with the elements of `like` in another shape.
    fn tensor(&mut self, like: TensorId, shape: Shape) -> Result<TensorId, Problem> {
        if shape.checked_len() != Some(self.shape(like).len()) {
            let stated = self.dims(like);
            let dims = without_leading_ones(shape, stated.len());
            return Err(Problem::malformed(format!("{stated:?} and {dims:?} are not the same elements")));
        }
        self.lowering.meter.memory(NODE_BYTES)?;
        let name = format!("{} as {shape}", self.stem(like));
        Ok(push_tensor(&mut self.lowering.graph, name, shape, None))
    }

    /// Returns the operator and its epilogue, such that the result has values that the file's type can represent. For
    /// 8 bits these are 256 values, and their bounds often include the activation. Operators that only move values
    /// need no rounding, unless the scale changes.
    fn stored(&self, op: Op, inputs: &[TensorId], act: Act, shape: Shape) -> (Op, Epilogue) {
        let grid = match op.moves_only() {
            true => self.requantised(),
            false => self.lowering.tensors[self.output].grid(),
        };
        let Some(grid) = grid else { return (op, Epilogue::of(act)) };
        // RELU and similar functions are merely bounds, so rounding to the part of the grid within those bounds is
        // enough. The node becomes a reshape with the rounding as its epilogue.
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
            // A reshape to the same shape would only copy.
            (Op::Reshape, &[from, ..]) if self.shape(from) == shape => (Op::Unary(last), Epilogue::default()),
            _ => (op, Epilogue::of(Act::Unary(last))),
        }
    }

    /// Returns the values that the 8-bit result can represent, if they differ from those of an operand. In this case
    /// operators that only move values have to round.
    fn requantised(&self) -> Option<Grid> {
        let tensors = &self.lowering.tensors;
        let grid = tensors[self.output].grid()?;
        let operands = self.inputs.iter().filter_map(|&number| Some(&tensors[self.lowering.id(number)?]));
        operands.filter(|operand| operand.is_real()).any(|operand| operand.grid() != Some(grid)).then_some(grid)
    }

    fn append(&mut self, op: Op, inputs: &[TensorId], epilogue: Epilogue, output: TensorId) -> Result<(), Problem> {
        self.lowering.meter.memory(NODE_BYTES)?;
        push_node(&mut self.lowering.graph, op, inputs, epilogue, output, self.index);
        Ok(())
    }

    /// Number of nodes in the graph.
    pub(super) fn node_count(&self) -> usize {
        self.lowering.graph.nodes.len()
    }

    /// Marks the graph's nodes from `first` on if they compute integers from integers. Compiling a model then checks
    /// that floats can hold those integers.
    pub(super) fn mark_integers(&mut self, first: usize) {
        let operands: Vec<TensorId> = self.inputs.iter().filter_map(|&number| self.lowering.id(number)).collect();
        let first = first.max(self.after_bodies);
        let OperatorLowering { lowering: SubgraphLowering { tensors, graph, .. }, output, .. } = self;
        let integers = |tensor: &FileTensor<'_>| tensor.is_integer() && !tensor.is_bool();
        let mut operands = operands.into_iter().filter(|&id| !graph.is_constant(id));
        if operands.any(|id| integers(&tensors[id])) && integers(&tensors[*output]) {
            for index in first..graph.nodes.len() {
                graph.nodes[NodeId::new(index)].integers = tensors[*output].element_type();
            }
        }
    }
}

/// Returns the extents of a shape as a file with tensors of `rank` states them: without the ones in front that the
/// graph adds.
fn without_leading_ones(shape: Shape, rank: usize) -> Vec<usize> {
    let dims = shape.dims();
    let ones = dims.iter().take_while(|&&extent| extent == 1).count();
    dims[ones.min(dims.len().saturating_sub(rank))..].to_vec()
}

/// Returns the bounds of an activation that is merely a clamp.
fn bounds(act: Act) -> Option<[f32; 2]> {
    match act {
        Act::None => Some([f32::NEG_INFINITY, f32::INFINITY]),
        Act::Unary(Unary::Relu) => Some([0.0, f32::INFINITY]),
        Act::Unary(Unary::Relu6) => Some([0.0, 6.0]),
        Act::Unary(Unary::ReluN1To1) => Some([-1.0, 1.0]),
        Act::Unary(_) | Act::Prelu(_) => None,
    }
}
