//! Checks whether functions that follow a node fit into its epilogue, `then(first(x) + add)`.

use super::skip_reason::SkipReason;
use texpool_ops::graph::{Act, Epilogue, Node, Op};

/// Returns an epilogue that applies `before`, then `act`, then `after`. `None` if an epilogue cannot hold all of it.
/// A second addition never fits, and functions after an addition can only go into `then`.
pub(super) fn join(before: Epilogue, act: Act, after: Epilogue) -> Option<Epilogue> {
    if after.add.is_some() {
        return None;
    }
    let mut acts = [act, after.first, after.then].into_iter().filter(|&act| act != Act::None);
    let mut joined = before;
    // `first` is applied before everything else, so it is only free if the epilogue is empty.
    if joined.add.is_none() && joined.then == Act::None && joined.first == Act::None {
        joined.first = acts.next().unwrap_or_default();
    }
    if joined.then == Act::None {
        joined.then = acts.next().unwrap_or_default();
    }
    acts.next().is_none().then_some(joined)
}

/// Returns whether nodes with this operator can add a tensor to their result.
pub(super) const fn takes_addend(op: &Op) -> bool {
    matches!(op, Op::Conv2d(_) | Op::DepthwiseConv2d(_) | Op::FullyConnected)
}

/// Refuses nodes that have an epilogue.
pub(super) fn plain(node: &Node) -> Result<(), SkipReason> {
    if node.epilogue.is_empty() { Ok(()) } else { Err(SkipReason::EpilogueTaken { op: node.op.name() }) }
}
