//! Storage formats that determine a model's size on a device, in addition to its steps and its plan.

use super::{
    io_texture::io_texture,
    options::{CompileOptions, WeightFormat, WeightStorage},
    weight_format::packings,
    weight_textures::ResidentWeights,
};
use crate::schedule::Schedule;
use texpool_ops::{
    graph::{Graph, IdVec, NodeId, TensorId},
    kernels::WeightPacking,
};
use texpool_plan::{TexelFormat, TextureSpec};

/// Storage formats of weights and texels.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceFormat {
    /// Location of the weights while the model runs.
    pub(super) weights: WeightStorage,
    /// Storage format of the weights that stay on the device.
    pub(super) weight_format: WeightFormat,
    /// Format of all other texels.
    pub(super) texels: TexelFormat,
    /// The largest extent of a texture.
    pub(super) max_extent: u32,
}

impl DeviceFormat {
    /// Takes the formats from the compile options.
    pub(super) const fn of(options: &CompileOptions) -> Self {
        let CompileOptions { weights, weight_format, format, limits, .. } = options;
        Self { weights: *weights, weight_format: *weight_format, texels: *format, max_extent: limits.max_extent }
    }

    /// Returns the packing of each node's weights.
    pub(super) fn packings(self, graph: &Graph, schedule: &Schedule) -> IdVec<NodeId, WeightPacking> {
        let streamed = schedule.streamed();
        packings(graph, self.weight_format, self.texels, |id| streamed.contains(id))
    }

    /// Returns the weights that stay on the device.
    pub(super) fn resident_weights(self, graph: &Graph, schedule: &Schedule) -> ResidentWeights {
        let packings = self.packings(graph, schedule);
        ResidentWeights::new(graph, &packings, &schedule.streamed(), self.texels, self.max_extent)
    }

    /// Returns the texture of a graph input or output that is stored outside the pool.
    pub(super) fn io_texture(self, graph: &Graph, tensor: TensorId) -> TextureSpec {
        io_texture(graph.shape(tensor), self.texels, self.max_extent)
    }
}
