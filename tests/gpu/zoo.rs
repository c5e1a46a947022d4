//! Every network of the catalogue on parts of real pictures, against what other runtimes answer.

use texpool::gpu::{Gpu, Session, SessionOptions};

use crate::support::{open, zoo};

/// What is further off than two CPU runs allow, or cannot be run at all.
fn far(gpu: &Gpu, name: &str) -> Vec<String> {
    let case = zoo::case(name);
    let graph = match case.graph() {
        Ok(graph) => graph,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let outputs =
        Session::new(gpu, &graph, &SessionOptions::default()).and_then(|mut session| session.run(&case.inputs(&graph)));
    let outputs = match outputs {
        Ok(outputs) => outputs,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let distances = case.distances(&graph, &outputs).into_iter();
    let line = |(output, distance): (String, f32)| {
        println!("{name} {output}: {distance:.3} of what is allowed");
        (distance > 1.0).then(|| format!("{name} {output}: {distance} of what is allowed"))
    };
    distances.filter_map(line).collect()
}

fn agree(ending: &str) {
    let gpu = open();
    let names = zoo::names().into_iter().filter(|name| zoo::file(name).ends_with(ending));
    let far: Vec<String> = names.flat_map(|name| far(&gpu, &name)).collect();
    assert!(far.is_empty(), "{}", far.join("\n"));
}

#[test]
fn tflite_networks_agree() {
    agree(".tflite");
}

#[test]
fn onnx_networks_agree() {
    agree(".onnx");
}
