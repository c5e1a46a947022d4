//! Storage formats that determine a model's size on a device, in addition to its steps and its plan.

use super::{io_texture::io_texture, weight_textures::ResidentWeights};
use crate::{
    options::{CompileOptions, WeightFormat, WeightStorage},
    schedule::Schedule,
    weight_format::packings,
};
use texpool_ops::{
    graph::{Graph, IdVec, NodeId, TensorId},
    kernels::WeightPacking,
};
use texpool_plan::{TexelFormat, TextureSpec};

/// Storage formats of weights and texels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceFormat {
    /// Location of the weights while the model runs.
    pub(crate) weights: WeightStorage,
    /// Storage format of the weights that stay on the device.
    pub(crate) weight_format: WeightFormat,
    /// Format of all other texels.
    pub(crate) texels: TexelFormat,
    /// The largest extent of a texture.
    pub(crate) max_extent: u32,
}

impl DeviceFormat {
    /// Takes the formats from the compile options.
    pub(crate) const fn of(options: &CompileOptions) -> Self {
        let CompileOptions { weights, weight_format, format, limits, .. } = options;
        Self { weights: *weights, weight_format: *weight_format, texels: *format, max_extent: limits.max_extent }
    }

    /// Returns the packing of each node's weights.
    pub(crate) fn packings(self, graph: &Graph, schedule: &Schedule) -> IdVec<NodeId, WeightPacking> {
        let streamed = schedule.streamed();
        packings(graph, self.weight_format, self.texels, |id| streamed.contains(id))
    }

    /// Returns the weights that stay on the device.
    pub(crate) fn resident_weights(self, graph: &Graph, schedule: &Schedule) -> ResidentWeights {
        let packings = self.packings(graph, schedule);
        ResidentWeights::new(graph, &packings, &schedule.streamed(), self.texels, self.max_extent)
    }

    /// Returns the texture of a graph input or output that is stored outside the pool.
    pub(crate) fn io_texture(self, graph: &Graph, tensor: TensorId) -> TextureSpec {
        io_texture(&graph.tensors[tensor], self.texels, self.max_extent)
    }
}
