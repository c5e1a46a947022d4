//! Functions of the bits of integers, and banks of mel filters, on import.

use super::support::{
    import,
    onnx::{Attr, Model, bytes, number},
};
use texpool_ops::ops::reference;

const UINT8: i64 = 2;
const INT32: i64 = 6;

/// The type of constants, and their bytes.
type Integers<'c> = (i64, &'c [u8]);

/// Returns the value that a node makes of constants.
fn folded(op: &str, operands: &[Integers<'_>], attributes: &[(&'static str, Attr)]) -> Vec<f32> {
    let mut m = Model::new();
    let names = ["a", "b"];
    for (name, (kind, values)) in names.iter().zip(operands) {
        let size = if *kind == UINT8 { 1 } else { 4 };
        m.tensor(name, *kind, &[(values.len() / size) as i64], &bytes(9, values));
    }
    m.node(op, &names[..operands.len()], &["y"], attributes);
    m.output("y");
    reference::outputs(&import(m.bytes()).unwrap(), &[]).unwrap().remove(0)
}

#[test]
fn bits_of_constants_are_combined() {
    let (a, b): (Integers<'_>, Integers<'_>) = ((UINT8, &[0b1100, 255]), (UINT8, &[0b1010]));
    assert_eq!(folded("BitwiseAnd", &[a, b], &[]), [8.0, 10.0]);
    assert_eq!(folded("BitwiseOr", &[a, b], &[]), [14.0, 255.0]);
    assert_eq!(folded("BitwiseXor", &[a, b], &[]), [6.0, 245.0]);
    assert_eq!(folded("BitwiseNot", &[a], &[]), [243.0, 0.0]);
    let signed = [5i32, -7].map(i32::to_le_bytes).concat();
    assert_eq!(folded("BitwiseNot", &[(INT32, &signed)], &[]), [-6.0, 6.0]);
    let amounts: Integers<'_> = (UINT8, &[1, 7]);
    let shifted = |direction| folded("BitShift", &[a, amounts], &[("direction", Attr::Text(direction))]);
    assert_eq!((shifted("LEFT"), shifted("RIGHT")), (vec![24.0, 128.0], vec![6.0, 1.0]));
    let beyond: Integers<'_> = (UINT8, &[8, 200]);
    assert_eq!(folded("BitShift", &[a, beyond], &[("direction", Attr::Text("LEFT"))]), [0.0, 0.0]);
}

#[test]
fn bits_of_a_run_are_refused() {
    let mut m = Model::new();
    m.raw_input("x", INT32, &[number(1, 3)]);
    m.node("BitwiseNot", &["x"], &["y"], &[]);
    m.output("y");
    let refused = import(m.bytes()).unwrap_err().to_string();
    assert!(refused.contains("operand 0 `x`, its input, is computed at run time"), "{refused}");
}

/// ONNX Runtime's answer. An edge beyond the spectrum is an error.
#[test]
fn filters_of_mel_are_made_on_import() {
    let filters = |upper: f32| {
        let mut m = Model::new();
        for (name, value) in [("count", 2i64), ("length", 8), ("rate", 16)] {
            m.tensor(name, 7, &[], &bytes(9, &value.to_le_bytes()));
        }
        m.floats("low", &[], &[0.0]);
        m.floats("high", &[], &[upper]);
        m.node("MelWeightMatrix", &["count", "length", "rate", "low", "high"], &["y"], &[]);
        m.output("y");
        import(m.bytes()).map(|graph| reference::outputs(&graph, &[]).unwrap().remove(0))
    };
    assert_eq!(filters(8.0).unwrap(), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(filters(80.0).unwrap_err().to_string().contains("its upper edge lies beyond the spectrum"));
}

/// Constants are quantised as a run would, so that their products are those of weights that are known.
#[test]
fn constants_are_quantised_on_import() {
    let mut m = Model::new();
    m.raw_input("x", UINT8, &[number(1, 1), number(1, 2)]);
    m.floats("w", &[2, 1], &[-1.0, 4.1]);
    m.node("DynamicQuantizeLinear", &["w"], &["q", "scale", "zero"], &[]);
    m.node("Identity", &["q"], &["weights"], &[]);
    m.node("MatMulInteger", &["x", "weights", "", "zero"], &["y"], &[]);
    ["y", "scale"].iter().for_each(|name| m.output(name));
    let graph = import(m.bytes()).unwrap();
    let results = reference::outputs(&graph, &[vec![1.0, 2.0]]).unwrap();
    assert_eq!(results, [vec![-50.0 + 2.0 * 205.0], vec![0.02]]);
}
