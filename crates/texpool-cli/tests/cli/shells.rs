//! Completion scripts and manual pages.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use crate::command::{json, stderr, texpool};

#[test]
fn every_shell_has_a_script_with_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = texpool(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["bench", "compare", "completions", "budget", "front"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let document = json(&["completions", shell, "--json"]);
        assert_eq!(document["shell"], shell);
        assert_eq!(document["script"], script);
    }
    assert_eq!(texpool(&["completions", "tcsh"]).status.code(), Some(2));
}

/// Asks bash itself for the completions of a line.
#[test]
fn bash_completes_subcommands_options_and_names_of_models() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("texpool.bash");
    fs::write(&script, texpool(&["completions", "bash"]).stdout).unwrap();
    for (words, expected) in [
        (&["texpool", "comp"][..], &["compare", "compile", "completions"][..]),
        (&["texpool", "run", "mobilenet_v"], &["mobilenet_v1", "mobilenet_v2"]),
        (&["texpool", "models", "fetch", "chel"], &["chelsea"]),
        (&["texpool", "run", "--budg"], &["--budget"]),
        (&["texpool", "run", "--precision", "f"], &["f16", "f32"]),
    ] {
        let last = words.len() - 1;
        let line = words.join("' '");
        let command_line = format!(
            "source {}; COMP_WORDS=('{line}'); COMP_CWORD={last}; _texpool texpool '{}' '{}'; printf '%s\\n' \
             \"${{COMPREPLY[@]}}\"",
            script.display(),
            words[last],
            words[last - 1]
        );
        let output = Command::new("bash").args(["-c", &command_line]).output().unwrap();
        let completions: BTreeSet<String> =
            String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        let expected: BTreeSet<String> = expected.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(completions, expected, "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new/man1");
    let document = json(&["man", folder.to_str().unwrap(), "--json"]);
    let files: Vec<&str> = document["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    let names: BTreeSet<&str> =
        files.iter().map(|file| Path::new(file).file_name().unwrap().to_str().unwrap()).collect();
    for name in ["texpool.1", "texpool-run.1", "texpool-models-fetch.1", "texpool-cache-clear.1", "texpool-man.1"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.len(), "no passing file stays");
    let page = fs::read_to_string(folder.join("texpool-run.1")).unwrap();
    for word in [".TH texpool-run 1", "NAME", "SYNOPSIS", "budget", "texpool run mobilenet_v2 \\-\\-input chelsea"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let output = texpool(&["man", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is a file, not a folder"), "{}", stderr(&output));
    let again: Value = json(&["man", folder.to_str().unwrap(), "--json"]);
    assert_eq!(again, document, "pages are replaced");
}
