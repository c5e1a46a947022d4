//! Inputs and outputs with extents that each run gives or finds.

use std::fmt;

use crate::io::with_bound;
use serde::{Deserialize, Serialize};
use texpool_ops::graph::{ExtentLimit, Graph, TensorId};
use texpool_plan::printable;

/// An input or output with an extent that each run gives or finds, or an integer that a run computes and takes as an extent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenExtentReport {
    /// `input`, `output`, or `extent` for an integer that a run computes.
    pub role: String,
    /// Its name.
    pub name: String,
    /// Its extents, with the bounds along the axes.
    pub shape: Vec<usize>,
    /// The axes along which it may have less.
    pub axes: Vec<usize>,
}

impl OpenExtentReport {
    /// Describes the inputs and outputs of a graph that have such an extent, and the extents with a limit.
    pub fn of(graph: &Graph) -> Vec<Self> {
        let one = |role: &str, tensor: TensorId, axes: Vec<usize>| {
            let tensor = &graph.tensors[tensor];
            let is_open = !axes.is_empty();
            is_open.then(|| Self { role: role.to_owned(), name: tensor.name.clone(), shape: tensor.dims.clone(), axes })
        };
        let inputs = graph.caller_inputs().iter().enumerate().filter_map(|(input, &tensor)| {
            one("input", tensor, graph.bounded_axes_of_input(input).map(|bounded| bounded.axis).collect())
        });
        let outputs = graph.caller_outputs().iter().enumerate().filter_map(|(output, &tensor)| {
            one("output", tensor, graph.bounded_axes_of_output(output).map(|bounded| bounded.axis).collect())
        });
        let limits = graph.limits.iter().map(|ExtentLimit { name, most, .. }| Self {
            role: "extent".to_owned(),
            name: name.clone(),
            shape: vec![*most],
            axes: vec![0],
        });
        inputs.chain(outputs).chain(limits).collect()
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
        write!(f, "{} {} {}", self.role, printable(&self.name), with_bound(&self.shape, &self.axes))
    }
}
