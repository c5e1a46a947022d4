//! Every network of the catalogue on parts of real pictures, against what other runtimes answer.

use texpool::gpu::{Executor, ExecutorOptions, Gpu};

use crate::support::{open, zoo};

/// What is further off than two CPU runs allow, or cannot be run at all.
fn far(gpu: &Gpu, name: &str) -> Vec<String> {
    let case = zoo::case(name);
    let graph = match case.graph() {
        Ok(graph) => graph,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let outputs = Executor::new(gpu, &graph, &ExecutorOptions::default())
        .and_then(|mut session| session.run(&case.inputs(&graph)));
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

/// Every `.tflite` network of the catalogue against LiteRT's answers.
#[test]
fn tflite_networks_agree() {
    agree(".tflite");
}

/// Every `.onnx` network of the catalogue against onnxruntime's answers.
#[test]
fn onnx_networks_agree() {
    agree(".onnx");
}

/// The distance of neighbouring values of a network's first output, where 8 bits stand for them.
fn quantum(name: &str) -> Option<f32> {
    zoo::manifest()[name]["outputs"][0]["quantum"].as_f64().map(|quantum| quantum as f32)
}

/// What a file stores in 8 bits is answered as a value that those can say, with the runtime's first label.
#[test]
fn networks_of_8_bits_answer_on_their_grid() {
    let gpu = open();
    let names = zoo::names().into_iter();
    let cases: Vec<(String, f32)> = names.filter_map(|name| quantum(&name).map(|quantum| (name, quantum))).collect();
    assert!(!cases.is_empty());
    for (name, quantum) in cases {
        let case = zoo::case(&name);
        let graph = case.graph().unwrap();
        let outputs =
            Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap().run(&case.inputs(&graph)).unwrap();
        let (answer, found) = (&case.answers[0], &outputs[0]);
        let off = found.iter().map(|v| (v / quantum - (v / quantum).round()).abs()).fold(0.0, f32::max);
        assert!(off < 1e-4, "{name}: {off} of a quantum");
        assert_eq!(answer.every, 1);
        assert_eq!(first_label(found), first_label(&answer.kept), "{name}");
        let apart = found.iter().zip(&answer.kept).map(|(a, b)| (a - b).abs() / quantum);
        println!("{name}: {:.0} quanta at most", apart.fold(0.0, f32::max));
    }
}

/// The place of the greatest.
fn first_label(values: &[f32]) -> Option<usize> {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]))
}
