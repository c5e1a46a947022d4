//! Enabling and disabling rules, and the report on them.

use texpool_model::rewrite::{Numerics, RULES, Rules, rewrite};
use texpool_ops::graph::{Concat, Op, Unary};

use super::support::{Net, fires, ops, rewritten};
use crate::support::graphs::n;

#[test]
fn with_no_rule_on_the_graph_is_the_files() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let y = net.relu(y);
    let dead = net.relu(y);
    let y = net.reshape(y, &[1, 96]);
    let graph = net.finish(&[y]);
    assert_eq!(graph.nodes[n(2)].output, dead);
    let rewriting = rewrite(&graph, &Rules::none());
    assert_eq!(format!("{:?}", rewriting.graph), format!("{graph:?}"));
    assert!(
        rewriting.views.is_empty()
            && rewriting.in_place.is_empty()
            && rewriting.report.fired.is_empty()
            && rewriting.report.missed.is_empty()
    );
}

#[test]
fn rules_go_by_their_names() {
    let by_name = ["winograd", "separable"];
    let names: Vec<&str> = Rules::names().filter(|name| !by_name.contains(name)).collect();
    assert_eq!(names.len(), RULES.len() + 2);
    for name in by_name {
        assert!(!Rules::all().is_on(name) && Rules::all().with(&[name]).unwrap().is_on(name), "{name}");
    }
    for &name in &names {
        let (one, others) = (Rules::only(&[name]).unwrap(), Rules::without(&[name]).unwrap());
        for &other in &names {
            assert_eq!(one.is_on(other), name == other);
            assert_eq!(others.is_on(other), name != other);
        }
    }
    assert_eq!(Rules::only(&names).unwrap(), Rules::all());
    assert_eq!(Rules::without(&names).unwrap(), Rules::none());
    let unknown = Rules::only(&["identity", "magic"]).unwrap_err();
    assert_eq!(unknown.name, "magic");
    assert!(unknown.to_string().contains("activation"));
}

#[test]
fn rules_are_chosen_by_what_they_do_to_numbers() {
    let all = [Numerics::Exact, Numerics::SignedZero, Numerics::Reassociates, Numerics::ChangesRange];
    for most in all {
        let rules = Rules::up_to(most);
        for rule in &RULES {
            assert_eq!(rules.is_on(rule.name), rule.numerics <= most, "{} {most}", rule.name);
        }
        assert!(rules.is_on("views") && rules.is_on("in-place"));
        assert!(!rules.is_on("winograd"));
        assert!(RULES.iter().any(|rule| rule.numerics == most), "{most} is said of some rule");
    }
    assert_eq!((Rules::exact(), Rules::all()), (Rules::up_to(all[0]), Rules::up_to(all[3])));
    assert_eq!(Rules::default(), Rules::up_to(Numerics::Reassociates));
}

/// Exponentials of values above 88 are infinite: the file computes NaN, and so does the run.
#[test]
fn a_softmax_that_overflows_does_so_by_default() {
    let (graph, x) = (super::written::alone(unshifted(), 1.0), vec![vec![100.0; 144]]);
    let answer = |rules| texpool_ops::ops::reference::outputs(&rewrite(&graph, &rules).graph, &x).unwrap().remove(0);
    assert!(answer(Rules::default()).iter().all(|v| v.is_nan()));
    assert!(answer(Rules::all()).iter().all(|v| (v - 1.0 / 6.0).abs() < 1e-6));
}

fn unshifted() -> usize {
    super::written::ALL.iter().position(|written| written.1 == "softmax-unshifted").unwrap()
}

#[test]
fn the_report_says_what_fired_and_what_did_not_and_why() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let y = net.relu(y);
    let y = net.unary(Unary::Tanh, y);
    let z = net.unary(Unary::Exp, y);
    let report = rewritten(&net.finish(&[z]), &Rules::all()).report;
    let text = report.to_string();
    assert!(text.starts_with("4 nodes became 2\n"), "{text}");
    assert!(text.contains("activation: node 1 (RELU, `t4`)\n"), "{text}");
    assert!(text.contains("activation: not node 3 (EXP, `t6`): the epilogue of CONV_2D has no room left\n"), "{text}");
}

#[test]
fn dead_nodes_go_with_all_that_only_they_read() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let a = net.unary(Unary::Tanh, x);
    net.node(Op::Concat(Concat { axis: 3 }), &[a, y]);
    let rewriting = fires(&net.finish(&[y]), "dead", 2);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D"]);
}

#[test]
fn the_work_grows_with_the_graph_and_not_with_its_square() {
    const LONG: usize = 30_000;
    let mut net = Net::default();
    let x = net.input(&[1, 1, 1, 4]);
    let out = net.relu(x);
    let (mut dead, mut flat) = (x, x);
    for _ in 0..LONG {
        dead = net.relu(dead);
        flat = net.reshape(flat, &[1, 4]);
        net.unary(Unary::Tanh, x);
    }
    let flat = net.relu(flat);
    let rewriting = rewrite(&net.finish(&[out, flat]), &Rules::all());
    assert_eq!((rewriting.report.nodes_before, rewriting.report.nodes_after), (3 * LONG + 2, 2));
}
