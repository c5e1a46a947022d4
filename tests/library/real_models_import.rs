//! Real model files import, and the graphs match independently recorded facts.

use std::{collections::BTreeMap, fs};

use crate::support::{graphs::n, models};
use texpool_model::import::ImportError;
use texpool_ops::graph::{Act, Graph, Op, TensorId};

/// Model file, the records of its tensors, and its operators by count (constants' DEQUANTIZE folded away).
const MODELS: [(&str, Option<&str>, &str); 8] = [
    (
        "mobilenet_v1_1.0_224",
        Some("mobilenet_v1"),
        "CONV_2D:15 DEPTHWISE_CONV_2D:13 AVERAGE_POOL_2D:1 RESHAPE:1 SOFTMAX:1",
    ),
    ("posenet_mv1_075_float_from_checkpoints", Some("posenet_337"), "CONV_2D:18 DEPTHWISE_CONV_2D:13"),
    (
        "deeplabv3_257_mv_gpu",
        Some("deeplab_v3_raw"),
        "CONV_2D:38 DEPTHWISE_CONV_2D:17 ADD:10 RESIZE_BILINEAR:3 AVERAGE_POOL_2D:1 CONCATENATION:1",
    ),
    (
        "face_detection_short_range",
        Some("blazeface"),
        "CONV_2D:21 RELU:17 DEPTHWISE_CONV_2D:16 ADD:16 PAD:11 RESHAPE:4 MAX_POOL_2D:3 CONCATENATION:2",
    ),
    (
        "face_detection_front_2019",
        None,
        "CONV_2D:21 RELU:17 DEPTHWISE_CONV_2D:16 ADD:16 PAD:11 RESHAPE:4 MAX_POOL_2D:3 CONCATENATION:2",
    ),
    ("face_landmark", Some("face_landmark"), "CONV_2D:25 PRELU:23 DEPTHWISE_CONV_2D:20 ADD:20 MAX_POOL_2D:6 PAD:3"),
    (
        "hand_landmark_lite",
        Some("hand_landmark_lite"),
        "CONV_2D:31 DEPTHWISE_CONV_2D:16 ADD:10 FULLY_CONNECTED:4 LOGISTIC:2 MAX_POOL_2D:1 MEAN:1",
    ),
    (
        "selfie_segmentation",
        Some("selfie_segmentation"),
        "CONV_2D:43 RELU:22 ADD:14 HARD_SWISH:11 DEPTHWISE_CONV_2D:11 LOGISTIC:11 AVERAGE_POOL_2D:10 MUL:10 RESIZE_BILINEAR:3 TRANSPOSE_CONV:1",
    ),
];

fn import(name: &str) -> Result<Graph, ImportError> {
    texpool_model::import::open(models::model(&format!("{name}.tflite")))
}

fn counts(graph: &Graph) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for node in &graph.nodes {
        *counts.entry(node.op.name().to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn every_model_has_the_operators_that_its_package_list_counts() {
    for (name, _, expected) in MODELS {
        let expected: BTreeMap<String, usize> = expected
            .split(' ')
            .map(|one| one.split_once(':').map(|(op, n)| (op.to_owned(), n.parse().unwrap())).unwrap())
            .collect();
        assert_eq!(counts(&import(name).unwrap()), expected, "{name}");
    }
}

/// First use, last use, name and extents of every intermediate tensor, in order of first use.
fn intervals(graph: &Graph) -> Vec<(usize, usize, Vec<usize>, String)> {
    let last = |id: TensorId| graph.nodes.iter().rposition(|node| node.inputs.contains(&id));
    graph
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| !graph.outputs.contains(&node.output))
        .map(|(step, node)| {
            let id = node.output;
            let tensor = &graph.tensors[id];
            (step, last(id).unwrap_or(step), tensor.dims.clone(), tensor.name.clone())
        })
        .collect()
}

#[test]
fn tensors_live_as_the_records_of_the_same_file_say() {
    for (name, records) in MODELS.iter().filter_map(|(name, records, _)| records.map(|r| (name, r))) {
        let csv =
            fs::read_to_string(format!("{}/tests/data/records/{records}.csv", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let recorded: Vec<_> = csv
            .lines()
            .skip(1)
            .map(|line| {
                let fields: Vec<&str> = line.splitn(6, ',').collect();
                let dims = fields[4].split('x').map(|d| d.parse().unwrap()).collect::<Vec<usize>>();
                (fields[1].parse().unwrap(), fields[2].parse().unwrap(), dims, fields[5].to_owned())
            })
            .collect();
        assert_eq!(intervals(&import(name).unwrap()), recorded, "{name}");
    }
}

#[test]
fn constants_are_borrowed_and_weights_of_16_bits_stay_so() {
    use texpool_ops::graph::ElementType;
    for (name, dtype) in [("mobilenet_v1_1.0_224", ElementType::F32), ("face_detection_short_range", ElementType::F16)]
    {
        let path = models::model(&format!("{name}.tflite"));
        let file: std::sync::Arc<Vec<u8>> = std::sync::Arc::new(fs::read(path).unwrap());
        let graph = texpool_model::import::from_bytes(file.clone()).unwrap();
        let within = file.as_ptr_range();
        let mut seen = 0;
        for tensor in &graph.tensors {
            let Some(constant) = &tensor.constant else { continue };
            let bytes = constant.bytes.as_slice().as_ptr_range();
            assert!(within.start <= bytes.start && bytes.end <= within.end, "{name} {} is a copy", tensor.name);
            assert_eq!(constant.dtype, dtype, "{name} {}", tensor.name);
            seen += constant.len();
        }
        assert!(seen > 50_000, "{name}: {seen} values");
    }
}

#[test]
fn file_facts_that_the_executor_relies_on() {
    let mobilenet = import("mobilenet_v1_1.0_224").unwrap();
    assert_eq!(mobilenet.name, "mobilenet_v1_1.0_224");
    assert_eq!(mobilenet.tensors[mobilenet.inputs[0]].dims, [1, 224, 224, 3]);
    let first = &mobilenet.nodes[n(0)];
    let Op::Conv2d(conv) = first.op else { panic!("{:?}", first.op) };
    // 224 with a window of 3, stride 2 and SAME: 112 positions and one pixel of padding at the end.
    assert_eq!([conv.padding.top, conv.padding.bottom, conv.padding.left, conv.padding.right], [0, 1, 0, 1]);
    assert_eq!(first.epilogue.first, Act::Unary(texpool_ops::graph::Unary::Relu6));

    let selfie = import("selfie_segmentation").unwrap();
    let up = selfie.nodes.iter().find(|n| matches!(n.op, Op::TransposeConv(_))).unwrap();
    assert_eq!(up.inputs.len(), 3);
    assert_eq!(selfie.shape(up.output).dims(), [1, 256, 256, 1]);
}

#[test]
fn real_models_cut_or_changed_are_an_answer_or_an_error() {
    for name in ["face_detection_short_range", "selfie_segmentation"] {
        let file = fs::read(models::model(&format!("{name}.tflite"))).unwrap();
        let import = |bytes: Vec<u8>| texpool_model::import::from_bytes(std::sync::Arc::new(bytes));
        // The tables precede or follow the weights, so positions across the whole file reach both.
        for place in (0..file.len()).step_by(127) {
            let mut changed = file.clone();
            changed[place] ^= 0xff;
            if let Ok(graph) = import(changed) {
                assert_eq!(texpool_ops::graph::check(&graph), Ok(()), "{name}, byte {place}");
            }
        }
        for length in (0..file.len()).step_by(1009) {
            let cut = import(file[..length].to_vec());
            assert!(cut.is_err() || length > file.len() * 9 / 10, "{name}, cut to {length}");
        }
    }
}
