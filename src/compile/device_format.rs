//! What the bytes of a model on a device depend on beside its steps and its plan.

use super::{
    io_texture::io_texture,
    options::{CompileOptions, WeightFormat, WeightStorage},
    weight_format::packings,
};
use crate::{
    graph::{Graph, IdVec, NodeId, TensorId},
    kernels::WeightPacking,
    plan::{TexelFormat, TextureSpec},
    schedule::Schedule,
};

/// How weights and texels are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceFormat {
    /// Where weights are while it runs.
    pub(super) weights: WeightStorage,
    /// How those are stored that stay on the device.
    pub(super) weight_format: WeightFormat,
    /// Of all other texels.
    pub(super) texels: TexelFormat,
    /// The largest extent of a texture.
    pub(super) max_extent: u32,
}

impl DeviceFormat {
    /// As a model is compiled.
    pub(super) const fn of(options: &CompileOptions) -> Self {
        let CompileOptions { weights, weight_format, format, limits, .. } = options;
        Self { weights: *weights, weight_format: *weight_format, texels: *format, max_extent: limits.max_extent }
    }

    /// How the weights of each node are packed.
    pub(super) fn packings(self, graph: &Graph, schedule: &Schedule) -> IdVec<NodeId, WeightPacking> {
        let streamed = schedule.streamed();
        packings(graph, self.weight_format, self.texels, |id| streamed.contains(id))
    }

    /// The texture of a graph input or output that lies beside the pool.
    pub(super) fn io_texture(self, graph: &Graph, tensor: TensorId) -> TextureSpec {
        io_texture(graph.shape(tensor), self.texels, self.max_extent)
    }
}
