//! Recurrent cells, with values that ONNX Runtime 1.32 gives.

use super::support::{
    import,
    onnx::{Attr, Model},
    run,
};

fn near(found: &[f32], expected: &[f32]) {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-6;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?}, not {expected:?}");
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
    let tanh = [-0.148_885_07, -0.039_978_683, -0.328_073_38, -0.055_710_733];
    for activations in [None, Some(&["Tanh"] as &[_]), Some(&["Tanh", "Tanh"]), Some(&["Tanh", "Relu"])] {
        near(&run(&plain(1, activations))[0].1, &tanh);
    }
    near(&run(&plain(1, Some(&["Relu", "Tanh"])))[0].1, &[0.0; 4]);
}

#[test]
fn each_of_two_directions_names_its_functions() {
    let tanh = [
        -0.148_885_07,
        -0.039_978_683,
        0.232_086_66,
        0.101_907_37,
        -0.328_073_38,
        -0.055_710_733,
        0.291_312_58,
        0.009_999_752,
    ];
    for activations in [None, Some(&["Tanh", "Tanh"] as &[_])] {
        near(&run(&plain(2, activations))[0].1, &tanh);
    }
    let logistic =
        [0.462_570_16, 0.490_001_32, 0.567_604_1, 0.588_044_76, 0.447_635_44, 0.569_182_04, 0.574_442_5, 0.502_5];
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
