//! Compares the answers of a catalogue network on parts of real pictures with those of other runtimes: LiteRT for
//! `.tflite`, onnxruntime for `.onnx`.

use texpool_ops::graph::Graph;

use crate::support::zoo::{Case, manifest};

/// Step between neighbouring values of a network's first output, if it is quantised to 8 bits.
pub(super) fn quantum(name: &str) -> Option<f32> {
    manifest()[name]["outputs"][0]["quantum"].as_f64().map(|quantum| quantum as f32)
}

/// Panics if an output differs more than two CPU runs may. For outputs quantised to 8 bits, also if a value is off
/// the quantisation grid, or any integer differs.
pub(super) fn are_as_of_other_runtimes(case: &Case, graph: &Graph, outputs: &[Vec<f32>]) {
    let name = &case.name;
    for (output, distance) in case.distances(graph, outputs) {
        println!("{name} {output}: {distance:.3} of what is allowed");
        assert!(distance <= 1.0, "{name} {output}: {distance} of what is allowed");
    }
    if let Some(quantum) = quantum(name) {
        let (answer, actual) = (&case.answers[0], &outputs[0]);
        let off = actual.iter().map(|v| (v / quantum - (v / quantum).round()).abs()).fold(0.0, f32::max);
        assert!(off < 1e-4, "{name}: {off} of a quantum");
        assert_eq!(answer.every, 1);
        let differing = actual.iter().zip(&answer.kept).filter(|(a, b)| (*a - *b).abs() > 0.1 * quantum).count();
        assert_eq!(differing, 0, "{name}: integers that differ");
    }
}
