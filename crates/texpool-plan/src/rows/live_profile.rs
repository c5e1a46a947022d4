//! The live texels of each tensor over time, and of each texture while tensors move between textures. The search for
//! a layout spends most of its time here.

use super::items::Item;

/// Number of sections that are added up together. Loops of this fixed length are compiled to vector instructions.
const BLOCK: usize = 32;
type Block = [i32; BLOCK];

/// Live units of a tensor in the sections of the timeline, starting at some block.
#[derive(Clone, Default)]
pub(super) struct LiveProfile {
    /// The first section in which it is alive.
    pub(super) from: usize,
    first_block: usize,
    live: Vec<Block>,
}

/// Upper limit on the sections of all profiles of a problem together: 256 MiB. A choice, not a measurement.
const MAX_SECTIONS: usize = 1 << 26;

/// The profiles of all tensors of a problem.
pub(super) struct LiveProfiles {
    /// One profile per record.
    pub(super) of: Vec<LiveProfile>,
    blocks: usize,
    /// Base-two logarithm of the number of texels per unit, chosen so that every sum fits into 31 bits. It is 0,
    /// which makes a unit one texel, except for tensors too large for any device. Live texels are rounded down to
    /// units.
    shift: u32,
}

impl LiveProfile {
    /// Sets this profile to the sum of `profiles`: each counts positively if its flag is set, and negatively otherwise.
    pub(super) fn set_to_sum<'a>(&mut self, profiles: impl Iterator<Item = (&'a Self, bool)> + Clone) {
        let first_block = profiles.clone().map(|(profile, _)| profile.first_block).min().unwrap_or(0);
        let end = profiles.clone().map(|(profile, _)| profile.first_block + profile.live.len()).max().unwrap_or(0);
        (self.from, self.first_block) = (first_block * BLOCK, first_block);
        self.live.clear();
        self.live.resize(end - first_block, [0; BLOCK]);
        for (profile, positive) in profiles {
            let sign = if positive { 1 } else { -1 };
            for (sum, live) in self.live[profile.first_block - first_block..].iter_mut().zip(&profile.live) {
                change_block(sum, live, |sum, live| sum.wrapping_add(sign * live));
            }
        }
    }

    /// Returns the live units in a section.
    pub(super) fn live_in(&self, section: usize) -> i32 {
        let block = (section / BLOCK).checked_sub(self.first_block).and_then(|block| self.live.get(block));
        block.map_or(0, |block| block[section % BLOCK])
    }
}

impl LiveProfiles {
    /// Creates the profiles of the tensors of `items`. Returns `None` if tensors times sections would take too much
    /// memory.
    pub(super) fn new(records: usize, items: &[Item]) -> Option<Self> {
        let starts = section_starts(items);
        let span = |item: &Item| {
            let section = |step: usize| starts.partition_point(|&start| start < step);
            (section(item.usage.first), section(item.usage.last + 1))
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
        if all > MAX_SECTIONS {
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
        Some(Self { of, blocks: starts.len().div_ceil(BLOCK), shift })
    }

    /// Returns the load of a texture without tensors.
    pub(super) fn no_load(&self) -> TextureLoad {
        TextureLoad { live: vec![[0; BLOCK]; self.blocks], maximums: vec![0; self.blocks], peak: 0 }
    }

    /// Returns the sum of the textures' peaks in texels, rounded down if units are larger than a texel.
    pub(super) fn sum_of_peaks(&self, loads: &[TextureLoad]) -> u64 {
        self.texels(loads.iter().map(|load| load.peak).sum())
    }

    /// Returns the number of texels of some units.
    pub(super) const fn texels(&self, units: i32) -> u64 {
        (units.unsigned_abs() as u64) << self.shift
    }

    /// Returns the largest number of units that take at most `texels` texels.
    pub(super) fn units(&self, texels: u64) -> i32 {
        i32::try_from(texels >> self.shift).unwrap_or(i32::MAX)
    }
}

/// Returns the relevant sections. The number of live texels grows only at births and shrinks only after deaths, so
/// these are the steps at which rows are born, reduced to the last one before each death.
fn section_starts(items: &[Item]) -> Vec<usize> {
    let sorted = |step: fn(&Item) -> usize| {
        let mut steps: Vec<usize> = items.iter().map(step).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    };
    let births = sorted(|item| item.usage.first);
    let last_birth = |last: usize| births[births.partition_point(|&birth| birth <= last) - 1];
    let mut starts: Vec<usize> = sorted(|item| item.usage.last).into_iter().map(last_birth).collect();
    starts.dedup();
    starts
}

/// The live units of one texture.
#[derive(Clone)]
pub(super) struct TextureLoad {
    live: Vec<Block>,
    /// The largest load in each block. `peak` is the largest of all.
    maximums: Vec<i32>,
    pub(super) peak: i32,
}

impl TextureLoad {
    /// Returns the growth of the peak if a tensor is added.
    pub(super) fn growth(&self, profile: &LiveProfile) -> i32 {
        let live = self.live[profile.first_block..].as_flattened().iter().zip(profile.live.as_flattened());
        live.fold(self.peak, |peak, (total, live)| peak.max(total + live)) - self.peak
    }

    /// Returns the first section whose load is the peak.
    pub(super) fn peak_section(&self) -> usize {
        let block = self.maximums.iter().position(|&most| most == self.peak).unwrap_or(0);
        let sections = self.live.get(block).map_or(&[][..], |block| block);
        block * BLOCK + sections.iter().position(|&live| live == self.peak).unwrap_or(0)
    }

    // Sums cannot overflow, because `LiveProfiles::shift` is chosen accordingly; checked sums would take half the
    // time again.

    pub(super) fn add(&mut self, profile: &LiveProfile) {
        self.change(profile, i32::wrapping_add);
    }

    pub(super) fn remove(&mut self, profile: &LiveProfile) {
        self.change(profile, i32::wrapping_sub);
    }

    fn change(&mut self, profile: &LiveProfile, changed: impl Fn(i32, i32) -> i32) {
        let from = profile.first_block;
        for (block, live) in (from..).zip(&profile.live) {
            self.maximums[block] = change_block(&mut self.live[block], live, &changed);
        }
        self.peak = self.maximums.iter().copied().max().unwrap_or(0);
    }
}

/// Changes the loads of a block, and returns the largest. It uses an index, because builds with little optimisation
/// do not inline iterators. In optimised builds it becomes vector instructions.
fn change_block(loads: &mut Block, live: &Block, changed: impl Fn(i32, i32) -> i32) -> i32 {
    let (mut most, mut section) = (0, 0);
    while section < BLOCK {
        let load = changed(loads[section], live[section]);
        loads[section] = load;
        most = load.max(most);
        section += 1;
    }
    most
}

/// Returns whether the peaks of two textures add up to at most `room` units after the tensors of `change` move from
/// `source` to `target`. Most moves of a search do not fit, which usually shows within a few blocks, so this takes a
/// small part of the time of making a move and undoing it.
pub(super) fn exchange_fits(source: &TextureLoad, target: &TextureLoad, change: &LiveProfile, room: i32) -> bool {
    let blocks = change.first_block..change.first_block + change.live.len();
    let unchanged = |load: &TextureLoad| {
        let (before, after) = (&load.maximums[..blocks.start], &load.maximums[blocks.end..]);
        before.iter().chain(after).copied().max().unwrap_or(0)
    };
    let (mut source_peak, mut target_peak) = (unchanged(source), unchanged(target));
    for (block, change) in blocks.clone().zip(&change.live) {
        let (source, target) = (&source.live[block], &target.live[block]);
        let mut section = 0;
        while section < BLOCK {
            source_peak = source_peak.max(source[section].wrapping_sub(change[section]));
            target_peak = target_peak.max(target[section].wrapping_add(change[section]));
            section += 1;
        }
        if source_peak + target_peak > room {
            return false;
        }
    }
    source_peak + target_peak <= room
}
