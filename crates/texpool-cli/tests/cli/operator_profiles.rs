//! `texpool plan --profile` and `--strategies`: Figure 2 of Pisarchyk and Lee (2020), and the share of intermediate
//! tensors.

use std::fs;

use serde_json::Value;

use crate::command::{stderr, texpool};

const FACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models/face_detection_front_2019.tflite");

const MOBILENET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/records/mobilenet_v1.csv");

fn json(args: &[&str]) -> Value {
    let output = texpool(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(args: &[&str]) -> String {
    let output = texpool(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// The lives are those of the small network that TensorFlow Lite's tests share with the paper. The text of section 3
/// states the sizes at operator 3, its breadth, and the third largest sizes of all profiles; these sizes fulfil it.
const WORKED_EXAMPLE: &str = "tensor,first_op,last_op,size_bytes
t0,0,1,32
t1,1,4,28
t2,2,5,36
t3,3,5,16
t4,4,5,8
t5,5,7,64
t6,6,8,10
t7,7,8,40
";

#[test]
fn the_worked_example_of_the_paper_has_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let [records, picture] = ["example.csv", "example.svg"].map(|name| folder.path().join(name));
    fs::write(&records, WORKED_EXAMPLE).unwrap();
    let args = ["plan", "--records", records.to_str().unwrap(), "--profile"];
    let profiles = json(&[&args[..], &["--picture", picture.to_str().unwrap()]].concat());
    let operators = profiles["operators"].as_array().unwrap();
    let sizes = |step: usize| -> Vec<u64> {
        let profile = numbers(&operators[step]["profile"]);
        profile.iter().map(|&tensor| profiles["tensors"][tensor as usize]["size"].as_u64().unwrap()).collect()
    };
    assert_eq!((sizes(3), &operators[3]["breadth"]), (vec![36, 28, 16], &80.into()));
    let third: Vec<u64> = (0..operators.len()).filter_map(|step| sizes(step).get(2).copied()).collect();
    assert_eq!(third, [16, 16, 16, 10]);
    assert_eq!(numbers(&profiles["positional_maximums"]), [64, 40, 16, 8]);
    assert_eq!((&profiles["shared_objects"], &profiles["offsets"]), (&128.into(), &124.into()));
    let lines = text(&args);
    let words: Vec<Vec<&str>> = lines.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [&["3", "80", "36", "28", "16"][..], &["*", "5", "124", "64", "36", "16", "8"]] {
        assert!(words.iter().any(|words| words == row), "{row:?} is missing: {lines}");
    }
    let maximums = lines.lines().find(|line| line.contains("positional maximums")).unwrap();
    let widest = lines.lines().find(|line| line.starts_with('*')).unwrap();
    assert!(maximums.ends_with("  64 40 16  8") && maximums.len() == widest.len(), "{lines}");
    let drawn = fs::read_to_string(picture).unwrap();
    assert!(drawn.contains("positional maximum 4: 8, sum of all 128") && drawn.contains("widest step: 124"), "{drawn}");
}

/// The lower bounds of the report of a plan, and the published ones of MobileNet v1, follow from the profiles.
#[test]
fn the_bounds_of_networks_follow_from_their_profiles() {
    let profiles = json(&["plan", FACES, "--profile", "--deadline", "2"]);
    let sum: u64 = numbers(&profiles["positional_maximums"]).iter().sum();
    let widest = profiles["operators"].as_array().unwrap().iter().map(|o| o["breadth"].as_u64().unwrap()).max();
    let report = json(&["plan", FACES, "--deadline", "2"]);
    assert_eq!(
        (Some(sum), widest),
        (report["bounds"]["shared_objects"].as_u64(), report["bounds"]["offsets"].as_u64())
    );
    assert_eq!(profiles["operators"].as_array().unwrap().len() as u64, report["steps"].as_u64().unwrap());
    let published = json(&["plan", "--records", MOBILENET, "--profile"]);
    assert_eq!(numbers(&published["positional_maximums"]), [3_211_264, 1_605_632]);
}

/// Both plans are drawn, a byte as high in one as in the other.
#[test]
fn plans_of_strategies_are_drawn_at_the_same_scale_with_their_shares() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("both.svg");
    let args = ["plan", FACES, "--strategies", "naive,greedy_by_size", "--picture", picture.to_str().unwrap()];
    let shares = json(&args);
    let plans = shares["strategies"].as_array().unwrap();
    let number = |plan: &Value, key: &str| plan[key].as_u64().unwrap();
    for plan in plans {
        let (pool, all) = (number(plan, "pool_bytes"), number(plan, "total_bytes"));
        assert_eq!(all, pool + shares["weight_bytes"].as_u64().unwrap());
        assert_eq!(plan["intermediate_share"].as_f64().unwrap(), pool as f64 / all as f64);
    }
    assert!(number(&plans[0], "pool_bytes") > 3 * number(&plans[1], "pool_bytes"), "{plans:?}");
    let drawn = fs::read_to_string(&picture).unwrap();
    let document = roxmltree::Document::parse(&drawn).unwrap();
    let frames: Vec<f64> = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("frame"))
        .map(|node| node.attribute("height").unwrap().parse().unwrap())
        .collect();
    let textures = plans.iter().map(|plan| number(plan, "textures") as usize).collect::<Vec<_>>();
    assert_eq!(frames.len(), textures.iter().sum::<usize>());
    let height = |frames: &[f64]| frames.iter().sum::<f64>();
    let drawn_ratio = height(&frames[..textures[0]]) / height(&frames[textures[0]..]);
    let ratio = number(&plans[0], "pool_bytes") as f64 / number(&plans[1], "pool_bytes") as f64;
    assert!((drawn_ratio / ratio - 1.0).abs() < 0.02, "{drawn_ratio} {ratio}");
    assert!(drawn.contains("naive: ") && drawn.contains("greedy_by_size: "), "{drawn}");
}

#[test]
fn options_that_have_no_part_in_profiles_are_usage_errors() {
    for wrong in [
        &["--profile", "--objective", "smallest"][..],
        &["--profile", "--strategy", "naive"],
        &["--strategies", "naive,luck"],
        &["--strategies", "naive", "--strategy", "best"],
    ] {
        assert_eq!(texpool(&[&["plan", FACES], wrong].concat()).status.code(), Some(2), "{wrong:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("aligned.csv");
    fs::write(&records, "id,lower,upper,size,alignment\na,0,2,8,16\n").unwrap();
    let output = texpool(&["plan", "--records", records.to_str().unwrap(), "--profile"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("without alignments"), "{}", stderr(&output));
}
