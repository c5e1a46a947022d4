//! Table III: memory and throughput of seven networks, without and with phases.
//!
//! **The convention** was inferred from the totals by trial; eight of the fourteen cells match to the last digit. An
//! element takes 4 bytes and a megabyte is 10^6 bytes. Parameters are all numbers of the file, including the four of
//! each normalised channel. Every operator of the file is a layer, without fusion. Every edge has a separate buffer,
//! so a result with two readers counts twice. Inputs and outputs count, and with phases loops count too. A layer with
//! several inputs (an addition, a concatenation) puts out its result only when it is complete.

use super::{network_builder::NetworkBuilder, networks};
use crate::{DataflowError, Footprint, Network, footprint};
use texpool_ops::graph::Graph;

/// Bytes per element of an activation or weight: 32-bit floats, as in the published figures.
pub const ELEMENT_BYTES: u64 = 4;

/// A row of the table. In each pair of figures the first is without phases.
#[derive(Clone, Copy, Debug)]
pub struct PublishedNetwork {
    /// Name in the table.
    pub network: &'static str,
    /// Memory of parameters and buffers, in megabytes.
    pub megabytes: [u64; 2],
    /// Frames per second on their board.
    pub frames: [f64; 2],
    /// Reason why a figure cannot be matched, if the difference in the network's layers is understood.
    pub differs: Option<&'static str>,
    build: fn() -> NetworkBuilder,
}

/// The rows of Table III.
pub const NETWORKS: [PublishedNetwork; 7] = {
    const fn row(
        network: &'static str,
        megabytes: [u64; 2],
        frames: [f64; 2],
        build: fn() -> NetworkBuilder,
    ) -> PublishedNetwork {
        PublishedNetwork { network, megabytes, frames, differs: None, build }
    }
    const OTHER: Option<&str> = Some("the file's layers are not known exactly");
    [
        row("resnet18", [84, 52], [46.0, 36.0], networks::resnet18),
        PublishedNetwork { differs: OTHER, ..row("googlenet", [86, 50], [60.0, 42.0], networks::googlenet) },
        PublishedNetwork { differs: OTHER, ..row("tiny yolo v2", [142, 66], [26.0, 21.0], networks::tiny_yolo) },
        PublishedNetwork { differs: OTHER, ..row("inception v1", [81, 48], [66.0, 46.0], networks::inception_v1) },
        row("VGG 19", [700, 579], [3.97, 3.87], networks::vgg19),
        row("densenet121", [327, 119], [36.0, 19.0], networks::densenet121),
        row("squeezenet", [34, 12], [272.0, 125.0], networks::squeezenet),
    ]
};

impl PublishedNetwork {
    /// Returns its layers.
    pub fn network(&self) -> Network {
        (self.build)().network
    }

    /// Returns the same network as the graph that this library would run. Its weights have real shapes but no real
    /// values.
    pub fn graph(&self) -> Graph {
        (self.build)().graph
    }

    /// Computes the bytes of parameters and buffers by the table's convention, without and with phases.
    ///
    /// # Errors
    /// Those of [`footprint`]; none occurs for these networks.
    pub fn found(&self) -> Result<[u64; 2], DataflowError> {
        let Footprint { parameters, whole, phased } = footprint(&self.network())?;
        Ok([whole, phased].map(|buffers| (parameters + buffers) * ELEMENT_BYTES))
    }
}
