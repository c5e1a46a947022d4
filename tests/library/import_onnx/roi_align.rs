//! RoiAlign with ONNX Runtime's answers.

use super::support::{
    import,
    onnx::{Attr, INT64, Model, bytes, number},
};
use texpool_ops::ops::reference;

/// The first region lies within the picture, the other one partly outside.
const REGIONS: [f32; 8] = [0.0, 0.0, 3.0, 3.0, 1.0, -2.0, 2.5, 6.0];

/// Returns the result for regions of the second of two pictures, or of the only one.
fn result(mode: &'static str, ratio: i64, pictures: usize, is_known: bool) -> Result<Vec<f32>, String> {
    let mut m = Model::new();
    m.input("x", &[pictures as i64, 1, 4, 4]);
    let numbers = [pictures as i64 - 1; 2];
    if is_known {
        m.floats("regions", &[2, 4], &REGIONS);
        m.tensor("numbers", INT64, &[2], &bytes(9, &numbers.map(i64::to_le_bytes).concat()));
    } else {
        m.input("regions", &[2, 4]);
        m.raw_input("numbers", INT64, &[number(1, 2)]);
    }
    let attributes = [
        ("mode", Attr::Text(mode)),
        ("output_height", Attr::Int(2)),
        ("output_width", Attr::Int(2)),
        ("sampling_ratio", Attr::Int(ratio)),
    ];
    m.node("RoiAlign", &["x", "regions", "numbers"], &["y"], &attributes);
    m.output("y");
    let graph = import(m.bytes()).map_err(|error| error.to_string())?;
    let picture: Vec<f32> = (1..=16).map(|i| i as f32).collect();
    let mut inputs = vec![[vec![100.0; 16 * (pictures - 1)], picture].concat()];
    if !is_known {
        inputs.extend([REGIONS.to_vec(), numbers.map(|number| number as f32).to_vec()]);
    }
    Ok(reference::outputs(&graph, &inputs).unwrap().remove(0))
}

#[test]
fn regions_are_pooled_between_pixels() {
    let average = [2.5625, 4.0, 8.3125, 9.75, 1.9375, 2.3125, 5.9375, 6.3125];
    let greatest = [3.125, 3.828_125, 7.875, 8.421_875, 2.8125, 2.84375, 6.5625, 6.09375];
    for (mode, expected) in [("avg", average), ("max", greatest)] {
        for pictures in [1, 2] {
            for is_known in [true, false] {
                let values = result(mode, 2, pictures, is_known).unwrap();
                let is_near = values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-4);
                assert!(is_near && values.len() == 8, "{mode} {pictures} {is_known}: {values:?}");
            }
        }
    }
}

/// The number of places follows from the size of a region.
#[test]
fn regions_that_are_known_decide_how_many_places_they_have() {
    let average = [2.5625, 4.0, 8.3125, 9.75, 2.40625, 2.96875, 9.40625, 9.96875];
    let greatest = [3.125, 3.828_125, 7.875, 8.421_875, 5.25, 4.375, 12.25, 9.375];
    for (mode, expected) in [("avg", average), ("max", greatest)] {
        let values = result(mode, 0, 1, true).unwrap();
        let is_near = values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-4);
        assert!(is_near, "{mode}: {values:?}");
    }
    let refused = result("avg", 0, 1, false).unwrap_err();
    assert!(refused.contains("its regions are computed at run time"), "{refused}");
}
