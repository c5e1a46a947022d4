//! Steps of real model files: usage records as published, and the reduction of each graph by the rewriter.

#![cfg(test)]

#[cfg(test)]
mod tests {
    use std::fs;

    use texpool_compile::schedule::{Schedule, schedule};
    use texpool_model::{
        import::{ImportOptions, open_with},
        rewrite::{Rewritten, Rules, rewrite},
    };
    use texpool_ops::{
        graph::{Act, Epilogue, Graph, Op, Shape, TensorId, Unary, check},
        ops::reference,
    };
    use texpool_plan::UsageRecord;

    use crate::support::models;

    /// Bytes of four 32-bit floats.
    const TEXEL: u64 = 16;

    fn import(name: &str) -> Graph {
        texpool_model::import::open(models::model(&format!("{name}.tflite"))).unwrap()
    }

    fn steps(name: &str, rules: &Rules) -> (Rewritten, Schedule) {
        let rewriting = rewrite(&import(name), rules);
        check(&rewriting.graph).unwrap();
        let schedule = schedule(&rewriting.graph, &rewriting.views).unwrap();
        assert_eq!(rewriting.report.nodes_after, schedule.steps.len());
        (rewriting, schedule)
    }

    /// The records of a published file: intervals, size in texels by the extents, size in bytes as stated.
    fn published(name: &str) -> Vec<(UsageRecord, u64)> {
        let csv = fs::read_to_string(format!("{}/tests/data/records/{name}.csv", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let record = |line: &str| {
            let fields: Vec<&str> = line.splitn(6, ',').collect();
            let dims: Vec<usize> = fields[4].split('x').map(|extent| extent.parse().unwrap()).collect();
            let texels = Shape::from_dims(&dims).unwrap().texels() as u64;
            let (first, last) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
            (UsageRecord::new(first, last, texels), fields[3].parse().unwrap())
        };
        csv.lines().skip(1).map(record).collect()
    }

    #[test]
    fn usage_records_are_those_published() {
        let none = Rules::none();
        let cases = [
            ("face_detection_short_range", "blazeface", none),
            ("mobilenet_v1_1.0_224", "mobilenet_v1", none),
            ("posenet_mv1_075_float_from_checkpoints", "posenet_337", none),
            ("face_landmark", "face_landmark", none),
            ("hand_landmark_lite", "hand_landmark_lite", none),
            ("selfie_segmentation", "selfie_segmentation", none),
            ("deeplabv3_257_mv_gpu", "deeplab_v3_raw", none),
            ("deeplabv3_257_mv_gpu", "deeplab_v3", Rules::only(&["identity", "same-size"]).unwrap()),
        ];
        for (model, file, rules) in cases {
            let published = published(file);
            let (_, schedule) = steps(model, &rules);
            let records: Vec<UsageRecord> = published.iter().map(|&(record, _)| record).collect();
            assert_eq!(schedule.records, records, "{file}");
            // The raw file counts 21 channels densely; all other records count whole texels.
            for (record, bytes) in published.iter().filter(|_| file != "deeplab_v3_raw") {
                assert_eq!(record.size * TEXEL, *bytes, "{file}");
            }
        }
    }

    #[test]
    fn with_no_rule_on_every_operator_is_a_step() {
        let graph = import("face_detection_short_range");
        let (rewriting, schedule) = steps("face_detection_short_range", &Rules::none());
        assert_eq!(format!("{:?}", rewriting.graph.nodes), format!("{:?}", graph.nodes));
        assert_eq!(schedule.steps.len(), 90);
    }

    #[test]
    fn each_model_takes_as_few_steps_as_the_rules_allow() {
        let counts = [
            ("face_detection_short_range", 90, 46),
            ("face_detection_front_2019", 90, 46),
            ("mobilenet_v1_1.0_224", 31, 30),
            ("posenet_mv1_075_float_from_checkpoints", 31, 31),
            ("deeplabv3_257_mv_gpu", 70, 59),
            ("face_landmark", 97, 50),
            ("hand_landmark_lite", 65, 53),
            ("selfie_segmentation", 136, 84),
        ];
        for (model, before, after) in counts {
            let (rewriting, _) = steps(model, &Rules::all());
            assert_eq!(
                (rewriting.report.nodes_before, rewriting.report.nodes_after),
                (before, after),
                "{model}\n{}",
                rewriting.report
            );
        }
    }

    #[test]
    fn functions_written_out_in_files_are_single_steps() {
        let text = [("p2o.DynamicDimension.0", 1), ("x:2", 48), ("p2o.DynamicDimension.1", 320)];
        let sentences = [("batch_size", 2), ("sequence_length", 8)];
        let cases = [
            ("ch_PP-OCRv4_rec_infer.onnx", &text[..], 405, 78),
            ("paraphrase-MiniLM-L3-v2.onnx", &sentences, 154, 50),
            ("light_densenet121.onnx", &[], 789, 246),
        ];
        for (file, dims, before, after) in cases {
            let dims = dims.iter().map(|&(name, extent)| (name.to_owned(), extent)).collect();
            let options = ImportOptions { dims, ..ImportOptions::default() };
            let report = rewrite(&open_with(models::model(file), &options).unwrap(), &Rules::all()).report;
            assert_eq!((report.nodes_before, report.nodes_after), (before, after), "{file}\n{report}");
        }
    }

    #[test]
    fn neighbours_take_over_zeros_and_activations_of_concatenations() {
        let cases = [
            ("face_detection_front_128x128_barracuda.onnx", "concat-zeros", 11, 51, 40),
            ("face_detection_back_256x256_barracuda.onnx", "concat-zeros", 2, 74, 72),
            ("light_shufflenet.onnx", "concat-activation", 3, 75, 75),
            ("retinaface_mnet25.onnx", "concat-activation", 3, 68, 68),
        ];
        let busy = |graph: &Graph| {
            let concats = graph.nodes.iter().filter(|node| matches!(node.op, Op::Concat(_)));
            let zeros = |t: &TensorId| {
                graph.tensors[*t].constant.as_ref().is_some_and(|c| c.to_f32().iter().all(|&v| v == 0.0))
            };
            concats.filter(|node| !node.epilogue.is_empty() || node.inputs.iter().any(zeros)).count()
        };
        for (file, rule, times, before, after) in cases {
            let graph = open_with(models::model(file), &ImportOptions::default()).unwrap();
            let [without, with] = [Rules::without(&[rule]).unwrap(), Rules::all()].map(|rules| rewrite(&graph, &rules));
            assert_eq!((busy(&without.graph), busy(&with.graph)), (times, 0), "{file}");
            assert_eq!(with.report.count(rule), times, "{file}");
            assert_eq!((without.report.nodes_after, with.report.nodes_after), (before, after), "{file}");
            check(&with.graph).unwrap();
            let image: Vec<f32> =
                (0..graph.shape(graph.inputs[0]).len()).map(|i| (i % 101) as f32 / 50.0 - 1.0).collect();
            let [without, with] = [without, with].map(|rewriting| {
                let mut tensors = reference::graph(&rewriting.graph, std::slice::from_ref(&image)).unwrap();
                graph.outputs.iter().map(|&output| tensors[output].take().unwrap()).collect::<Vec<_>>()
            });
            assert!(without == with, "{file}: the answers differ");
        }
    }

    #[test]
    fn a_blaze_block_is_two_steps_and_a_pool_where_it_halves() {
        let (rewriting, _) = steps("face_detection_short_range", &Rules::all());
        let ops: Vec<&str> = rewriting.graph.nodes.iter().map(|node| node.op.name()).collect();
        assert!(!ops.iter().any(|op| ["ADD", "RELU", "PAD"].contains(op)), "{ops:?}");
        let relu = Act::Unary(Unary::Relu);
        let added =
            |epilogue: &Epilogue| epilogue.first == Act::None && epilogue.add.is_some() && epilogue.then == relu;
        let blocks =
            rewriting.graph.nodes.iter().filter(|node| matches!(node.op, Op::Conv2d(_)) && added(&node.epilogue));
        assert_eq!(blocks.count(), 16);
    }

    #[test]
    fn the_rewritten_model_answers_as_the_model_does() {
        for model in ["face_detection_short_range", "face_landmark"] {
            let graph = import(model);
            let rewriting = rewrite(&graph, &Rules::all());
            let len = graph.shape(graph.inputs[0]).len();
            let image: Vec<f32> = (0..len).map(|i| ((i * 37 + i / 384 * 11) % 101) as f32 / 50.0 - 1.0).collect();
            let before = reference::graph(&graph, std::slice::from_ref(&image)).unwrap();
            let after = reference::graph(&rewriting.graph, &[image]).unwrap();
            assert!(rewriting.report.count("arithmetic") == 0, "{model} rounds as before");
            for &output in &graph.outputs {
                assert!(before[output].is_some() && before[output] == after[output], "{model}: output {output}");
            }
        }
    }
}
