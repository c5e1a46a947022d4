//! Live texels of each tensor over time, and of each texture as tensors move between them. Most of the search for a
//! layout is spent here.

use super::items::Item;

/// Points that are summed and looked at together.
const BLOCK: usize = 32;
type Block = [i32; BLOCK];

/// Live units of a tensor at the points of the timeline, from a block on.
#[derive(Clone, Default)]
pub(super) struct LiveProfile {
    /// The first point at which it lives.
    pub(super) from: usize,
    first_block: usize,
    live: Vec<Block>,
}

/// Points that the profiles of a problem may have together: 256 MiB. A choice, not a measurement.
const MOST_POINTS: usize = 1 << 26;

/// The tensors of a problem over time.
pub(super) struct LiveProfiles {
    /// One a record.
    pub(super) of: Vec<LiveProfile>,
    blocks: usize,
    /// A unit is two to the power of so many texels, a part of one counts for nothing: with none, but for tensors that
    /// no device holds, every sum fits 31 bits.
    shift: u32,
}

impl LiveProfiles {
    /// Live texels grow only where a row is born and shrink only where one dies, so the last birth before a death is
    /// all that matters. None where tensors times points would take too much memory.
    pub(super) fn new(records: usize, items: &[Item]) -> Option<Self> {
        let points = points(items);
        let span = |item: &Item| {
            let point = |step: usize| points.partition_point(|&point| point < step);
            (point(item.usage.first), point(item.usage.last + 1))
        };
        let total = items.iter().fold(0u64, |sum, item| sum.saturating_add(item.usage.size));
        let shift = (u64::BITS - total.leading_zeros()).saturating_sub(i32::BITS - 1);
        let mut spans: Vec<Option<(usize, usize)>> = vec![None; records];
        for item in items {
            let (from, to) = span(item);
            let span = spans[item.record].get_or_insert((from, to));
            *span = (span.0.min(from), span.1.max(to));
        }
        let length = |&(from, to): &(usize, usize)| to.div_ceil(BLOCK) * BLOCK - from / BLOCK * BLOCK;
        let all = spans.iter().flatten().map(length).fold(0, usize::saturating_add);
        if all > MOST_POINTS {
            return None;
        }
        let profile = |span: &Option<(usize, usize)>| {
            span.map_or_else(LiveProfile::default, |(from, to)| {
                let first_block = from / BLOCK;
                LiveProfile { from, first_block, live: vec![[0; BLOCK]; to.div_ceil(BLOCK) - first_block] }
            })
        };
        let mut of: Vec<LiveProfile> = spans.iter().map(profile).collect();
        for item in items {
            let profile = &mut of[item.record];
            let (from, to) = span(item);
            let before = profile.first_block * BLOCK;
            let live = &mut profile.live.as_flattened_mut()[from - before..to - before];
            live.iter_mut().for_each(|live| *live += (item.usage.size >> shift) as i32);
        }
        Some(Self { of, blocks: points.len().div_ceil(BLOCK), shift })
    }

    /// A texture without tensors.
    pub(super) fn empty(&self) -> Load {
        Load { live: vec![[0; BLOCK]; self.blocks], most: vec![0; self.blocks], peak: 0 }
    }

    /// At least the sum of the textures' fullest points, in texels.
    pub(super) fn texels(&self, loads: &[Load]) -> u64 {
        loads.iter().map(|load| u64::from(load.peak.unsigned_abs())).sum::<u64>() << self.shift
    }
}

/// Of the steps at which rows are born, the last before each death.
fn points(items: &[Item]) -> Vec<usize> {
    let sorted = |step: fn(&Item) -> usize| {
        let mut steps: Vec<usize> = items.iter().map(step).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    };
    let births = sorted(|item| item.usage.first);
    let last_birth = |last: usize| births[births.partition_point(|&birth| birth <= last) - 1];
    let mut points: Vec<usize> = sorted(|item| item.usage.last).into_iter().map(last_birth).collect();
    points.dedup();
    points
}

/// Live units of one texture.
#[derive(Clone)]
pub(super) struct Load {
    live: Vec<Block>,
    /// The fullest point of each block, and of all.
    most: Vec<i32>,
    pub(super) peak: i32,
}

impl Load {
    /// By how much the fullest point grows if a tensor is added.
    pub(super) fn growth(&self, profile: &LiveProfile) -> i32 {
        let live = self.live[profile.first_block..].as_flattened().iter().zip(profile.live.as_flattened());
        live.fold(self.peak, |peak, (total, live)| peak.max(total + live)) - self.peak
    }

    pub(super) fn add(&mut self, profile: &LiveProfile) {
        self.change(profile, |total, live| total + live);
    }

    pub(super) fn remove(&mut self, profile: &LiveProfile) {
        self.change(profile, |total, live| total - live);
    }

    fn change(&mut self, profile: &LiveProfile, changed: impl Fn(i32, i32) -> i32) {
        let from = profile.first_block;
        for ((total, most), live) in self.live[from..].iter_mut().zip(&mut self.most[from..]).zip(&profile.live) {
            *most = 0;
            for (total, &live) in total.iter_mut().zip(live) {
                *total = changed(*total, live);
                *most = (*most).max(*total);
            }
        }
        self.peak = self.most.iter().copied().max().unwrap_or(0);
    }
}
