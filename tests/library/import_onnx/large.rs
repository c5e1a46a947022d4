//! Small files that demand much. Memory and work stay in proportion to the file and to its inputs. Excessive demands
//! are refused with the node, the tensor and the number.

use texpool_model::import::{ImportError, Resource};
use texpool_ops::graph::Graph;

use super::support::{
    bounded::bounded,
    onnx::{Attr, FLOAT, INT64, Model, bytes, number},
};

fn built(build: impl FnOnce(&mut Model)) -> Result<Graph, ImportError> {
    let mut m = Model::new();
    build(&mut m);
    m.output("y");
    bounded(m.bytes())
}

fn refused(build: impl FnOnce(&mut Model)) -> String {
    built(build).unwrap_err().to_string()
}

/// A constant with these extents and no elements, so that its bytes take no space.
fn nothing(m: &mut Model, name: &str, kind: i64, dims: &[i64]) {
    m.tensor(name, kind, dims, &bytes(9, &[]));
}

#[test]
fn a_shape_of_a_million_axes_is_refused() {
    // These 131 bytes once kept the search for a layout busy forever.
    let error = refused(|m| {
        m.ints("n", &[1_000_000]);
        m.tensor("one", INT64, &[1], &bytes(9, &1i64.to_le_bytes()));
        m.node("Tile", &["one", "n"], &["shape"], &[]);
        m.input("x", &[1]);
        m.node("Reshape", &["x", "shape"], &["y"], &[]);
    });
    assert!(error.contains("node 1 Reshape `y`"), "{error}");
    assert!(error.contains("new extents are 1000000 numbers") && error.contains("64 axes"), "{error}");
}

#[test]
fn more_axes_than_numpy_has_are_refused_wherever_they_come_from() {
    let ones = [1i64; 65];
    let reshaped = refused(|m| {
        m.input("x", &[1]);
        m.ints("shape", &ones);
        m.node("Reshape", &["x", "shape"], &["y"], &[]);
    });
    let unsqueezed = refused(|m| {
        m.input("x", &[1]);
        m.ints("axes", &(0..64).collect::<Vec<i64>>());
        m.node("Unsqueeze", &["x", "axes"], &["y"], &[]);
    });
    let expanded = refused(|m| {
        m.input("x", &[1]);
        m.ints("shape", &ones);
        m.node("Expand", &["x", "shape"], &["y"], &[]);
    });
    let constant = refused(|m| {
        m.input("x", &[1]);
        m.floats("c", &ones, &[1.0]);
        m.node("Add", &["x", "c"], &["y"], &[]);
    });
    let gathered = refused(|m| {
        m.input("x", &[1; 40]);
        m.tensor("i", INT64, &[1; 40], &bytes(9, &0i64.to_le_bytes()));
        m.node("Gather", &["x", "i"], &["y"], &[]);
    });
    let input = refused(|m| {
        m.input("x", &ones);
        m.node("Relu", &["x"], &["y"], &[]);
    });
    for (what, error) in [
        ("node 0 Reshape `y`", reshaped),
        ("node 0 Unsqueeze `y`", unsqueezed),
        ("node 0 Expand `y`", expanded),
        ("constant `c`", constant),
        ("node 0 Gather `y`", gathered),
        ("input `x`", input),
    ] {
        assert!(error.contains(what) && error.contains(" axes: at most 64"), "{what}: {error}");
    }
    // Uses the maximum number that is supported.
    let most = built(|m| {
        m.input("x", &[2, 3]);
        let mut shape = [1i64; 64];
        (shape[7], shape[40]) = (3, 2);
        m.ints("shape", &shape);
        m.node("Reshape", &["x", "shape"], &["r"], &[]);
        m.node("Relu", &["r"], &["y"], &[]);
    });
    assert_eq!(most.unwrap().tensors.last().unwrap().dims.len(), 64);
}

#[test]
fn expansions_of_constants_are_refused_by_node_tensor_and_number() {
    type Build = fn(&mut Model);
    let cases: [(&str, &str, Build); 9] = [
        ("Range", "1073741824", |m| {
            for (name, value) in [("a", 0i64), ("b", 1 << 27), ("c", 1)] {
                m.tensor(name, INT64, &[], &bytes(9, &value.to_le_bytes()));
            }
            m.node("Range", &["a", "b", "c"], &["y"], &[]);
        }),
        ("Tile", "1073741824", |m| {
            m.ints("a", &[1, 2]);
            m.ints("r", &[1 << 26]);
            m.node("Tile", &["a", "r"], &["y"], &[]);
        }),
        ("Expand", "2147483648", |m| {
            m.ints("a", &[1]);
            m.ints("s", &[1 << 14, 1 << 14]);
            m.node("Expand", &["a", "s"], &["y"], &[]);
        }),
        ("ConstantOfShape", "2147483648", |m| {
            m.ints("s", &[1 << 14, 1 << 14]);
            let one = [number(1, 1), number(2, INT64), bytes(9, &1i64.to_le_bytes())].concat();
            m.raw_node("ConstantOfShape", &["s"], &["y"], &[bytes(5, &[bytes(1, b"value"), bytes(5, &one)].concat())]);
        }),
        ("OneHot", "4294967296", |m| {
            m.input("x", &[1]);
            m.tensor("d", INT64, &[], &bytes(9, &(1i64 << 28).to_le_bytes()));
            m.floats("v", &[2], &[0.0, 1.0]);
            m.node("OneHot", &["x", "d", "v"], &["y"], &[]);
        }),
        ("Pad", "4294967328", |m| {
            m.floats("a", &[1], &[1.0]);
            m.ints("p", &[0, 1 << 27]);
            m.node("Pad", &["a", "p"], &["y"], &[]);
        }),
        ("Gather", "524288000", |m| {
            m.floats("a", &[2, 1000], &[0.5; 2000]);
            m.ints("i", &[1; 131_072]);
            m.node("Gather", &["a", "i"], &["y"], &[]);
        }),
        // Sums over empty axes have results, as many as the extents state.
        ("ReduceSum", "4294967296", |m| {
            nothing(m, "a", FLOAT, &[1 << 28, 0]);
            m.ints("axes", &[1]);
            m.node("ReduceSum", &["a", "axes"], &["y"], &[]);
        }),
        ("EyeLike", "6442450944", |m| {
            m.input("x", &[1 << 14, 1 << 14]);
            m.node("EyeLike", &["x"], &["y"], &[]);
        }),
    ];
    for (operator, bytes, build) in cases {
        let error = built(build).unwrap_err();
        let ImportError::TooMuch(too_much) = &error else { panic!("{operator}: {error}") };
        let place = (too_much.node, too_much.operator.as_str(), too_much.tensor.as_str());
        assert_eq!((place, too_much.excess.resource), ((Some(0), operator, "y"), Resource::Memory), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("node 0 {operator} `y`: too large: it asks for {bytes} more bytes")),
            "{text}"
        );
    }
}

/// Operations on the elements of a constant with a single value count with its full size.
#[test]
fn one_value_is_free_until_it_is_computed_with() {
    let of = |then: fn(&mut Model)| {
        built(|m| {
            m.ints("s", &[1 << 14, 1 << 13]);
            m.node("ConstantOfShape", &["s"], &["c"], &[]);
            then(m);
        })
    };
    let used = of(|m| {
        m.input("x", &[1, 1 << 14]);
        m.node("Transpose", &["c"], &["t"], &[]);
        m.node("Transpose", &["t"], &["c2"], &[]);
        m.node("MatMul", &["x", "c2"], &["y"], &[]);
    });
    assert_eq!(used.unwrap().tensors.last().unwrap().dims, [1, 1 << 13]);
    let negated = of(|m| m.node("Neg", &["c"], &["y"], &[])).unwrap_err();
    assert!(matches!(&negated, ImportError::TooMuch(too_much) if too_much.node == Some(1)), "{negated}");
    let thrice = of(|m| {
        m.input("x", &[1, 1 << 14]);
        (0..3).for_each(|i| m.node("MatMul", &["x", "c"], &[&format!("m{i}")], &[]));
        m.node("Sum", &["m0", "m1", "m2"], &["y"], &[]);
    });
    let error = thrice.unwrap_err();
    assert!(
        matches!(&error, ImportError::TooMuch(too_much) if too_much.excess.resource == Resource::Repeated),
        "{error}"
    );
}

#[test]
fn antialiasing_a_line_to_a_pixel_is_refused() {
    // Its table once took 8 to 16 GiB.
    let error = refused(|m| {
        m.input("x", &[1, 1, 1, 1 << 28]);
        m.ints("s", &[1, 1, 1, 1]);
        let attributes = [("antialias", Attr::Int(1)), ("mode", Attr::Text("linear"))];
        m.node("Resize", &["x", "", "", "s"], &["y"], &attributes);
    });
    assert!(error.starts_with("node 0 Resize `y`: too large: it asks for "), "{error}");
}

/// Loops over tensors without elements.
#[test]
fn pieces_of_nothing_are_not_walked_through() {
    let joined = built(|m| {
        nothing(m, "a", FLOAT, &[1 << 28, 0]);
        m.node("Concat", &["a"; 10_000], &["c"], &[("axis", Attr::Int(1))]);
        m.input("x", &[1]);
        m.node("Relu", &["x"], &["y"], &[]);
    });
    assert!(joined.is_ok());
    let picked = built(|m| {
        nothing(m, "a", FLOAT, &[1 << 18, 2, 0]);
        m.ints("i", &[0; 1000]);
        m.node("Gather", &["a", "i"], &["g"], &[("axis", Attr::Int(1))]);
        m.input("x", &[1]);
        m.node("Relu", &["x"], &["y"], &[]);
    });
    assert!(picked.is_ok());
}

/// Padding that creates space for a thousand million positions, each of which was once examined.
#[test]
fn windows_wider_than_the_image_have_few_positions() {
    let error = refused(|m| {
        m.input("x", &[1, 1, 1, 8]);
        let list = |v: &[i64]| Attr::Ints(v.to_vec());
        let attributes =
            [("kernel_shape", list(&[1, 2])), ("dilations", list(&[1, 9])), ("pads", list(&[0, 0, 0, 1 << 30]))];
        m.node("MaxPool", &["x"], &["y"], &attributes);
    });
    assert!(error.contains("node 0 MaxPool `y`") && error.contains("at most 4096"), "{error}");
}

/// A node of two bytes once became two hundred.
#[test]
fn a_million_empty_messages_are_refused() {
    let error = bounded([number(1, 8), bytes(7, &[0x0a, 0].repeat(1_000_000))].concat()).unwrap_err();
    assert!(matches!(&error, ImportError::TooMuch(too_much) if too_much.node.is_none()), "{error}");
    assert!(error.to_string().starts_with("the model: too large"), "{error}");
}

/// Inputs times nodes: each input once searched all nodes for one that depends on its layout.
#[test]
fn thousands_of_inputs_and_nodes_are_no_product() {
    let names: Vec<String> = (0..8_000).map(|i| format!("x{i}")).collect();
    let graph = built(|m| {
        names.iter().for_each(|name| m.input(name, &[1, 1]));
        let mut last = "x0".to_owned();
        for (i, name) in names.iter().enumerate().skip(1) {
            let next = if i + 1 == names.len() { "y".to_owned() } else { format!("s{i}") };
            m.node("Add", &[&last, name], &[&next], &[]);
            last = next;
        }
    });
    assert_eq!(graph.unwrap().inputs.len(), 8_000);
}

/// Outputs times outputs, and parts times the length of the name that they are derived from.
#[test]
fn thousands_of_outputs_and_parts_are_no_product() {
    let mut m = Model::new();
    m.input("x", &[1]);
    m.node("Relu", &["x"], &["y"], &[]);
    (0..20_000).for_each(|_| m.output("y"));
    assert_eq!(bounded(m.bytes()).unwrap().outputs.len(), 20_000);

    let long = "x".repeat(1 << 20);
    let names: Vec<String> = (0..5_000).map(|i| format!("p{i}")).collect();
    let parts: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = built(|m| {
        m.input(&long, &[5_000]);
        m.node("Split", &[&long], &parts, &[("axis", Attr::Int(0))]);
        m.node("Concat", &parts, &["y"], &[("axis", Attr::Int(0))]);
    });
    let graph = graph.unwrap();
    assert_eq!(graph.nodes.len(), 5_001);
    assert!(graph.tensors.iter().all(|tensor| tensor.name.len() < 1200), "names are not repeated whole");
}

/// One list shared by thousands of nodes; each node would write it into its error message.
#[test]
fn long_lists_are_not_written_into_messages() {
    let error = refused(|m| {
        m.input("x", &[4]);
        m.ints("long", &vec![1; 100_000]);
        for (i, operator) in ["Reshape", "Tile", "Expand", "Unsqueeze"].iter().cycle().take(2_000).enumerate() {
            m.node(operator, &["x", "long"], &[&format!("r{i}")], &[]);
        }
        m.node("Relu", &["x"], &["y"], &[]);
    });
    assert!(error.len() < 2_000 * 400, "{} bytes of message", error.len());
}

/// Operator sets and functions, looked up by every node.
#[test]
fn opsets_and_functions_times_nodes_are_no_product() {
    let mut m = Model::new();
    m.input("x", &[1]);
    (0..5_000).for_each(|i| m.node("Strange", &["x"], &[&format!("s{i}")], &[]));
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    let mut file = m.bytes();
    for i in 0..50_000 {
        file.extend(bytes(8, &[bytes(1, format!("domain{i}").as_bytes()), number(2, 1)].concat()));
        file.extend(bytes(25, &bytes(1, format!("S{i:06}").as_bytes())));
    }
    let error = bounded(file).unwrap_err();
    assert!(matches!(&error, ImportError::Unsupported(all) if all.len() == 5_000), "{error}");
}

#[test]
fn an_equation_of_megabytes_is_refused() {
    let mut m = Model::new();
    m.input("x", &[1, 1]);
    let equation = "ij,".repeat(400_000);
    let attribute = bytes(5, &[bytes(1, b"equation"), bytes(4, equation.as_bytes())].concat());
    m.raw_node("Einsum", &["x"; 400_001], &["y"], &[attribute]);
    m.output("y");
    let error = bounded(m.bytes()).unwrap_err().to_string();
    assert!(error.contains("node 0 Einsum `y`: its equation has 1200000 bytes"), "{error}");
}

#[test]
fn values_beyond_their_type_are_refused() {
    // Bits of a 16-bit float, and 8-bit integers, in 32-bit fields: excess bits were once cut off.
    let with = |kind: i64, value: i64| {
        refused(|m| {
            m.input("x", &[1]);
            m.tensor("c", kind, &[1], &number(5, value));
            m.node("Add", &["x", "c"], &["y"], &[]);
        })
    };
    for (kind, value) in [(10, 65_536), (10, -1), (3, 128), (2, -1), (6, 1 << 31)] {
        let error = with(kind, value);
        assert!(error.contains(&format!("constant `c`: its value {value} is beyond")), "{error}");
    }
}

#[test]
fn sizes_above_what_floats_count_are_exact() {
    let extent = (1 << 24) + 1;
    let graph = built(|m| {
        m.input("x", &[1, 1, 1, 1]);
        m.ints("s", &[1, 1, 1, extent]);
        m.node("Resize", &["x", "", "", "s"], &["y"], &[]);
    });
    let graph = graph.unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [1, 1, 1, extent as usize], "it was rounded to 2^24");
}
