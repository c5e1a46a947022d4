//! Measures the cost of weights that are uploaded in every run. Compares chains of pointwise convolutions on one
//! pixel, which need little arithmetic, with resident and with streamed weights.

use super::{Calibrator, probes};
use crate::GpuError;
use texpool_compile::{TransferBuffers, WeightStorage};

/// Number of rounds. Each round runs all chains, and the median of the differences within a round counts: between
/// rounds, the speed of a shared machine varies by more than the measured effect.
const RUNS: usize = 33;
/// Links of the chain with large weights, and their channels. Each link has 60 KiB of weights, which fit undivided
/// through small and large buffers.
const LARGE: (usize, usize) = (64, 124);
/// Links of the chain with small weights (a few texels each), and their channels.
const SMALL: (usize, usize) = (256, 4);
/// Tile sizes in bytes for small and large buffers.
const TILES: [u64; 2] = [64 << 10, 512 << 10];

impl Calibrator<'_> {
    /// Measures the cost of an upload, of its texels, and of the additional submissions that it causes.
    pub(super) fn uploads(&mut self) -> Result<(), GpuError> {
        let [(large_links, large), (small_links, small)] = [LARGE, SMALL];
        let graph =
            |links, channels| self.chain(&[1, 1, 1, channels], links, |b, x, _| probes::conv(b, x, [channels; 2], 1));
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
            // Round 0 is a warm-up: it fills caches and allocates.
            if round > 0 {
                rounds.push(times);
            }
        }
        // The arithmetic is the same, so the difference is the cost of uploads.
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

/// Returns the median over all rounds of a value computed from each round's times.
fn median(rounds: &[Vec<f64>], of: impl Fn(&[f64]) -> f64) -> f64 {
    let mut all: Vec<f64> = rounds.iter().map(|times| of(times)).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
