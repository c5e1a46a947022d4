//! Networks of the catalogue through the CPU references.

use texpool_ops::ops::reference;

use super::support::zoo;

fn agree(names: &[&str]) {
    let mut far = Vec::new();
    for name in zoo::names().into_iter().filter(|name| names.contains(&name.as_str())) {
        let case = zoo::case(&name);
        let graph = match case.graph() {
            Ok(graph) => graph,
            Err(error) => {
                far.push(format!("{name}: {error}"));
                continue;
            }
        };
        let inputs: Vec<Vec<f32>> = case.inputs(&graph).into_iter().map(<[f32]>::to_vec).collect();
        let outputs = reference::outputs(&graph, &inputs).unwrap();
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
fn detectors_agree() {
    agree(&["blazeface_onnx_front", "retinaface", "centerface", "ppocr_cls", "mtcnn_pnet", "mtcnn_rnet", "mtcnn_onet"]);
}

#[test]
fn a_classifier_agrees() {
    agree(&["mobilenet_v2"]);
}

#[test]
fn an_image_network_needs_no_transpose() {
    for name in ["mobilenet_v2", "light_squeezenet"] {
        let graph = zoo::case(name).graph().unwrap();
        assert_eq!(graph.tensors[graph.inputs[0]].dims.len(), 4);
        let operators: Vec<&str> = graph.nodes.iter().map(|node| node.op.name()).collect();
        assert!(!operators.contains(&"TRANSPOSE"), "{name}: {operators:?}");
    }
}

#[test]
fn a_text_encoder_agrees() {
    agree(&["minilm"]);
}

#[test]
fn a_text_recogniser_agrees() {
    agree(&["ppocr_rec"]);
}
