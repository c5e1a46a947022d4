//! Recurrent cells, with values that ONNX Runtime 1.32 gives.

use super::support::{
    import,
    onnx::{Attr, Model, bytes},
    run,
};

fn near(actual: &[f32], expected: &[f32]) {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-6;
    assert!(actual.len() == expected.len() && actual.iter().zip(expected).all(close), "{actual:?}, not {expected:?}");
}

/// Builds a plain cell with three inputs and two hidden values, over two steps.
fn plain(directions: usize, activations: Option<&'static [&'static str]>) -> Model {
    let mut m = Model::new();
    m.input("x", &[2, 1, 3]);
    let signs: &[f32] = if directions == 2 { &[1.0, -1.0] } else { &[1.0] };
    let input = [0.1, -0.2, 0.05, 0.02, 0.03, -0.04];
    let input: Vec<f32> = signs.iter().flat_map(|sign| input.map(|weight| sign * weight)).collect();
    m.floats("w", &[directions as i64, 2, 3], &input);
    m.floats("r", &[directions as i64, 2, 2], &[0.3, -0.1, 0.2, 0.4].repeat(directions));
    let direction = if directions == 2 { "bidirectional" } else { "forward" };
    let mut attributes = vec![("hidden_size", Attr::Int(2)), ("direction", Attr::Text(direction))];
    attributes.extend(activations.map(|names| ("activations", Attr::Texts(names))));
    m.node("RNN", &["x", "w", "r"], &["y"], &attributes);
    m.output("y");
    m
}

/// ONNX's default for the plain cell names two functions, of which a cell with one direction has the first.
#[test]
fn a_plain_cell_with_one_direction_may_name_two_functions() {
    let tanh = [-0.148_885, -0.039_979, -0.328_073, -0.055_711];
    for activations in [None, Some(&["Tanh"] as &[_]), Some(&["Tanh", "Tanh"]), Some(&["Tanh", "Relu"])] {
        near(&run(&plain(1, activations))[0].1, &tanh);
    }
    near(&run(&plain(1, Some(&["Relu", "Tanh"])))[0].1, &[0.0; 4]);
}

#[test]
fn each_of_two_directions_names_its_functions() {
    let tanh = [-0.148_885, -0.039_979, 0.232_087, 0.101_907, -0.328_073, -0.055_711, 0.291_313, 0.01];
    for activations in [None, Some(&["Tanh", "Tanh"] as &[_])] {
        near(&run(&plain(2, activations))[0].1, &tanh);
    }
    let logistic = [0.462_57, 0.490_001, 0.567_604, 0.588_045, 0.447_635, 0.569_182, 0.574_442, 0.502_5];
    near(&run(&plain(2, Some(&["Sigmoid", "sigmoid"])))[0].1, &logistic);
}

/// ONNX Runtime refuses these, too.
#[test]
fn other_numbers_of_functions_are_refused() {
    for (directions, activations, number) in
        [(1, &["Tanh", "Tanh", "Tanh"] as &[_], 1), (2, &["Tanh"], 2), (2, &["Tanh", "Tanh", "Tanh"], 2)]
    {
        let error = import(plain(directions, Some(activations)).bytes()).unwrap_err().to_string();
        let expected = format!("its activations are {activations:?}, its directions have {number} altogether");
        assert!(error.contains(&expected), "{error}");
    }
    let mut m = Model::new();
    m.input("x", &[1, 1, 1]);
    m.floats("w", &[1, 3, 1], &[0.5; 3]);
    let both = &["Sigmoid", "Tanh", "Sigmoid", "Tanh"];
    m.node("GRU", &["x", "w", "w"], &["y"], &[("activations", Attr::Texts(both))]);
    m.output("y");
    let error = import(m.bytes()).unwrap_err().to_string();
    assert!(error.contains("its directions have 2 altogether"), "{error}");
}

/// The inputs of all steps are rounded to 256 values, and so are the hidden values before each step. Without that the
/// answers are a thousandth off.
#[test]
fn an_lstm_of_8_bits_rounds_what_it_multiplies() {
    let mut m = Model::new();
    m.input("x", &[4, 1, 3]);
    let list = |count: usize, factor: usize, range: usize| -> Vec<u8> {
        (0..count).map(|i| ((i * factor % range) as i32 - range as i32 / 2) as u8).collect()
    };
    m.tensor("w", 3, &[2, 3, 8], &bytes(9, &list(48, 37, 201)));
    m.tensor("r", 3, &[2, 2, 8], &bytes(9, &list(32, 53, 231)));
    let biases: Vec<f32> = (0..32).map(|i| i as f32 / 64.0 - 0.25).collect();
    m.floats("b", &[2, 16], &biases);
    m.floats("ws", &[2], &[0.001, 0.0015]);
    m.floats("rs", &[2], &[0.01, 0.008]);
    m.tensor("zero", 3, &[2], &bytes(9, &[0, 0]));
    let operands = ["x", "w", "r", "b", "", "", "", "", "ws", "zero", "rs", "zero"];
    let attributes = [("hidden_size", Attr::Int(2)), ("direction", Attr::Text("bidirectional"))];
    m.node("com.microsoft.DynamicQuantizeLSTM", &operands, &["y", "h", "c"], &attributes);
    ["y", "h", "c"].iter().for_each(|name| m.output(name));
    let results = run(&m);
    let hidden = [
        -0.086_735, -0.034_626, 0.268_326, 0.107_667, -0.172_255, -0.054_9, 0.352_294, 0.129_962, -0.233_342,
        -0.064_801, 0.404_621, 0.142_011, -0.271_778, -0.067_003, 0.425_559, 0.133_299,
    ];
    near(&results[0].1, &hidden);
    near(&results[1].1, &[-0.271_778, -0.067_003, 0.268_326, 0.107_667]);
    near(&results[2].1, &[-0.701_374, -0.330_399, 0.528_842, 0.171_86]);
}
