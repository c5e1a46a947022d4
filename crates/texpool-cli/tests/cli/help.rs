//! Help texts: lines that fit, examples first, research last, `-h` short; and suggestions for mistyped names.

use std::fs;

use texpool::NamedOptions;

use crate::command::{fetched, stderr, texpool};

/// The name of each subcommand, as the help lists them before its options.
pub(crate) fn subcommands() -> Vec<String> {
    names(help(&["--help"]).split("\n\nOptions:").next().unwrap())
}

/// The first words of the lines that a list has, without continued lines and `help`.
fn names(list: &str) -> Vec<String> {
    let items = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|item| !item.starts_with(' '));
    items.filter_map(|item| item.split(' ').next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The words after which there is a help text: none, each subcommand, and each subcommand of those.
fn paths() -> Vec<Vec<String>> {
    let mut paths = vec![vec![]];
    for name in subcommands() {
        let text = help(&[&name, "--help"]);
        let nested = text.split_once("\nCommands:\n").map(|(_, rest)| rest.split("\n\n").next().unwrap_or(rest));
        paths.extend(nested.map(names).unwrap_or_default().into_iter().map(|below| vec![name.clone(), below]));
        paths.push(vec![name]);
    }
    paths
}

fn help(args: &[&str]) -> String {
    let output = texpool(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The headings of a help text: lines that are not indented and end with a colon.
fn headings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.strip_suffix(':')).collect()
}

#[test]
fn every_help_fits_80_columns_in_a_pipe() {
    let paths = paths();
    for path_of_command in [&["fits"][..], &["report"], &["models", "fetch"], &["cache", "clear"]] {
        assert!(paths.iter().any(|path| path == path_of_command), "{path_of_command:?} is missing: {paths:?}");
    }
    for path in &paths {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        for flag in ["-h", "--help"] {
            let text = help(&[&path[..], &[flag]].concat());
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(wide.is_empty(), "{path:?} {flag}: {wide:#?}");
            assert!(!text.contains('\x1b'), "{path:?} {flag} has colours in a pipe");
        }
    }
}

/// An option has one name in the table of options, as a flag of the command, and as a keyword of the Python package; and
/// where its values have names, Python's type lists the same ones.
#[test]
fn named_options_are_flags_and_keywords_of_python() {
    let source = |file: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugins/python/python/texpool/");
        fs::read_to_string(format!("{path}{file}")).unwrap()
    };
    let (session, options) = (source("_session.py"), source("_options.py"));
    let run = help(&["run", "--help"]);
    for option in NamedOptions::help() {
        let name = option.name;
        // The command has a subcommand for its cache, and an environment variable instead of a flag.
        if name != "cache_dir" {
            assert!(run.contains(&format!("--{} ", name.replace('_', "-"))), "`texpool run` lacks --{name}");
        }
        let keyword = match name {
            "adapter" => "device",
            "dim" => "dims",
            "constant" => "constants",
            name => name,
        };
        assert!(session.contains(&format!("\n        {keyword}: ")), "Python's InferenceSession lacks {keyword}");
        // `Name: TypeAlias = Literal["a", "b"]`, where the help says "`a`, `b`; default `a`".
        let alias = format!("\n{}{}: TypeAlias = Literal[", keyword[..1].to_uppercase(), &keyword[1..]);
        if let Some((_, literals)) = options.split_once(&alias) {
            let of_python: Vec<&str> = literals.split(']').next().unwrap().split('"').skip(1).step_by(2).collect();
            let of_table: Vec<&str> = option.texts.split(';').next().unwrap().split('`').skip(1).step_by(2).collect();
            assert_eq!(of_python, of_table, "values of {name}");
        }
    }
}

/// Reports that are no wide tables.
#[test]
fn reports_fit_80_columns() {
    let model = fetched("blazeface");
    for args in [
        &["models", "list"][..],
        &["devices"],
        &["csdf", "--published", "--deadline", "0"],
        &["csdf", &model],
        &["explain", &model, "--host", "tflite"],
        &["compare", &model, "--random", "--against", "cpu"],
    ] {
        let output = texpool(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        // A name of a tensor may be longer, and stays whole.
        let wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
        let wide: Vec<&str> = text.lines().filter(wide).collect();
        assert!(wide.is_empty(), "{args:?}: {wide:#?}");
    }
}

#[test]
fn examples_come_first_and_research_last() {
    for subcommand in subcommands() {
        let long = help(&[&subcommand, "--help"]);
        let titles = headings(&long);
        assert_eq!(titles[0], "Examples", "{subcommand}: {long}");
        assert!(long.matches("\n  texpool ").count() >= 2, "{subcommand}: {long}");
        if let Some(at) = titles.iter().position(|heading| *heading == "Research") {
            assert_eq!(at, titles.len() - 1, "{subcommand}: {titles:?}");
        }
    }
    let long_help = help(&["run", "--help"]);
    let expected = ["Examples", "Arguments", "Input", "Plan", "Search", "Device", "Cache", "Output", "Research"];
    assert_eq!(headings(&long_help), expected, "{long_help}");
    assert!(headings(&help(&["plan", "--help"])).ends_with(&["Output", "Research"]));
}

#[test]
fn the_short_help_has_one_sentence_an_option_and_no_research() {
    for subcommand in subcommands() {
        let [short, long] = ["-h", "--help"].map(|flag| help(&[&subcommand, flag]));
        assert!(short.lines().count() <= long.lines().count(), "{subcommand}: {short}");
        assert!(!headings(&short).contains(&"Research"), "{subcommand}: {short}");
    }
    let [short, long] = ["-h", "--help"].map(|flag| help(&["run", flag]));
    assert!(short.lines().count() * 2 < long.lines().count(), "{short}\n{long}");
    assert!(long.contains("--poison") && !short.contains("--poison"));
    assert!(long.contains("Arithmetic") && !short.contains("Arithmetic"), "{short}");
}

#[test]
fn subcommands_are_listed_by_what_they_are_for() {
    let text = help(&["--help"]);
    let titles = headings(&text);
    assert!(titles.starts_with(&["Run", "Plan", "Set up", "Shell", "Options", "Exit codes"]), "{text}");
    let expected = [
        "run",
        "bench",
        "compare",
        "plan",
        "fits",
        "report",
        "compile",
        "table",
        "explain",
        "csdf",
        "models",
        "devices",
        "ceiling",
        "tune",
        "cache",
        "completions",
        "man",
    ];
    assert_eq!(subcommands(), expected, "{text}");
}

#[test]
fn a_mistyped_name_is_answered_with_the_name_that_was_meant() {
    let model = fetched("blazeface");
    for (args, code, meant) in [
        (&["plna", "x"][..], 2, "'plan'"),
        (&["run", "mobilnet_v2", "--random"], 1, "did you mean `mobilenet_v2`?"),
        (&["models", "fetch", "chelsae"], 1, "did you mean `chelsea`?"),
        (&["plan", "x", "--strategy", "greedy_by_siz"], 2, "did you mean `greedy_by_size`?"),
        (&["run", "x", "--strategy", "optimun"], 2, "did you mean `optimum`?"),
        (&["plan", "x", "--rules", "exakt"], 2, "did you mean `exact`?"),
        (&["run", "x", "--precisoin", "f16"], 2, "'--precision'"),
        (&["run", &model, "--random", "--adapter", "llvmpype"], 1, "did you mean `llvmpipe`?"),
    ] {
        let output = texpool(args);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        assert!(message.contains(meant), "{args:?}: {message}");
    }
}
