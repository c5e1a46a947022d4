//! Table III: memory and throughput of seven networks without phases and with them.
//!
//! **The convention**, as the totals imply it (found by trying; eight of the fourteen cells are met to the last digit):
//! an element takes 4 bytes and a megabyte is 10^6; parameters are all numbers of the file, the four of each normalised
//! channel included; every operator of the file is a layer, nothing is fused; every edge has a buffer of its own, so a
//! result with two readers counts twice; inputs and outputs count; with phases, loops count too; and a layer with
//! several inputs (an addition, a concatenation) puts its result out only when all of it is there.

use super::{network_builder::NetworkBuilder, networks};
use crate::{
    dataflow::{DataflowError, Footprint, Network, footprint},
    graph::Graph,
};

/// Bytes of an element of an activation or weight: 32-bit floats, as the published figures have it.
pub const ELEMENT_BYTES: u64 = 4;

/// A row of the table. Of two figures the first is without phases.
#[derive(Clone, Copy, Debug)]
pub struct PublishedNetwork {
    /// Name there.
    pub network: &'static str,
    /// Memory of parameters and buffers, in megabytes.
    pub megabytes: [u64; 2],
    /// Frames per second on their board.
    pub frames: [f64; 2],
    /// Why a figure cannot be met, where it is known how the network's layers differ.
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
    /// Its layers.
    pub fn network(&self) -> Network {
        (self.build)().network
    }

    /// The same network as this program would run it; weights have shapes and no values.
    pub fn graph(&self) -> Graph {
        (self.build)().graph
    }

    /// Bytes of parameters and buffers in the table's convention, without phases and with them.
    ///
    /// # Errors
    /// As [`footprint`]; the networks here give rise to none.
    pub fn found(&self) -> Result<[u64; 2], DataflowError> {
        let Footprint { parameters, whole, phased } = footprint(&self.network())?;
        Ok([whole, phased].map(|buffers| (parameters + buffers) * ELEMENT_BYTES))
    }
}
