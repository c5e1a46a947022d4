//! Floats that are cast to integers and look up rows of a table, as Keras 3 writes embeddings.

use texpool_ops::ops::reference;

use super::support::{
    import,
    onnx::{Attr, Model, bytes},
};

const ROWS: usize = 5;

/// Tokens in floats, whose negative ones count from the end, by a function of two forms.
fn embedding(by_products: bool, rows_added: i32, extra: impl Fn(&mut Model)) -> Model {
    let mut m = Model::new();
    m.input("x", &[1, 6]);
    m.floats("table", &[ROWS as i64, 2], &(0..2 * ROWS).map(|i| i as f32).collect::<Vec<_>>());
    m.tensor("rows", 6, &[], &bytes(9, &rows_added.to_le_bytes()));
    m.tensor("zero", 6, &[], &bytes(9, &0i32.to_le_bytes()));
    let int = [("to", Attr::Int(6))];
    m.node("Cast", &["x"], &["token"], &int);
    m.node("Less", &["token", "zero"], &["negative"], &[]);
    m.node("Add", &["token", "rows"], &["counted"], &[]);
    if by_products {
        m.node("Not", &["negative"], &["positive"], &[]);
        m.node("Cast", &["negative"], &["one if negative"], &int);
        m.node("Cast", &["positive"], &["one if positive"], &int);
        m.node("Mul", &["counted", "one if negative"], &["from the end"], &[]);
        m.node("Mul", &["token", "one if positive"], &["from the start"], &[]);
        m.node("Add", &["from the end", "from the start"], &["row"], &[]);
    } else {
        m.node("Where", &["negative", "counted", "token"], &["row"], &[]);
    }
    m.node("Gather", &["table", "row"], &["y"], &[("axis", Attr::Int(0))]);
    m.output("y");
    extra(&mut m);
    m
}

#[test]
fn tokens_in_floats_look_up_the_rows_of_a_table() {
    for by_products in [false, true] {
        let graph = import(embedding(by_products, ROWS as i32, |_| {}).bytes()).unwrap();
        // The last two are -10 and -6: negative indices that lead to a negative index, which counts from the end again.
        let tokens = [0.0, 4.0, -1.0, -5.0, -10.0, -6.0];
        let rows = [0, 4, 4, 0, 0, 4];
        let expected: Vec<f32> = rows.iter().flat_map(|row| [2 * row, 2 * row + 1]).map(|value| value as f32).collect();
        assert_eq!(reference::outputs(&graph, &[tokens.to_vec()]).unwrap(), [expected]);
    }
}

/// Integers that the caller reads, or that great constants are added to, are refused as before.
#[test]
fn other_integers_of_floats_are_not_bounded() {
    let refusal = |m: Model| import(m.bytes()).unwrap_err().to_string();
    for m in [
        embedding(false, ROWS as i32, |m| m.output("counted")),
        embedding(false, 1 << 23, |_| {}),
        embedding(true, ROWS as i32, |m| {
            m.node("Cast", &["counted"], &["number"], &[("to", Attr::Int(1))]);
            m.node("Mul", &["number", "number"], &["z"], &[]);
            m.node("Add", &["row", "row"], &["w"], &[]);
            m.output("z");
            m.output("w");
        }),
    ] {
        let text = refusal(m);
        assert!(text.contains("its integers may not be exact"), "{text}");
    }
}
