//! What differs on a terminal: progress, the width of help, and colours. `script` of util-linux plays the terminal.

use std::process::{Command, Stdio};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");

/// What a command of a shell writes to a terminal.
fn on_terminal(call: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new("script");
    command.args(["-qec", call, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR").stdin(Stdio::null());
    command.current_dir(crate::ROOT);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn progress_is_shown_on_a_terminal_alone() {
    let args = ["csdf", "--published", "--deadline", "2"];
    let shown = on_terminal(&format!("{TEXPOOL} {}", args.join(" ")), &[]);
    assert!(shown.contains("searching for the smallest pool ["), "{shown:?}");
    let piped = Command::new(TEXPOOL).args(args).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&piped.stderr), "");
    // A call that is done at once shows nothing.
    let quick = on_terminal(&format!("{TEXPOOL} models fetch blazeface"), &[]);
    assert!(quick.starts_with("blazeface: ") && quick.lines().count() == 1, "{quick:?}");
}

/// A table's searches are told apart by the name of the row.
#[test]
fn progress_names_the_row_of_a_table() {
    let model = crate::command::fetched("mobilenet_v2");
    let shown = on_terminal(&format!("{TEXPOOL} plan {model} --no-cache --deadline 6"), &[]);
    for row in ["4 MiB: ", "smallest: "] {
        assert!(shown.contains(row), "{row}: {shown:?}");
    }
}

#[test]
fn help_fits_the_terminal() {
    let widest = |columns: usize| {
        let text = on_terminal(
            &format!("stty -F /dev/tty rows 40 cols {columns}; {TEXPOOL} run --help"),
            &[("NO_COLOR", "1")],
        );
        text.lines().map(|line| line.trim_end().chars().count()).max().unwrap()
    };
    assert!(widest(60) <= 60);
    assert!((81..=100).contains(&widest(100)) && widest(200) <= 100);
}

#[test]
fn no_color_is_kept() {
    // Sequences that end with `m` are colours and bold letters; others move the cursor.
    let is_colour = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m');
    let coloured = |environment: &[(&str, &str)]| {
        let calls = ["plan tests/data/tiny.tflite", "--help"];
        calls.map(|call| {
            let text = on_terminal(&format!("{TEXPOOL} {call}"), environment);
            text.split("\x1b[").skip(1).any(is_colour)
        })
    };
    assert_eq!(coloured(&[("TEXPOOL_LOG", "debug"), ("NO_COLOR", "1")]), [false, false]);
    assert_eq!(coloured(&[("TEXPOOL_LOG", "debug")]), [true, true]);
}
