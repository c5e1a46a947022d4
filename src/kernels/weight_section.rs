//! The weights of a node, divided by the constants that they are packed from.

use std::fmt;

use crate::graph::{Constant, Graph, TensorId};

/// Produces weight texels in pieces, each computed on demand, so that large weights are never packed all at once.
pub type WeightPieces<'a> = Box<dyn Iterator<Item = Vec<[f32; 4]>> + Send + 'a>;

/// Use of a section by a node's kernel. If nothing else is said, the sections of a node are stored in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionRole {
    /// The operator's own weights, such as the windows of a convolution.
    Own,
    /// The biases of an operator, one texel per slice of the result.
    Biases,
    /// The PReLU alphas of the epilogue's first function, one texel per slice of the result.
    FirstAlphas,
    /// The PReLU alphas of the epilogue's second function, one texel per slice of the result.
    ThenAlphas,
}

impl SectionRole {
    /// Number of roles.
    pub(crate) const COUNT: usize = 4;
    /// Roles of the alphas of the epilogue's functions, in their order.
    pub(crate) const ALPHAS: [Self; 2] = [Self::FirstAlphas, Self::ThenAlphas];
}

/// Order in which the elements of constants become texels.
///
/// The texels depend on nothing but the layout and the constants, so that equal sections of several nodes can be
/// stored once. Layouts are equal if their `Debug` texts are, so these must show every field.
pub(crate) trait SectionLayout: fmt::Debug + Send + Sync {
    /// Returns the number of texels in the pool's format.
    fn texels(&self) -> u64;

    /// Packs the constants, piece by piece.
    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a>;
}

/// A part of a node's weights that is packed from certain constants in a certain layout.
#[derive(Debug)]
pub struct WeightSection {
    pub(crate) role: SectionRole,
    pub(crate) constants: Vec<TensorId>,
    pub(crate) layout: Box<dyn SectionLayout>,
}

impl WeightSection {
    /// Creates a section of these constants.
    pub(crate) fn new(role: SectionRole, constants: Vec<TensorId>, layout: impl SectionLayout + 'static) -> Self {
        Self { role, constants, layout: Box::new(layout) }
    }

    /// Returns the constants in a graph, or `None` if one of them is computed there.
    pub(crate) fn constants<'a>(&self, graph: &'a Graph) -> Option<Vec<&'a Constant>> {
        self.constants.iter().map(|&tensor| graph.tensors[tensor].constant.as_ref()).collect()
    }

    /// Packs the section as texels.
    pub(crate) fn pieces<'a>(&self, graph: &'a Graph) -> WeightPieces<'a> {
        match self.constants(graph) {
            Some(constants) => self.layout.pieces(&constants),
            None => Box::new(std::iter::empty()),
        }
    }
}
