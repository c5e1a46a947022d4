//! Small graphs that would keep a careless search busy forever. The planner must still answer quickly.

use std::time::{Duration, Instant};

use texpool_compile::{CompileOptions, Objective, compile};
use texpool_ops::graph::{Act, Concat, Conv2d, CumSum, Graph, GraphBuilder, Op, Padding, TensorId, Unary};
use texpool_plan::SearchControl;

const POINTWISE: Conv2d =
    Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding { top: 0, bottom: 0, left: 0, right: 0 }, groups: 1 };

fn build(name: &str, dims: &[usize; 4], network: impl FnOnce(&mut GraphBuilder, TensorId) -> TensorId) -> Graph {
    let mut b = GraphBuilder::new(name);
    let x = b.input("x", dims).unwrap();
    let y = network(&mut b, x);
    b.finish(&[y]).unwrap()
}

/// A chain of convolutions that share their weights.
fn chain(length: usize, rows: usize) -> Graph {
    build("chain", &[1, rows, 1, 4], |b, mut x| {
        let weights = b.constant("w", &[4, 1, 1, 4], &[0.25; 16]).unwrap();
        for _ in 0..length {
            x = b.conv2d("y", POINTWISE, x, weights, None, Act::None).unwrap();
        }
        x
    })
}

/// `count` operators that read one tensor, concatenated along an axis.
fn branches(count: usize, dims: &[usize; 4], axis: usize) -> Graph {
    build("branches", dims, |b, x| {
        let parts: Vec<TensorId> = (0..count).map(|_| b.unary("p", Unary::Exp, x).unwrap()).collect();
        let all = b.node("all", Op::Concat(Concat { axis }), &parts, Act::None).unwrap();
        b.unary("y", Unary::Tanh, all).unwrap()
    })
}

/// One tensor concatenated with itself repeatedly, along the rows.
fn repeated(count: usize) -> Graph {
    build("repeated", &[1, 1, 1, 4], |b, x| {
        let part = b.unary("p", Unary::Exp, x).unwrap();
        let all = b.node("all", Op::Concat(Concat { axis: 1 }), &vec![part; count], Act::None).unwrap();
        b.unary("y", Unary::Tanh, all).unwrap()
    })
}

/// Each layer reads the results of all layers before it.
fn dense(layers: usize, rows: usize) -> Graph {
    build("dense", &[1, rows, 1, 4], |b, mut x| {
        for layer in 1..=layers {
            let weights = b.constant("w", &[4, 1, 1, 4 * layer], &vec![0.25; 16 * layer]).unwrap();
            let y = b.conv2d("y", POINTWISE, x, weights, None, Act::None).unwrap();
            x = b.node("all", Op::Concat(Concat { axis: 3 }), &[x, y], Act::None).unwrap();
        }
        x
    })
}

/// Sums of two earlier results, far apart in the graph.
fn sums(count: usize, rows: usize) -> Graph {
    build("sums", &[1, rows, 1, 4], |b, x| {
        let mut tensors = vec![x, b.unary("y", Unary::Exp, x).unwrap()];
        let mut state = 1usize;
        for index in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = tensors[(state >> 33) % tensors.len()];
            let last = tensors[tensors.len() - 1 - index % 2];
            tensors.push(b.node("s", Op::Binary(texpool_ops::graph::Binary::Add), &[last, other], Act::None).unwrap());
        }
        *tensors.last().unwrap()
    })
}

/// Every row of every result needs all rows before it.
fn running(length: usize, rows: usize) -> Graph {
    build("running", &[1, rows, 1, 4], |b, mut x| {
        for _ in 0..length {
            let sum = Op::CumSum(CumSum { axis: 1, exclusive: false, reverse: false });
            x = b.node("y", sum, &[x], Act::None).unwrap();
        }
        x
    })
}

/// Limit for an unoptimised build beside other tests: the deadline, and the work after it.
const DEADLINE: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_secs(60);

fn is_planned_soon(graph: &Graph) {
    for objective in [Objective::Fastest, Objective::Balanced, Objective::Smallest] {
        let begun = Instant::now();
        let options = CompileOptions { objective, ..CompileOptions::default() };
        let compiled = compile(graph, &options, &SearchControl::new().timeout(DEADLINE)).unwrap();
        let (took, steps) = (begun.elapsed(), compiled.schedule().steps.len());
        println!(
            "{} {objective:?}: {:.1} s, {steps} steps, {} bytes, {:?}",
            graph.name,
            took.as_secs_f64(),
            compiled.plan().bytes(),
            compiled.stopped()
        );
        assert!(took < SOON, "{} {objective:?} took {took:?}", graph.name);
    }
}

/// 2,000 operators of 8,192 rows: more than the search for tilings accepts.
#[test]
fn a_long_chain_of_many_rows() {
    is_planned_soon(&chain(2_000, 8_192));
}

/// 2,000 operators of 256 rows, which the search for tilings accepts.
#[test]
fn a_long_chain_of_some_rows() {
    is_planned_soon(&chain(2_000, 256));
}

/// 5,000 readers of one tensor, joined along channels.
#[test]
fn many_branches_side_by_side() {
    is_planned_soon(&branches(5_000, &[1, 16, 1, 4], 3));
}

/// 4,000 readers of one tensor, joined along height.
#[test]
fn many_branches_one_below_the_other() {
    is_planned_soon(&branches(4_000, &[1, 1, 1, 4], 1));
}

/// A concatenation of the same tensor 20,000 times.
#[test]
fn one_tensor_put_together_with_itself() {
    is_planned_soon(&repeated(20_000));
}

/// 400 layers that each read all before them: parts inside parts.
#[test]
fn concatenations_of_concatenations() {
    is_planned_soon(&dense(400, 64));
}

/// 4,000 additions of tensors far apart in the graph, which live long.
#[test]
fn sums_of_what_lies_far_apart() {
    is_planned_soon(&sums(4_000, 32));
}

/// Running sums along height, a row of which needs all before it.
#[test]
fn rows_that_need_all_before_them() {
    is_planned_soon(&running(100, 8_192));
}
