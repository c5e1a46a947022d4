//! Chooses which operators run interleaved, and in how many phases, by dynamic programming over the borders between
//! segments.

use std::ops::Range;

use super::{RowDependencies, Segment, drive::Driver, model::StorageInfo};
use crate::plan::{Progress, SearchControl};

/// Numbers of phases to try, in this order. The work is bounded, so the two extremes come before the values between
/// them.
const PHASES: [u32; 9] = [1, u32::MAX, 2, 4, 8, 3, 16, 32, 64];

/// Cost of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentCost {
    /// Texels that the segment occupies: those of the rows alive at its peak, plus those of tensors that stay alive
    /// across it. An operator's operand and result must lie in different textures, so `peak` is at least the sum of
    /// the largest live sizes of both, even if they are reached at different times.
    pub peak: u64,
    /// Number of dispatches.
    pub dispatches: u64,
}

/// Largest number of operators in a segment. A chosen value: the time to evaluate all segments grows with its square.
const MAX_SEGMENT_OPERATORS: usize = 72;

/// Upper limit on the number of bands of all operators together. Numbers of phases that need more bands are not
/// tried. RetinaFace in its finest phases has 19,696 bands. At this limit dispatches alone take 4 s, at the 17 us per
/// dispatch of the assumed device.
const MAX_BANDS: u64 = 1 << 18;

/// Number of segments evaluated between two progress reports, and of bands simulated between two checks of the
/// deadline.
const CHECK_INTERVAL: u64 = 64;

/// Costs of all segments that were evaluated.
#[derive(Clone, Debug)]
pub struct SegmentCosts {
    operators: usize,
    /// The finest number of phases that was tried.
    finest: u32,
    /// For each end (exclusive), the segments that end there, with their costs.
    ending: Vec<Vec<(Segment, SegmentCost)>>,
}

impl SegmentCosts {
    /// Evaluates segments until `work` bands have been simulated, short segments first for each number of phases.
    /// Single operators and the finest phases are evaluated regardless of `work`, unless `control` stops the search.
    /// Single operators without phases are always evaluated, so that a complete division always exists.
    pub fn new(model: &RowDependencies, work: u64, control: &SearchControl<'_>) -> Self {
        let operators = model.operators.len();
        let mut ending: Vec<Vec<(Segment, SegmentCost)>> = vec![Vec::new(); operators + 1];
        let mut evaluator = Evaluator::new(model);
        let phases = phases(model);
        let finest = phases.iter().copied().max().unwrap_or(1);
        let (mut spent, mut looked) = (0, 0);
        let never = SearchControl::new();
        for phases in phases {
            let control = if phases == 1 { &never } else { control };
            for length in 1..=operators.min(MAX_SEGMENT_OPERATORS) {
                // Without phases operators run one after another, so longer segments would equal several segments of
                // one operator.
                if length > 1 && (phases == 1 || spent >= work) {
                    break;
                }
                for begin in 0..=operators - length {
                    let end = begin + length;
                    let rows = model.operators[begin..end].iter().map(|op| op.rows).max().unwrap_or(1);
                    // With at least `rows` phases every band is a single row, and `u32::MAX` covers that case
                    // already.
                    if phases > 1 && phases != u32::MAX && phases >= rows {
                        continue;
                    }
                    let segment = Segment::new(begin..end, phases);
                    if looked % CHECK_INTERVAL == 0 {
                        control.report(Progress::new("looking at segments", spent.min(work), work));
                    }
                    looked += 1;
                    let Some(cost) = evaluator.evaluate(&segment, control) else {
                        return Self { operators, finest, ending };
                    };
                    spent += evaluator.driver.bands.len() as u64;
                    ending[end].push((segment, cost));
                }
            }
        }
        Self { operators, finest, ending }
    }

    /// Returns the segments that stay within `limit` texels and need the fewest dispatches, or `None` if no division
    /// stays within it.
    pub fn within(&self, limit: u64) -> Option<Vec<Segment>> {
        let mut best: Vec<Option<(u64, u64, Segment)>> = vec![None; self.operators + 1];
        let start = (0, 0, Segment::new(0..0, 1));
        best[0] = Some(start);
        for end in 1..=self.operators {
            for (segment, cost) in self.ending[end].iter().filter(|(_, cost)| cost.peak <= limit) {
                let Some((dispatches, peak, _)) = &best[segment.operators.start] else { continue };
                let total = (dispatches + cost.dispatches, cost.peak.max(*peak));
                if best[end].as_ref().is_none_or(|b| total < (b.0, b.1)) {
                    best[end] = Some((total.0, total.1, segment.clone()));
                }
            }
        }
        let mut segments = Vec::new();
        let mut end = self.operators;
        while end > 0 {
            let (_, _, segment) = best[end].take()?;
            end = segment.operators.start;
            segments.push(segment);
        }
        segments.reverse();
        Some(segments)
    }

    /// Returns the division with the smallest peak, and among those the one with the fewest segments. With `finest`,
    /// only segments of the finest phases are considered.
    pub fn least(&self, finest: bool) -> (u64, Vec<Segment>) {
        let mut best: Vec<(u64, usize, Option<&Segment>)> = vec![(u64::MAX, 0, None); self.operators + 1];
        best[0] = (0, 0, None);
        for end in 1..=self.operators {
            for (segment, cost) in &self.ending[end] {
                let coarse = finest && segment.phases != self.finest;
                let (peak, segments, _) = best[segment.operators.start];
                let peak = if coarse { u64::MAX } else { peak.max(cost.peak) };
                // Each end needs an entry, even one that is too coarse, because the path is traced back from end to
                // end.
                if (peak, segments + 1) < (best[end].0, best[end].1) || best[end].2.is_none() {
                    best[end] = (peak, segments + 1, Some(segment));
                }
            }
        }
        let mut segments = Vec::new();
        let mut end = self.operators;
        while let (_, _, Some(segment)) = best[end] {
            end = segment.operators.start;
            segments.push(segment.clone());
        }
        segments.reverse();
        (best[self.operators].0, segments)
    }

    /// Returns the finest number of phases that was tried: one per row, or fewer if that would take too many bands.
    pub fn finest(&self) -> u32 {
        self.finest
    }

    /// Returns the peak number of texels of a division, or `None` if one of its segments was not evaluated.
    pub fn peak(&self, segments: &[Segment]) -> Option<u64> {
        let peak = |segment: &Segment| {
            let list = self.ending.get(segment.operators.end)?;
            list.iter().find(|(other, _)| other == segment).map(|(_, cost)| cost.peak)
        };
        segments.iter().map(peak).try_fold(0, |most, peak| peak.map(|peak| most.max(peak)))
    }

    /// Returns the peak number of live texels when operators run whole, one after another.
    pub fn unphased(&self) -> u64 {
        let whole = self.ending.iter().flatten().filter(|(segment, _)| segment.operators.len() == 1);
        whole.filter(|(segment, _)| segment.phases == 1).map(|(_, cost)| cost.peak).max().unwrap_or(0)
    }
}

/// Returns the numbers of phases that cut the operators of a model into at most [`MAX_BANDS`] bands.
fn phases(model: &RowDependencies) -> Vec<u32> {
    let fits = |phases: u32| {
        let segment = Segment::new(0..model.operators.len(), phases);
        within_bands(model, &[segment])
    };
    PHASES.into_iter().filter(|&phases| fits(phases)).collect()
}

/// Returns whether a division stays within the limit on bands that also applies to the divisions tried here. Segments
/// that refer to operators outside the model count as zero bands.
pub fn within_bands(model: &RowDependencies, segments: &[Segment]) -> bool {
    let cut = segments.iter().filter(|segment| segment.phases > 1);
    let operators = cut.flat_map(|segment| {
        let operators = model.operators.get(segment.operators.clone()).unwrap_or_default();
        operators.iter().map(|op| u64::from(op.rows.min(segment.phases)))
    });
    operators.sum::<u64>() <= MAX_BANDS
}

/// For each operator, the texels written before it that it or a later operator reads.
fn live_before(model: &RowDependencies) -> Vec<u64> {
    let mut change = vec![0i64; model.operators.len() + 1];
    for held in &model.storages {
        if let (Some(producer), Some(reader)) = (held.producer, held.last_reader)
            && producer < reader
        {
            let texels = held.row_texels * u64::from(held.rows);
            change[producer + 1] += texels as i64;
            change[reader + 1] -= texels as i64;
        }
    }
    let alive = change[..model.operators.len()].iter().scan(0, |alive: &mut i64, change| {
        *alive += change;
        Some(alive.unsigned_abs())
    });
    alive.collect()
}

/// Simulates segments to find their costs.
struct Evaluator<'a> {
    model: &'a RowDependencies,
    driver: Driver<'a>,
    /// Live ranges of each storage in the segment being evaluated.
    uses: Vec<StorageUse>,
    /// For each operator, the texels written before it that it or a later operator reads.
    live_before: Vec<u64>,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

/// Use of a storage in the segment being evaluated.
#[derive(Clone, Default)]
struct StorageUse {
    touched: bool,
    /// For each row, the band that wrote it and one past the last band that touched it. A storage placed whole has
    /// one entry.
    live: Vec<(u32, u32)>,
    /// One past the last band that read every row. Tracked separately, because some operators read all rows again and
    /// again.
    all_read: u32,
    /// Peak number of its live texels.
    most: u64,
}

impl StorageUse {
    fn read(&mut self, rows: &Range<u32>, band: u32) {
        if rows.len() >= self.live.len() {
            self.all_read = band + 1;
        } else {
            self.live[rows.start as usize..rows.end as usize].iter_mut().for_each(|live| live.1 = band + 1);
        }
    }

    fn write(&mut self, rows: &Range<u32>, band: u32) {
        let rows = match self.live.len() {
            1 => 0..rows.len().min(1),
            _ => rows.start as usize..rows.end as usize,
        };
        self.live[rows].iter_mut().for_each(|live| *live = (live.0.min(band), band + 1));
    }
}

/// Marks a row that is not written in this segment.
const UNWRITTEN: u32 = u32::MAX;

impl<'a> Evaluator<'a> {
    fn new(model: &'a RowDependencies) -> Self {
        let uses = |held: &StorageInfo| {
            let rows = if held.whole { held.rows.min(1) } else { held.rows };
            StorageUse { live: vec![(UNWRITTEN, 0); rows as usize], ..StorageUse::default() }
        };
        Self {
            model,
            driver: Driver::new(model),
            uses: model.storages.iter().map(uses).collect(),
            live_before: live_before(model),
            starts: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Returns the cost of the segment, or `None` if the search is stopped.
    fn evaluate(&mut self, segment: &Segment, control: &SearchControl<'_>) -> Option<SegmentCost> {
        self.driver.reset(segment);
        self.driver.run(segment, control);
        let cost = self.cost(segment.operators.start, segment.operators.end, control);
        (!control.should_stop()).then_some(cost)
    }

    fn cost(&mut self, begin: usize, end: usize, control: &SearchControl<'_>) -> SegmentCost {
        let bands = &self.driver.bands;
        let mut dispatches = 0;
        let mut touched: Vec<usize> = Vec::new();
        let mut touch = |storage: usize, uses: &mut StorageUse| {
            if !std::mem::replace(&mut uses.touched, true) {
                touched.push(storage);
            }
        };
        // For each operator: its first band, its last band, and its number of bands.
        let mut spans: Vec<Option<(u32, u32, u64)>> = vec![None; end - begin];
        for (number, band) in (0..).zip(bands) {
            if u64::from(number) % CHECK_INTERVAL == CHECK_INTERVAL - 1 && control.should_stop() {
                break;
            }
            let op = &self.model.operators[band.operator];
            let span = spans[band.operator - begin].get_or_insert((number, number, 0));
            (span.1, span.2) = (number, span.2 + 1);
            dispatches += op.dispatches(&band.rows);
            for read in &op.reads {
                let uses = &mut self.uses[read.storage];
                match self.model.storages[read.storage].uploaded {
                    // Uploaded before the first band that reads it.
                    true => uses.write(&read.rows(&band.rows), number),
                    false => uses.read(&read.rows(&band.rows), number),
                }
                touch(read.storage, uses);
            }
            let uses = &mut self.uses[op.writes];
            uses.write(&op.written(&band.rows), number);
            touch(op.writes, uses);
        }
        let mut change = vec![0i64; bands.len() + 1];
        let mut passing = self.live_before[begin];
        for &storage in &touched {
            let held = &self.model.storages[storage];
            let texels = held.row_texels * u64::from(held.rows);
            if is_live_before(held, begin) {
                passing -= texels;
            }
            // Rows of an input count from their first use in this segment, even if an earlier segment has read them.
            let inside = held.uploaded || held.producer.is_some_and(|producer| producer >= begin);
            let stays = held.last_reader.is_some_and(|reader| reader >= end);
            let uses = &self.uses[storage];
            self.starts.clear();
            self.ends.clear();
            for &(written, touched) in &uses.live {
                // Rows written before the segment are alive from its first band on.
                let from = if inside { written } else { 0 };
                let to = if stays { bands.len() as u32 } else { touched.max(uses.all_read) };
                if from != UNWRITTEN && to != 0 {
                    self.starts.push(from);
                    self.ends.push(to);
                }
            }
            let size = if held.whole { texels } else { held.row_texels };
            self.starts.iter().for_each(|&from| change[from as usize] += size as i64);
            self.ends.iter().for_each(|&to| change[to as usize] -= size as i64);
            self.uses[storage].most = size * max_overlap(&mut self.starts, &mut self.ends);
        }
        let most = |storage: usize| self.uses[storage].most;
        let mut unshared = 0;
        for (op, span) in self.model.operators[begin..end].iter().zip(spans) {
            // An operator whose rows are all idle has no span.
            let (mut weights, mut step_count) = (0, 0);
            if let Some((first, last, count)) = span {
                (weights, step_count) = (op.weights.live(count), op.weights.steps(count));
                change[first as usize] += weights as i64;
                change[last as usize + 1] -= weights as i64;
            }
            dispatches += step_count;
            let reads = op.reads.iter().map(|read| most(read.storage)).chain([weights]).max().unwrap_or(0);
            unshared = unshared.max(reads + most(op.writes));
        }
        // Resets only the storages that were touched: a model may have thousands, and a segment touches few.
        for storage in touched {
            let uses = &mut self.uses[storage];
            (uses.touched, uses.all_read, uses.most) = (false, 0, 0);
            uses.live.fill((UNWRITTEN, 0));
        }
        SegmentCost { peak: (max_prefix_sum(&change) + passing).max(unshared), dispatches }
    }
}

/// Returns whether a storage is written before operator `begin` and read by it or a later one.
fn is_live_before(held: &StorageInfo, begin: usize) -> bool {
    held.producer.is_some_and(|producer| producer < begin) && held.last_reader.is_some_and(|reader| reader >= begin)
}

/// Returns the largest number of live ranges that overlap. Each range starts with a band and ends before one. Rows
/// are mostly produced and read in order, so there is little to sort.
fn max_overlap(starts: &mut [u32], ends: &mut [u32]) -> u64 {
    starts.sort_unstable();
    ends.sort_unstable();
    let (mut ended, mut most) = (0, 0);
    for (started, &start) in starts.iter().enumerate() {
        ended += ends[ended..].iter().take_while(|&&end| end <= start).count();
        most = most.max(started + 1 - ended);
    }
    most as u64
}

/// Returns the largest prefix sum of the changes, or 0 if none is positive.
fn max_prefix_sum(change: &[i64]) -> u64 {
    let (mut live, mut most) = (0i64, 0i64);
    for c in change {
        live += c;
        most = most.max(live);
    }
    most.unsigned_abs()
}
