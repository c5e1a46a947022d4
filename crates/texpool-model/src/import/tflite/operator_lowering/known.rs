//! Values that are known on import: constants of the file, and what is folded from them.

use super::{OperatorLowering, SubgraphLowering};
use crate::import::{
    common::{
        axes::axis,
        graph::{NODE_BYTES, push_tensor, source_names},
    },
    error::Problem,
    tflite::tensors::MAX_RANK,
};
use texpool_ops::graph::{Bytes, Constant, Shape, TensorId};

impl OperatorLowering<'_, '_> {
    /// Returns an operand that must be constant.
    pub(in crate::import::tflite) fn constant(&mut self, position: usize, role: &str) -> Result<TensorId, Problem> {
        let id = self.operand(position)?;
        if self.lowering.graph.is_constant(id) {
            return Ok(id);
        }
        let name = &self.lowering.tensors[id].name;
        Err(Problem::new(format!("its {role} `{name}` are computed at run time"), "make them constants of the model"))
    }

    /// Returns the values of a constant operand as floats.
    pub(in crate::import::tflite) fn reals(&mut self, position: usize, role: &str) -> Result<Vec<f32>, Problem> {
        let id = self.constant(position, role)?;
        self.values(id)
    }

    /// Returns the values of a constant as floats. There are none if the tensor is computed.
    pub(in crate::import::tflite) fn values(&mut self, id: TensorId) -> Result<Vec<f32>, Problem> {
        let Some(constant) = &self.lowering.graph.tensors[id].constant else { return Ok(Vec::new()) };
        let reals = constant.reals();
        Ok(self.lowering.meter.filled(constant.len(), (0..constant.len()).map(|i| reals.get(i)))?)
    }

    /// Adds a constant that is not in the file.
    pub(in crate::import::tflite) fn new_constant(
        &mut self,
        shape: Shape,
        values: &[f32],
    ) -> Result<TensorId, Problem> {
        self.lowering.meter.memory(NODE_BYTES.saturating_add(size_of_val(values)))?;
        let name = format!("{}/constant {}", self.stem(self.output), self.lowering.graph.tensors.len());
        Ok(push_tensor(&mut self.lowering.graph, name, shape, Some(Constant::from_f32(values))))
    }

    /// Returns the values of a constant operand of integers.
    pub(in crate::import::tflite) fn integers(&mut self, position: usize, role: &str) -> Result<Vec<i64>, Problem> {
        self.known_integers(position, &format!("its {role}"), "are")
    }

    fn known_integers(&mut self, position: usize, role: &str, verb: &str) -> Result<Vec<i64>, Problem> {
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
                Err(Problem::malformed(format!("{role} `{name}` {verb} {} numbers", constant.len())))
            }
            Some(constant) => {
                constant.to_i64().ok_or_else(|| Problem::malformed(format!("{role} `{name}` {verb} no integers")))
            }
            None => Err(self.computed(id, role, verb)),
        }
    }

    /// Creates the refusal of a computed value, which names the tensors that decide it.
    fn computed(&mut self, id: TensorId, role: &str, verb: &str) -> Problem {
        match self.sources(id) {
            Ok(from) => {
                let name = &self.lowering.tensors[id].name;
                Problem::dynamic(format!("{role} `{name}` {verb} computed at run time{from}"))
            }
            Err(problem) => problem,
        }
    }

    /// Returns " from" and the names of the given tensors that another one is computed from.
    pub(in crate::import::tflite) fn sources(&mut self, id: TensorId) -> Result<String, Problem> {
        let SubgraphLowering { graph, meter, tensors, .. } = &mut *self.lowering;
        let sources = source_names(graph, meter, id)?;
        let is_itself = sources == format!("`{}`", tensors[id].name);
        Ok(if sources.is_empty() || is_itself { String::new() } else { format!(" from {sources}") })
    }

    /// Fails if a constant holds an index outside an axis of `dims`. Negative ones count from its end.
    pub(in crate::import::tflite) fn indices_within(
        &mut self,
        indices: TensorId,
        along: usize,
        dims: &[usize],
    ) -> Result<(), Problem> {
        let Some(constant) = &self.lowering.graph.tensors[indices].constant else { return Ok(()) };
        self.lowering.meter.work(constant.len())?;
        let list = constant.to_i64().unwrap_or_default();
        match list.iter().find(|&&index| axis(index, dims[along]).is_err()) {
            None => Ok(()),
            Some(index) => Err(Problem::malformed(format!("the index {index} lies outside axis {along} of {dims:?}"))),
        }
    }

    /// Returns the only value of a constant operand of integers.
    pub(in crate::import::tflite) fn integer(&mut self, position: usize, role: &str) -> Result<i64, Problem> {
        match self.known_integers(position, &format!("its {role}"), "is")?.as_slice() {
            &[value] => Ok(value),
            _ => Err(Problem::malformed(format!("its {role} is no single number"))),
        }
    }

    /// Returns the only value of a constant operand.
    pub(in crate::import::tflite) fn scalar(&mut self, position: usize, role: &str) -> Result<f32, Problem> {
        let id = self.operand(position)?;
        match self.is_constant(id) {
            true => self.known_number(id).ok_or_else(|| Problem::malformed(format!("its {role} is no single number"))),
            false => Err(self.computed(id, &format!("its {role}"), "is")),
        }
    }

    /// Loads the values of a tensor into the graph, if the file contains them.
    pub(in crate::import::tflite) fn load(&mut self, id: TensorId) -> Result<(), Problem> {
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

    /// Returns the only value of a constant.
    pub(in crate::import::tflite) fn known_number(&self, id: TensorId) -> Option<f32> {
        let constant = self.lowering.graph.tensors[id].constant.as_ref().filter(|constant| constant.len() == 1)?;
        Some(constant.reals().get(0))
    }

    /// Returns a constant that repeats the only value of a tensor.
    pub(in crate::import::tflite) fn repeated(&mut self, id: TensorId, count: usize) -> Result<Constant, Problem> {
        let constant = self.shared(id)?;
        self.repeated_constant(constant, count)
    }

    /// Returns a constant that repeats the only value of another.
    pub(in crate::import::tflite) fn repeated_constant(
        &mut self,
        constant: Option<Constant>,
        count: usize,
    ) -> Result<Constant, Problem> {
        self.lowering.meter.repeat(count)?;
        let repeated = constant.and_then(|Constant { dtype, bytes, scale }| {
            Some(Constant { dtype, bytes: Bytes::repeated(bytes.as_slice(), count)?, scale })
        });
        repeated.ok_or_else(|| Problem::limit(format!("{count} elements of one value are too many")))
    }

    /// Turns the result into a constant of integers.
    pub(in crate::import::tflite) fn give_integers(&mut self, values: &[i32]) -> Result<(), Problem> {
        self.lowering.meter.memory(size_of_val(values))?;
        self.give_constant(&[values.len()], Constant::from_i32(values))
    }

    /// Turns the result into a constant.
    pub(in crate::import::tflite) fn give_constant(
        &mut self,
        dims: &[usize],
        constant: Constant,
    ) -> Result<(), Problem> {
        self.gives(dims)?;
        self.lowering.meter.memory(NODE_BYTES)?;
        self.check_unset()?;
        self.lowering.graph.tensors[self.output].constant = Some(constant);
        Ok(())
    }

    /// Fails if the result has a value. The graph's check only detects tensors that are written by two nodes, and
    /// constants and complex tensors have no node.
    pub(super) fn check_unset(&self) -> Result<(), Problem> {
        let SubgraphLowering { tensors, graph, spectra, .. } = &*self.lowering;
        let stated = &tensors[self.output];
        match stated.has_values() || graph.is_constant(self.output) || spectra.get(self.output).is_some() {
            true => Err(Problem::malformed(format!("its result `{}` has a value already", stated.name))),
            false => Ok(()),
        }
    }

    /// Returns a constant for use under another name. The values are shared, but the scales are copied, and there may
    /// be many of them.
    pub(super) fn shared(&mut self, id: TensorId) -> Result<Option<Constant>, Problem> {
        let constant = self.lowering.graph.tensors[id].constant.clone();
        let scales =
            constant.as_ref().and_then(|constant| constant.scale.as_ref()).map_or(0, |scale| scale.scale.len());
        self.lowering.meter.memory(scales.saturating_mul(size_of::<f32>() + size_of::<i32>()))?;
        Ok(constant)
    }

    /// Returns whether a tensor is a constant.
    pub(in crate::import::tflite) fn is_constant(&self, id: TensorId) -> bool {
        self.lowering.graph.is_constant(id)
    }
}
