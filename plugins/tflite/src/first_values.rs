//! State of variables: what a kernel that keeps variables shares with the kernels of the graphs that give them their
//! first values. Those graphs never run, because the model of the first kernel holds the values.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

/// State of the variables of a graph. It exists as long as the runtime's graph, even while the runtime removes the
/// kernel and creates it again.
#[derive(Debug, Default)]
pub(crate) struct VariableState {
    is_changed: AtomicBool,
}

impl VariableState {
    /// Records that a run may have changed the variables.
    pub(crate) fn change(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the variables may have other values than their first ones.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Relaxed)
    }
}

/// Graphs of first values, by their addresses, that kernels replace.
#[derive(Debug, Default)]
pub(crate) struct FirstValues(Mutex<Vec<(usize, Weak<VariableState>)>>);

impl FirstValues {
    /// Returns the state of the variables that graphs give their first values.
    pub(crate) fn state_of(&self, graphs: &[usize]) -> Arc<VariableState> {
        // A poisoned lock is fine: a panic cannot have left the list inconsistent.
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|(_, state)| state.strong_count() > 0);
        let existing = states.iter().filter(|(graph, _)| graphs.contains(graph)).find_map(|(_, state)| state.upgrade());
        existing.unwrap_or_else(|| {
            let state = Arc::<VariableState>::default();
            states.extend(graphs.iter().map(|&graph| (graph, Arc::downgrade(&state))));
            state
        })
    }

    /// Returns the state of the variables that this graph gives their first values, if a kernel keeps them.
    pub(crate) fn kept(&self, graph: usize) -> Option<Arc<VariableState>> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter().find(|(other, _)| *other == graph).and_then(|(_, state)| state.upgrade())
    }
}

#[cfg(test)]
mod tests {
    use super::FirstValues;

    #[test]
    fn a_state_exists_as_long_as_one_of_its_kernels() {
        let values = FirstValues::default();
        let keeper = values.state_of(&[1, 2]);
        keeper.change();
        let of_graph = values.kept(2).unwrap();
        drop(keeper);
        assert!(values.state_of(&[1, 2]).is_changed() && values.kept(3).is_none());
        drop(of_graph);
        assert!(values.kept(1).is_none() && !values.state_of(&[1, 2]).is_changed());
    }
}
