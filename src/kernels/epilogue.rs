//! The epilogue in a kernel: its override constants and its alphas.

use super::{Constants, KernelError, SectionRole, StepContext, WeightSection, pack, wgsl::shared_constants};
use crate::graph::{Act, Graph, Node, Unary};

/// A node's epilogue in the form that `texel.wgsl` expects.
#[derive(Clone, Debug, Default)]
pub struct EpilogueParams {
    /// Codes of `activate` in `texel.wgsl`.
    pub codes: [u32; 2],
    /// True if a tensor is added between the two functions.
    pub add: bool,
    /// First parameters of the functions: slopes, bounds.
    pub alphas: [f32; 2],
    /// Second parameters as bits; for PReLU, the texel of its alphas, as kernels count them (`StepContext::section`).
    pub betas: [u32; 2],
    /// True if there are PReLU alphas. They are stored among the weights.
    has_alphas: bool,
}

impl EpilogueParams {
    /// Returns the epilogue of a step.
    pub(crate) fn new(step: &StepContext<'_>) -> Self {
        let mut epilogue = Self::of_node(step.graph, step.node);
        for ((beta, code), role) in epilogue.betas.iter_mut().zip(epilogue.codes).zip(SectionRole::ALPHAS) {
            if code == ACT_PRELU {
                *beta = step.section(role);
            }
        }
        epilogue
    }

    /// Returns the epilogue of a node whose weights have no location yet.
    pub fn of_node(graph: &Graph, node: &Node) -> Self {
        let mut epilogue = Self { add: node.epilogue.add.is_some(), ..Self::default() };
        for (i, act) in [node.epilogue.first, node.epilogue.then].into_iter().enumerate() {
            match act {
                Act::None => {}
                Act::Unary(unary) => {
                    // `check` rejects a step whose function has no code; packing weights needs no code.
                    let (code, alpha, beta) = function(unary).unwrap_or((ACT_NONE, 0.0, 0));
                    epilogue.codes[i] = code;
                    epilogue.alphas[i] = alpha;
                    epilogue.betas[i] = beta;
                }
                Act::Prelu(tensor) => {
                    epilogue.codes[i] = ACT_PRELU;
                    epilogue.has_alphas |= graph.is_constant(tensor);
                }
            }
        }
        epilogue
    }

    /// Returns whether the epilogue reads the weight texture.
    pub fn reads_weights(&self) -> bool {
        self.has_alphas
    }

    /// Adds the epilogue's override constants.
    pub fn constants(&self, constants: &mut Constants) {
        constants.push(("FIRST", f64::from(self.codes[0])));
        constants.push(("ADD", f64::from(u8::from(self.add))));
        constants.push(("THEN", f64::from(self.codes[1])));
    }
}

/// Returns the PReLU alphas of a node's functions.
pub(crate) fn alphas(graph: &Graph, node: &Node) -> impl Iterator<Item = WeightSection> {
    let acts = [node.epilogue.first, node.epilogue.then].into_iter().zip(SectionRole::ALPHAS);
    acts.filter_map(|(act, role)| match act {
        Act::Prelu(tensor) => Some(pack::channels_of(graph, role, tensor)),
        Act::None | Act::Unary(_) => None,
    })
}

/// Checks that `activate` in `texel.wgsl` supports the functions of a step's epilogue.
pub(crate) fn check(step: &StepContext<'_>) -> Result<(), KernelError> {
    for act in [step.node.epilogue.first, step.node.epilogue.then] {
        if let Act::Unary(unary) = act
            && function(unary).is_none()
        {
            return Err(step.unsupported(format!("no epilogue can hold {}", unary.name())));
        }
    }
    Ok(())
}

shared_constants! {
    /// Functions that `activate` in `texel.wgsl` supports.
    ACTIVATIONS:
    ACT_NONE = 0,
    ACT_RELU = 1,
    ACT_RELU6 = 2,
    ACT_RELU_N1_TO_1 = 3,
    ACT_LEAKY_RELU = 4,
    ACT_ELU = 5,
    ACT_HARD_SWISH = 6,
    ACT_LOGISTIC = 7,
    ACT_TANH = 8,
    ACT_EXP = 9,
    ACT_SQRT = 10,
    ACT_RSQRT = 11,
    ACT_SQUARE = 12,
    ACT_ABS = 13,
    ACT_NEG = 14,
    ACT_PRELU = 15,
    ACT_CLIP = 16,
    ACT_HARD_SIGMOID = 17,
    ACT_SILU = 18,
    ACT_GELU = 19,
    ACT_GELU_TANH = 20,
    ACT_SOFTPLUS = 21,
    ACT_MISH = 22,
    ACT_FAKE_QUANT = 23,
}

/// Returns the code of a function in `activate` of `texel.wgsl`, and its two parameters, the second as bits. Returns
/// `None` for unsupported functions.
pub(crate) fn function(unary: Unary) -> Option<(u32, f32, u32)> {
    if let Unary::FakeQuant { scale, least, most } = unary {
        // Three numbers for two parameters: the bounds have 16 bits each and share a word.
        let limits = u32::from(least.cast_unsigned()) | u32::from(most.cast_unsigned()) << 16;
        return Some((ACT_FAKE_QUANT, scale, limits));
    }
    let (code, [alpha, beta]) = of_floats(unary)?;
    Some((code, alpha, beta.to_bits()))
}

/// Returns whether a function can be part of an epilogue. This holds for short functions that follow convolutions in
/// networks. All others are separate steps, so that the other shaders need not contain them.
pub(crate) fn fits_epilogue(unary: Unary) -> bool {
    function(unary).is_some()
}

/// Returns the code and parameters of functions whose parameters are floats.
fn of_floats(unary: Unary) -> Option<(u32, [f32; 2])> {
    Some(match unary {
        Unary::Relu => (ACT_RELU, [0.0; 2]),
        Unary::Relu6 => (ACT_RELU6, [0.0; 2]),
        Unary::ReluN1To1 => (ACT_RELU_N1_TO_1, [0.0; 2]),
        Unary::LeakyRelu { alpha } => (ACT_LEAKY_RELU, [alpha, 0.0]),
        Unary::Elu { alpha } => (ACT_ELU, [alpha, 0.0]),
        Unary::HardSwish => (ACT_HARD_SWISH, [0.0; 2]),
        Unary::Logistic => (ACT_LOGISTIC, [0.0; 2]),
        Unary::Tanh => (ACT_TANH, [0.0; 2]),
        Unary::Exp => (ACT_EXP, [0.0; 2]),
        Unary::Sqrt => (ACT_SQRT, [0.0; 2]),
        Unary::Rsqrt => (ACT_RSQRT, [0.0; 2]),
        Unary::Square => (ACT_SQUARE, [0.0; 2]),
        Unary::Abs => (ACT_ABS, [0.0; 2]),
        Unary::Neg => (ACT_NEG, [0.0; 2]),
        Unary::Clip { min, max } => (ACT_CLIP, [min, max]),
        Unary::HardSigmoid { alpha, beta } => (ACT_HARD_SIGMOID, [alpha, beta]),
        Unary::Silu => (ACT_SILU, [0.0; 2]),
        Unary::Gelu => (ACT_GELU, [0.0; 2]),
        Unary::GeluTanh => (ACT_GELU_TANH, [0.0; 2]),
        Unary::Softplus => (ACT_SOFTPLUS, [0.0; 2]),
        Unary::Mish => (ACT_MISH, [0.0; 2]),
        _ => return None,
    })
}
