//! The demand-driven order of a segment: before a band of rows, whatever rows it needs.

use super::{Band, Model, Segment};

/// The bands of all segments in order. Rows that nobody needs are not made.
pub fn order(model: &Model, segments: &[Segment]) -> Vec<Band> {
    let mut driver = Driver::new(model);
    segments.iter().for_each(|segment| driver.run(segment));
    driver.bands
}

/// Makes bands, and knows how far each operator is.
pub(super) struct Driver<'a> {
    model: &'a Model,
    done: Vec<u32>,
    pub(super) bands: Vec<Band>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        Self { model, done: vec![0; model.operators.len()], bands: Vec::new() }
    }

    /// Forgets all bands.
    pub(super) fn reset(&mut self) {
        self.done.fill(0);
        self.bands.clear();
    }

    /// Drives a segment by its sinks (what no operator of the segment reads), the one that is least far first, then
    /// completes whatever outlives the segment.
    pub(super) fn run(&mut self, segment: &Segment) {
        let operators = segment.operators.clone();
        let mut read = vec![false; operators.len()];
        for operator in &self.model.operators[operators.clone()] {
            let makers = operator.reads.iter().flat_map(|read| &read.makers).map(|maker| maker.operator);
            for maker in makers.filter(|maker| operators.contains(maker)) {
                read[maker - operators.start] = true;
            }
        }
        let sinks: Vec<usize> = operators.clone().filter(|op| !read[op - operators.start]).collect();
        loop {
            // How far a sink is, in parts of its rows: compared without a division.
            let rows = |op: usize| u64::from(self.model.operators[op].rows);
            let open = sinks.iter().copied().filter(|&op| u64::from(self.done[op]) < rows(op));
            let next = open.min_by(|&a, &b| {
                (u64::from(self.done[a]) * rows(b)).cmp(&(u64::from(self.done[b]) * rows(a))).then(a.cmp(&b))
            });
            let Some(sink) = next else { break };
            self.produce(segment, sink, self.done[sink] + self.band(segment, sink));
        }
        for operator in operators.clone() {
            if self.model.outlives(operator, operators.end) {
                self.produce(segment, operator, self.model.operators[operator].rows);
            }
        }
    }

    /// Rows of one band of an operator.
    fn band(&self, segment: &Segment, operator: usize) -> u32 {
        self.model.operators[operator].rows.div_ceil(segment.phases.max(1)).max(1)
    }

    /// Makes the rows of `operator` below `until`, and first what they need.
    fn produce(&mut self, segment: &Segment, operator: usize, until: u32) {
        let mut wanted = vec![(operator, until)];
        while let Some(&(operator, until)) = wanted.last() {
            let op = &self.model.operators[operator];
            let until = until.min(op.rows);
            if self.done[operator] >= until {
                wanted.pop();
                continue;
            }
            let rows = self.done[operator]..until.min(self.done[operator] + self.band(segment, operator));
            let missing = op.reads.iter().find_map(|read| {
                let end = read.rows(&rows).end;
                let inside = read.makers.iter().filter(|maker| segment.operators.contains(&maker.operator));
                let mut ends = inside.map(|maker| {
                    let most = self.model.operators[maker.operator].rows;
                    (maker.operator, end.saturating_sub(maker.first).min(most))
                });
                ends.find(|&(maker, end)| self.done[maker] < end)
            });
            match missing {
                Some(missing) => wanted.push(missing),
                None => {
                    self.done[operator] = rows.end;
                    if !(op.idle.start <= rows.start && rows.end <= op.idle.end) {
                        self.bands.push(Band { operator, rows });
                    }
                }
            }
        }
    }
}
