//! A deterministic search over orders: one step at a time moves to another legal place.

use super::graph::Graph;
use crate::plan::{PlanError, Progress, SearchControl, bounds};

/// The best order found from `start` in `moves` moves, by the Shared Objects bound and then the widest step; moves that
/// change nothing are taken too, so that plateaus are crossed.
pub(super) fn improve(
    graph: &Graph<'_>,
    start: Vec<usize>,
    moves: u64,
    control: &SearchControl<'_>,
) -> Result<Vec<usize>, PlanError> {
    let n = graph.len();
    if n < 2 {
        return Ok(start);
    }
    let cost = |order: &[usize]| -> Result<(u64, u64), PlanError> {
        let b = bounds(&graph.apply(order)?.0)?;
        Ok((b.shared_objects, b.offsets))
    };
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (step, first) in graph.before.iter().enumerate() {
        first.iter().for_each(|&earlier| after[earlier].push(step));
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (((state >> 32) * limit as u64) >> 32) as usize
    };
    let mut order = start;
    let mut current = cost(&order)?;
    let (mut best, mut least) = (order.clone(), current);
    for done in 0..moves {
        control.report(Progress { stage: "order of steps", done, total: moves, best: Some(least.0) });
        if control.should_stop() {
            break;
        }
        let from = below(n);
        let step = order[from];
        // As far as what must come before and after leaves room.
        let low = order[..from].iter().rposition(|s| graph.before[step].contains(s)).map_or(0, |at| at + 1);
        let high = order[from + 1..].iter().position(|s| after[step].contains(s)).map_or(n, |at| from + 1 + at);
        if high - low < 2 {
            continue;
        }
        let to = low + below(high - low);
        let moved = order.remove(from);
        order.insert(to, moved);
        let changed = cost(&order)?;
        if changed > current {
            let moved = order.remove(to);
            order.insert(from, moved);
            continue;
        }
        current = changed;
        if current < least {
            (best, least) = (order.clone(), current);
        }
    }
    Ok(best)
}
