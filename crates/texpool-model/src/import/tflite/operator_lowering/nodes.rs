//! Adds nodes to the graph for the operator that is being lowered.

use super::{OperatorLowering, SubgraphLowering};
use crate::import::{
    FakeQuant,
    common::graph::{NODE_BYTES, inferred, push_node, push_tensor, stem},
    error::Problem,
    tflite::tensors::{FileTensor, Grid, shape_of},
};
use texpool_ops::graph::{Act, Constant, Epilogue, NodeId, Op, Shape, TensorId, Unary};

impl OperatorLowering<'_, '_> {
    /// Passes the operand through: a constant stays constant, a computed tensor becomes a reshape.
    pub(in crate::import::tflite) fn pass_on(&mut self) -> Result<(), Problem> {
        let input = self.operand(0)?;
        self.pass(input)
    }

    /// Loads a tensor that becomes a result as it is. Fails unless it has the type and the extents of the result.
    pub(in crate::import::tflite) fn load_result(&mut self, id: TensorId) -> Result<(), Problem> {
        self.load(id)?;
        let SubgraphLowering { tensors, .. } = &*self.lowering;
        if !tensors[id].is_like(&tensors[self.output]) {
            let [from, to] = [id, self.output].map(|id| &tensors[id].name);
            return Err(Problem::malformed(format!("its result `{to}` and `{from}` differ in type")));
        }
        self.gives_like(id)
    }

    /// Passes a tensor on as the result.
    pub(in crate::import::tflite) fn pass(&mut self, input: TensorId) -> Result<(), Problem> {
        if !self.lowering.graph.is_constant(input) {
            self.gives_like(input)?;
            return self.emit(Op::Reshape, &[input], Act::None);
        }
        let requantised = self.requantised().filter(|_| self.lowering.fake_quant != FakeQuant::Off);
        self.lowering.tensors[self.output].extents()?;
        self.check_unset()?;
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

    /// Adds a node whose result has the shape stated in the file.
    pub(in crate::import::tflite) fn emit(&mut self, op: Op, inputs: &[TensorId], act: Act) -> Result<(), Problem> {
        self.settle(&op, inputs)?;
        let shape = self.shape(self.output);
        self.emit_as(op, inputs, act, shape)
    }

    /// Gives the result the extents that an operator computes, where the file leaves them open.
    pub(super) fn settle(&mut self, op: &Op, inputs: &[TensorId]) -> Result<(), Problem> {
        let output = self.output()?;
        if self.may_differ() {
            let inferred = inferred(&self.lowering.graph, op, inputs, self.shape(output))?;
            let rank = self.dims(output).len();
            let dims = inferred.dims();
            if inferred != self.shape(output) && rank <= dims.len() {
                self.gives(&dims[dims.len() - rank..])?;
            }
        }
        Ok(())
    }

    /// Adds a node with a result of `shape`, followed by a RESHAPE if the stated shape differs.
    pub(in crate::import::tflite) fn emit_as(
        &mut self,
        op: Op,
        inputs: &[TensorId],
        act: Act,
        shape: Shape,
    ) -> Result<(), Problem> {
        let output = self.output()?;
        let rescales = op.moves_only() && act == Act::None && self.requantised().is_some();
        let rounds = self.lowering.fake_quant != FakeQuant::Off;
        let fits = rounds && rescales && inferred(&self.lowering.graph, &op, inputs, shape)? == shape;
        if fits && self.emit_rescaled(&op, inputs, shape)? {
            return Ok(());
        }
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
    pub(in crate::import::tflite) fn view(&mut self, id: TensorId, shape: Shape) -> Result<TensorId, Problem> {
        if self.shape(id) == shape {
            return Ok(id);
        }
        self.new_view(id, shape)
    }

    /// Returns the elements of `id` with other extents of any rank.
    pub(in crate::import::tflite) fn view_as(&mut self, id: TensorId, dims: &[usize]) -> Result<TensorId, Problem> {
        let shape = shape_of(dims).ok_or_else(|| Problem::malformed(format!("{dims:?} is no shape")))?;
        let view = self.new_view(id, shape)?;
        self.lowering.graph.tensors[view].dims = dims.to_vec();
        Ok(view)
    }

    fn new_view(&mut self, id: TensorId, shape: Shape) -> Result<TensorId, Problem> {
        let view = self.tensor(id, shape)?;
        match self.shared(id)? {
            Some(constant) => self.lowering.graph.tensors[view].constant = Some(constant),
            None => self.append(Op::Reshape, &[id], Epilogue::default(), view)?,
        }
        Ok(view)
    }

    /// Adds an intermediate node and returns its result, of shape `shape`.
    pub(in crate::import::tflite) fn between(
        &mut self,
        op: Op,
        inputs: &[TensorId],
        shape: Shape,
    ) -> Result<TensorId, Problem> {
        let shape = inferred(&self.lowering.graph, &op, inputs, shape)?;
        let name = format!("{}/{}", self.stem(self.output), self.lowering.graph.nodes.len());
        let id = push_tensor(&mut self.lowering.graph, name, shape, None);
        // The limits of 8-bit types apply to the final result, not to intermediate ones.
        self.append(op, inputs, Epilogue::default(), id)?;
        Ok(id)
    }

    /// Prefix for the names of new tensors.
    pub(super) fn stem(&self, id: TensorId) -> String {
        stem(&self.lowering.graph.tensors[id].name)
    }

    /// Adds a tensor that is not in the file, with the elements of `like` in another shape.
    pub(super) fn tensor(&mut self, like: TensorId, shape: Shape) -> Result<TensorId, Problem> {
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
            (FakeQuant::On | FakeQuant::Reference, Some(part)) => part.rounding(),
            (FakeQuant::On | FakeQuant::Reference, None) => {
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

    pub(super) fn append(
        &mut self,
        op: Op,
        inputs: &[TensorId],
        epilogue: Epilogue,
        output: TensorId,
    ) -> Result<(), Problem> {
        if let &[id, ..] = inputs
            && self.lowering.spectra.get(id).is_some()
        {
            self.check_unset()?;
            self.lowering.spectra.alias(id, output);
            return Ok(());
        }
        if op.moves_only() && epilogue.is_empty() {
            self.move_quanta(&op, inputs, output)?;
        }
        self.append_plain(op, inputs, epilogue, output)
    }

    /// Adds a node of tensors that are not complex, and nothing else.
    pub(super) fn append_plain(
        &mut self,
        op: Op,
        inputs: &[TensorId],
        epilogue: Epilogue,
        output: TensorId,
    ) -> Result<(), Problem> {
        self.lowering.meter.memory(NODE_BYTES)?;
        push_node(&mut self.lowering.graph, op, inputs, epilogue, output, self.index);
        Ok(())
    }

    /// Number of nodes in the graph.
    pub(in crate::import::tflite) fn node_count(&self) -> usize {
        self.lowering.graph.nodes.len()
    }

    /// Marks the graph's nodes from `first` on if they compute integers from integers. Compiling a model then checks
    /// that floats can hold those integers.
    pub(in crate::import::tflite) fn mark_integers(&mut self, first: usize) {
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
        _ => None,
    }
}
