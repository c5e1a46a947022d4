//! What weights take that are uploaded in a run: chains of convolutions of one pixel, whose arithmetic is little, with
//! their weights on the device and without.

use super::{Calibrator, chain, probes};
use crate::{
    compile::{TransferBuffers, WeightStorage},
    gpu::GpuError,
};

/// Rounds in which all chains run in turns, of whose differences the median counts: between rounds a shared machine
/// becomes faster and slower by more than what is measured.
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
        let graphs = [graph(small_links, small)?, graph(large_links, large)?];
        let [by_small, by_large] = TILES.map(|tile_bytes| WeightStorage::Streamed { resident_below: 0, tile_bytes });
        let resident = WeightStorage::Resident;
        let timed = [(0, resident), (0, by_large), (1, resident), (1, by_small), (1, by_large)];
        let mut sessions = Vec::with_capacity(timed.len());
        for (graph, weights) in timed {
            sessions.push((self.session_of(&graphs[graph], weights)?, vec![0.0; [small, large][graph]]));
        }
        let mut rounds = Vec::with_capacity(RUNS);
        for round in 0..=RUNS {
            let mut times = Vec::with_capacity(sessions.len());
            for (session, values) in &mut sessions {
                let begun = (self.stopwatch.read)();
                session.run(&[values.as_slice()])?;
                times.push(self.since(begun) * 1e6);
            }
            // The first makes what later ones find.
            if round > 0 {
                rounds.push(times);
            }
        }
        // The arithmetic is the same, so what is more is what uploads take.
        let copies = median(&rounds, |times| times[1] - times[0]);
        let (few, divided) =
            (median(&rounds, |times| times[4] - times[2]), median(&rounds, |times| times[3] - times[4]));
        let texels = (large_links * large * large.div_ceil(4)) as f64;
        let submissions = |weights| {
            let bytes = texels as u64 * self.format.texel_bytes();
            TransferBuffers::new(weights).submissions(bytes) as f64
        };
        let (of_many, of_few) = (submissions(by_small), submissions(by_large));
        let profile = &mut self.device_profile;
        profile.copy_us = (copies / small_links as f64).max(0.0);
        profile.submission_us = (divided / (of_many - of_few)).max(0.0);
        let rest = few - profile.copy_us * large_links as f64 - profile.submission_us * (of_few - 1.0);
        profile.upload_us = (rest / (texels / 1e3)).max(0.0);
        Ok(())
    }
}

/// The median over rounds of some times of each.
fn median(rounds: &[Vec<f64>], of: impl Fn(&[f64]) -> f64) -> f64 {
    let mut all: Vec<f64> = rounds.iter().map(|times| of(times)).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
