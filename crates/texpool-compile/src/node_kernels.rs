//! Lists the kernels that each node of a compiled model runs, without a device.

use crate::{memory::tables::each_dispatch, model::CompiledModel};
use texpool_ops::{
    graph::{IdVec, NodeId},
    kernels::{Constants, Shader},
};

impl CompiledModel {
    /// Returns the shaders that each node dispatches in a run, with their `override` constants; each pair once. Views
    /// and nodes that are written in place have none.
    pub fn node_kernels(&self) -> IdVec<NodeId, Vec<(Shader, Constants)>> {
        let mut kernels: IdVec<NodeId, Vec<(Shader, Constants)>> =
            self.graph.nodes.iter().map(|_| Vec::new()).collect();
        each_dispatch(&self.graph, &self.schedule, &self.plan, self.device_format(), |node, dispatch| {
            let kernel = (dispatch.shader, dispatch.constants.clone());
            if !kernels[node].contains(&kernel) {
                kernels[node].push(kernel);
            }
        });
        kernels
    }
}
