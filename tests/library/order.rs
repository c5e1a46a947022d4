//! The order of operators with the smallest pool: never larger than in the file's order, the same after loading, and
//! the same operators.

use proptest::prelude::*;
use texpool_compile::{
    CompileOptions, CompiledModel, MemoryOrder, Objective, OperatorOrder, SavedPlanError, StreamedIo, WeightStorage,
    compile, load,
};
use texpool_ops::graph::Graph;
use texpool_plan::{SearchBudget, SearchControl, check};

use crate::{rewrite::property::graphs, support::graphs::branches};

fn compiled(graph: &Graph, order: OperatorOrder, options: &CompileOptions) -> CompiledModel {
    compile(graph, &CompileOptions { order, ..options.clone() }, &SearchControl::new()).unwrap()
}

fn order(compiled: &CompiledModel) -> &MemoryOrder {
    compiled.order().unwrap()
}

/// Returns the operators with the names of their results, in the order in which they run.
fn operators(compiled: &CompiledModel) -> Vec<String> {
    let graph = compiled.graph();
    graph.nodes.iter().map(|node| format!("{} {}", node.op.name(), graph.tensors[node.output].name)).collect()
}

#[test]
fn branches_run_one_after_another() {
    let (graph, options) = (branches(), CompileOptions::default());
    let file = compiled(&graph, OperatorOrder::File, &options);
    let memory = compiled(&graph, OperatorOrder::Memory, &options);
    assert!(file.order().is_none());
    let order = order(&memory);
    assert!(!order.is_of_file() && order.bound_bytes == order.chosen.peak_bytes, "{order:?}");
    assert_eq!((order.file.pool_bytes, order.chosen.pool_bytes), (file.plan().bytes(), memory.plan().bytes()));
    // The wide results are by far the largest, and fewer of them are alive at a time.
    assert!(2 * order.chosen.pool_bytes < order.file.pool_bytes, "{order:?}");
    let (mut before, mut after) = (operators(&file), operators(&memory));
    assert_ne!(before, after);
    before.sort();
    after.sort();
    assert_eq!(before, after);
}

#[test]
fn a_plan_remembers_its_order() {
    let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1024 };
    for (objective, weights) in [(Objective::Fastest, WeightStorage::Resident), (Objective::Smallest, streamed)] {
        let options = CompileOptions { objective, weights, stream_io: StreamedIo::BOTH, ..CompileOptions::default() };
        let memory = compiled(&branches(), OperatorOrder::Memory, &options);
        assert!(!order(&memory).is_of_file());
        let bytes = memory.save();
        let loaded = load(&branches(), &bytes, options.limits).unwrap();
        assert_eq!((loaded.order(), loaded.plan()), (memory.order(), memory.plan()));
        assert_eq!((operators(&loaded), loaded.save()), (operators(&memory), bytes));
    }
}

/// An order that names a node twice, or runs one before its operands, is an error.
#[test]
fn a_damaged_order_is_refused() {
    let memory = compiled(&branches(), OperatorOrder::Memory, &CompileOptions::default());
    let nodes = memory.graph().nodes.len();
    let bytes = memory.save();
    // The order is the only run of as many different numbers below the number of nodes.
    let is_order = |run: &[u8]| {
        let mut sorted = run.to_vec();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..nodes as u8)
    };
    let at = bytes.windows(nodes).position(is_order).unwrap();
    for change in [|order: &mut [u8]| order[1] = order[0], |order: &mut [u8]| order.reverse()] {
        let mut damaged = bytes.clone();
        change(&mut damaged[at..at + nodes]);
        let answer = load(&branches(), &crate::saved::sealed(&damaged), CompileOptions::default().limits);
        assert!(matches!(answer, Err(SavedPlanError::OtherModel { .. })), "{answer:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_pool_is_never_larger_than_in_the_files_order(graph in graphs(), streams: bool) {
        let stream_io = if streams { StreamedIo::BOTH } else { StreamedIo::NONE };
        let weights = match streams {
            true => WeightStorage::Streamed { resident_below: 0, tile_bytes: 256 },
            false => WeightStorage::Resident,
        };
        let budget = SearchBudget { nodes: 2, moves: 200, ..SearchBudget::PORTFOLIO };
        let options = CompileOptions { stream_io, weights, budget, ..CompileOptions::default() };
        let file = compiled(&graph, OperatorOrder::File, &options);
        let memory = compiled(&graph, OperatorOrder::Memory, &options);
        let order = order(&memory);
        prop_assert_eq!(order.file.pool_bytes, file.plan().bytes());
        prop_assert_eq!(order.chosen.pool_bytes, memory.plan().bytes());
        prop_assert!(order.chosen.pool_bytes <= order.file.pool_bytes);
        prop_assert!(order.bound_bytes <= order.chosen.peak_bytes && order.chosen.peak_bytes <= order.chosen.pool_bytes);
        prop_assert!(!order.is_of_file() || order.bound_bytes <= order.file.peak_bytes);
        let schedule = memory.schedule();
        let uses = schedule.uses();
        prop_assert_eq!(check(&schedule.records, &schedule.tensors(), &uses, memory.plan(), options.limits), Ok(()));
        let loaded = load(&graph, &memory.save(), options.limits).unwrap();
        prop_assert_eq!((loaded.plan(), loaded.order()), (memory.plan(), memory.order()));
    }
}
