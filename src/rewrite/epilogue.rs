//! Whether functions that follow a node fit in its epilogue, `then(first(x) + add)`.

use super::skip_reason::SkipReason;
use crate::graph::{Act, Epilogue, Node, Op};

/// The epilogue that does `before`, then `act`, then `after`; `None` if that is more than an epilogue holds. A second
/// addition never fits, and what follows an addition can only go in `then`.
pub(super) fn join(before: Epilogue, act: Act, after: Epilogue) -> Option<Epilogue> {
    if after.add.is_some() {
        return None;
    }
    let mut acts = [act, after.first, after.then].into_iter().filter(|&act| act != Act::None);
    let mut joined = before;
    // `first` acts before all the rest, so it is free only where there is no rest.
    if joined.add.is_none() && joined.then == Act::None && joined.first == Act::None {
        joined.first = acts.next().unwrap_or_default();
    }
    if joined.then == Act::None {
        joined.then = acts.next().unwrap_or_default();
    }
    acts.next().is_none().then_some(joined)
}

/// Whether a node of this kind can add a tensor to its result.
pub(super) const fn takes_addend(op: &Op) -> bool {
    matches!(op, Op::Conv2d(_) | Op::DepthwiseConv2d(_) | Op::FullyConnected)
}

/// Refuses a node that has an epilogue.
pub(super) fn plain(node: &Node) -> Result<(), SkipReason> {
    if node.epilogue.is_empty() { Ok(()) } else { Err(SkipReason::EpilogueTaken { op: node.op.name() }) }
}
