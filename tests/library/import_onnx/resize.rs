//! Resizing matches ONNX Runtime: `tests/data/onnxruntime/resize.csv` lists nodes with the values computed by ONNX
//! Runtime.

use texpool_model::import::ImportOptions;
use texpool_ops::ops::reference;

use super::support::{
    import, import_with,
    onnx::{Attr, FLOAT, Model, bytes, varint},
};

/// A row of the file.
struct Row<'a> {
    operator: &'a str,
    opset: i64,
    attributes: Vec<(&'a str, &'a str)>,
    dims: Vec<i64>,
    scales: Vec<f32>,
    sizes: Vec<i64>,
    region: Vec<f32>,
    result: Vec<usize>,
    values: Vec<f32>,
}

fn list<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|one| one.parse().ok().unwrap()).collect()
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Self {
        let fields: Vec<&str> = line.split(',').collect();
        let &[operator, opset, attributes, dims, scales, sizes, region, result, values] = fields.as_slice() else {
            panic!("{line}");
        };
        Row {
            operator,
            opset: opset.parse().unwrap(),
            attributes: attributes.split_whitespace().map(|one| one.split_once('=').unwrap()).collect(),
            dims: list(dims),
            scales: list(scales),
            sizes: list(sizes),
            region: list(region),
            result: list(result),
            values: list(values),
        }
    }

    fn model(&self) -> Model {
        let mut m = Model::new();
        m.opset = self.opset;
        m.input("x", &self.dims);
        let mut attributes: Vec<Vec<u8>> = self.attributes.iter().map(|&(name, text)| attribute(name, text)).collect();
        let mut operands = vec!["x"];
        if self.opset < 9 {
            let floats = self.scales.iter().flat_map(|v| [varint(7 << 3 | 5), v.to_le_bytes().to_vec()].concat());
            attributes.push(bytes(5, &[bytes(1, b"scales"), floats.collect()].concat()));
        } else {
            if self.opset > 10 {
                operands.push(if self.region.is_empty() { "" } else { "region" });
            }
            operands.push(if self.scales.is_empty() { "" } else { "scales" });
            if !self.sizes.is_empty() {
                operands.push("sizes");
            }
            m.floats("region", &[self.region.len() as i64], &self.region);
            m.floats("scales", &[self.scales.len() as i64], &self.scales);
            m.ints("sizes", &self.sizes);
        }
        m.raw_node(self.operator, &operands, &["y"], &attributes);
        m.output("y");
        m
    }
}

fn attribute(name: &str, text: &str) -> Vec<u8> {
    let integer = |number: u64, value: i64| [varint(number << 3), varint(value as u64)].concat();
    let value = match name {
        "axes" => text.split(';').flat_map(|axis| integer(8, axis.parse().unwrap())).collect(),
        "antialias" | "exclude_outside" => integer(3, text.parse().unwrap()),
        "extrapolation_value" => [varint(2 << 3 | 5), text.parse::<f32>().unwrap().to_le_bytes().to_vec()].concat(),
        _ => bytes(4, text.as_bytes()),
    };
    bytes(5, &[bytes(1, name.as_bytes()), value].concat())
}

/// Formula for the inputs in the file.
fn input(elements: usize) -> Vec<f32> {
    (0..elements).map(|i| ((i * i * 7 + i * 3) % 19) as f32).collect()
}

#[test]
fn resizes_are_those_of_onnx_runtime() {
    let mut wrong = Vec::new();
    let lines: Vec<&str> = include_str!("../../data/onnxruntime/resize.csv").lines().skip(1).collect();
    assert!(lines.len() > 200, "{} rows", lines.len());
    for line in lines {
        let row = Row::of(line);
        let head = || line.rsplit_once(',').unwrap().0.to_owned();
        let graph = match import(row.model().bytes()) {
            Ok(graph) => graph,
            Err(error) => {
                wrong.push(format!("{}: {error}", head()));
                continue;
            }
        };
        let dims = &graph.tensors[graph.outputs[0]].dims;
        if *dims != row.result {
            wrong.push(format!("{}: gives {dims:?}", head()));
            continue;
        }
        let x = input(row.dims.iter().product::<i64>() as usize);
        let result = reference::outputs(&graph, &[x]).unwrap().remove(0);
        // The file holds six digits.
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-5 * b.abs().max(4.0);
        if !result.iter().zip(&row.values).all(near) {
            wrong.push(format!("{}: gives {result:?}, not {:?}", head(), row.values));
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

/// The extent follows from a 32-bit product: 0.7 is slightly less than seven tenths, and ten times that rounds to 7.
#[test]
fn ten_pixels_times_seven_tenths_are_seven() {
    let mut m = Model::new();
    m.input("x", &[1, 1, 1, 10]);
    m.floats("s", &[4], &[1.0, 1.0, 1.0, 0.7]);
    m.node("Resize", &["x", "", "s"], &["y"], &[("mode", Attr::Text("nearest"))]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [1, 1, 1, 7]);
}

/// Errors name the origin of a number that gives an empty or excessive result.
#[test]
fn extents_out_of_range_are_said_with_the_numbers() {
    let refused = |scale: f32| {
        let mut m = Model::new();
        m.input("x", &[1, 1, 1, 10]);
        m.floats("s", &[4], &[1.0, 1.0, 1.0, scale]);
        m.node("Resize", &["x", "", "s"], &["y"], &[]);
        m.output("y");
        import(m.bytes()).unwrap_err().to_string()
    };
    assert!(refused(0.05).contains("it resizes axis 3 from 10 to 0: an extent is from 1 to"), "{}", refused(0.05));
    assert!(refused(1e9).contains("it resizes axis 3 from 10 to 10000000000"), "{}", refused(1e9));
    assert!(refused(f32::NAN).contains("from 10 to 0"), "{}", refused(f32::NAN));
    // The extent comes from the caller.
    let mut m = Model::new();
    m.raw_input("x", FLOAT, &[vec![], vec![], vec![], vec![]]);
    m.floats("s", &[4], &[1.0, 1.0, 1.0, 0.5]);
    m.node("Resize", &["x", "", "s"], &["y"], &[]);
    m.output("y");
    let dims = (0..4).map(|axis| (format!("x:{axis}"), 1)).collect();
    let error = import_with(m.bytes(), &ImportOptions { dims, ..ImportOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("from 1 to 0") && error.contains("bound"), "{error}");
}
