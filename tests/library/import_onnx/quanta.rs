//! Operators on 8-bit integers give the integers of ONNX Runtime: `tests/data/onnxruntime/quantised.csv` lists nodes between
//! `DequantizeLinear` and `QuantizeLinear`, and nodes of integers, with the values computed by ONNX Runtime.

use texpool_ops::ops::reference;

use super::support::{
    import,
    onnx::{Attr, Model, bytes, number},
};

/// Text of a list of numbers.
fn list(text: &str) -> Vec<i64> {
    text.split([' ', ';']).filter(|one| !one.is_empty()).map(|one| one.parse().unwrap()).collect()
}

/// Returns the model of a row and its inputs.
fn model(fields: &[&'static str]) -> (Model, Vec<f32>) {
    let &[operator, attributes, kind, dims, scales, sizes, _] = fields else { panic!("{fields:?}") };
    let (type_code, least) = if kind == "u8" { (2, 0) } else { (3, -128) };
    let dims = list(dims);
    let mut m = Model::new();
    m.raw_input("x", type_code, &dims.iter().map(|&extent| number(1, extent)).collect::<Vec<_>>());
    let attributes: Vec<(&str, Attr)> = attributes
        .split_whitespace()
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, text)| match name {
            "mode" | "nearest_mode" | "coordinate_transformation_mode" => (name, Attr::Text(text)),
            "axis" | "count_include_pad" => (name, Attr::Int(text.parse().unwrap())),
            _ => (name, Attr::Ints(list(text))),
        })
        .collect();
    m.ints("sizes", &list(sizes));
    let rest: &[&str] = if sizes.is_empty() { &[] } else { &["", "", "sizes"] };
    if scales.is_empty() {
        m.node(operator, &[&["x"], rest].concat(), &["y"], &attributes);
    } else {
        let numbers: Vec<f32> = scales.split(' ').map(|number| number.parse().unwrap()).collect();
        for (name, [scale, zero]) in ["x", "y"].iter().zip([[numbers[0], numbers[1]], [numbers[2], numbers[3]]]) {
            m.floats(&format!("{name}_s"), &[], &[scale]);
            m.tensor(&format!("{name}_z"), type_code, &[], &bytes(9, &[(zero as i16) as u8]));
        }
        m.node("DequantizeLinear", &["x", "x_s", "x_z"], &["reals"], &[]);
        m.node(operator, &[&["reals"], rest].concat(), &["result"], &attributes);
        m.node("QuantizeLinear", &["result", "y_s", "y_z"], &["y"], &[]);
    }
    m.output("y");
    let elements = dims.iter().product::<i64>();
    (m, (0..elements).map(|i| ((i * i * 7 + i * 37) % 256 + least) as f32).collect())
}

#[test]
fn integers_are_those_of_onnx_runtime() {
    let lines: Vec<&'static str> = include_str!("../../data/onnxruntime/quantised.csv").lines().skip(1).collect();
    assert!(lines.len() >= 50, "{} rows", lines.len());
    for line in lines {
        let fields: Vec<&'static str> = line.split(',').collect();
        let (m, x) = model(&fields);
        let graph = import(m.bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        let result = reference::outputs(&graph, &[x]).unwrap().remove(0);
        let expected: Vec<f32> = list(fields[6]).iter().map(|&value| value as f32).collect();
        assert_eq!(result, expected, "{line}");
    }
}
