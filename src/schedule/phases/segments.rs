//! Which operators run interleaved, and how finely: a dynamic programme over borders.

use super::{Model, Operator, Segment, drive::Driver};

/// Numbers of phases that are tried, in this order: none, as many as there are rows, and what lies between.
const PHASES: [u32; 9] = [1, u32::MAX, 2, 4, 8, 3, 16, 32, 64];

/// What a segment costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Texels that it keeps busy: the rows alive at its fullest step and what passes by. An operator's operand and result
    /// must lie in different textures, so the most that ever lives of each counts together, too.
    pub peak: u64,
    /// Dispatches.
    pub dispatches: u64,
}

/// Most operators of a segment.
const LONGEST: usize = 72;

/// The cost of every segment that was looked at.
#[derive(Clone, Debug)]
pub struct Table {
    operators: usize,
    /// For each end (exclusive), what may lie in front of it.
    ending: Vec<Vec<(Segment, Outline)>>,
}

impl Table {
    /// Looks at segments, for each number of phases the short ones first, until `work` bands have been driven; at
    /// single operators and at the finest phases whatever they cost.
    pub fn new(model: &Model, work: u64) -> Self {
        let operators = model.operators.len();
        let mut ending: Vec<Vec<(Segment, Outline)>> = vec![Vec::new(); operators + 1];
        let mut scout = Scout::new(model);
        let mut spent = 0;
        for phases in PHASES {
            for length in 1..=operators.min(LONGEST) {
                if length > 1 && (phases == 1 || spent >= work) {
                    break;
                }
                for begin in 0..=operators - length {
                    let end = begin + length;
                    let rows = model.operators[begin..end].iter().map(|op| op.rows).max().unwrap_or(1);
                    if phases > 1 && phases != u32::MAX && phases >= rows {
                        continue;
                    }
                    let segment = Segment { operators: begin..end, phases };
                    let outline = scout.look(&segment);
                    spent += scout.driver.bands.len() as u64;
                    ending[end].push((segment, outline));
                }
            }
        }
        Self { operators, ending }
    }

    /// The segments that keep within `limit` texels and cost the fewest dispatches; none where nothing keeps within.
    pub fn within(&self, limit: u64) -> Option<Vec<Segment>> {
        let mut best: Vec<Option<(u64, u64, Segment)>> = vec![None; self.operators + 1];
        let start = (0, 0, Segment { operators: 0..0, phases: 1 });
        best[0] = Some(start);
        for end in 1..=self.operators {
            for (segment, outline) in self.ending[end].iter().filter(|(_, outline)| outline.peak <= limit) {
                let Some((dispatches, peak, _)) = &best[segment.operators.start] else { continue };
                let cost = (dispatches + outline.dispatches, outline.peak.max(*peak));
                if best[end].as_ref().is_none_or(|b| cost < (b.0, b.1)) {
                    best[end] = Some((cost.0, cost.1, segment.clone()));
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

    /// The division that keeps the fewest texels busy and, among those, has the fewest segments; all of the finest
    /// phases if `finest`.
    pub fn least(&self, finest: bool) -> (u64, Vec<Segment>) {
        let mut best: Vec<(u64, usize, Option<&Segment>)> = vec![(u64::MAX, 0, None); self.operators + 1];
        best[0] = (0, 0, None);
        for end in 1..=self.operators {
            for (segment, outline) in &self.ending[end] {
                let coarse = finest && segment.phases != u32::MAX;
                let (peak, segments, _) = best[segment.operators.start];
                let peak = if coarse { u64::MAX } else { peak.max(outline.peak) };
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

    /// The texels that a division keeps busy, if all its segments were looked at.
    pub fn peak(&self, segments: &[Segment]) -> Option<u64> {
        let peak = |segment: &Segment| {
            let list = self.ending.get(segment.operators.end)?;
            list.iter().find(|(other, _)| other == segment).map(|(_, outline)| outline.peak)
        };
        segments.iter().map(peak).try_fold(0, |most, peak| peak.map(|peak| most.max(peak)))
    }

    /// The most texels that operators run whole, one after another, keep alive.
    pub fn unphased(&self) -> u64 {
        let whole = self.ending.iter().flatten().filter(|(segment, _)| segment.operators.len() == 1);
        whole.filter(|(segment, _)| segment.phases == 1).map(|(_, outline)| outline.peak).max().unwrap_or(0)
    }
}

/// Drives segments to see what they cost.
struct Scout<'a> {
    model: &'a Model,
    driver: Driver<'a>,
    /// Of each row of each storage, the band that wrote it and the last that read it, if any did.
    life: Vec<Vec<(u32, u32)>>,
}

/// Not written, or not read, in this segment.
const NEVER: u32 = u32::MAX;

impl<'a> Scout<'a> {
    fn new(model: &'a Model) -> Self {
        let life = model.storages.iter().map(|held| vec![(NEVER, NEVER); held.rows as usize]).collect();
        Self { model, driver: Driver::new(model), life }
    }

    /// What the segment costs.
    fn look(&mut self, segment: &Segment) -> Outline {
        self.driver.reset();
        self.driver.run(segment);
        self.outline(segment.operators.start, segment.operators.end)
    }

    fn outline(&mut self, begin: usize, end: usize) -> Outline {
        let bands = &self.driver.bands;
        let last = bands.len() as u32;
        let mut dispatches = 0;
        let mut seen: Vec<usize> = Vec::new();
        for (number, band) in (0..).zip(bands) {
            let op = &self.model.operators[band.operator];
            dispatches += u64::from(op.dispatches);
            for read in &op.reads {
                for (_, read_at) in &mut self.life[read.storage][as_range(&read.rows(&band.rows))] {
                    *read_at = number;
                }
                seen.push(read.storage);
            }
            for (written, read_at) in &mut self.life[op.writes][as_range(&op.written(&band.rows))] {
                if *written == NEVER {
                    *written = number;
                }
                *read_at = number;
            }
            seen.push(op.writes);
        }
        seen.sort_unstable();
        seen.dedup();
        let mut change = vec![0i64; bands.len() + 1];
        let mut passing = 0;
        for (index, held) in self.model.storages.iter().enumerate() {
            let alive_before =
                held.maker.is_some_and(|maker| maker < begin) && held.last_reader.is_some_and(|reader| reader >= begin);
            if alive_before && seen.binary_search(&index).is_err() {
                passing += held.row_texels * u64::from(held.rows);
            }
        }
        let mut most = vec![0u64; self.model.storages.len()];
        let mut mine = vec![0i64; bands.len() + 1];
        for storage in seen {
            mine.fill(0);
            let held = &self.model.storages[storage];
            let inside = held.maker.is_some_and(|maker| maker >= begin);
            let stays = held.last_reader.is_some_and(|reader| reader >= end);
            let mut union: Option<(u32, u32)> = None;
            for life in &mut self.life[storage] {
                let (written, read_at) = std::mem::replace(life, (NEVER, NEVER));
                let from = if inside { written } else { 0 };
                let to = if stays { last.saturating_sub(1) } else { read_at };
                if from == NEVER || to == NEVER {
                    continue;
                }
                if held.whole {
                    union = Some(union.map_or((from, to), |(a, b)| (a.min(from), b.max(to))));
                } else {
                    mine[from as usize] += held.row_texels as i64;
                    mine[to as usize + 1] -= held.row_texels as i64;
                }
            }
            if let Some((from, to)) = union {
                let texels = (held.row_texels * u64::from(held.rows)) as i64;
                mine[from as usize] += texels;
                mine[to as usize + 1] -= texels;
            }
            most[storage] = fullest(&mine);
            change.iter_mut().zip(&mine).for_each(|(all, mine)| *all += mine);
        }
        let pair = |op: &Operator| {
            let widest = op.reads.iter().map(|read| most[read.storage]).max().unwrap_or(0);
            widest + most[op.writes]
        };
        let apart = self.model.operators[begin..end].iter().map(pair).max().unwrap_or(0);
        Outline { peak: (fullest(&change) + passing).max(apart), dispatches }
    }
}

/// The largest sum of the first so many changes.
fn fullest(change: &[i64]) -> u64 {
    let (mut live, mut most) = (0i64, 0i64);
    for c in change {
        live += c;
        most = most.max(live);
    }
    most.unsigned_abs()
}

fn as_range(rows: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    rows.start as usize..rows.end as usize
}
