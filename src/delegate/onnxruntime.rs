//! Selects nodes of an ONNX graph for the execution provider. ONNX Runtime computes constants before it queries the
//! provider, and hands over any sets that the provider names.

use super::{
    boundary::{partition, waits, work},
    selection::{Selection, Standing, circular},
    turns::{FirstTurn, sets},
    worth::too_small,
};
use crate::import::{GraphOutline, Refusal, Verdict};

/// Selects nodes in as few sets as possible.
pub(super) fn select(graph: &GraphOutline, min_operations: u64) -> Selection {
    // `None` for nodes that are candidates.
    let other = |verdict: &Verdict| match verdict {
        Verdict::Computed | Verdict::Passed => None,
        Verdict::Known => Some(Standing::Known),
        Verdict::Refused(refusal) => Some(Standing::Left(refusal.clone())),
        Verdict::Unknown(refusal) => Some(Standing::Unknown(refusal.clone())),
    };
    let mut others: Vec<Option<Standing>> = graph.nodes.iter().map(|node| other(&node.verdict)).collect();
    let known: Vec<bool> = graph.nodes.iter().map(|node| node.verdict == Verdict::Known).collect();
    let required = known.iter().filter(|known| !**known).count();
    let waits = waits(graph, &known);
    let constant: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.constant).collect();
    // Terminates, because each round leaves at least one more node.
    let found = loop {
        let taken: Vec<bool> = others.iter().map(Option::is_none).collect();
        let found = sets(&waits, &taken, FirstTurn::Left);
        let computes = |set: &Vec<usize>| set.iter().any(|&node| graph.nodes[node].verdict == Verdict::Computed);
        let refusal = |set: &Vec<usize>| match computes(set) {
            true => {
                let work = work(graph, &partition(graph, set.clone(), &known, &constant));
                too_small(work, set.len() == required, min_operations)
            }
            false => Some(passes_on()),
        };
        let refused: Vec<(&Vec<usize>, Refusal)> = found.iter().filter_map(|set| Some((set, refusal(set)?))).collect();
        if refused.is_empty() {
            break found;
        }
        for (set, refusal) in refused {
            set.iter().for_each(|&node| others[node] = Some(Standing::Left(refusal.clone())));
        }
    };
    let partitions = found.into_iter().map(|nodes| partition(graph, nodes, &known, &constant)).collect();
    let others = others.into_iter().map(|other| other.unwrap_or_else(|| Standing::Left(circular())));
    Selection::new(partitions, others.collect())
}

fn passes_on() -> Refusal {
    Refusal {
        reason: "by itself it only passes values on, which is not worth a copy to the device and back".to_owned(),
        hint: "it costs the runtime next to nothing".to_owned(),
    }
}
