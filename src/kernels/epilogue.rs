//! The epilogue in a kernel: its override constants, its alphas, and its CPU reference.

use super::{Constants, KernelError, StepContext, family};
use crate::graph::{Act, Graph, Node, Unary};

/// A node's epilogue as `texel.wgsl` wants it.
#[derive(Clone, Debug, Default)]
pub struct EpilogueParams {
    /// Codes of `activate` in `texel.wgsl`.
    pub codes: [u32; 2],
    /// Whether a tensor is added in between.
    pub add: bool,
    /// First parameters of the functions: slopes, bounds.
    pub alpha: [f32; 2],
    /// Second parameters as bits; for PReLU the texel of its alphas, counted from the step's first weight texel.
    pub second: [u32; 2],
    /// PReLU alphas to be packed behind the family's own weights.
    texels: Vec<[f32; 4]>,
}

impl EpilogueParams {
    /// The epilogue of `node`, whose family packs `own` weight texels of its own in front of the alphas.
    pub fn new(graph: &Graph, node: &Node, own: usize) -> Self {
        let mut plan = Self { add: node.epilogue.add.is_some(), ..Self::default() };
        for (i, act) in [node.epilogue.first, node.epilogue.then].into_iter().enumerate() {
            match act {
                Act::None => {}
                Act::Unary(unary) => {
                    let (code, [first, second]) = function(unary).unwrap_or_default();
                    plan.codes[i] = code;
                    plan.alpha[i] = f32::from_bits(first);
                    plan.second[i] = second;
                }
                Act::Prelu(tensor) => {
                    plan.codes[i] = PRELU;
                    plan.second[i] = (own + plan.texels.len()) as u32;
                    plan.texels.extend(channel_texels(graph, tensor));
                }
            }
        }
        plan
    }

    /// Appends the alphas behind the family's own weights.
    pub fn pack(&self, weights: &mut Vec<[f32; 4]>) {
        weights.extend_from_slice(&self.texels);
    }

    /// Whether the epilogue reads the weight texture.
    pub fn reads_weights(&self) -> bool {
        !self.texels.is_empty()
    }

    /// Adds the epilogue's override constants.
    pub fn constants(&self, constants: &mut Constants) {
        constants.push(("FIRST", f64::from(self.codes[0])));
        constants.push(("ADD", f64::from(u8::from(self.add))));
        constants.push(("THEN", f64::from(self.codes[1])));
    }
}

/// Checks that `activate` of `texel.wgsl` knows the functions of a step's epilogue.
pub(crate) fn check(step: &StepContext<'_>) -> Result<(), KernelError> {
    for act in [step.node.epilogue.first, step.node.epilogue.then] {
        if let Act::Unary(unary) = act
            && function(unary).is_none()
        {
            return Err(family::unsupported(step, format!("no epilogue can hold {}", unary.name())));
        }
    }
    Ok(())
}

/// A constant of one value per channel as texels, zeros behind.
pub(crate) fn channel_texels(graph: &Graph, tensor: usize) -> Vec<[f32; 4]> {
    let Some(constant) = &graph.tensors[tensor].constant else { return Vec::new() };
    constant
        .to_f32()
        .chunks(4)
        .map(|chunk| {
            let mut texel = [0.0; 4];
            texel[..chunk.len()].copy_from_slice(chunk);
            texel
        })
        .collect()
}

/// The code of PReLU in `activate` of `texel.wgsl`.
const PRELU: u32 = 15;

/// The code of fake quantisation there.
const FAKE_QUANT: u32 = 23;

/// The code and the bits of the two parameters of a function in `activate` of `texel.wgsl`; none of those that it does not
/// know.
pub(crate) fn function(unary: Unary) -> Option<(u32, [u32; 2])> {
    if let Unary::FakeQuant { scale, least, most } = unary {
        let limits = u32::from(least.cast_unsigned()) | u32::from(most.cast_unsigned()) << 16;
        return Some((FAKE_QUANT, [scale.to_bits(), limits]));
    }
    let (code, parameters) = of_floats(unary)?;
    Some((code, parameters.map(f32::to_bits)))
}

/// Those of functions whose parameters are floats.
fn of_floats(unary: Unary) -> Option<(u32, [f32; 2])> {
    Some(match unary {
        Unary::Relu => (1, [0.0; 2]),
        Unary::Relu6 => (2, [0.0; 2]),
        Unary::ReluN1To1 => (3, [0.0; 2]),
        Unary::LeakyRelu { alpha } => (4, [alpha, 0.0]),
        Unary::Elu { alpha } => (5, [alpha, 0.0]),
        Unary::HardSwish => (6, [0.0; 2]),
        Unary::Logistic => (7, [0.0; 2]),
        Unary::Tanh => (8, [0.0; 2]),
        Unary::Exp => (9, [0.0; 2]),
        Unary::Sqrt => (10, [0.0; 2]),
        Unary::Rsqrt => (11, [0.0; 2]),
        Unary::Square => (12, [0.0; 2]),
        Unary::Abs => (13, [0.0; 2]),
        Unary::Neg => (14, [0.0; 2]),
        Unary::Clip { min, max } => (16, [min, max]),
        Unary::HardSigmoid { alpha, beta } => (17, [alpha, beta]),
        Unary::Silu => (18, [0.0; 2]),
        Unary::Gelu => (19, [0.0; 2]),
        Unary::GeluTanh => (20, [0.0; 2]),
        Unary::Softplus => (21, [0.0; 2]),
        Unary::Mish => (22, [0.0; 2]),
        _ => return None,
    })
}
