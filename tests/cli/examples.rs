//! The examples as a user runs them.

#![cfg(test)]

use std::{
    path::Path,
    process::{Command, Output},
};
use texpool::{
    fetch::{Bar, Fetcher},
    io::read_picture,
};

fn example(name: &str, args: &[&Path]) -> Output {
    let cargo = ["run", "--quiet", "--example", name, "--"];
    Command::new(env!("CARGO"))
        .args(cargo)
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap()
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
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("error"), "the first thing a new user reads: {}", text(&output.stderr));
    for line in ["1 faces in", "pool as planned", "pool as the driver reports it", "residency", "greedy_by_size"] {
        assert!(said.contains(line), "`{line}` is missing: {said}");
    }
    let face = said.lines().next().unwrap();
    let numbers: Vec<f32> = face.split([' ', ':', ',']).filter_map(|word| word.parse().ok()).collect();
    let [score, left, right, top, bottom] = numbers[..] else { panic!("{face}") };
    assert!(score > 0.85, "{face}");
    // By eye: the face reaches from ear to ear and from brow to chin.
    for (found, seen) in [(left, 177.0), (right, 272.0), (top, 81.0), (bottom, 175.0)] {
        assert!((found - seen).abs() < 6.0, "{face}");
    }
    let (before, after) = (read_picture(&photo).unwrap(), read_picture(&drawn).unwrap());
    let changed = before.pixels().zip(after.pixels()).filter(|(a, b)| a != b).count();
    assert!((900..3000).contains(&changed), "{changed} pixels were drawn");
}

#[test]
fn blazeface_refuses_what_is_no_photo_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let photo = dir.path().join("photo.jpg");
    std::fs::write(&photo, "no photo").unwrap();
    let output = example("blazeface", &[&photo, &dir.path().join("faces.png")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: ") && text(&output.stderr).contains("is not a picture"));
    let output = example("blazeface", &[&photo, &dir.path().join("faces.jpg")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("faces.jpg: the picture is PNG"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn mobilenet_names_the_coffee() {
    let output = example("mobilenet", &[&fetched("coffee")]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(said.lines().count(), 6, "{said}");
    let first = said.lines().nth(1).unwrap();
    assert!(first.ends_with("espresso"), "{said}");
    let share: f32 = first.trim().split(' ').next().unwrap().parse().unwrap();
    assert!(share > 90.0, "{said}");
}

/// The planner alone: every buffer gets a place, in a file that is read again as a finished plan.
#[test]
fn plan_csv_places_the_buffers_of_its_file() {
    let output = example("plan_csv", &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.starts_with("id,lower,upper,size,alignment,gaps,offset\ninput,0,1,602112,64,,0\n"), "{said}");
    assert_eq!(text(&output.stderr), "1681920 of 2667428 bytes; no plan is smaller\n");
    let buffers = texpool::plan::io::buffers_from_csv(&said).unwrap();
    assert!(buffers.len() == 8 && buffers.iter().all(|buffer| buffer.offset.is_some()), "{said}");
    let output = example("plan_csv", &[Path::new("Cargo.toml")]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
    assert!(text(&output.stderr).starts_with("error: line 1, column 1: "), "{}", text(&output.stderr));
}
