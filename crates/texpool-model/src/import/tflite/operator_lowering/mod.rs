//! Context for lowering an operator: its operands, options and results in the file, and the graph that is being built.
//! Further files have what it does with values known on import (`known`, `fold`), with nodes, with quanta of 8-bit
//! tensors, with complex tensors and with variables.

mod complex;
mod fold;
mod known;
mod nodes;
mod quanta;
mod variables;

use std::collections::{HashMap, HashSet};

use super::{
    schema::{Model, Operator, Options},
    spectra::Spectra,
    tensors::{FileTensor, Quanta, computed_shape},
    variables::Variables,
};
use crate::import::{FakeQuant, error::Problem, meter::Meter, model_file::Owner};
use texpool_ops::graph::{Graph, IdVec, Shape, TensorId};

/// The graph that is being built. Its tensors begin with those of the file, with the same indices.
#[derive(Debug)]
pub(super) struct SubgraphLowering<'a> {
    /// Tensors by their numbers in the graph of the file whose operators are being lowered.
    pub(super) ids: Vec<TensorId>,
    pub(super) tensors: IdVec<TensorId, FileTensor<'a>>,
    pub(super) graph: Graph,
    /// Allowances of the import.
    pub(super) meter: Meter,
    /// Selects whether results of 8 or 16 bits are rounded to the representable values, or only limited to their range.
    pub(super) fake_quant: FakeQuant,
    pub(super) variables: Variables<'a>,
    /// The complex tensors.
    pub(super) spectra: Spectra,
    /// Quanta of 8-bit tensors.
    pub(super) quanta: HashMap<TensorId, Quanta>,
    /// True if the caller bound extents that the file leaves open.
    pub(super) is_resized: bool,
    pub(super) model: Model<'a>,
    /// Lowers an operator.
    pub(super) lower: Lower,
    /// Indices of the graphs that operators have as branches.
    pub(super) called: HashSet<usize>,
    /// Stored tensors of those graphs, by the index of the graph and their numbers in it. A graph that is lowered many
    /// times has them once.
    pub(super) shared: HashMap<(usize, usize), TensorId>,
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
    /// True if the result must be complex, else it must not be.
    gives_complex: bool,
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
        Ok(Self { lowering, owner, operator, index, inputs, outputs, output, after_bodies: 0, gives_complex: false })
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
    pub(super) fn custom_options(&self) -> Result<&'l [u8], Problem> {
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

    /// Allowances of the import.
    pub(super) const fn meter(&mut self) -> &mut Meter {
        &mut self.lowering.meter
    }

    /// The graph that is being built, the file's bytes, and the index of the operator of the main graph that this one
    /// is or is contained in.
    pub(super) fn parts(&mut self) -> (&mut SubgraphLowering<'a>, &'l Owner, usize) {
        (self.lowering, self.owner, self.index)
    }

    /// Returns whether an operand has 32-bit floats.
    pub(super) fn is_float(&self, id: TensorId) -> bool {
        self.lowering.tensors.get(id).is_some_and(FileTensor::is_float)
    }

    /// Returns whether a tensor's elements are truth values.
    pub(super) fn is_bool(&self, id: TensorId) -> bool {
        self.lowering.tensors.get(id).is_some_and(FileTensor::is_bool)
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

    /// Returns the result. Fails if 32-bit floats cannot hold it, or if it is complex where it must not be.
    pub(super) fn output(&self) -> Result<TensorId, Problem> {
        let tensor = &self.lowering.tensors[self.output];
        if self.gives_complex { tensor.complex() } else { tensor.computable() }.map(|()| self.output)
    }

    /// Sets the extents of the result, which follow from those of its operands. Fails if the file states others,
    /// unless it leaves them open, or the caller bound extents.
    pub(super) fn gives(&mut self, dims: &[usize]) -> Result<(), Problem> {
        let output = self.output()?;
        let stated = self.dims(output);
        if stated == dims {
            return Ok(());
        }
        if self.lowering.tensors[output].may_have(dims, self.lowering.is_resized) {
            return self.set_extents(output, dims);
        }
        Err(Problem::malformed(format!("its result is stated as {stated:?}, its operands give {dims:?}")))
    }

    /// Makes the result a tensor without elements, if its extents fit those that the file states.
    pub(super) fn gives_empty(&mut self, dims: &[usize]) -> Result<(), Problem> {
        let tensor = &mut self.lowering.tensors[self.output];
        if tensor.without_elements() != Some(dims) {
            if !tensor.may_have(dims, self.lowering.is_resized) {
                return Err(Problem::empty_result(dims));
            }
            tensor.set_empty(dims);
        }
        Ok(())
    }

    /// Returns the extents of an operand without elements; `None` for all others.
    pub(super) fn without_elements(&self, position: usize) -> Result<Option<Vec<usize>>, Problem> {
        let id = self.id(position)?;
        Ok(self.lowering.tensors[id].without_elements().map(<[usize]>::to_vec))
    }

    /// Returns an operand that a body may only pass on, which need not have elements.
    pub(super) fn carried(&mut self, position: usize) -> Result<TensorId, Problem> {
        if self.without_elements(position)?.is_some() { self.id(position) } else { self.operand(position) }
    }

    /// Sets the extents of the result like [`gives`](Self::gives), also if the file states none: converters leave out
    /// those of some custom operators.
    pub(super) fn gives_if_stated(&mut self, dims: &[usize]) -> Result<(), Problem> {
        let output = self.output()?;
        if !self.dims(output).is_empty() {
            return self.gives(dims);
        }
        self.set_extents(output, dims)
    }

    fn set_extents(&mut self, output: TensorId, dims: &[usize]) -> Result<(), Problem> {
        let shape = computed_shape(&self.lowering.tensors[output].name, dims)?;
        let tensor = &mut self.lowering.graph.tensors[output];
        (tensor.dims, tensor.shape) = (dims.to_vec(), shape);
        Ok(())
    }

    /// Sets the extents of the result to those of a tensor.
    pub(super) fn gives_like(&mut self, id: TensorId) -> Result<(), Problem> {
        let dims = self.dims(id).to_vec();
        self.gives(&dims)
    }

    /// Returns whether the result may have other extents than the file states: it leaves some open, or the caller
    /// bound some.
    pub(super) fn may_differ(&self) -> bool {
        self.lowering.is_resized || self.lowering.tensors[self.output].has_open_axes()
    }
}
