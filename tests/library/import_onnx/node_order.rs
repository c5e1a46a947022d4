//! Nodes in any order, as ONNX Runtime takes them.

use texpool_ops::ops::reference;

use super::support::{
    import,
    onnx::{Attr, FLOAT, Model, number},
};

/// Adds the nodes with these numbers, in this order. The branches of the last read the first's result.
fn model(order: &[usize]) -> Model {
    let mut m = Model::new();
    m.raw_input("x", FLOAT, &[number(1, 2)]);
    m.tensor("k", 9, &[], &super::support::onnx::bytes(9, &[1]));
    for number in order {
        match number {
            0 => m.node("Neg", &["x"], &["a"], &[]),
            1 => m.node("Add", &["a", "x"], &["b"], &[]),
            2 => m.node("Sub", &["a", "b"], &["c"], &[]),
            3 => m.node("Abs", &["c"], &["y"], &[]),
            _ => {
                let [then, other] = [("Mul", ["a", "c"]), ("Add", ["a", "c"])].map(|(op, operands)| {
                    let mut branch = Model::new();
                    // In the branch, too.
                    branch.node("Neg", &["inner"], &["r"], &[]);
                    branch.node(op, &operands, &["inner"], &[]);
                    branch.output("r");
                    branch
                });
                let branches = [("then_branch", Attr::Branch(then)), ("else_branch", Attr::Branch(other))];
                m.node("If", &["k"], &["z"], &branches);
            }
        }
    }
    m.output("y");
    m.output("z");
    m
}

#[test]
fn nodes_in_every_order_give_the_same() {
    let mut orders = vec![Vec::new()];
    for _ in 0..5 {
        let longer = |order: &Vec<usize>| {
            let rest = (0..5).filter(|number| !order.contains(number));
            rest.map(|number| [order.as_slice(), &[number]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    assert_eq!(orders.len(), 120);
    for order in orders {
        let graph = import(model(&order).bytes()).unwrap_or_else(|error| panic!("{order:?}: {error}"));
        let results = reference::outputs(&graph, &[vec![3.0, -5.0]]).unwrap();
        assert_eq!(results, [[3.0, 5.0], [-9.0, -25.0]], "{order:?}");
    }
}

/// The nodes of a cycle, and a node that depends on one.
#[test]
fn nodes_of_a_cycle_are_named() {
    let mut m = Model::new();
    m.raw_input("x", FLOAT, &[number(1, 2)]);
    m.node("Abs", &["c"], &["y"], &[]);
    m.node("Add", &["b", "x"], &["c"], &[]);
    m.node("Sub", &["c", "a"], &["b"], &[]);
    m.node("Neg", &["x"], &["a"], &[]);
    m.output("y");
    let error = import(m.bytes()).unwrap_err().to_string();
    assert!(error.contains("Add `c`: its operand `b` follows from its own result: the nodes form a cycle"), "{error}");
}
