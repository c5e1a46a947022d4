//! Shape arithmetic is computed on import, exactly.

use super::support::{
    import,
    onnx::{Attr, Model},
    run,
};

#[test]
fn an_exporter_s_shape_arithmetic_leaves_no_node() {
    // Nodes that PyTorch writes for `x.view(x.size(0), -1, x.size(3) * 2)`.
    let mut m = Model::new();
    m.input("x", &[2, 3, 4, 6]);
    m.ints("three", &[3]);
    m.ints("zero", &[0]);
    m.ints("two", &[2]);
    m.ints("rest", &[-1]);
    m.node("Shape", &["x"], &["extents"], &[]);
    m.node("Gather", &["extents", "zero"], &["n"], &[]);
    m.node("Gather", &["extents", "three"], &["w"], &[]);
    m.node("Mul", &["w", "two"], &["ww"], &[]);
    m.node("Concat", &["n", "rest", "ww"], &["wanted"], &[("axis", Attr::Int(0))]);
    m.node("Cast", &["wanted"], &["cast"], &[("to", Attr::Int(7))]);
    m.node("Reshape", &["x", "cast"], &["r"], &[]);
    m.node("Relu", &["r"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let operators: Vec<&str> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert_eq!(operators, ["RELU"]);
    let (dims, values) = run(&m).remove(0);
    assert_eq!(dims, [2, 6, 12]);
    assert_eq!(values, (1..=144).map(|i| i as f32).collect::<Vec<_>>());
}

/// Returns the only output of a model without inputs.
fn folded(build: impl Fn(&mut Model)) -> (Vec<usize>, Vec<f32>) {
    let mut m = Model::new();
    build(&mut m);
    m.output("y");
    run(&m).remove(0)
}

#[test]
fn integers_divide_and_wrap_as_integers_do() {
    let case = |op: &str, a: &[i64], b: &[i64], attributes: &[(&str, Attr)]| {
        folded(|m| {
            m.ints("a", a);
            m.ints("b", b);
            m.node(op, &["a", "b"], &["y"], attributes);
        })
        .1
    };
    assert_eq!(case("Div", &[7, -7, 7], &[2, 2, -2], &[]), [3.0, -3.0, -3.0]);
    assert_eq!(case("Mod", &[7, -7, 7], &[3, 3, -3], &[]), [1.0, 2.0, -2.0]);
    assert_eq!(case("Mod", &[7, -7, 7], &[3, 3, -3], &[("fmod", Attr::Int(1))]), [1.0, -1.0, 1.0]);
    // Above 2^24, floats would be inexact.
    assert_eq!(case("Sub", &[(1 << 40) + 1], &[1 << 40], &[]), [1.0]);
    assert_eq!(case("Equal", &[(1 << 40) + 1], &[1 << 40], &[]), [0.0]);
    let clipped = |bounds: &[&str]| {
        folded(|m| {
            m.ints("a", &[0, (1 << 40) + 3, 1 << 50]);
            m.ints("least", &[(1 << 40) + 1]);
            m.ints("most", &[(1 << 40) + 5]);
            m.ints("base", &[1 << 40]);
            m.node("Clip", &[&["a"], bounds].concat(), &["c"], &[]);
            m.node("Sub", &["c", "base"], &["y"], &[]);
        })
        .1
    };
    assert_eq!(clipped(&["least", "most"]), [1.0, 3.0, 5.0]);
    assert_eq!(clipped(&["", "most"])[1..], [3.0, 5.0]);
    assert_eq!(clipped(&["least"])[..2], [1.0, 3.0]);
}

#[test]
fn known_values_are_worked_out_as_a_run_does() {
    let one = |op: &str, value: f32| {
        folded(|m| {
            m.floats("a", &[1], &[value]);
            m.node(op, &["a"], &["y"], &[]);
        })
        .1[0]
    };
    let two = |op: &str, a: f32, b: f32| {
        folded(|m| {
            m.floats("a", &[1], &[a]);
            m.floats("b", &[1], &[b]);
            m.node(op, &["a", "b"], &["y"], &[]);
        })
        .1[0]
    };
    // NaN passes through.
    assert!(one("Relu", f32::NAN).is_nan() && one("ReduceMax", f32::NAN).is_nan());
    assert!(two("Max", f32::NAN, 1.0).is_nan() && two("Min", 1.0, f32::NAN).is_nan());
    assert_eq!(two("Pow", 3.0, 0.5), 3f64.sqrt() as f32);
    let whole = folded(|m| {
        m.ints("a", &[-2, 3]);
        m.node("Relu", &["a"], &["y"], &[]);
    });
    assert_eq!(whole.1, [0.0, 3.0]);
}

#[test]
fn constants_move_as_tensors_do() {
    let (dims, values) = folded(|m| {
        m.floats("a", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        m.node("Transpose", &["a"], &["t"], &[("perm", Attr::Ints(vec![1, 0]))]);
        for (name, list) in [("starts", [-1]), ("ends", [i64::MIN]), ("axes", [0]), ("steps", [-2])] {
            m.ints(name, &list);
        }
        m.node("Slice", &["t", "starts", "ends", "axes", "steps"], &["s"], &[]);
        m.ints("pads", &[0, 1, 1, 0]);
        m.node("Pad", &["s", "pads"], &["y"], &[]);
    });
    assert_eq!(dims, [3, 3]);
    assert_eq!(values, [0.0, 3.0, 6.0, 0.0, 1.0, 4.0, 0.0, 0.0, 0.0]);
}

#[test]
fn ranges_and_fills_have_a_limit() {
    for build in [
        (|m: &mut Model| {
            m.ints("d", &[1 << 20, 1 << 20]);
            m.node("ConstantOfShape", &["d"], &["y"], &[]);
        }) as fn(&mut Model),
        |m| {
            m.tensor("a", 7, &[], &super::support::onnx::bytes(9, &0i64.to_le_bytes()));
            m.tensor("b", 7, &[], &super::support::onnx::bytes(9, &i64::MAX.to_le_bytes()));
            m.tensor("c", 7, &[], &super::support::onnx::bytes(9, &1i64.to_le_bytes()));
            m.node("Range", &["a", "b", "c"], &["y"], &[]);
        },
        |m| {
            m.ints("a", &[1, 2]);
            m.ints("r", &[1 << 40]);
            m.node("Tile", &["a", "r"], &["y"], &[]);
        },
    ] {
        let mut m = Model::new();
        build(&mut m);
        m.output("y");
        let error = import(m.bytes()).unwrap_err().to_string();
        assert!(error.contains("too large"), "{error}");
    }
}

/// Each step is within its limits, but the steps together are not.
#[test]
fn a_small_file_has_little_made_of_its_constants() {
    let many = |build: &dyn Fn(&mut Model)| {
        let mut m = Model::new();
        m.ints("extents", &[1 << 14, 1 << 13]);
        m.node("ConstantOfShape", &["extents"], &["f0"], &[]);
        build(&mut m);
        import(m.bytes()).unwrap_err().to_string()
    };
    let names: Vec<String> = (0..20).map(|i| format!("f{i}")).collect();
    let turned = many(&|m| {
        names.windows(2).for_each(|pair| m.node("Neg", &[&pair[0]], &[&pair[1]], &[]));
        m.output("f19");
    });
    let used = many(&|m| {
        m.input("x", &[1 << 13, 1 << 14]);
        m.node("Transpose", &["f0"], &["t"], &[]);
        m.node("MatMul", &["x", "f0"], &["f1"], &[]);
        m.node("MatMul", &["x", "f0"], &["f2"], &[]);
        m.node("Add", &["x", "t"], &["f3"], &[]);
        (1..=3).for_each(|i| m.output(&names[i]));
    });
    let summed = many(&|m| {
        names[1..].iter().for_each(|name| m.node("ReduceSum", &["f0"], &[name], &[]));
        m.output("f19");
    });
    for error in [turned, used, summed] {
        assert!(error.contains("too large: it asks for"), "{error}");
    }
}

/// Standardised weights of convolutions are exported as a batch normalisation of constants that is in training mode.
#[test]
fn constants_are_normalised_by_their_own_statistics() {
    let values: Vec<f32> = (0..24).map(|i| ((i * 7 % 11) as f32 - 3.0) * (1 + i % 5) as f32).collect();
    let (scale, bias, momentum, epsilon) = ([0.5, 2.0, -1.0], [0.25, -1.0, 3.0], 0.25f32, 1e-3f32);
    let mut m = Model::new();
    m.floats("w", &[2, 3, 4], &values);
    for (name, list) in [("scale", scale), ("bias", bias), ("mean", [1.0, 2.0, 3.0]), ("variance", [4.0, 5.0, 6.0])] {
        m.floats(name, &[3], &list);
    }
    let operands = ["w", "scale", "bias", "mean", "variance"];
    let mode = ("training_mode", Attr::Int(1));
    let attributes = [mode, ("momentum", Attr::Float(momentum)), ("epsilon", Attr::Float(epsilon))];
    m.node("BatchNormalization", &operands, &["y", "m", "v"], &attributes);
    m.node("BatchNormalization", &operands, &["stated"], &[("epsilon", Attr::Float(epsilon))]);
    ["y", "m", "v", "stated"].into_iter().for_each(|name| m.output(name));
    let found = run(&m);
    for channel in 0..3 {
        let own: Vec<f32> = (0..24).filter(|i| i / 4 % 3 == channel).map(|i| values[i]).collect();
        let mean = own.iter().sum::<f32>() / 8.0;
        let variance = own.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / 8.0;
        let near = |found: f32, expected: f32| {
            assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{found} instead of {expected}");
        };
        let (stated_mean, stated_variance) = (channel as f32 + 1.0, channel as f32 + 4.0);
        near(found[1].1[channel], momentum * stated_mean + (1.0 - momentum) * mean);
        near(found[2].1[channel], momentum * stated_variance + (1.0 - momentum) * variance);
        for i in (0..24).filter(|i| i / 4 % 3 == channel) {
            let normalised = |mean: f32, variance: f32| {
                (values[i] - mean) / (variance + epsilon).sqrt() * scale[channel] + bias[channel]
            };
            near(found[0].1[i], normalised(mean, variance));
            near(found[3].1[i], normalised(stated_mean, stated_variance));
        }
    }
}

/// Repeats of a Tile, as `repeat_interleave` is exported.
#[test]
fn known_indices_become_known_places() {
    let case = |axis: i64, depth: i64| {
        folded(|m| {
            m.ints("indices", &[1, -1, 7, 0]);
            m.ints("depth", &[depth]);
            m.ints("values", &[(1 << 40) + 1, (1 << 40) + 2]);
            m.ints("base", &[1 << 40]);
            m.node("OneHot", &["indices", "depth", "values"], &["hot"], &[("axis", Attr::Int(axis))]);
            m.node("Sub", &["hot", "base"], &["y"], &[]);
        })
    };
    let rows = vec![1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0];
    assert_eq!(case(-1, 3), (vec![4, 3], rows.clone()));
    let columns = (0..12).map(|i| rows[i % 4 * 3 + i / 4]).collect();
    assert_eq!(case(0, 3), (vec![3, 4], columns));
}
