//! The demand-driven order of a segment: before a band of rows, whatever rows it needs.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    ops::Range,
};

use super::{Band, RowDependencies, Segment};
use crate::plan::SearchControl;

/// The bands of all segments in order. Rows that nobody needs are not made.
pub fn order(model: &RowDependencies, segments: &[Segment]) -> Vec<Band> {
    // A control that never stops: half of the bands would be no order.
    let (mut driver, control) = (Driver::new(model), SearchControl::new());
    segments.iter().for_each(|segment| driver.run(segment, &control));
    driver.bands
}

/// Produces bands in order, and keeps how many rows of each operator are done. Recursion would follow the depth of the
/// network, which a file decides; `produce` keeps a stack of its own instead.
pub(super) struct Driver<'a> {
    model: &'a RowDependencies,
    done: Vec<u32>,
    pub(super) bands: Vec<Band>,
}

/// Rows demanded of an operator, and where the search for missing operands goes on: what was produced once stays
/// produced.
struct Demand {
    operator: usize,
    until: u32,
    read: usize,
    producer: usize,
}

impl Demand {
    fn new(operator: usize, until: u32) -> Self {
        Self { operator, until, read: 0, producer: 0 }
    }
}

/// How far a sink is, as a share of its rows; compared by cross products, which round nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sink {
    done: u32,
    rows: u32,
    operator: usize,
}

impl Ord for Sink {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |one: &Self, other: &Self| u64::from(one.done) * u64::from(other.rows);
        parts(self, other).cmp(&parts(other, self)).then(self.operator.cmp(&other.operator))
    }
}

impl PartialOrd for Sink {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> Driver<'a> {
    pub(super) fn new(model: &'a RowDependencies) -> Self {
        Self { model, done: vec![0; model.operators.len()], bands: Vec::new() }
    }

    /// Forgets all bands and how far the operators of `segment` are.
    pub(super) fn reset(&mut self, segment: &Segment) {
        self.done[segment.operators.clone()].fill(0);
        self.bands.clear();
    }

    /// Drives a segment by its sinks (what no operator of the segment reads), the one that is least far first, then
    /// completes whatever outlives the segment. Ends early where the search is stopped; the bands are then of no use.
    pub(super) fn run(&mut self, segment: &Segment, control: &SearchControl<'_>) {
        let operators = segment.operators.clone();
        let mut read = vec![false; operators.len()];
        for operator in &self.model.operators[operators.clone()] {
            let producers = operator.reads.iter().flat_map(|read| &read.producers).map(|producer| producer.operator);
            for producer in producers.filter(|producer| operators.contains(producer)) {
                read[producer - operators.start] = true;
            }
        }
        let sink = |operator: usize| Sink { done: 0, rows: self.model.operators[operator].rows, operator };
        let sinks = operators.clone().filter(|op| !read[op - operators.start]).map(sink);
        let mut open: BinaryHeap<Reverse<Sink>> = sinks.filter(|sink| sink.rows > 0).map(Reverse).collect();
        while let Some(Reverse(Sink { rows, operator, .. })) = open.pop() {
            if control.should_stop() {
                return;
            }
            self.produce(segment, operator, self.done[operator] + self.band(segment, operator));
            let done = self.done[operator];
            if done < rows {
                open.push(Reverse(Sink { done, rows, operator }));
            }
        }
        // Sinks demand no row that a stride or a slice leaves out, but readers in later segments may.
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
        let mut demands = vec![Demand::new(operator, until)];
        while let Some(next) = demands.last_mut() {
            let operator = next.operator;
            let op = &self.model.operators[operator];
            let until = next.until.min(op.rows);
            if self.done[operator] >= until {
                demands.pop();
                continue;
            }
            let rows = self.done[operator]..until.min(self.done[operator] + self.band(segment, operator));
            match self.missing(segment, next, &rows) {
                Some((producer, end)) => demands.push(Demand::new(producer, end)),
                None => {
                    // The next band needs further rows of every operand, so all are asked again.
                    (next.read, next.producer) = (0, 0);
                    self.done[operator] = rows.end;
                    // A pad's idle rows count as made, so that it goes on behind them; a dispatch would write nothing.
                    if !(op.idle.start <= rows.start && rows.end <= op.idle.end) {
                        self.bands.push(Band { operator, rows });
                    }
                }
            }
        }
    }

    /// The first operator of the segment that is not as far as `rows` need it, and how far that is.
    fn missing(&self, segment: &Segment, demands: &mut Demand, rows: &Range<u32>) -> Option<(usize, u32)> {
        let reads = &self.model.operators[demands.operator].reads;
        while let Some(read) = reads.get(demands.read) {
            let end = read.rows(rows).end;
            while let Some(producer) = read.producers.get(demands.producer) {
                let most = self.model.operators[producer.operator].rows;
                // Needed rows are counted in the storage, of which a part holds some: none of them if all that is
                // needed lies in front of it, and no more than it has.
                let end = end.saturating_sub(producer.first).min(most);
                if segment.operators.contains(&producer.operator) && self.done[producer.operator] < end {
                    return Some((producer.operator, end));
                }
                demands.producer += 1;
            }
            (demands.read, demands.producer) = (demands.read + 1, 0);
        }
        None
    }
}
