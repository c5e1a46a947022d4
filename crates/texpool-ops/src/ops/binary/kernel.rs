//! Kernel of functions of two values with broadcasting, including PReLU. Matrix products use its helpers for constant
//! operands, too.

use super::Binary;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Constants, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        loops::loops,
        pack,
        params::ConstantTensor,
        shader::helpers::{ONE_TEXEL, TWO_OPERANDS},
        wgsl::{ShaderParams, shader_params, shared_constants},
    },
    ops::{
        operator::{Kernels, Operator, category},
        work::{CostClass, Work},
    },
};

impl Kernels for Binary {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Binary {
    category!(two_operands);

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Elementwise, 1, 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        dispatches(step, code(*self))
    }
}

pub(crate) const SHADER: Shader = Shader::new("binary", texpool_shaders::BINARY)
    .constants(&[FUNCTIONS, CONSTANT_OPERANDS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL, TWO_OPERANDS])
    .loops(loops![factor, byte, byte, byte, byte, byte]);

shared_constants! {
    /// Functions that `binary.wgsl` supports.
    FUNCTIONS:
    BINARY_ADD = 0,
    BINARY_SUB = 1,
    BINARY_MUL = 2,
    BINARY_DIV = 3,
    BINARY_MAXIMUM = 4,
    BINARY_MINIMUM = 5,
    /// `x < 0 ? alpha * x : x`.
    BINARY_PRELU = 6,
    BINARY_POW = 7,
    BINARY_MOD = 8,
    BINARY_FMOD = 9,
    BINARY_FLOOR_DIV = 10,
    BINARY_TRUNC_DIV = 11,
    BINARY_SQUARED_DIFFERENCE = 12,
    BINARY_EQUAL = 13,
    BINARY_NOT_EQUAL = 14,
    BINARY_LESS = 15,
    BINARY_LESS_EQUAL = 16,
    BINARY_GREATER = 17,
    BINARY_GREATER_EQUAL = 18,
    BINARY_AND = 19,
    BINARY_OR = 20,
    BINARY_XOR = 21,
    BINARY_ZERO_UNLESS = 22,
    BINARY_ZERO_IF = 23,
}

shared_constants! {
    /// The constant one of two operands.
    CONSTANT_OPERANDS:
    CONSTANT_NONE = 0,
    CONSTANT_LEFT = 1,
    CONSTANT_RIGHT = 2,
}

/// Maximum number of indices of the shader's loops. Whole powers are computed by multiplication with up to 16
/// factors, and remainders process eight bits of the quotient at a time.
const LOOPS: [(&str, usize); 2] = [("factor", 16), ("byte", 32)];

shader_params! {
    struct Params {
        constant: ConstantTensor,
    }
}

/// Code of PReLU in `binary.wgsl`.
pub(crate) const PRELU: u32 = BINARY_PRELU;

/// Returns the code of a function in `binary.wgsl`.
pub(crate) const fn code(binary: Binary) -> u32 {
    match binary {
        Binary::Add => BINARY_ADD,
        Binary::Sub => BINARY_SUB,
        Binary::Mul => BINARY_MUL,
        Binary::Div => BINARY_DIV,
        Binary::Maximum => BINARY_MAXIMUM,
        Binary::Minimum => BINARY_MINIMUM,
        Binary::Pow => BINARY_POW,
        Binary::Mod => BINARY_MOD,
        Binary::Fmod => BINARY_FMOD,
        Binary::FloorDiv => BINARY_FLOOR_DIV,
        Binary::TruncDiv => BINARY_TRUNC_DIV,
        Binary::SquaredDifference => BINARY_SQUARED_DIFFERENCE,
        Binary::Equal => BINARY_EQUAL,
        Binary::NotEqual => BINARY_NOT_EQUAL,
        Binary::Less => BINARY_LESS,
        Binary::LessEqual => BINARY_LESS_EQUAL,
        Binary::Greater => BINARY_GREATER,
        Binary::GreaterEqual => BINARY_GREATER_EQUAL,
        Binary::And => BINARY_AND,
        Binary::Or => BINARY_OR,
        Binary::Xor => BINARY_XOR,
        Binary::ZeroUnless => BINARY_ZERO_UNLESS,
        Binary::ZeroIf => BINARY_ZERO_IF,
    }
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, function: u32) -> Result<Vec<Dispatch>, KernelError> {
    let constants = vec![("FUNCTION", f64::from(function))];
    reading_two(step, SHADER, common::texels(step), |constant| Params { constant }, constants, &LOOPS)
}

/// Returns a dispatch of `items` invocations that reads two operands, one of which may be a constant. `params` takes
/// that constant, and `extents` has the number of indices of each loop of the shader.
pub(crate) fn reading_two<P: ShaderParams>(
    step: &StepContext<'_>,
    shader: Shader,
    items: u32,
    params: impl Fn(ConstantTensor) -> P,
    mut constants: Constants,
    extents: &[(&'static str, usize)],
) -> Result<Vec<Dispatch>, KernelError> {
    // The constant is stored among the weights, so the second input is free for the tensor that the epilogue adds.
    if let Some(index) = pack::constant_of_two(step.graph, step.node) {
        let shape = step.graph.shape(step.node.inputs[index]);
        let input = common::placed(step, 1 - index)?;
        let epilogue = EpilogueParams::new(step);
        let params = params(ConstantTensor(Some(shape)));
        let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
        constants.push(("CONSTANT", f64::from(if index == 0 { CONSTANT_LEFT } else { CONSTANT_RIGHT })));
        let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, extents);
        return Ok(vec![dispatch.reading(input).reading_weights(step)]);
    }
    let (a, b) = (common::placed(step, 0)?, common::placed(step, 1)?);
    common::no_added_tensor(step)?;
    let epilogue = EpilogueParams::new(step);
    let params = params(ConstantTensor(None));
    let params = KernelParams::new(step, &epilogue, items).input(a).second(b).params(&params);
    constants.push(("CONSTANT", f64::from(CONSTANT_NONE)));
    let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, extents);
    Ok(vec![dispatch.reading(a).reading_second(b)])
}
