//! Every network of the catalogue on parts of real pictures, against what other runtimes answer.

use texpool::gpu::{Session, SessionOptions};

use crate::support::{open, zoo};

/// Runs the networks that are wanted, and collects what is further off than two CPU runtimes allow.
fn agree(wanted: impl Fn(&str) -> bool) {
    let gpu = open();
    let mut far = Vec::new();
    for name in zoo::names().into_iter().filter(|name| wanted(name)) {
        let case = zoo::case(&name);
        if !case.is_there() {
            println!("{name}: models/make.py has not written {} into the cache", case.file);
            continue;
        }
        let graph = match case.graph() {
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

/// Networks in `.onnx` files; all others are `.tflite`.
const ONNX: [&str; 24] = [
    "mobilenet_v2",
    "efficientnet_lite0",
    "resnet18",
    "blazeface_onnx_front",
    "blazeface_onnx_back",
    "retinaface",
    "u2netp",
    "centerface",
    "ppocr_det",
    "ppocr_rec",
    "ppocr_cls",
    "mtcnn_pnet",
    "mtcnn_rnet",
    "mtcnn_onet",
    "minilm",
    "light_bvlc_alexnet",
    "light_densenet121",
    "light_inception_v1",
    "light_inception_v2",
    "light_resnet50",
    "light_shufflenet",
    "light_squeezenet",
    "light_vgg19",
    "light_zfnet512",
];

#[test]
fn tflite_networks_agree() {
    agree(|name| !ONNX.contains(&name));
}

#[test]
fn onnx_networks_agree() {
    agree(|name| ONNX.contains(&name) && !name.starts_with("light_"));
}

#[test]
fn the_format_s_own_networks_agree() {
    agree(|name| name.starts_with("light_"));
}
