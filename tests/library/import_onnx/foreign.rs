//! Element types that texpool does not have: bfloat16 is held in 32 bits, and constants of 4 bits in 8.

use std::sync::Arc;

use texpool_model::import::{ImportOptions, OutlineSource, Verdict};
use texpool_ops::{graph::ElementType, ops::reference};

use super::support::{
    import,
    onnx::{Attr, FLOAT, Model, bytes, number, typed},
};

const BFLOAT16: i64 = 16;
const UINT4: i64 = 21;
const INT4: i64 = 22;

/// A field of packed integers.
fn packed(field: u64, integers: &[u64]) -> Vec<u8> {
    let mut list = Vec::new();
    for &integer in integers {
        let mut rest = integer;
        while rest > 127 {
            list.push((rest & 127) as u8 | 128);
            rest >>= 7;
        }
        list.push(rest as u8);
    }
    bytes(field, &list)
}

/// 1, -2.5 and an infinity, as bytes of the file and in a field for integers.
fn upper_halves() -> [Vec<u8>; 2] {
    let bits = [1.0f32, -2.5, f32::INFINITY].map(|value| value.to_bits() >> 16);
    let raw: Vec<u8> = bits.iter().flat_map(|&bits| (bits as u16).to_le_bytes()).collect();
    [bytes(9, &raw), packed(5, &bits.map(u64::from))]
}

#[test]
fn constants_and_casts_of_bfloat16_are_floats() {
    for values in upper_halves() {
        let mut m = Model::new();
        m.input("x", &[3]);
        m.tensor("c", BFLOAT16, &[3], &values);
        m.node("Cast", &["x"], &["short"], &[("to", Attr::Int(BFLOAT16))]);
        m.node("Mul", &["short", "c"], &["y"], &[]);
        m.outputs.push(typed("y", BFLOAT16, &[number(1, 3)]));
        let graph = import(m.bytes()).unwrap();
        assert_eq!(graph.tensors[graph.outputs[0]].element_type, ElementType::F32);
        let result = reference::outputs(&graph, &[vec![3.0, 2.0, 1.0]]).unwrap().remove(0);
        assert_eq!(result, [3.0, -5.0, f32::INFINITY]);
    }
    let mut m = Model::new();
    m.raw_input("x", BFLOAT16, &[number(1, 2)]);
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    assert_eq!(graph.tensors[graph.inputs[0]].element_type, ElementType::F32);
}

/// `y = x * (c - zero) * 0.5` for a constant of 3 integers of 4 bits, two to a byte.
fn dequantised(kind: i64, field: &[u8], zero: u8) -> Model {
    let mut m = Model::new();
    m.input("x", &[3]);
    m.tensor("c", kind, &[3], field);
    m.floats("scale", &[], &[0.5]);
    m.tensor("zero", kind, &[], &bytes(9, &[zero]));
    m.node("DequantizeLinear", &["c", "scale", "zero"], &["reals"], &[]);
    m.node("Mul", &["x", "reals"], &["y"], &[]);
    m.output("y");
    m
}

#[test]
fn constants_of_4_bits_have_the_first_in_the_lower_half() {
    // 7, 9 or -7, and 15 or -1.
    for field in [bytes(9, &[0x97, 0x0f]), packed(5, &[0x97, 0x0f])] {
        for (kind, zero, expected) in
            [(UINT4, 3, [2.0, 3.0, 6.0]), (INT4, 0, [3.5, -3.5, -0.5]), (INT4, 14, [4.5, -2.5, 0.5])]
        {
            let graph = import(dequantised(kind, &field, zero).bytes()).unwrap();
            let result = reference::outputs(&graph, &[vec![1.0; 3]]).unwrap().remove(0);
            assert_eq!(result, expected, "{kind}, {zero}");
        }
    }
    for (field, reason) in
        [(bytes(9, &[1]), "1 bytes"), (packed(5, &[1, 2, 3]), "3 values"), (packed(5, &[256, 0]), "256")]
    {
        let error = import(dequantised(INT4, &field, 0).bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// Nothing rounds to 4 bits, so results and inputs of them are refused.
#[test]
fn only_constants_have_4_bits() {
    let mut m = Model::new();
    m.input("x", &[2]);
    m.floats("scale", &[], &[0.5]);
    m.tensor("zero", INT4, &[], &bytes(9, &[0]));
    m.node("QuantizeLinear", &["x", "scale", "zero"], &["y"], &[]);
    m.node("CastLike", &["x", "zero"], &["z"], &[]);
    m.node("Cast", &["x"], &["w"], &[("to", Attr::Int(UINT4))]);
    ["y", "z", "w"].iter().for_each(|name| m.output(name));
    let error = import(m.bytes()).unwrap_err().to_string();
    assert_eq!(error.matches("it gives integers of 4 bits").count(), 2, "{error}");
    assert!(error.contains("its elements are of type uint4"), "{error}");
    let mut m = Model::new();
    m.raw_input("x", INT4, &[number(1, 2)]);
    m.node("Identity", &["x"], &["y"], &[]);
    m.output("y");
    let error = import(m.bytes()).unwrap_err().to_string();
    assert!(error.contains("int4"), "{error}");
}

/// A runtime computes in these types itself.
#[test]
fn delegates_leave_other_types_to_the_runtime() {
    let mut m = Model::new();
    m.input("x", &[3]);
    m.tensor("c", BFLOAT16, &[3], &upper_halves()[0]);
    m.tensor("q", INT4, &[3], &bytes(9, &[0x97, 0x0f]));
    m.floats("scale", &[], &[0.5]);
    m.node("Cast", &["x"], &["short"], &[("to", Attr::Int(BFLOAT16))]);
    m.node("Mul", &["short", "c"], &["product"], &[]);
    m.node("DequantizeLinear", &["q", "scale"], &["reals"], &[]);
    m.node("Cast", &["product"], &["narrow"], &[("to", Attr::Int(FLOAT))]);
    m.node("Add", &["narrow", "reals"], &["z"], &[]);
    m.output("z");
    let outline = OutlineSource::from_bytes(Arc::new(m.bytes()), &ImportOptions::default()).outline(224).unwrap();
    let verdicts: Vec<&Verdict> = outline.graphs[0].nodes.iter().map(|node| &node.verdict).collect();
    assert!(verdicts[..3].iter().all(|verdict| !matches!(verdict, Verdict::Computed | Verdict::Known)), "{verdicts:?}");
}
