//! Names distinguish tensors, at any length, and cannot control a terminal.

use texpool_model::import::ImportError;

use super::support::{
    bounded::bounded,
    import,
    onnx::{Attr, Model, bytes, number},
    run,
};

#[test]
fn names_that_share_a_kilobyte_are_two() {
    let [a, b] = ["a", "b"].map(|end| format!("{}{end}", "x".repeat(5_000)));
    let mut m = Model::new();
    m.floats(&a, &[1], &[10.0]);
    m.floats(&b, &[1], &[1.0]);
    m.node("Sub", &[&a, &b], &["y"], &[]);
    m.output("y");
    assert_eq!(run(&m)[0].1, [9.0], "they were one, and the difference 0");
}

#[test]
fn duplicate_names_are_refused_by_name() {
    let model = |build: &dyn Fn(&mut Model)| {
        let mut m = Model::new();
        m.input("x", &[1]);
        build(&mut m);
        m.node("Relu", &["x"], &["y"], &[]);
        m.output("y");
        import(m.bytes()).unwrap_err()
    };
    let initializer = model(&|m| {
        m.floats("c", &[1], &[1.0]);
        m.floats("c", &[1], &[2.0]);
    });
    assert!(
        matches!(&initializer, ImportError::Duplicate { what: "initializer", name } if name == "c"),
        "{initializer}"
    );
    assert!(initializer.to_string().contains("two initializers called `c`"), "{initializer}");
    let input = model(&|m| m.input("x", &[1]));
    assert!(matches!(&input, ImportError::Duplicate { what: "input", name } if name == "x"), "{input}");
    let written = model(&|m| {
        m.floats("c", &[1], &[1.0]);
        m.node("Relu", &["x"], &["c"], &[]);
    });
    assert!(written.to_string().contains("its result `c` has a value already"), "{written}");
    let twice = model(&|m| m.node("Split", &["x"], &["s", "s"], &[]));
    assert!(twice.to_string().contains("its result `s` has a value already"), "{twice}");
    let attribute = model(&|m| {
        m.node("LeakyRelu", &["x"], &["l"], &[("alpha", Attr::Float(0.1)), ("alpha", Attr::Float(0.2))]);
    });
    assert!(attribute.to_string().contains("it states its alpha twice"), "{attribute}");

    let mut m = Model::new();
    m.input("x", &[1]);
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    let twice = [m.bytes(), bytes(8, &number(2, 11))].concat();
    let error = import(twice).unwrap_err();
    assert!(matches!(error, ImportError::Duplicate { what: "operator set", .. }), "{error}");
}

#[test]
fn names_reach_messages_without_their_escape_sequences() {
    let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}\nerror: all is well\u{202e}";
    let mut errors = Vec::new();
    for build in [
        (|m: &mut Model, name: &str| m.node("Relu", &[name], &["y"], &[])) as fn(&mut Model, &str),
        |m, name| m.node(name, &["x"], &["y"], &[]),
        |m, name| {
            m.input(name, &[1]);
            m.input(name, &[1]);
        },
        |m, name| {
            m.open_input(name, 15, &[]);
            m.node("Relu", &[name], &["y"], &[]);
        },
        |m, name| m.input(name, &[-1]),
        |m, name| m.output(name),
    ] {
        let mut m = Model::new();
        m.input("x", &[1]);
        build(&mut m, hostile);
        m.output("y");
        errors.push(import(m.bytes()).unwrap_err().to_string());
    }
    for error in errors {
        let controls = |line: &str| line.chars().any(|c| c.is_control() || c == '\u{202e}');
        assert!(!error.lines().any(controls), "{error:?}");
        assert!(!error.lines().any(|line| line.starts_with("error:")), "a line is forged: {error:?}");
        assert!(error.contains("a\\u{1b}[2J"), "{error}");
    }
}

#[test]
fn a_name_that_is_no_text_is_refused() {
    // Replacement characters could make two names equal.
    let node = [bytes(1, b"x"), bytes(2, b"y\xff"), bytes(4, b"Relu")].concat();
    let error = bounded([number(1, 8), bytes(7, &bytes(1, &node))].concat()).unwrap_err().to_string();
    assert!(error.contains("a text is not UTF-8 at byte"), "{error}");
}
