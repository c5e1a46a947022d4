//! `texpool tune`, and `--blocks` of other commands.

use std::process::Command;

use serde_json::Value;

use crate::{
    command::{stderr, texpool},
    documents::fits_schema,
};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");
const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny.tflite");

/// Runs use the blocks of the device's class until `tune` has measured others, and say which.
#[test]
fn measured_blocks_are_used_and_said() {
    let cache = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = Command::new(TEXPOOL).args(args).env("TEXPOOL_CACHE", cache.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let document = |args: &[&str]| serde_json::from_str::<Value>(&run(&[args, &["--json"]].concat())).unwrap();
    let blocks = |args: &[&str]| document(&[&["run", TINY][..], args].concat())["blocks"].as_str().unwrap().to_owned();
    assert_eq!([blocks(&[]), blocks(&["--blocks", "mali"])], ["software", "mali"]);
    assert!(run(&["run", TINY, "--details", "--blocks", "mali"]).contains("kernels compute the blocks of"));

    let tuned = document(&["tune", TINY]);
    fits_schema("tune", &tuned);
    assert_eq!((&tuned["class"], &tuned["clock"]), (&"software".into(), &"processor".into()));
    let kinds = tuned["kinds"].as_array().unwrap();
    let is_used = kinds.iter().any(|kind| kind["is_used"] == true);
    let expected = if is_used { "software, tuned" } else { "software" };
    assert_eq!([blocks(&[]), blocks(&["--blocks", "software"])], [expected, "software"]);
    for kind in kinds {
        let [class, fastest] = ["class_us", "fastest_us"].map(|key| kind[key].as_f64().unwrap());
        assert!(fastest > 0.0 && (kind["is_used"] == false || fastest < class), "{kind}");
    }
    // They belong to one format, and are listed and removed with the profiles.
    assert_eq!(blocks(&["--precision", "f16"]), "software");
    assert!(run(&["cache", "list"]).contains("tuned_blocks-"));
    run(&["cache", "clear", "--profiles"]);
    assert_eq!(blocks(&[]), "software");
}

#[test]
fn classes_of_devices_have_names() {
    for (args, words) in [
        (&["plan", TINY, "--blocks", "voodoo"][..], &["--blocks", "voodoo", "nvidia", "unknown"][..]),
        (&["run", TINY, "--plan", "file", "--blocks", "mali"], &["--plan", "--blocks"]),
    ] {
        let refused = texpool(args);
        let message = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

/// Runs need no cache folder, as in a container without a home folder.
#[test]
fn nothing_is_measured_where_there_is_no_cache_folder() {
    let mut command = Command::new(TEXPOOL);
    command.args(["run", TINY, "--random", "--json"]).env_clear();
    for name in ["XDG_RUNTIME_DIR", "VK_DRIVER_FILES"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["blocks"], "software");
}
