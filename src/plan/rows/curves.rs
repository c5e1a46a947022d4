//! Live texels of each tensor over time, and of each texture as tensors move between them.

use super::items::Item;

/// Live texels of a tensor at the points of the timeline from `from` on.
#[derive(Clone, Default)]
pub(super) struct Curve {
    pub(super) from: usize,
    pub(super) live: Vec<u64>,
}

/// One curve a record, and how many points the timeline has. Live texels grow only where a row is born, so births are
/// all the points that matter.
pub(super) fn curves(records: usize, items: &[Item]) -> (Vec<Curve>, usize) {
    let mut births: Vec<usize> = items.iter().map(|item| item.usage.first).collect();
    births.sort_unstable();
    births.dedup();
    let point = |step: usize| births.partition_point(|&birth| birth < step);
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; records];
    for item in items {
        let (from, to) = (point(item.usage.first), point(item.usage.last + 1));
        let span = spans[item.record].get_or_insert((from, to));
        *span = (span.0.min(from), span.1.max(to));
    }
    let mut curves: Vec<Curve> = spans
        .iter()
        .map(|span| span.map_or_else(Curve::default, |(from, to)| Curve { from, live: vec![0; to - from] }))
        .collect();
    for item in items {
        let curve = &mut curves[item.record];
        let (from, to) = (point(item.usage.first) - curve.from, point(item.usage.last + 1) - curve.from);
        curve.live[from..to].iter_mut().for_each(|live| *live += item.usage.size);
    }
    (curves, births.len())
}

/// Live texels of one texture.
#[derive(Clone)]
pub(super) struct Load {
    live: Vec<u64>,
    pub(super) peak: u64,
}

impl Load {
    pub(super) fn empty(points: usize) -> Self {
        Self { live: vec![0; points], peak: 0 }
    }

    pub(super) fn add(&mut self, curve: &Curve) {
        for (total, live) in self.live[curve.from..].iter_mut().zip(&curve.live) {
            *total += live;
            self.peak = self.peak.max(*total);
        }
    }

    pub(super) fn remove(&mut self, curve: &Curve) {
        let mut at_peak = false;
        for (total, live) in self.live[curve.from..].iter_mut().zip(&curve.live) {
            at_peak |= *total == self.peak;
            *total -= live;
        }
        if at_peak {
            self.peak = self.live.iter().copied().max().unwrap_or(0);
        }
    }
}
