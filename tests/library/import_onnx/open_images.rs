//! Images whose height and width each run gives, up to bounds.

use texpool_model::import::{ExtentBound, ImportOptions};
use texpool_ops::{
    graph::{ExtentError, Graph, InputValues},
    ops::reference,
};

use super::support::{
    import_with,
    onnx::{Attr, Dim, Model},
};

/// The greatest number up to which 32-bit floats hold all integers.
const EXACT: usize = 1 << 24;
/// Channels of the images.
const CHANNELS: usize = 2;

fn bounded(m: &Model, [h, w]: [ExtentBound; 2]) -> Result<Graph, String> {
    let bounds = [("h".to_owned(), h), ("w".to_owned(), w)].into();
    import_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() }).map_err(|error| error.to_string())
}

/// Pseudo-random values of an image.
fn image([h, w]: [usize; 2]) -> Vec<f32> {
    (0..CHANNELS * h * w).map(|i| ((i * 37 + h * 11 + w) % 41) as f32 / 8.0 - 2.0).collect()
}

/// Extents and values of an output.
type Output = (Vec<usize>, Vec<f32>);

/// Returns the outputs of a run on an image.
fn run(graph: &Graph, [h, w]: [usize; 2]) -> Result<Vec<Output>, ExtentError> {
    let (values, dims) = (image([h, w]), [1, CHANNELS, h, w]);
    let padded = graph.padded_inputs(&[(0, InputValues::new(&values, &dims))], EXACT)?;
    let padded: Vec<Vec<f32>> = padded.into_iter().map(|(_, values)| values.into_owned()).collect();
    let mut outputs = reference::outputs(graph, &padded).unwrap();
    let dims = graph.cut_outputs(&mut outputs);
    Ok(dims.into_iter().zip(outputs).collect())
}

/// Checks that a model which is read once gives the same as one that is read for the size of each run.
fn agrees(m: &Model, bounds: [ExtentBound; 2], what: &str) {
    let graph = bounded(m, bounds).unwrap_or_else(|error| panic!("{what}: {error}"));
    let [[h, most_h], [w, most_w]] = bounds.map(|bound| [bound.step, bound.most]);
    for size in [[most_h, most_w], [h.max(most_h / 2 / h * h), w.max(4)], [h.max(4), most_w - w], [most_h, w.max(4)]] {
        let dims = [("h".to_owned(), size[0]), ("w".to_owned(), size[1])].into();
        let exact = import_with(m.bytes(), &ImportOptions { dims, ..ImportOptions::default() }).unwrap();
        let (found, expected) = (run(&graph, size).unwrap(), run(&exact, size).unwrap());
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.0, expected.0, "{what}, {size:?}");
            for (i, (a, b)) in found.1.iter().zip(&expected.1).enumerate() {
                let near = a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-5 * b.abs().max(1.0);
                assert!(near, "{what}, {size:?}, value {i}: {a} instead of {b}");
            }
        }
    }
}

/// A model that begins with an image in `x`.
fn model() -> Model {
    let mut m = Model::new();
    let dims = [Dim::Is(1), Dim::Is(CHANNELS as i64), Dim::Named("h"), Dim::Named("w")];
    m.open_input("x", 1, &dims);
    m.floats("filter", &[2, 2, 3, 3], &(0..36).map(|i| (i % 7) as f32 / 4.0 - 0.75).collect::<Vec<_>>());
    m
}

fn numbers(name: &'static str, values: &[i64]) -> (&'static str, Attr) {
    (name, Attr::Ints(values.to_vec()))
}

/// Any height up to 12, and any width up to 15.
const ANY: [ExtentBound; 2] = [ExtentBound { most: 12, step: 1 }, ExtentBound { most: 15, step: 1 }];
/// Heights up to 12 and widths up to 16 that are multiples of 4.
const FOURS: [ExtentBound; 2] = [ExtentBound { most: 12, step: 4 }, ExtentBound { most: 16, step: 4 }];

#[test]
fn windows_slide_over_images_of_any_size() {
    let [halves, thirds] = [numbers("kernel_shape", &[2, 2]), numbers("kernel_shape", &[3, 3])];
    let (by_two, around) = (numbers("strides", &[2, 2]), numbers("pads", &[1, 1, 1, 1]));
    let same = |upper: bool| ("auto_pad", Attr::Text(if upper { "SAME_UPPER" } else { "SAME_LOWER" }));
    let over = ("ceil_mode", Attr::Int(1));
    let cases: [(&str, Vec<(&str, Attr)>); 15] = [
        ("Conv", vec![]),
        ("Conv", vec![around.clone()]),
        ("Conv", vec![around.clone(), by_two.clone()]),
        ("Conv", vec![same(true)]),
        ("Conv", vec![same(false), numbers("dilations", &[1, 1])]),
        ("ConvTranspose", vec![by_two.clone(), around.clone(), numbers("output_padding", &[1, 1])]),
        ("MaxPool", vec![thirds.clone(), around.clone(), by_two.clone()]),
        ("MaxPool", vec![halves.clone(), by_two.clone(), same(true)]),
        ("MaxPool", vec![thirds.clone(), by_two.clone(), over.clone()]),
        ("MaxPool", vec![halves.clone(), by_two.clone(), over]),
        ("AveragePool", vec![halves.clone(), by_two.clone()]),
        ("AveragePool", vec![halves, by_two.clone(), same(true)]),
        ("AveragePool", vec![thirds.clone(), around.clone(), by_two]),
        ("AveragePool", vec![thirds.clone(), around.clone()]),
        ("AveragePool", vec![thirds, around, ("count_include_pad", Attr::Int(1))]),
    ];
    for (op, attributes) in cases {
        let mut m = model();
        let operands: &[&str] = if op.starts_with("Conv") { &["x", "filter"] } else { &["x"] };
        m.node(op, operands, &["y"], &attributes);
        m.output("y");
        agrees(&m, ANY, &format!("{op} {attributes:?}"));
        agrees(&m, FOURS, &format!("{op} {attributes:?} in steps"));
    }
}

#[test]
fn channels_are_normalised_over_images_of_any_size() {
    let mut m = model();
    m.floats("scale", &[2], &[0.5, 2.0]);
    m.floats("shift", &[2], &[-1.0, 0.25]);
    m.node("InstanceNormalization", &["x", "scale", "shift"], &["y"], &[]);
    m.output("y");
    agrees(&m, ANY, "normalised");
}

/// A border in front of an even image differs from that of an odd one, so that images must be in steps.
#[test]
fn borders_that_depend_on_the_remainder_need_steps() {
    let mut m = model();
    m.node("Conv", &["x", "filter"], &["y"], &[("auto_pad", Attr::Text("SAME_UPPER")), numbers("strides", &[2, 2])]);
    m.output("y");
    agrees(&m, FOURS, "stride 2");
    let refusal = bounded(&m, ANY).unwrap_err();
    assert!(refusal.contains("axis 2 is found in a run, and is at most 12"), "{refusal}");
}

#[test]
fn images_are_enlarged_and_shrunk() {
    let modes = ["nearest", "linear", "cubic"];
    for (mode, coordinates) in modes.into_iter().flat_map(|mode| ["asymmetric", "half_pixel"].map(|c| (mode, c))) {
        for scale in [2.0, 0.5, 1.5] {
            for rounding in ["floor", "round_prefer_ceil", "ceil"] {
                let mut m = model();
                m.floats("scales", &[4], &[1.0, 1.0, scale, scale]);
                let attributes = [
                    ("mode", Attr::Text(mode)),
                    ("coordinate_transformation_mode", Attr::Text(coordinates)),
                    ("nearest_mode", Attr::Text(rounding)),
                ];
                m.node("Resize", &["x", "", "scales"], &["y"], &attributes);
                m.output("y");
                let what = format!("{mode}, {coordinates}, {rounding}, times {scale}");
                agrees(&m, FOURS, &what);
                agrees(&m, ANY, &what);
            }
        }
    }
    // The place of a pixel depends on the extent.
    let mut m = model();
    m.floats("scales", &[4], &[1.0, 1.0, 2.0, 2.0]);
    let corners = [("mode", Attr::Text("linear")), ("coordinate_transformation_mode", Attr::Text("align_corners"))];
    m.node("Resize", &["x", "", "scales"], &["y"], &corners);
    m.output("y");
    assert!(bounded(&m, FOURS).unwrap_err().contains("Resize"));
}

/// Halves an image, enlarges it to the size of the image, and adds both, as feature pyramids do.
#[test]
fn an_enlarged_image_has_the_extents_of_the_image_that_it_is_added_to() {
    let mut m = model();
    m.node("Conv", &["x", "filter"], &["half"], &[numbers("strides", &[2, 2]), numbers("pads", &[1; 4])]);
    m.node("Shape", &["x"], &["size"], &[]);
    let nearest = [("coordinate_transformation_mode", Attr::Text("asymmetric")), ("nearest_mode", Attr::Text("floor"))];
    m.node("Resize", &["half", "", "", "size"], &["whole"], &nearest);
    m.node("Add", &["whole", "x"], &["y"], &[]);
    m.node("GlobalAveragePool", &["y"], &["mean"], &[]);
    m.node("Mul", &["y", "mean"], &["z"], &[]);
    ["y", "z"].into_iter().for_each(|name| m.output(name));
    agrees(&m, FOURS, "a pyramid");
    assert!(bounded(&m, ANY).unwrap_err().contains("Resize"), "odd sizes are not twice their half");
}

#[test]
fn images_get_borders_and_lose_pixels() {
    for mode in ["constant", "edge", "reflect"] {
        let mut m = model();
        m.ints("pads", &[0, 0, 2, 1, 0, 0, 1, 3]);
        m.node("Pad", &["x", "pads"], &["y"], &[("mode", Attr::Text(mode))]);
        m.output("y");
        agrees(&m, FOURS, mode);
        if mode == "reflect" {
            assert!(bounded(&m, ANY).unwrap_err().contains("Pad"), "a single pixel has no neighbour to mirror");
        } else {
            agrees(&m, ANY, mode);
        }
    }
    for (starts, ends, steps) in [([0, 1], [i64::MAX, -1], [2, 1]), ([1, 1], [i64::MAX, i64::MAX], [2, 2])] {
        let mut m = model();
        for (name, list) in [("starts", starts), ("ends", ends), ("axes", [2, 3]), ("steps", steps)] {
            m.ints(name, &list);
        }
        m.node("Slice", &["x", "starts", "ends", "axes", "steps"], &["y"], &[]);
        m.output("y");
        agrees(&m, FOURS, &format!("from {starts:?} to {ends:?} by {steps:?}"));
    }
}

#[test]
fn blocks_of_pixels_become_channels() {
    let mut m = model();
    m.node("SpaceToDepth", &["x"], &["deep"], &[("blocksize", Attr::Int(2))]);
    m.node("DepthToSpace", &["deep"], &["wide"], &[("blocksize", Attr::Int(2)), ("mode", Attr::Text("CRD"))]);
    // The same by reshapes, as exporters write it.
    m.ints("columns", &[0, 0, 0, 0, -1, 2]);
    m.ints("folded", &[0, -1, 1, 1, 0, 0]);
    m.ints("ones", &[2, 3]);
    m.ints("third", &[3]);
    m.ints("rows", &[0, 0, -1, 2, 0]);
    m.node("Unsqueeze", &["x", "third"], &["a"], &[]);
    m.node("Reshape", &["a", "rows"], &["b"], &[]);
    m.node("Reshape", &["b", "columns"], &["c"], &[]);
    m.node("Transpose", &["c"], &["d"], &[numbers("perm", &[0, 1, 3, 5, 2, 4])]);
    m.node("Reshape", &["d", "folded"], &["e"], &[]);
    m.node("Squeeze", &["e", "ones"], &["f"], &[]);
    ["deep", "wide", "f"].into_iter().for_each(|name| m.output(name));
    agrees(&m, FOURS, "blocks");
    let refusal = bounded(&m, ANY).unwrap_err();
    assert!(refusal.contains("SpaceToDepth"), "{refusal}");
}

#[test]
fn sizes_that_no_run_can_have_are_refused() {
    let mut m = model();
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    let graph = bounded(&m, FOURS).unwrap();
    assert_eq!(graph.bounded_inputs.iter().map(|b| [b.axis, b.step]).collect::<Vec<_>>(), [[2, 4], [3, 4]]);
    assert_eq!(graph.bounded.iter().map(|b| b.axis).collect::<Vec<_>>(), [2, 3]);
    let refused = |size| run(&graph, size).unwrap_err().to_string();
    assert_eq!(refused([6, 4]), "input `x` has 6 places along axis 2, and the model takes multiples of 4 up to 12");
    assert_eq!(refused([4, 20]), "input `x` has 20 places along axis 3, and the model takes 1 to 16");
    let values = vec![0.0; CHANNELS * 4 * 8];
    let unstated = graph.padded_inputs(&[(0, values[..].into())], EXACT).unwrap_err().to_string();
    assert_eq!(
        unstated,
        "input `x` has 64 values, and several of its extents may differ from [1, 2, 12, 16]; give the extents of the values"
    );
    // Without extents, only the greatest can be meant.
    let whole = vec![0.0; CHANNELS * 12 * 16];
    assert!(graph.padded_inputs(&[(0, whole[..].into())], EXACT).is_ok());
}

/// Images whose height and width are one extent.
#[test]
fn squares_have_one_extent() {
    let mut m = Model::new();
    m.open_input("x", 1, &[Dim::Is(1), Dim::Is(CHANNELS as i64), Dim::Named("h"), Dim::Named("h")]);
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    let bounds = [("h".to_owned(), 8.into())].into();
    let graph = import_with(m.bytes(), &ImportOptions { bounds, ..ImportOptions::default() }).unwrap();
    assert_eq!(graph.bounded_inputs.iter().map(|b| [b.axis, b.count]).collect::<Vec<_>>(), [[2, 1], [3, 1]]);
    assert_eq!(run(&graph, [5, 5]).unwrap()[0].0, [1, CHANNELS, 5, 5]);
    let error = run(&graph, [5, 6]).unwrap_err();
    assert_eq!(error.to_string(), "inputs `x` and `x` share an extent, and have 5 and 6 places along it");
}
