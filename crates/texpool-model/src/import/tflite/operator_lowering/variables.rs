//! Operators that name, read and assign variables.

use super::{OperatorLowering, SubgraphLowering};
use crate::import::{
    error::Problem,
    tflite::{schema::Operator, variables::Value},
};
use texpool_ops::graph::{Constant, Epilogue, Op};

impl SubgraphLowering<'_> {
    /// Returns whether the variable that an operator has read had no value before the first run.
    pub(in crate::import::tflite) fn lacks_first_value(&self, operator: &Operator<'_>) -> bool {
        let handle = operator.inputs().and_then(|inputs| self.id(*inputs.first()?));
        handle.is_some_and(|handle| self.variables.lacks_first_value(handle))
    }
}

impl OperatorLowering<'_, '_> {
    /// Lets the result stand for a variable.
    pub(in crate::import::tflite) fn name_variable(&mut self) -> Result<(), Problem> {
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
    pub(in crate::import::tflite) fn read_variable(&mut self) -> Result<(), Problem> {
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
    pub(in crate::import::tflite) fn assign_variable(&mut self) -> Result<(), Problem> {
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
    pub(in crate::import::tflite) fn call_once(&mut self, graph: i32) -> Result<(), Problem> {
        self.outside_branches()?;
        let SubgraphLowering { variables, meter, .. } = &mut *self.lowering;
        variables.call_once(graph, self.owner, meter)
    }

    /// Returns whether an operand is a variable, which keeps its values from run to run.
    pub(in crate::import::tflite) fn is_variable(&self, position: usize) -> Result<bool, Problem> {
        self.id(position).map(|id| self.lowering.tensors[id].is_variable())
    }
}
