//! The examples as a user runs them.

#![cfg(test)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};
use texpool_cli::{
    fetch::{Bar, Fetcher},
    io::{output_file_name, read_npy, read_picture, write_npy},
};

fn example(name: &str, args: &[&Path]) -> Output {
    let cargo = ["run", "--quiet", "--example", name, "--"];
    Command::new(env!("CARGO"))
        .args(cargo)
        .args(args)
        .current_dir(crate::ROOT)
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap()
}

/// Runs an example, asserts success, and returns its output.
fn printed(name: &str, args: &[&Path]) -> String {
    let output = example(name, args);
    assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fetched(name: &str) -> std::path::PathBuf {
    let bar = Bar::default();
    Fetcher::new(&bar).unwrap().get(name).unwrap()
}

#[test]
fn blazeface_finds_the_face_draws_it_and_reports() {
    let dir = tempfile::tempdir().unwrap();
    let (photo, drawn) = (fetched("astronaut"), dir.path().join("faces.png"));
    let output = example("blazeface", &[&photo, &drawn]);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("error"), "the first thing a new user reads: {}", text(&output.stderr));
    for line in ["1 faces in", "pool as planned", "bytes of device memory", "residency", "greedy_by_size"] {
        assert!(stdout.contains(line), "`{line}` is missing: {stdout}");
    }
    let face = stdout.lines().next().unwrap();
    let numbers: Vec<f32> = face.split([' ', ':', ',']).filter_map(|word| word.parse().ok()).collect();
    let [score, left, right, top, bottom] = numbers[..] else { panic!("{face}") };
    assert!(score > 0.85, "{face}");
    // Measured by eye: the face reaches from ear to ear and from brow to chin.
    for (edge, seen) in [(left, 177.0), (right, 272.0), (top, 81.0), (bottom, 175.0)] {
        assert!((edge - seen).abs() < 6.0, "{face}");
    }
    let (before, after) = (read_picture(&photo).unwrap(), read_picture(&drawn).unwrap());
    let changed = before.pixels().zip(after.pixels()).filter(|(a, b)| a != b).count();
    assert!((900..3000).contains(&changed), "{changed} pixels were drawn");
}

#[test]
fn blazeface_explains_a_file_that_is_no_photo() {
    let dir = tempfile::tempdir().unwrap();
    let photo = dir.path().join("photo.jpg");
    fs::write(&photo, "no photo").unwrap();
    let output = example("blazeface", &[&photo, &dir.path().join("faces.png")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: ") && text(&output.stderr).contains("is not a picture"));
    let output = example("blazeface", &[&photo, &dir.path().join("faces.jpg")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("faces.jpg: the picture is PNG"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn mobilenet_names_the_coffee() {
    let output = example("mobilenet", &[&fetched("coffee")]);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(stdout.lines().count(), 6, "{stdout}");
    let first = stdout.lines().nth(1).unwrap();
    assert!(first.ends_with("espresso"), "{stdout}");
    let share: f32 = first.trim().split(' ').next().unwrap().parse().unwrap();
    assert!(share > 90.0, "{stdout}");
}

/// The planner alone: every buffer gets a place, in a file that is read again as a finished plan.
#[test]
fn plan_csv_places_the_buffers_of_its_file() {
    let output = example("plan_csv", &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with("id,lower,upper,size,alignment,gaps,offset\ninput,0,1,602112,64,,0\n"), "{stdout}");
    assert_eq!(text(&output.stderr), "1681920 of 2667428 bytes; no plan is smaller\n");
    let buffers = texpool_plan::io::buffers_from_csv(&stdout).unwrap();
    assert!(buffers.len() == 8 && buffers.iter().all(|buffer| buffer.offset.is_some()), "{stdout}");
    let output = example("plan_csv", &[Path::new("Cargo.toml")]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
    assert!(text(&output.stderr).starts_with("error: line 1, column 1: "), "{}", text(&output.stderr));
}

/// Returns the numbers in a text, in order.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|word| word.parse().ok()).collect()
}

/// Returns the text between the first pair of square brackets behind `key`.
fn bracketed<'a>(stdout: &'a str, key: &str) -> &'a str {
    let at = stdout.find(key).unwrap_or_else(|| panic!("`{key}` is missing: {stdout}")) + key.len();
    let list = stdout[at..].split_once('[').unwrap().1;
    list.split_once(']').unwrap().0
}

/// The ten-line example gives the same answer as the command, bit for bit.
#[test]
fn ten_lines_has_the_bits_of_texpool_run() {
    let dir = tempfile::tempdir().unwrap();
    let model = fetched("blazeface");
    let stdout = printed("ten_lines", &[&model]);
    let (input, out) = (dir.path().join("half.npy"), dir.path().join("out"));
    write_npy(&input, &[1, 128, 128, 3], &vec![0.5; 128 * 128 * 3]).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_texpool"))
        .args([Path::new("run"), &model, Path::new("--input"), &input, Path::new("--output"), &out])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
    for (index, (name, dims)) in [("regressors", [1, 896, 16]), ("classificators", [1, 896, 1])].into_iter().enumerate()
    {
        let expected = read_npy(&out.join(output_file_name(index, name)), &dims).unwrap();
        let shown: Vec<f32> = bracketed(&stdout, &format!("{name} {dims:?}: "))
            .split(", ")
            .map(|number| number.parse().unwrap())
            .collect();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&shown), bits(&expected[..4]), "{name}: {stdout}");
    }
    assert!(stdout.ends_with(" bytes in the pool\n"), "{stdout}");
    let output = example("ten_lines", &[]);
    assert!(text(&output.stderr).contains("which model?"), "{}", text(&output.stderr));
}

/// Frames stay on the GPU, nothing is allocated after the first ones, and the boxes are on the face.
#[test]
fn camera_draws_the_face_and_makes_nothing_anew() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = dir.path().join("camera.png");
    let stdout = printed("camera", &[&drawn]);
    let [early, late] = [3, 100].map(|frame| {
        let line = format!("after frame {frame}: ");
        stdout.lines().find_map(|row| row.strip_prefix(&line)).unwrap_or_else(|| panic!("{stdout}")).to_owned()
    });
    assert_eq!(early, late, "{stdout}");
    assert!(numbers(&early).iter().all(|&number| number > 0.0), "{stdout}");
    let picture = read_picture(&drawn).unwrap();
    let green = picture.enumerate_pixels().filter(|(.., pixel)| pixel.0 == [0, 255, 0]);
    let [mut left, mut top, mut right, mut bottom] = [u32::MAX, u32::MAX, 0, 0];
    let mut count = 0;
    for (x, y, _) in green {
        [left, top, right, bottom] = [left.min(x), top.min(y), right.max(x), bottom.max(y)];
        count += 1;
    }
    assert!(count > 300, "{count} pixels are green");
    // In the photo the face is at x 177 to 272, y 81 to 175. At the end the camera sees 384 pixels from x 127 on,
    // of which it makes 512. The boxes of neighbouring anchors differ a little.
    let seen = [(177.0 - 126.7) / 0.75, 81.0 / 0.75, (272.0 - 126.7) / 0.75, 175.0 / 0.75];
    for (edge, seen) in [left, top, right, bottom].into_iter().zip(seen) {
        assert!((f64::from(edge) - seen).abs() < 25.0, "{left} {top} {right} {bottom}, not {seen}");
    }
}

/// One pool for two models is as large as the larger one needs, and the outputs keep their bits.
#[test]
fn two_models_share_a_pool() {
    let stdout = printed("two_models", &[]);
    let lines: Vec<&str> = stdout.lines().collect();
    let (one, each) = (numbers(lines[0]), numbers(lines[1]));
    assert!(one[0] < each[0] + each[1] && one[0] >= each[0].max(each[1]), "{stdout}");
    assert_eq!(lines[2], "the same bits", "{stdout}");
}

/// The scaled picture still shows the same scene.
#[test]
fn write_input_names_the_coffee() {
    let stdout = printed("write_input", &[]);
    assert!(stdout.ends_with("% espresso\n") && numbers(&stdout)[0] > 80.0, "{stdout}");
}

/// The example finds the largest score at the right place.
#[test]
fn read_output_names_the_coffee() {
    assert_eq!(printed("read_output", &[]), "espresso\n");
}

/// A plan read from a file gives the same session, and a file that is not a plan is refused.
#[test]
fn save_plan_has_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let (model, plan) = (fetched("blazeface"), dir.path().join("blazeface.plan"));
    let stdout = printed("save_plan", &[&model, &plan]);
    assert!(stdout.ends_with("the same pool, the same bits\n"), "{stdout}");
    let bytes = fs::metadata(&plan).unwrap().len();
    assert!(stdout.contains(&format!(" s: {bytes} bytes of file\n")), "{stdout}");
}

/// Their README states the length of each example in lines that are neither empty nor comments. Examples are meant to
/// be read and copied, so a longer one means that the library changed, or that a shorter way was missed.
#[test]
fn examples_are_as_long_as_their_readme_says() {
    let folder = Path::new(crate::ROOT).join("examples");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut rows = 0;
    for row in readme.lines().filter(|line| line.starts_with("| [`")) {
        let path = row.split_once("](").unwrap().1.split_once(')').unwrap().0;
        let stated: usize = row.split('|').nth(2).unwrap().trim().parse().unwrap();
        let files = match path.strip_suffix("main.rs") {
            Some(name) => fs::read_dir(folder.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect(),
            None => vec![folder.join(path)],
        };
        let texts = files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs"));
        let lines: usize = texts.map(|file| lines_of_code(&fs::read_to_string(file).unwrap())).sum();
        assert_eq!(lines, stated, "{path}");
        rows += 1;
    }
    assert_eq!(rows, 9);
}

fn lines_of_code(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count()
}
