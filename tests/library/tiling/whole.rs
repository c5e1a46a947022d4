//! Networks that tiling cannot help, because an operator needs its whole input for each row of its result. They get a
//! plan of whole tensors, or an error that states the required memory.

use texpool_compile::{CompileError, CompileOptions, CompiledModel, Objective, compile, pareto_front};
use texpool_ops::graph::{Act, Graph, GraphBuilder, Op, Softmax, Unary};
use texpool_plan::SearchControl;

/// Values of the map.
const VALUES: usize = 4096;
/// Bytes of its texels.
const BYTES: u64 = VALUES as u64 * 4;

/// Operators that need their whole input.
#[derive(Clone, Copy, Debug)]
enum Operator {
    /// A fully connected layer over a map.
    Dense,
    /// A softmax over all elements.
    Softmax,
}

/// Applies the operator to the graph's input, or to a tensor computed from it.
fn network(operator: Operator, is_computed: bool) -> Graph {
    let mut net = GraphBuilder::new("whole");
    let map = [1, 32, 32, VALUES / 1024];
    let dims = if matches!(operator, Operator::Dense) { map } else { [1, 1, 1, VALUES] };
    let mut x = net.input("x", &dims).unwrap();
    if is_computed {
        x = net.unary("exp", Unary::Exp, x).unwrap();
    }
    let out = match operator {
        Operator::Dense => {
            let weights = net.constant("weights", &[10, VALUES], &[0.5; 10 * VALUES]).unwrap();
            net.fully_connected("dense", x, weights, None, Act::None).unwrap()
        }
        Operator::Softmax => {
            net.node("softmax", Op::Softmax(Softmax { beta: 1.0, log: false }), &[x], Act::None).unwrap()
        }
    };
    net.finish(&[out]).unwrap()
}

fn planned(graph: &Graph, objective: Objective) -> Result<CompiledModel, CompileError> {
    compile(graph, &CompileOptions { objective, ..CompileOptions::default() }, &SearchControl::new())
}

#[test]
fn an_operator_alone_needs_no_pool_and_fits_any_budget() {
    for operator in [Operator::Dense, Operator::Softmax] {
        let graph = network(operator, false);
        for objective in [Objective::Fastest, Objective::Balanced, Objective::Smallest, Objective::Pool(1)] {
            let compiled = planned(&graph, objective).unwrap();
            assert_eq!((compiled.plan().bytes(), compiled.tiled()), (0, None), "{operator:?}, {objective:?}");
        }
    }
}

#[test]
fn a_map_that_must_be_whole_stays_whole() {
    for operator in [Operator::Dense, Operator::Softmax] {
        let graph = network(operator, true);
        let front = pareto_front(&graph, &CompileOptions::default(), &SearchControl::new()).unwrap();
        assert_eq!(front.points().len(), 1);
        for objective in [Objective::Balanced, Objective::Smallest, Objective::Pool(BYTES), Objective::Pool(u64::MAX)] {
            let compiled = planned(&graph, objective).unwrap();
            assert_eq!((compiled.plan().bytes(), compiled.tiled()), (BYTES, None), "{operator:?}, {objective:?}");
        }
        for budget in [0, 1, 1024, BYTES - 1] {
            let Err(error) = planned(&graph, Objective::Pool(budget)) else { panic!("{budget} bytes are enough") };
            assert!(
                matches!(error, CompileError::Budget { bytes, least, tiled: false, stopped: None, .. } if (bytes, least) == (budget, BYTES)),
                "{error}"
            );
            let message = error.to_string();
            assert!(message.contains(&budget.to_string()) && message.contains(&BYTES.to_string()), "{message}");
        }
    }
}
