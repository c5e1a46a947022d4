//! The order with the narrowest widest step, by dynamic programming over downsets: sets of steps that may have run.
//!
//! What is alive after a downset does not depend on the order within it, so the best way to reach each is enough.

use std::collections::BTreeMap;

use super::graph::Graph;
use crate::plan::{Progress, SearchControl};

/// How a downset is best reached: the widest step so far, and the step that ran last.
#[derive(Clone, Copy)]
struct Reach {
    widest: u64,
    last: usize,
}

/// The least widest step and an order that has it; `None` if there are more than `limit` downsets or 64 steps, or
/// if `control` stops it.
pub(super) fn narrowest(graph: &Graph<'_>, limit: usize, control: &SearchControl<'_>) -> Option<(u64, Vec<usize>)> {
    let n = graph.len();
    if n > 64 {
        return None;
    }
    let bits = |steps: &[usize]| steps.iter().fold(0u64, |set, &step| set | 1 << step);
    let before: Vec<u64> = graph.before.iter().map(|steps| bits(steps)).collect();
    let mut touched_by = vec![0u64; graph.tensors()];
    for (step, tensors) in graph.touches.iter().enumerate() {
        tensors.iter().for_each(|&t| touched_by[t] |= 1 << step);
    }
    // A tensor is alive at a step if some of its steps have begun and some have not ended.
    let breadth = |done: u64, step: usize| -> u64 {
        let now = done | 1 << step;
        let alive = |&t: &usize| touched_by[t] & now != 0 && touched_by[t] & !done != 0;
        (0..graph.tensors()).filter(alive).map(|t| graph.size(t)).sum()
    };
    let mut layers: Vec<BTreeMap<u64, Reach>> = vec![BTreeMap::from([(0, Reach { widest: 0, last: 0 })])];
    let mut downsets = 1;
    for done in 0..n {
        control.report(Progress::new("orders of steps", done as u64, n as u64));
        let mut next: BTreeMap<u64, Reach> = BTreeMap::new();
        for (&done, reach) in layers.last()? {
            if control.should_stop() {
                return None;
            }
            for step in (0..n).filter(|&s| done >> s & 1 == 0 && before[s] & !done == 0) {
                let widest = reach.widest.max(breadth(done, step));
                let better = |old: &Reach| (widest, step) < (old.widest, old.last);
                if next.get(&(done | 1 << step)).is_none_or(better) {
                    next.insert(done | 1 << step, Reach { widest, last: step });
                }
            }
        }
        downsets += next.len();
        if downsets > limit {
            return None;
        }
        layers.push(next);
    }
    let mut done = if n == 64 { u64::MAX } else { (1 << n) - 1 };
    let widest = layers.last()?.get(&done)?.widest;
    let mut order = Vec::with_capacity(n);
    for layer in layers.iter().skip(1).rev() {
        let last = layer.get(&done)?.last;
        order.push(last);
        done &= !(1 << last);
    }
    order.reverse();
    Some((widest, order))
}
