//! With rewriting disabled, the pools of real models equal the published tables, to the texel.

#![cfg(test)]

use std::path::Path;

use crate::support::models;
use texpool_compile::{CompileOptions, compile};
use texpool_model::rewrite::Rules;
use texpool_plan::{SearchControl, Strategy, UsageRecord, bounds};

/// `tensor,first_op,last_op,size_bytes,shape,name` of `tests/data/records`, in texels of 16 bytes.
fn records(name: &str) -> Vec<UsageRecord> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/records/{name}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let record = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        // Computed from the extents: the raw DeepLab's bytes are dense, while those of the other files already count
        // whole texels.
        let extents: Vec<u64> = fields[4].split('x').map(|v| v.parse().unwrap()).collect();
        let (channels, pixels) = extents.split_last().unwrap();
        let size = pixels.iter().product::<u64>() * channels.div_ceil(4);
        UsageRecord::new(fields[1].parse().unwrap(), fields[2].parse().unwrap(), size)
    };
    text.lines().skip(1).map(record).collect()
}

fn totals_agree(file: &str, published: &str, rules: &Rules) {
    let graph = texpool_model::import::open(models::model(file)).unwrap();
    let published_records = records(published);
    let compiled =
        compile(&graph, &CompileOptions { rules: *rules, ..CompileOptions::default() }, &SearchControl::new()).unwrap();
    assert_eq!(compiled.best().unwrap().bounds, bounds(&published_records).unwrap(), "{published}: bounds");
    for &strategy in Strategy::ALL {
        let ours = strategy.place(&compiled.schedule().records).unwrap().total();
        let theirs = strategy.place(&published_records).unwrap().total();
        println!("{published} {strategy}: {ours} texels, {} bytes", ours * 16);
        assert_eq!(ours, theirs, "{published}: {strategy}");
    }
}

/// Naive total and bounds as in Tables 1 and 2 of Pisarchyk and Lee.
#[test]
fn blazeface() {
    totals_agree("face_detection_short_range.tflite", "blazeface", &Rules::none());
}

/// MobileNet v1.
#[test]
fn mobilenet_v1() {
    totals_agree("mobilenet_v1_1.0_224.tflite", "mobilenet_v1", &Rules::none());
}

/// The file as it is, with a resize that does nothing.
#[test]
fn deeplab_as_in_the_file() {
    totals_agree("deeplabv3_257_mv_gpu.tflite", "deeplab_v3_raw", &Rules::none());
}

/// Without that resize, as in the published tables.
#[test]
fn deeplab_without_the_resize_that_does_nothing() {
    totals_agree("deeplabv3_257_mv_gpu.tflite", "deeplab_v3", &Rules::only(&["identity", "same-size"]).unwrap());
}

/// PoseNet.
#[test]
fn posenet() {
    totals_agree("posenet_mv1_075_float_from_checkpoints.tflite", "posenet_337", &Rules::none());
}
