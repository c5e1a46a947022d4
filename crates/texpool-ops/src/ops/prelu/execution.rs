//! PReLU: `x < 0 ? alpha * x : x` with a second operand of alphas.

use super::Prelu;
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext},
    ops::{
        binary,
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError},
        work::{CostClass, Work},
    },
};

impl Kernels for Prelu {
    const SHADERS: &'static [Shader] = &[binary::kernel::SHADER];
}

impl Operator for Prelu {
    category!(two_operands);

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Elementwise, 1, 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        binary::kernel::dispatches(step, binary::kernel::PRELU)
    }
}

impl Reference for Prelu {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let prelu = |x: f32, alpha: f32| if x < 0.0 { alpha * x } else { x };
        Ok(binary::reference::broadcast(&operands.get(0)?, &operands.get(1)?, out, prelu))
    }
}
