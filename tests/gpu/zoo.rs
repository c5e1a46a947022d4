//! Every network of the catalogue on parts of real pictures, against what other runtimes answer.

use texpool::gpu::{Session, SessionOptions};

use crate::support::{models, open, zoo};

/// Runs the networks that are wanted, and collects what is further off than two CPU runtimes allow.
fn agree(wanted: impl Fn(&str) -> bool) {
    let gpu = open();
    let mut far = Vec::new();
    for name in zoo::names().into_iter().filter(|name| wanted(name)) {
        let case = zoo::case(&name);
        if !case.file.ends_with(".tflite") {
            continue;
        }
        let graph = match texpool::import::open(models::model(&case.file)) {
            Ok(graph) => graph,
            Err(error) => {
                far.push(format!("{name}: {error}"));
                continue;
            }
        };
        let mut session = Session::new(&gpu, &graph, &SessionOptions::default()).unwrap();
        let outputs = session.run(&case.inputs(&graph)).unwrap();
        for (output, distance) in case.distances(&graph, &outputs) {
            println!("{name} {output}: {distance:.3} of what is allowed");
            if distance > 1.0 {
                far.push(format!("{name} {output}: {distance} of what is allowed"));
            }
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}

#[test]
fn tflite_networks_agree() {
    agree(|_| true);
}
