//! Inputs and outputs with extents that each run gives or finds.

use std::fmt;

use crate::io::with_bound;
use serde::{Deserialize, Serialize};
use texpool_ops::graph::{ExtentLimit, Graph, Tensor};
use texpool_plan::printable;

/// An input or output with an extent that each run gives or finds, or an integer that a run computes and takes as an extent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExtentReport {
    /// `input`, `output`, or `extent` for an integer that a run computes.
    pub role: String,
    /// Its name.
    pub name: String,
    /// Its extents, with the bound along the axis.
    pub shape: Vec<usize>,
    /// The axis along which it may have less.
    pub axis: usize,
}

impl OpenExtentReport {
    /// Describes the inputs and outputs of a graph that have such an extent, and the extents with a limit.
    pub fn of(graph: &Graph) -> Vec<Self> {
        let one = |role: &str, tensor: &Tensor, axis: usize| Self {
            role: role.to_owned(),
            name: tensor.name.clone(),
            shape: tensor.dims.clone(),
            axis,
        };
        let inputs = graph.bounded_inputs.iter().map(|bounded| ("input", graph.inputs[bounded.input], bounded.axis));
        let outputs = graph.bounded.iter().map(|bounded| ("output", graph.outputs[bounded.output], bounded.axis));
        let limits = graph.limits.iter().map(|ExtentLimit { name, most, .. }| Self {
            role: "extent".to_owned(),
            name: name.clone(),
            shape: vec![*most],
            axis: 0,
        });
        let open = inputs.chain(outputs).map(|(role, tensor, axis)| one(role, &graph.tensors[tensor], axis));
        open.chain(limits).collect()
    }
}

/// Writes a line that lists them, if there are any.
pub fn open_extents(all: &[OpenExtentReport]) -> String {
    match all {
        [] => String::new(),
        all => {
            let listed: Vec<String> = all.iter().map(OpenExtentReport::to_string).collect();
            format!("  one plan for each extent up to the bound: {}\n", listed.join(", "))
        }
    }
}

impl fmt::Display for OpenExtentReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.role, printable(&self.name), with_bound(&self.shape, Some(self.axis)))
    }
}
