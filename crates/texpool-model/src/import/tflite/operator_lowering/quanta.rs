//! Computes layers with the integers of 8-bit tensors, as the runtimes do.
//!
//! The *quanta* of a tensor are its integers, counted from the zero point: its values are quanta times the scale. Kernels
//! add up products of quanta without rounding, so requantised results equal those of the runtime. Each tensor still has
//! its values for operators that compute with reals, and rewriting removes those that nothing reads.

use super::{OperatorLowering, SubgraphLowering};
use crate::import::{
    FakeQuant,
    common::{
        graph::{NODE_BYTES, inferred, push_tensor},
        layer_integers::{LayerIntegers, QuantizedTo},
    },
    error::Problem,
    tflite::tensors::{ByteGrid, Grid, Quanta},
};
use texpool_ops::graph::{
    Act, Binary, ElementType, Epilogue, FixedPoint, Op, Pad, PadMode, QuantizedAdd, Reduce, ReduceKind, Requantization,
    Requantize, Shape, TensorId, Unary,
};

impl OperatorLowering<'_, '_> {
    /// Adds a layer: input, weights, and optionally biases. Computes with integers if all tensors have 8 bits.
    pub(in crate::import::tflite) fn emit_layer(
        &mut self,
        op: Op,
        inputs: &[TensorId],
        act: Act,
    ) -> Result<(), Problem> {
        let Some((to, from)) = self.byte_grids(inputs[0], act)? else { return self.emit(op, inputs, act) };
        let SubgraphLowering { graph, meter, .. } = &mut *self.lowering;
        let Some(layer) = LayerIntegers::new(graph, &op, inputs, from.scale, meter)? else {
            return self.emit(op, inputs, act);
        };
        let Some(shape) = self.settled(&op, inputs)? else { return self.emit(op, inputs, act) };
        let (x, name, mut to) = (self.quanta(inputs[0])?, self.stem(self.output), self.quantized_to(to));
        // The older kernels of TensorFlow Lite multiply scales as floats: those of unsigned integers, and those of fully
        // connected layers with one scale.
        let is_unsigned = self.lowering.tensors[inputs[0]].element_type() == Some(ElementType::U8);
        to.rounds_products = is_unsigned || op == Op::FullyConnected && layer.has_one_scale();
        let SubgraphLowering { graph, meter, .. } = &mut *self.lowering;
        let (operands, act) = layer.operands(graph, &name, (x, from.scale), &to, meter)?;
        self.emit_quanta(op, &operands, act, shape)
    }

    /// Adds a product of two tensors. Computes with integers if all of them have 8 bits.
    pub(in crate::import::tflite) fn emit_product(&mut self, inputs: [TensorId; 2], act: Act) -> Result<(), Problem> {
        let op = Op::Binary(Binary::Mul);
        let [Some((grid, a)), Some((_, b))] = [self.byte_grids(inputs[0], act)?, self.byte_grids(inputs[1], act)?]
        else {
            return self.emit(op, &inputs, act);
        };
        let Some(shape) = self.settled(&op, &inputs)? else { return self.emit(op, &inputs, act) };
        let operands = [self.quanta(inputs[0])?, self.quanta(inputs[1])?];
        let act = self.requantize(shape.c, [a.scale, b.scale], grid)?;
        self.emit_quanta(op, &operands, act, shape)
    }

    /// Adds a sum or a difference of two tensors. Computes with integers if all of them have 8 bits.
    pub(in crate::import::tflite) fn emit_sum(
        &mut self,
        function: Binary,
        inputs: [TensorId; 2],
        act: Act,
    ) -> Result<(), Problem> {
        let op = Op::Binary(function);
        let [Some((to, a)), Some((_, b))] = [self.byte_grids(inputs[0], act)?, self.byte_grids(inputs[1], act)?] else {
            return self.emit(op, &inputs, act);
        };
        let sign = if function == Binary::Sub { -1.0 } else { 1.0 };
        let (scales, limits) = ([a.scale, sign * b.scale], [to.least, to.most]);
        let add = match self.lowering.fake_quant {
            FakeQuant::Reference => QuantizedAdd::fixed(scales, to.scale, limits),
            FakeQuant::On | FakeQuant::Off => QuantizedAdd::shift(scales, to.scale, limits),
        };
        let (Some(add), Some(shape)) = (add, self.settled(&op, &inputs)?) else { return self.emit(op, &inputs, act) };
        let operands = [self.quanta(inputs[0])?, self.quanta(inputs[1])?];
        self.emit_quanta(add.into(), &operands, Act::None, shape)
    }

    /// Adds an operator whose results are means of values of its operand, which has the same scale.
    pub(in crate::import::tflite) fn emit_mean(&mut self, op: Op, x: TensorId, act: Act) -> Result<(), Problem> {
        let same = self.byte_grids(x, act)?.filter(|(grid, from)| (grid.scale, grid.zero) == (from.scale, from.zero));
        let Some((grid, _)) = same else { return self.emit(op, &[x], act) };
        let Some(shape) = self.settled(&op, &[x])? else { return self.emit(op, &[x], act) };
        let quanta = self.quanta(x)?;
        // Runtimes round the mean of the integers as they are stored.
        let round = Unary::RoundAway { origin: grid.zero as f32, least: grid.least, most: grid.most };
        self.emit_quanta(op, &[quanta], Act::Unary(round), shape)
    }

    /// Adds a mean over the marked axes of a view of an operand, in TensorFlow Lite's reference arithmetic: a sum, whose
    /// factor contains the number of values. Returns whether it did; other arithmetics equal that of reals.
    pub(in crate::import::tflite) fn emit_reference_mean(
        &mut self,
        x: TensorId,
        view: Shape,
        reduce: Reduce,
        shape: Shape,
    ) -> Result<bool, Problem> {
        let Some((grid, from)) = self.byte_grids(x, Act::None)? else { return Ok(false) };
        let count = (view.len() / shape.len().max(1)) as i64;
        // The sums of more values may not be exact.
        if self.lowering.fake_quant != FakeQuant::Reference || count > 1 << 16 {
            return Ok(false);
        }
        self.quanta(x)?;
        let view = self.view(x, view)?;
        let Some(&Quanta { tensor, .. }) = self.lowering.quanta.get(&view) else { return Ok(false) };
        let FixedPoint { significand, exponent } = FixedPoint::new(f64::from(from.scale) / f64::from(grid.scale));
        // Keeps as many bits as the count has, unless the exponent has no room for them.
        let shift = (63 - count.leading_zeros() as i32).min(32).min(31 + exponent);
        let significand = i32::try_from((i64::from(significand) << shift) / count).unwrap_or(i32::MAX);
        let factors = vec![(0, FixedPoint { significand, exponent: exponent - shift }); shape.c];
        let (name, to) = (self.stem(self.output), self.quantized_to(grid));
        let SubgraphLowering { graph, meter, .. } = &mut *self.lowering;
        let act = to.by(graph, &name, Requantize::fixed(&factors), meter)?;
        self.emit_quanta(Reduce { kind: ReduceKind::Sum, ..reduce }.into(), &[tensor], act, shape)?;
        Ok(true)
    }

    /// Adds the conversion of 8-bit integers to other scales, in TensorFlow Lite's reference arithmetic. Returns whether
    /// it did; other arithmetics equal that of reals.
    pub(in crate::import::tflite) fn emit_reference_rescale(&mut self, x: TensorId) -> Result<bool, Problem> {
        let Some((grid, from)) = self.byte_grids(x, Act::None)? else { return Ok(false) };
        if self.lowering.fake_quant != FakeQuant::Reference || self.shape(x) != self.shape(self.output) {
            return Ok(false);
        }
        let (quanta, shape) = (self.quanta(x)?, self.shape(x));
        let act = self.requantize(shape.c, [from.scale, 1.0], grid)?;
        self.emit_quanta(Op::Reshape, &[quanta], act, shape)?;
        Ok(true)
    }

    /// Adds an operator that only moves values, with operands of other scales than the result, by their quanta. Returns
    /// whether all of them have quanta.
    pub(super) fn emit_rescaled(&mut self, op: &Op, inputs: &[TensorId], shape: Shape) -> Result<bool, Problem> {
        let Some(ByteGrid { scale, least, most, .. }) = self.lowering.tensors[self.output].byte_grid() else {
            return Ok(false);
        };
        if matches!(op, Op::Pad(_)) || inputs.iter().any(|id| !self.lowering.quanta.contains_key(id)) {
            return Ok(false);
        }
        let mut operands = Vec::with_capacity(inputs.len());
        for id in inputs {
            let from = self.lowering.quanta[id];
            operands.push(if from.scale == scale {
                from.tensor
            } else {
                let round = Unary::Quantize { scale: scale / from.scale, least, most };
                self.between(round.into(), &[from.tensor], self.shape(from.tensor))?
            });
        }
        self.emit_quanta(op.clone(), &operands, Act::None, shape)?;
        Ok(true)
    }

    /// Adds a node for the quanta of a node that only moves values, if all its operands have quanta of one scale.
    pub(super) fn move_quanta(&mut self, op: &Op, inputs: &[TensorId], output: TensorId) -> Result<(), Problem> {
        let SubgraphLowering { quanta, .. } = &*self.lowering;
        let Some(all) = inputs.iter().map(|id| quanta.get(id).copied()).collect::<Option<Vec<Quanta>>>() else {
            return Ok(());
        };
        let &[Quanta { scale, .. }, ..] = all.as_slice() else { return Ok(()) };
        // Zero is the only value that has the same quanta whatever the scale is.
        let adds_values = matches!(op, Op::Pad(Pad { mode: PadMode::Constant(value), .. }) if *value != 0.0);
        if adds_values || all.iter().any(|quanta| quanta.scale != scale) {
            return Ok(());
        }
        let operands: Vec<TensorId> = all.iter().map(|quanta| quanta.tensor).collect();
        let tensor = self.new_quanta(self.shape(output), output, scale)?;
        self.append_plain(op.clone(), &operands, Epilogue::default(), tensor)
    }

    /// Returns the grids of the result within the bounds of an activation, and of an operand, if both have 8 bits and the
    /// operand is computed.
    fn byte_grids(&self, x: TensorId, act: Act) -> Result<Option<(ByteGrid, ByteGrid)>, Problem> {
        let SubgraphLowering { tensors, graph, fake_quant, .. } = &*self.lowering;
        if *fake_quant == FakeQuant::Off || graph.is_constant(x) || x.index() >= tensors.len() {
            return Ok(None);
        }
        let output = self.output()?;
        let [Some(result), Some(from)] = [&tensors[output], &tensors[x]].map(|tensor| tensor.byte_grid()) else {
            return Ok(None);
        };
        let Some(Grid { least, most, .. }) = result.grid().within(act) else { return Ok(None) };
        Ok((least <= most).then_some((ByteGrid { least, most, ..result }, from)))
    }

    /// Returns the integers of the result, with the arithmetic of the kernels that the caller chose.
    fn quantized_to(&self, ByteGrid { scale, least, most, .. }: ByteGrid) -> QuantizedTo {
        let arithmetic = match self.lowering.fake_quant {
            FakeQuant::Reference => Requantization::Fixed,
            FakeQuant::On | FakeQuant::Off => Requantization::Float,
        };
        QuantizedTo { scale, least, most, arithmetic, rounds_products: false }
    }

    /// Returns the requantisation of sums of `channels` channels whose unit is the product of two scales.
    fn requantize(&mut self, channels: usize, scales: [f32; 2], to: ByteGrid) -> Result<Act, Problem> {
        let (name, to) = (self.stem(self.output), self.quantized_to(to));
        let SubgraphLowering { graph, meter, .. } = &mut *self.lowering;
        to.requantize(graph, &name, &vec![0; channels], |_| scales, meter)
    }

    /// Returns the shape of the result after its extents are settled. `None` if the operator gives another one, which
    /// [`emit`](Self::emit) reports or reshapes.
    fn settled(&mut self, op: &Op, inputs: &[TensorId]) -> Result<Option<Shape>, Problem> {
        self.settle(op, inputs)?;
        let shape = self.shape(self.output);
        Ok((inferred(&self.lowering.graph, op, inputs, shape)? == shape).then_some(shape))
    }

    /// Returns the quanta of an 8-bit tensor, computing them from its values if nothing else did.
    fn quanta(&mut self, id: TensorId) -> Result<TensorId, Problem> {
        if let Some(quanta) = self.lowering.quanta.get(&id) {
            return Ok(quanta.tensor);
        }
        let Some(grid) = self.lowering.tensors[id].byte_grid() else {
            return Err(Problem::malformed(format!("tensor `{}` has no scale", self.lowering.tensors[id].name)));
        };
        let tensor = self.new_quanta(self.shape(id), id, grid.scale)?;
        let ByteGrid { scale, least, most, .. } = grid;
        self.append_plain(Unary::Quantize { scale, least, most }.into(), &[id], Epilogue::default(), tensor)?;
        Ok(tensor)
    }

    /// Adds the tensor that will hold the quanta of another.
    fn new_quanta(&mut self, shape: Shape, of: TensorId, scale: f32) -> Result<TensorId, Problem> {
        self.lowering.meter.memory(NODE_BYTES)?;
        let name = format!("{}/quanta", self.stem(of));
        let tensor = push_tensor(&mut self.lowering.graph, name, shape, None);
        self.lowering.quanta.insert(of, Quanta { tensor, scale });
        Ok(tensor)
    }

    /// Adds a node that computes the quanta of the result, and one that computes its values from them.
    fn emit_quanta(&mut self, op: Op, inputs: &[TensorId], act: Act, shape: Shape) -> Result<(), Problem> {
        let output = self.output;
        let Some(ByteGrid { scale, .. }) = self.lowering.tensors[output].byte_grid() else { return Ok(()) };
        let values = if shape == self.shape(output) { output } else { self.tensor(output, shape)? };
        let quanta = self.new_quanta(shape, values, scale)?;
        self.append_plain(op, inputs, Epilogue::of(act), quanta)?;
        let factor = self.new_constant(Shape::new(1, 1, 1, 1), &[scale])?;
        self.append_plain(Binary::Mul.into(), &[quanta, factor], Epilogue::default(), values)?;
        if values == output { Ok(()) } else { self.append(Op::Reshape, &[values], Epilogue::default(), output) }
    }
}
