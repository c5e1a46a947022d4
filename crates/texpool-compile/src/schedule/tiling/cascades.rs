//! Chooses which operators run interleaved, and in how many stripes, by dynamic programming over the borders between
//! cascades.

use std::ops::Range;

use super::{Cascade, RowDependencies, drive::Driver, model::StorageInfo};
use texpool_plan::{Progress, SearchControl};

/// Numbers of stripes to try, in this order. The work is bounded, so the two extremes come before the values between
/// them.
const STRIPES: [u32; 9] = [1, u32::MAX, 2, 4, 8, 3, 16, 32, 64];

/// Cost of a cascade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CascadeCost {
    /// Texels that the cascade occupies: those of the rows alive at its peak, plus those of tensors that stay alive
    /// across it. An operator's operand and result must lie in different textures, so `peak` is at least the sum of
    /// the largest live sizes of both, even if they are reached at different times.
    pub peak: u64,
    /// Number of dispatches.
    pub dispatches: u64,
}

/// Largest number of operators in a cascade. A chosen value: the time to evaluate all cascades grows with its square.
const MAX_CASCADE_OPERATORS: usize = 72;

/// Upper limit on the number of stripes of all operators together. Numbers that need more are not tried. RetinaFace in
/// its finest stripes has 19,696 stripes. At this limit dispatches alone take 4 s, at the 17 us per dispatch of the
/// assumed device.
const MAX_STRIPES: u64 = 1 << 18;

/// Number of cascades evaluated between two progress reports, and of stripes simulated between two checks of the
/// deadline.
const CHECK_INTERVAL: u64 = 64;

/// Costs of all cascades that were evaluated.
#[derive(Clone, Debug)]
pub struct CascadeCosts {
    operators: usize,
    /// The finest number of stripes that was tried.
    finest: u32,
    /// For each end (exclusive), the cascades that end there, with their costs.
    ending: Vec<Vec<(Cascade, CascadeCost)>>,
}

impl CascadeCosts {
    /// Evaluates cascades until `work` stripes have been simulated, short cascades first for each number of stripes.
    /// Single operators and the finest stripes are evaluated regardless of `work`, unless `control` stops the search.
    /// Single operators with whole tensors are always evaluated, so that a complete division always exists.
    pub fn new(model: &RowDependencies, work: u64, control: &SearchControl<'_>) -> Self {
        let operators = model.operators.len();
        let mut ending: Vec<Vec<(Cascade, CascadeCost)>> = vec![Vec::new(); operators + 1];
        let mut evaluator = Evaluator::new(model);
        let stripes = stripes(model);
        let finest = stripes.iter().copied().max().unwrap_or(1);
        let (mut spent, mut looked) = (0, 0);
        let never = SearchControl::new();
        for stripes in stripes {
            let control = if stripes == 1 { &never } else { control };
            for length in 1..=operators.min(MAX_CASCADE_OPERATORS) {
                // With whole tensors operators run one after another, so longer cascades would equal several cascades
                // of one operator.
                if length > 1 && (stripes == 1 || spent >= work) {
                    break;
                }
                for begin in 0..=operators - length {
                    let end = begin + length;
                    let rows = model.operators[begin..end].iter().map(|op| op.rows).max().unwrap_or(1);
                    // With at least `rows` stripes every stripe is a single row, and `u32::MAX` covers that case
                    // already.
                    if stripes > 1 && stripes != u32::MAX && stripes >= rows {
                        continue;
                    }
                    let cascade = Cascade::new(begin..end, stripes);
                    if looked % CHECK_INTERVAL == 0 {
                        control.report(Progress::new("looking at cascades", spent.min(work), work));
                    }
                    looked += 1;
                    let Some(cost) = evaluator.evaluate(&cascade, control) else {
                        return Self { operators, finest, ending };
                    };
                    spent += evaluator.driver.stripes.len() as u64;
                    ending[end].push((cascade, cost));
                }
            }
        }
        Self { operators, finest, ending }
    }

    /// Returns the cascades that stay within `limit` texels and need the fewest dispatches, or `None` if no division
    /// stays within it.
    pub fn within(&self, limit: u64) -> Option<Vec<Cascade>> {
        let mut best: Vec<Option<(u64, u64, Cascade)>> = vec![None; self.operators + 1];
        let start = (0, 0, Cascade::new(0..0, 1));
        best[0] = Some(start);
        for end in 1..=self.operators {
            for (cascade, cost) in self.ending[end].iter().filter(|(_, cost)| cost.peak <= limit) {
                let Some((dispatches, peak, _)) = &best[cascade.operators.start] else { continue };
                let total = (dispatches + cost.dispatches, cost.peak.max(*peak));
                if best[end].as_ref().is_none_or(|b| total < (b.0, b.1)) {
                    best[end] = Some((total.0, total.1, cascade.clone()));
                }
            }
        }
        let mut cascades = Vec::new();
        let mut end = self.operators;
        while end > 0 {
            let (_, _, cascade) = best[end].take()?;
            end = cascade.operators.start;
            cascades.push(cascade);
        }
        cascades.reverse();
        Some(cascades)
    }

    /// Returns the division with the smallest peak, and among those the one with the fewest cascades. With `finest`,
    /// only cascades of the finest stripes are considered.
    pub fn least(&self, finest: bool) -> (u64, Vec<Cascade>) {
        let mut best: Vec<(u64, usize, Option<&Cascade>)> = vec![(u64::MAX, 0, None); self.operators + 1];
        best[0] = (0, 0, None);
        for end in 1..=self.operators {
            for (cascade, cost) in &self.ending[end] {
                let coarse = finest && cascade.stripes != self.finest;
                let (peak, cascades, _) = best[cascade.operators.start];
                let peak = if coarse { u64::MAX } else { peak.max(cost.peak) };
                // Each end needs an entry, even one that is too coarse, because the path is traced back from end to
                // end.
                if (peak, cascades + 1) < (best[end].0, best[end].1) || best[end].2.is_none() {
                    best[end] = (peak, cascades + 1, Some(cascade));
                }
            }
        }
        let mut cascades = Vec::new();
        let mut end = self.operators;
        while let (_, _, Some(cascade)) = best[end] {
            end = cascade.operators.start;
            cascades.push(cascade.clone());
        }
        cascades.reverse();
        (best[self.operators].0, cascades)
    }

    /// Returns the finest number of stripes that was tried: one per row, or fewer if that would take too many stripes.
    pub fn finest(&self) -> u32 {
        self.finest
    }

    /// Returns the peak number of texels of a division, or `None` if one of its cascades was not evaluated.
    pub fn peak(&self, cascades: &[Cascade]) -> Option<u64> {
        let peak = |cascade: &Cascade| {
            let list = self.ending.get(cascade.operators.end)?;
            list.iter().find(|(other, _)| other == cascade).map(|(_, cost)| cost.peak)
        };
        cascades.iter().map(peak).try_fold(0, |most, peak| peak.map(|peak| most.max(peak)))
    }

    /// Returns the peak number of live texels when operators run whole, one after another.
    pub fn untiled(&self) -> u64 {
        let whole = self.ending.iter().flatten().filter(|(cascade, _)| cascade.operators.len() == 1);
        whole.filter(|(cascade, _)| cascade.stripes == 1).map(|(_, cost)| cost.peak).max().unwrap_or(0)
    }
}

/// Returns the numbers of stripes that cut the operators of a model into at most [`MAX_STRIPES`] stripes.
fn stripes(model: &RowDependencies) -> Vec<u32> {
    let fits = |stripes: u32| {
        let cascade = Cascade::new(0..model.operators.len(), stripes);
        within_stripes(model, &[cascade])
    };
    STRIPES.into_iter().filter(|&stripes| fits(stripes)).collect()
}

/// Returns whether a division stays within the limit on stripes that also applies to the divisions tried here. Cascades
/// that refer to operators outside the model count as zero stripes.
pub fn within_stripes(model: &RowDependencies, cascades: &[Cascade]) -> bool {
    let cut = cascades.iter().filter(|cascade| cascade.stripes > 1);
    let operators = cut.flat_map(|cascade| {
        let operators = model.operators.get(cascade.operators.clone()).unwrap_or_default();
        operators.iter().map(|op| u64::from(op.rows.min(cascade.stripes)))
    });
    operators.sum::<u64>() <= MAX_STRIPES
}

/// For each operator, the texels written before it that it or a later operator reads.
fn live_before(model: &RowDependencies) -> Vec<u64> {
    let mut change = vec![0i64; model.operators.len() + 1];
    for info in &model.storages {
        if let (Some(producer), Some(reader)) = (info.producer, info.last_reader)
            && producer < reader
        {
            let texels = info.row_texels * u64::from(info.rows);
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

/// Simulates cascades to find their costs.
struct Evaluator<'a> {
    model: &'a RowDependencies,
    driver: Driver<'a>,
    /// Live ranges of each storage in the cascade being evaluated.
    uses: Vec<StorageUse>,
    /// For each operator, the texels written before it that it or a later operator reads.
    live_before: Vec<u64>,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

/// Use of a storage in the cascade being evaluated.
#[derive(Clone, Default)]
struct StorageUse {
    touched: bool,
    /// For each row, the stripe that wrote it and one past the last stripe that touched it. A storage placed whole has
    /// one entry.
    live: Vec<(u32, u32)>,
    /// One past the last stripe that read every row. Tracked separately, because some operators read all rows again and
    /// again.
    all_read: u32,
    /// Peak number of its live texels.
    most: u64,
}

impl StorageUse {
    fn read(&mut self, rows: &Range<u32>, stripe: u32) {
        if rows.len() >= self.live.len() {
            self.all_read = stripe + 1;
        } else {
            self.live[rows.start as usize..rows.end as usize].iter_mut().for_each(|live| live.1 = stripe + 1);
        }
    }

    fn write(&mut self, rows: &Range<u32>, stripe: u32) {
        let rows = match self.live.len() {
            1 => 0..rows.len().min(1),
            _ => rows.start as usize..rows.end as usize,
        };
        self.live[rows].iter_mut().for_each(|live| *live = (live.0.min(stripe), stripe + 1));
    }
}

/// Marks a row that is not written in this cascade.
const UNWRITTEN: u32 = u32::MAX;

impl<'a> Evaluator<'a> {
    fn new(model: &'a RowDependencies) -> Self {
        let uses = |info: &StorageInfo| {
            let rows = if info.whole { info.rows.min(1) } else { info.rows };
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

    /// Returns the cost of the cascade, or `None` if the search is stopped.
    fn evaluate(&mut self, cascade: &Cascade, control: &SearchControl<'_>) -> Option<CascadeCost> {
        self.driver.reset(cascade);
        self.driver.run(cascade, control);
        let cost = self.cost(cascade.operators.start, cascade.operators.end, control);
        (!control.should_stop()).then_some(cost)
    }

    fn cost(&mut self, begin: usize, end: usize, control: &SearchControl<'_>) -> CascadeCost {
        let stripes = &self.driver.stripes;
        let mut dispatches = 0;
        let mut touched: Vec<usize> = Vec::new();
        let mut touch = |storage: usize, uses: &mut StorageUse| {
            if !std::mem::replace(&mut uses.touched, true) {
                touched.push(storage);
            }
        };
        // For each operator: its first stripe, its last stripe, and its number of stripes.
        let mut spans: Vec<Option<(u32, u32, u64)>> = vec![None; end - begin];
        for (number, stripe) in (0..).zip(stripes) {
            if u64::from(number) % CHECK_INTERVAL == CHECK_INTERVAL - 1 && control.should_stop() {
                break;
            }
            let op = &self.model.operators[stripe.operator];
            let span = spans[stripe.operator - begin].get_or_insert((number, number, 0));
            (span.1, span.2) = (number, span.2 + 1);
            dispatches += op.dispatches(&stripe.rows);
            for read in &op.reads {
                let uses = &mut self.uses[read.storage];
                match self.model.storages[read.storage].uploaded {
                    // Uploaded before the first stripe that reads it.
                    true => uses.write(&read.rows(&stripe.rows), number),
                    false => uses.read(&read.rows(&stripe.rows), number),
                }
                touch(read.storage, uses);
            }
            let uses = &mut self.uses[op.writes];
            uses.write(&op.written(&stripe.rows), number);
            touch(op.writes, uses);
        }
        let mut change = vec![0i64; stripes.len() + 1];
        let mut passing = self.live_before[begin];
        for &storage in &touched {
            let info = &self.model.storages[storage];
            let texels = info.row_texels * u64::from(info.rows);
            if is_live_before(info, begin) {
                passing -= texels;
            }
            // Rows of an input count from their first use in this cascade, even if an earlier cascade has read them.
            let inside = info.uploaded || info.producer.is_some_and(|producer| producer >= begin);
            let stays = info.last_reader.is_some_and(|reader| reader >= end);
            let uses = &self.uses[storage];
            self.starts.clear();
            self.ends.clear();
            for &(written, touched) in &uses.live {
                // Rows written before the cascade are alive from its first stripe on.
                let from = if inside { written } else { 0 };
                let to = if stays { stripes.len() as u32 } else { touched.max(uses.all_read) };
                if from != UNWRITTEN && to != 0 {
                    self.starts.push(from);
                    self.ends.push(to);
                }
            }
            let size = if info.whole { texels } else { info.row_texels };
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
        // Resets only the storages that were touched: a model may have thousands, and a cascade touches few.
        for storage in touched {
            let uses = &mut self.uses[storage];
            (uses.touched, uses.all_read, uses.most) = (false, 0, 0);
            uses.live.fill((UNWRITTEN, 0));
        }
        CascadeCost { peak: (max_prefix_sum(&change) + passing).max(unshared), dispatches }
    }
}

/// Returns whether a storage is written before operator `begin` and read by it or a later one.
fn is_live_before(info: &StorageInfo, begin: usize) -> bool {
    info.producer.is_some_and(|producer| producer < begin) && info.last_reader.is_some_and(|reader| reader >= begin)
}

/// Returns the largest number of live ranges that overlap. Each range starts with a stripe and ends before one. Rows
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
