//! The epilogue in a kernel: its override constants, its parameters and its constants among the weights.

use super::{
    Constants, KernelError, SectionRole, StepContext, WeightSection,
    functions::{
        ACT_DIVIDED_BY, ACT_NONE, ACT_PLUS, ACT_PRELU, ACT_REQUANTIZE_FIXED, ACT_REQUANTIZE_FLOAT, ACT_TIMES, NO_CLIP,
        in_epilogue,
    },
    pack,
};
use crate::graph::{Act, Graph, Node, Requantization, Requantize, Unary};

/// A node's epilogue in the form that `texel.wgsl` expects.
#[derive(Clone, Debug, Default)]
pub struct EpilogueParams {
    /// Codes of `activate` in `texel.wgsl`.
    pub codes: [u32; 2],
    /// True if a tensor is added between the two functions.
    pub add: bool,
    /// First parameters of the functions: slopes, bounds.
    pub alphas: [f32; 2],
    /// Second parameters as bits; for a function with a constant, the texel of that, as kernels count them
    /// (`StepContext::section`).
    pub betas: [u32; 2],
    /// True if there are constants with values per channel. They are stored among the weights.
    has_constants: bool,
}

impl EpilogueParams {
    /// Returns the epilogue of a step.
    pub(crate) fn new(step: &StepContext<'_>) -> Self {
        let mut epilogue = Self::of_node(step.graph, step.node);
        let acts = [step.node.epilogue.first, step.node.epilogue.then];
        for ((beta, act), role) in epilogue.betas.iter_mut().zip(acts).zip(SectionRole::EPILOGUE) {
            if act.constant().is_some() {
                *beta = step.section(role, act.constant_rows() as u32);
            }
        }
        epilogue
    }

    /// Returns the epilogue of a node whose weights have no location yet.
    pub fn of_node(graph: &Graph, node: &Node) -> Self {
        let mut epilogue = Self { add: node.epilogue.add.is_some(), ..Self::default() };
        for (i, act) in [node.epilogue.first, node.epilogue.then].into_iter().enumerate() {
            match act {
                // Most layers have a clip or nothing here, and share a pipeline. Few add a tensor to a clipped value.
                Act::None if i == 0 && !epilogue.add => {
                    (epilogue.codes[i], epilogue.alphas[i], epilogue.betas[i]) = NO_CLIP
                }
                Act::None => {}
                Act::Unary(unary) => {
                    // `check` rejects a step whose function has no code; packing weights needs no code.
                    let (code, alpha, beta) = in_epilogue(unary).unwrap_or((ACT_NONE, 0.0, 0));
                    epilogue.codes[i] = code;
                    epilogue.alphas[i] = alpha;
                    epilogue.betas[i] = beta;
                }
                Act::Prelu(_) => epilogue.codes[i] = ACT_PRELU,
                Act::Plus(_) => epilogue.codes[i] = ACT_PLUS,
                Act::Times(_) => epilogue.codes[i] = ACT_TIMES,
                Act::DividedBy(_) => epilogue.codes[i] = ACT_DIVIDED_BY,
                Act::Requantize(Requantize { arithmetic, least, most, .. }) => {
                    epilogue.codes[i] = match arithmetic {
                        Requantization::Fixed => ACT_REQUANTIZE_FIXED,
                        Requantization::Float => ACT_REQUANTIZE_FLOAT,
                    };
                    epilogue.alphas[i] = limits(least, most);
                }
            }
            epilogue.has_constants |= act.constant().is_some_and(|tensor| graph.is_constant(tensor));
        }
        epilogue
    }

    /// Returns whether the epilogue reads the weight texture.
    pub fn reads_weights(&self) -> bool {
        self.has_constants
    }

    /// Adds the epilogue's override constants.
    pub fn constants(&self, constants: &mut Constants) {
        constants.push(("FIRST", f64::from(self.codes[0])));
        constants.push(("ADD", f64::from(u8::from(self.add))));
        constants.push(("THEN", f64::from(self.codes[1])));
    }
}

/// Returns the constants of a node's functions.
pub(crate) fn constants(graph: &Graph, node: &Node) -> impl Iterator<Item = WeightSection> {
    let acts = [node.epilogue.first, node.epilogue.then].into_iter().zip(SectionRole::EPILOGUE);
    acts.filter_map(|(act, role)| match act {
        Act::Prelu(tensor) | Act::Plus(tensor) | Act::Times(tensor) | Act::DividedBy(tensor) => {
            Some(pack::channels_of(graph, role, tensor))
        }
        Act::Requantize(Requantize { factors, .. }) => {
            Some(pack::rows_of_channels(graph, role, factors, Requantize::ROWS))
        }
        Act::None | Act::Unary(_) => None,
    })
}

/// Returns two bounds as one whole number that a float holds exactly, because a function has only one parameter beside
/// the place of its constant.
fn limits(least: i16, most: i16) -> f32 {
    let digit = |bound: i16| f32::from(bound) - f32::from(Requantize::LIMITS[0]);
    digit(least) * 4096.0 + digit(most)
}

/// Checks that `activate` in `texel.wgsl` supports the functions of a step's epilogue.
pub(crate) fn check(step: &StepContext<'_>) -> Result<(), KernelError> {
    for act in [step.node.epilogue.first, step.node.epilogue.then] {
        if let Act::Unary(unary) = act
            && in_epilogue(unary).is_none()
        {
            return Err(step.unsupported(format!("no epilogue can hold {}", unary.name())));
        }
    }
    Ok(())
}

/// Returns whether a function can be part of an epilogue.
pub fn fits_epilogue(unary: Unary) -> bool {
    in_epilogue(unary).is_some()
}
