//! 64-bit floats: constants and casts are rounded to 32 bits, and nothing else is.

use std::sync::Arc;

use texpool_model::import::{ImportOptions, OutlineSource, Verdict};
use texpool_ops::{graph::ElementType, ops::reference};

use super::support::{
    import,
    onnx::{Attr, DOUBLE, FLOAT, Model, bytes, number, typed},
};

/// The values of a constant of doubles, as bytes of the file and in a field for doubles.
fn stored(values: &[f64]) -> [Vec<u8>; 2] {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [bytes(9, &raw), bytes(10, &raw)]
}

#[test]
fn constants_and_casts_of_doubles_are_rounded() {
    for values in stored(&[1.0 / 3.0, 1e300, -1e300, f64::INFINITY]) {
        let mut m = Model::new();
        m.input("x", &[4]);
        m.tensor("c", DOUBLE, &[4], &values);
        m.node("Cast", &["x"], &["wide"], &[("to", Attr::Int(DOUBLE))]);
        m.node("Mul", &["wide", "c"], &["y"], &[]);
        m.outputs.push(typed("y", DOUBLE, &[number(1, 4)]));
        let graph = import(m.bytes()).unwrap();
        assert_eq!(graph.tensors[graph.outputs[0]].element_type, ElementType::F32);
        let result = reference::outputs(&graph, &[vec![3.0, 0.5, 0.5, 2.0]]).unwrap().remove(0);
        // Finite numbers stay finite.
        assert_eq!(result, [3.0 * (1.0f32 / 3.0), f32::MAX / 2.0, f32::MIN / 2.0, f32::INFINITY]);
    }
}

/// Inputs and outputs of doubles are the caller's as 32-bit floats.
#[test]
fn inputs_and_outputs_of_doubles_have_32_bits() {
    let mut m = Model::new();
    m.raw_input("x", DOUBLE, &[number(1, 2)]);
    m.tensor("c", DOUBLE, &[2], &stored(&[0.5, 3.0])[0]);
    m.node("Mul", &["x", "c"], &["y"], &[]);
    m.outputs.push(typed("y", DOUBLE, &[number(1, 2)]));
    let graph = import(m.bytes()).unwrap();
    let types = [graph.inputs[0], graph.outputs[0]].map(|id| graph.tensors[id].element_type);
    assert_eq!(types, [ElementType::F32; 2]);
    assert_eq!(reference::outputs(&graph, &[vec![4.0, -2.0]]).unwrap(), [[2.0, -6.0]]);
}

#[test]
fn doubles_are_stated_as_many_as_the_extents_say() {
    for (mut values, reason) in stored(&[1.0, 2.0]).into_iter().zip(["16 bytes", "2 values"]) {
        let mut m = Model::new();
        m.input("x", &[3]);
        m.tensor("c", DOUBLE, &[3], &values);
        m.node("Add", &["x", "c"], &["y"], &[]);
        m.output("y");
        let error = import(m.bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        // Cut in the middle of a number.
        values.truncate(2 + 12);
        values[1] = 12;
        let mut m = Model::new();
        m.input("x", &[1]);
        m.tensor("c", DOUBLE, &[1], &values);
        m.node("Add", &["x", "c"], &["y"], &[]);
        m.output("y");
        assert!(import(m.bytes()).is_err());
    }
}

/// A runtime computes doubles in 64 bits, so delegates leave nodes that read or give them.
#[test]
fn delegates_leave_doubles_to_the_runtime() {
    let mut m = Model::new();
    m.input("x", &[2]);
    m.tensor("c", DOUBLE, &[2], &stored(&[1.0, 2.0])[0]);
    m.node("Cast", &["x"], &["wide"], &[("to", Attr::Int(DOUBLE))]);
    m.node("Mul", &["wide", "c"], &["product"], &[]);
    m.node("Cast", &["product"], &["narrow"], &[("to", Attr::Int(FLOAT))]);
    m.node("Relu", &["x"], &["z"], &[]);
    ["narrow", "z"].iter().for_each(|name| m.output(name));
    let outline = OutlineSource::from_bytes(Arc::new(m.bytes()), &ImportOptions::default()).outline(224).unwrap();
    let verdicts: Vec<&Verdict> = outline.graphs[0].nodes.iter().map(|node| &node.verdict).collect();
    assert!(verdicts[..3].iter().all(|verdict| !matches!(verdict, Verdict::Computed | Verdict::Known)), "{verdicts:?}");
    assert_eq!(verdicts[3], &Verdict::Computed);
}
