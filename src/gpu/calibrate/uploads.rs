//! What weights take that are uploaded in a run: chains of convolutions of one pixel, whose arithmetic is little, with
//! their weights on the device and without.

use super::{Calibrator, chain, probes};
use crate::{
    compile::{TransferBuffers, WeightStorage},
    gpu::GpuError,
    graph::Graph,
};

/// Runs, of which the median counts: whether threads of the driver sleep between submissions is a part of what is measured.
const RUNS: usize = 33;
/// Links of a chain with large weights, and their channels: 60 KiB each, which go through small buffers and large ones
/// without being divided.
const LARGE: (usize, usize) = (64, 124);
/// Links of a chain whose weights are a few texels each.
const SMALL: (usize, usize) = (256, 4);
/// Tiles that go through small buffers and through large ones.
const TILES: [u64; 2] = [64 << 10, 512 << 10];

impl Calibrator<'_> {
    /// What an upload takes, what its texels take, and what the submissions take that a run is divided into.
    pub(super) fn uploads(&mut self) -> Result<(), GpuError> {
        let [(large_links, large), (small_links, small)] = [LARGE, SMALL];
        let graph =
            |links, channels| chain(&[1, 1, 1, channels], links, |b, x, _| probes::conv(b, x, [channels; 2], 1));
        let (small_graph, large_graph) = (graph(small_links, small)?, graph(large_links, large)?);
        let [by_small, by_large] = TILES.map(|tile_bytes| WeightStorage::Streamed { resident_below: 0, tile_bytes });
        // The arithmetic is the same, so what is more is what uploads take.
        let more = |graph: &Graph, weights| {
            Ok::<_, GpuError>(self.median(graph, weights)? - self.median(graph, WeightStorage::Resident)?)
        };
        let copies = more(&small_graph, by_large)?;
        let (many, few) = (more(&large_graph, by_small)?, more(&large_graph, by_large)?);
        let texels = (large_links * large * large.div_ceil(4)) as f64;
        let submissions = |weights| {
            let bytes = texels as u64 * self.format.texel_bytes();
            TransferBuffers::new(weights).submissions(bytes) as f64
        };
        let (of_many, of_few) = (submissions(by_small), submissions(by_large));
        let profile = &mut self.device_profile;
        profile.copy_us = (copies / small_links as f64).max(0.0);
        profile.submission_us = ((many - few) / (of_many - of_few)).max(0.0);
        let rest = few - profile.copy_us * large_links as f64 - profile.submission_us * (of_few - 1.0);
        profile.upload_us = (rest / (texels / 1e3)).max(0.0);
        Ok(())
    }

    /// Microseconds of a run, with one input and one output of a few values.
    fn median(&self, graph: &Graph, weights: WeightStorage) -> Result<f64, GpuError> {
        let mut session = self.session_of(graph, weights)?;
        let values = vec![0.0; graph.shape(graph.inputs[0]).len()];
        let mut outputs = session.run(&[&values])?;
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let begun = (self.stopwatch.read)();
            session.run_into(&[&values], &mut outputs)?;
            times.push(self.since(begun) * 1e6);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[RUNS / 2])
    }
}
