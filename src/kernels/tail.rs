//! The tail in a kernel: its override constants, its alphas, and its CPU twin.

use super::Constants;
use crate::graph::{Act, Graph, Node, Unary};

/// A node's tail as `texel.wgsl` wants it.
#[derive(Clone, Debug, Default)]
pub struct TailPlan {
    /// Codes of `activate` in `texel.wgsl`.
    pub codes: [u32; 2],
    /// Whether a tensor is added in between.
    pub add: bool,
    /// Slopes of leaky functions.
    pub alpha: [f32; 2],
    /// Texels of the PReLU alphas, counted from the step's first weight texel.
    pub alphas: [u32; 2],
    /// PReLU alphas to be packed behind the family's own weights.
    texels: Vec<[f32; 4]>,
}

impl TailPlan {
    /// The tail of `node`, whose family packs `own` weight texels of its own in front of the alphas.
    pub fn new(graph: &Graph, node: &Node, own: usize) -> Self {
        let mut plan = Self { add: node.tail.add.is_some(), ..Self::default() };
        for (i, act) in [node.tail.first, node.tail.then].into_iter().enumerate() {
            plan.codes[i] = code(act);
            match act {
                Act::Unary(Unary::LeakyRelu { alpha }) => plan.alpha[i] = alpha,
                Act::Prelu(tensor) => {
                    plan.alphas[i] = (own + plan.texels.len()) as u32;
                    plan.texels.extend(channel_texels(graph, tensor));
                }
                Act::Unary(_) | Act::None => {}
            }
        }
        plan
    }

    /// Appends the alphas behind the family's own weights.
    pub fn pack(&self, weights: &mut Vec<[f32; 4]>) {
        weights.extend_from_slice(&self.texels);
    }

    /// Whether the tail reads the weight texture.
    pub fn reads_weights(&self) -> bool {
        !self.texels.is_empty()
    }

    /// Adds the tail's override constants.
    pub fn constants(&self, constants: &mut Constants) {
        constants.push(("FIRST", f64::from(self.codes[0])));
        constants.push(("ADD", f64::from(u8::from(self.add))));
        constants.push(("THEN", f64::from(self.codes[1])));
    }
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

/// The code of a function in `activate` of `texel.wgsl`.
pub(crate) fn code(act: Act) -> u32 {
    match act {
        Act::None => 0,
        Act::Unary(unary) => match unary {
            Unary::Relu => 1,
            Unary::Relu6 => 2,
            Unary::ReluN1To1 => 3,
            Unary::LeakyRelu { .. } => 4,
            Unary::Elu => 5,
            Unary::HardSwish => 6,
            Unary::Logistic => 7,
            Unary::Tanh => 8,
            Unary::Exp => 9,
            Unary::Sqrt => 10,
            Unary::Rsqrt => 11,
            Unary::Square => 12,
            Unary::Abs => 13,
            Unary::Neg => 14,
        },
        Act::Prelu(_) => 15,
    }
}
