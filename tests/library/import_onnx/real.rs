//! Real files through the CPU twins.

use texpool::kernels::twin;

use super::support::reference::reference;

fn agrees(name: &str) {
    let Some(golden) = reference(name) else { return };
    let graph = texpool::import::open(&golden.model).unwrap();
    assert_eq!(graph.tensors[graph.inputs[0]].dims.len(), 4);
    let operators: Vec<&str> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert!(!operators.contains(&"TRANSPOSE"), "an image network needs no transpose: {operators:?}");
    let outputs = twin::outputs(&graph, std::slice::from_ref(&golden.input)).unwrap();
    assert_eq!(outputs[0].len(), golden.output.len());
    for (i, (a, b)) in outputs[0].iter().zip(&golden.output).enumerate() {
        assert!((a - b).abs() <= golden.tolerance, "{name}: element {i} is {a}, not {b}");
    }
}

#[test]
fn mobilenet_v2_agrees() {
    agrees("mobilenet_v2_torchvision");
}

#[test]
fn squeezenet_agrees() {
    agrees("squeezenet_v1.1");
}
