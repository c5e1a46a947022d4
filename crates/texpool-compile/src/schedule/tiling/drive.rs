//! Demand-driven order of a cascade: before a stripe of rows runs, all rows that it needs are computed.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    ops::Range,
};

use super::{Cascade, RowDependencies, Stripe};
use texpool_plan::SearchControl;

/// Returns the stripes of all cascades in execution order. Rows that no operator needs are not computed.
pub fn order(model: &RowDependencies, cascades: &[Cascade]) -> Vec<Stripe> {
    // This control never stops the search, because a partial list of stripes would not be a valid order.
    let (mut driver, control) = (Driver::new(model), SearchControl::new());
    cascades.iter().for_each(|cascade| driver.run(cascade, &control));
    driver.stripes
}

/// Returns the end of the stripe that begins at row `done`, if `rows` rows are divided into `stripes` stripes as evenly as
/// possible: stripe `k` ends at row `rows * (k + 1) / stripes`.
fn even_stripe_end(done: u32, rows: u32, stripes: u32) -> u32 {
    let (done, rows) = (u64::from(done), u64::from(rows.max(1)));
    let stripes = u64::from(stripes).clamp(1, rows);
    let after = ((done + 1) * stripes).div_ceil(rows);
    // No more than `rows`, which is 32 bits wide.
    (rows * after / stripes).min(rows) as u32
}

/// Produces stripes in order and tracks how many rows of each operator are done. `produce` uses an explicit stack,
/// because recursion would go as deep as the network, and the depth comes from an untrusted file.
pub(super) struct Driver<'a> {
    model: &'a RowDependencies,
    done: Vec<u32>,
    pub(super) stripes: Vec<Stripe>,
}

/// Rows demanded of an operator. `read` and `producer` mark where the search for missing operands resumes; operands
/// before that point are complete and stay complete.
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

/// Progress of a sink, as the share of its rows that are done. Shares are compared by cross products, which do not
/// round.
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
        Self { model, done: vec![0; model.operators.len()], stripes: Vec::new() }
    }

    /// Discards all stripes and resets the progress of the operators of `cascade`.
    pub(super) fn reset(&mut self, cascade: &Cascade) {
        self.done[cascade.operators.clone()].fill(0);
        self.stripes.clear();
    }

    /// Runs a cascade from its sinks, the operators that no other operator of the cascade reads. The sink with the
    /// smallest share of rows done goes next. Afterwards, tensors that outlive the cascade are completed. If the
    /// search is stopped this returns early, and the stripes are then incomplete and must be discarded.
    pub(super) fn run(&mut self, cascade: &Cascade, control: &SearchControl<'_>) {
        let operators = cascade.operators.clone();
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
            self.produce(cascade, operator, self.stripe_end(cascade, operator, rows));
            let done = self.done[operator];
            if done < rows {
                open.push(Reverse(Sink { done, rows, operator }));
            }
        }
        // Sinks never demand rows that a stride or a slice skips, but readers in later cascades may need them.
        for operator in operators.clone() {
            if self.model.outlives(operator, operators.end) {
                self.produce(cascade, operator, self.model.operators[operator].rows);
            }
        }
    }

    /// Returns the end of the next stripe of an operator, whose rows below `until` are needed and not all done.
    fn stripe_end(&self, cascade: &Cascade, operator: usize, until: u32) -> u32 {
        let (done, rows) = (self.done[operator], self.model.operators[operator].rows);
        match cascade.even {
            true => even_stripe_end(done, rows, cascade.stripes),
            false => until.min(done.saturating_add(rows.div_ceil(cascade.stripes.max(1)).max(1))),
        }
    }

    /// Computes the rows of `operator` below `until`, after the rows of other operators that they need.
    fn produce(&mut self, cascade: &Cascade, operator: usize, until: u32) {
        let mut demands = vec![Demand::new(operator, until)];
        while let Some(next) = demands.last_mut() {
            let operator = next.operator;
            let op = &self.model.operators[operator];
            let until = next.until.min(op.rows);
            if self.done[operator] >= until {
                demands.pop();
                continue;
            }
            let rows = self.done[operator]..self.stripe_end(cascade, operator, until);
            match self.missing(cascade, next, &rows) {
                Some((producer, end)) => demands.push(Demand::new(producer, end)),
                None => {
                    // The next stripe needs further rows of every operand, so the search for missing operands starts
                    // over.
                    (next.read, next.producer) = (0, 0);
                    self.done[operator] = rows.end;
                    // A pad's idle rows count as done, so that it can go on with the rows after them. They get no
                    // stripe, since a dispatch would write nothing.
                    if !(op.idle.start <= rows.start && rows.end <= op.idle.end) {
                        self.stripes.push(Stripe { operator, rows });
                    }
                }
            }
        }
    }

    /// Returns the first operator of the cascade that lacks rows that `rows` depends on, and the number of rows it
    /// must reach.
    fn missing(&self, cascade: &Cascade, demands: &mut Demand, rows: &Range<u32>) -> Option<(usize, u32)> {
        let reads = &self.model.operators[demands.operator].reads;
        while let Some(read) = reads.get(demands.read) {
            let end = read.rows(rows).end;
            while let Some(producer) = read.producers.get(demands.producer) {
                let most = self.model.operators[producer.operator].rows;
                // `end` counts rows of the storage. A producer that writes only a part of it owes the overlap with
                // that part: no rows if the part starts after `end`, and never more rows than it has.
                let end = end.saturating_sub(producer.first).min(most);
                if cascade.operators.contains(&producer.operator) && self.done[producer.operator] < end {
                    return Some((producer.operator, end));
                }
                demands.producer += 1;
            }
            (demands.read, demands.producer) = (demands.read + 1, 0);
        }
        None
    }
}
