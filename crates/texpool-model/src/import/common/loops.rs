//! Limits on loops whose end is decided in a run. All iterations that a run may need are computed.

/// Largest number of iterations. A run computes all of them.
const MOST_ITERATIONS: i64 = 1024;
/// Largest number of graph nodes for them. Chosen at ten times the longest loop of a real model, Piper's 3,689.
const MOST_NODES: usize = 1 << 15;

/// Returns whether a loop that has not ended after some iterations, of some nodes, is refused.
pub(in crate::import) const fn is_too_long(iterations: i64, nodes: usize) -> bool {
    iterations >= MOST_ITERATIONS || nodes > MOST_NODES
}

/// Returns the reason why a loop is refused. `decided` says what decides about its end and how that is computed.
pub(in crate::import) fn too_long(decided: &str, iterations: i64, nodes: usize) -> String {
    format!(
        "{decided}, so all iterations that may be needed are computed; after {iterations} of them, of {nodes} nodes, \
         nothing that is known has ended it, and at most {MOST_ITERATIONS} iterations and {MOST_NODES} nodes are supported"
    )
}
