//! Answers of `texpool run` about photos: labels, boxes, points, masks and text, as a user reads them.
//!
//! The truth is what the photos show: a cat, a cup of espresso, a portrait and a printed page. Places in the portrait are
//! compared between networks of different publishers.

use crate::{
    arguments, command,
    command::{fetched, json, stderr},
    onnx_model::{FLOAT, Model, number},
};
use serde_json::Value;
use std::{fs, path::Path, process::Command};
use texpool_cli::{
    fetch::{Catalog, Kind},
    io::{read_picture, write_npy, write_png},
};

fn text(args: &[&str]) -> String {
    let output = command::texpool(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The answer of a model about a photo of the catalogue.
fn answer(model: &str, photo: &str, more: &[&str]) -> Value {
    let args = [&["run", model, "--input", photo, "--json"][..], more].concat();
    let document = json(&args);
    assert!(document["not_decoded"].is_null(), "{model}: {}", document["not_decoded"]);
    document["answer"].clone()
}

fn number_of(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_classifier_says_what_it_sees_in_ten_lines() {
    let stdout = text(&["run", "mobilenet_v2", "--input", "chelsea"]);
    let lines: Vec<&str> = stdout.lines().collect();
    let first = "chelsea → 224×224, centre, ImageNet mean (from the catalogue; --range and --fit change it)";
    assert_eq!((lines[0], lines[1]), (first, ""), "{stdout}");
    assert!(lines[2].contains(" %  Egyptian cat  ███"), "{stdout}");
    assert!(lines[3].contains(" cat") && lines[4].contains("tabby"), "{stdout}");
    assert_eq!((lines[5], lines[6]), ("           … 997 more under 1 %", ""), "{stdout}");
    assert!(
        lines[7].contains(" on ") && lines[7].contains("MiB of the device (pool 6.3, weights 13.3, other "),
        "{stdout}"
    );
    assert!(lines[8].starts_with("Less: ") && lines[8].contains("the same bits"), "{stdout}");
    assert_eq!(lines[9], "--output DIR saves all 1000 · --details shows the plan · --json", "{stdout}");
    assert_eq!(lines.len(), 10, "{stdout}");
    let two = text(&["run", "mobilenet_v2", "--input", "chelsea", "--top", "2"]);
    assert!(two.contains("           … 998 more\n") && !two.contains("tabby"), "{two}");
}

#[test]
fn details_are_printed_only_on_request() {
    let (short, long) = (text(&["run", "blazeface", "--random"]), text(&["run", "blazeface", "--random", "--details"]));
    for words in ["residency", "naive", "lower bound", "output 0 regressors [1, 896, 16]: "] {
        assert!(!short.contains(words) && long.contains(words), "{words}: {long}");
    }
    assert!(short.lines().count() <= 10 && !short.contains("face  x"), "random numbers show no face: {short}");
}

#[test]
fn the_document_has_the_answer_the_device_and_the_time() {
    let document = json(&["run", "mobilenet_v1", "--input", "coffee", "--json"]);
    assert_eq!(document["schema"], 1);
    let class = &document["answer"]["classes"][0];
    assert!(document["answer"]["kind"] == "classes" && class["label"] == "espresso", "{}", document["answer"]);
    assert_eq!(document["outputs"][0]["classes"][0], *class);
    for key in ["name", "backend", "kind", "driver"] {
        assert!(document["device"][key].as_str().is_some_and(|text| !text.is_empty()), "{}", document["device"]);
    }
    let time = number_of(&document["time_ms"]);
    assert!(time > 0.0 && number_of(&document["cold_ms"]) > time && number_of(&document["timed_runs"]) >= 1.0);
    assert_eq!(document["time_is_first_run"], false);
}

/// Seven detectors of three publishers find one face at the same place.
#[test]
fn detectors_find_the_face_of_the_portrait() {
    let boxes_of = |model: &str, more: &[&str]| -> Vec<f64> {
        let answer = answer(model, "astronaut", more);
        let boxes = answer["boxes"].as_array().unwrap();
        assert_eq!(boxes.len(), 1, "{model}: {answer}");
        boxes[0]["bounds"].as_array().unwrap().iter().map(number_of).collect()
    };
    let expected = boxes_of("retinaface", &[]);
    let area = |b: &[f64]| (b[2] - b[0]).max(0.0) * (b[3] - b[1]).max(0.0);
    for (model, more) in [
        ("blazeface", &[][..]),
        ("blazeface_mediapipe", &[]),
        ("blazeface_onnx_front", &[]),
        ("blazeface_onnx_back", &[]),
        ("face_detection_full_range", &[]),
        ("centerface", &["--crop", "177,64,105,118"]),
    ] {
        let b = boxes_of(model, more);
        let both = area(&[b[0].max(expected[0]), b[1].max(expected[1]), b[2].min(expected[2]), b[3].min(expected[3])]);
        let share = both / (area(&b) + area(&expected) - both);
        assert!(share > 0.5, "{model}: {b:?} overlaps {expected:?} by {share}");
    }
    assert_eq!(answer("pose_detection", "astronaut", &[])["boxes"].as_array().unwrap().len(), 1);
    for palms in ["palm_detection_lite", "palm_detection_full"] {
        assert_eq!(answer(palms, "astronaut", &[])["boxes"], Value::Array(vec![]), "her hands are not in the picture");
    }
    let stdout = text(&["run", "palm_detection_lite", "--input", "astronaut"]);
    assert!(stdout.contains("\n  no palm: the best of 2016 candidates has "), "{stdout}");
}

/// The nose is where RetinaFace, BlazeFace, MTCNN, PoseNet and BlazePose see it, each by another decoding.
#[test]
fn networks_agree_where_the_nose_is() {
    let nose = |points: &Value| -> [f64; 2] {
        let all = points.as_array().unwrap();
        let nose = all.iter().find(|point| point["name"] == "nose").unwrap_or_else(|| panic!("{points}"));
        [number_of(&nose["x"]), number_of(&nose["y"])]
    };
    let expected = nose(&answer("retinaface", "astronaut", &[])["boxes"][0]["points"]);
    let crop = ["--crop", "177,64,105,118"];
    for (model, more) in [("posenet", &[][..]), ("pose_landmark_full", &[]), ("mtcnn_onet", &crop)] {
        let answer = answer(model, "astronaut", more);
        assert_eq!(answer["found"], true, "{model}: {answer}");
        let actual = nose(&answer["points"]);
        let distance = (actual[0] - expected[0]).hypot(actual[1] - expected[1]);
        assert!(distance < 20.0, "{model}: the nose is at {actual:?} instead of {expected:?}");
    }
    let blazeface = nose(&answer("blazeface", "astronaut", &[])["boxes"][0]["points"]);
    assert!((blazeface[0] - expected[0]).hypot(blazeface[1] - expected[1]) < 20.0, "{blazeface:?} {expected:?}");
}

#[test]
fn networks_for_a_part_say_when_it_is_not_there() {
    let face = answer("face_landmark", "astronaut", &["--crop", "140,30,180,180"]);
    assert!(face["found"] == true && face["points"].as_array().unwrap().len() == 468, "{face}");
    let inside = |point: &Value| (140.0..320.0).contains(&number_of(&point["x"]));
    assert!(face["points"].as_array().unwrap().iter().all(inside), "points are in pixels of the whole photo");
    let refined = answer("face_landmark_with_attention", "astronaut", &["--crop", "140,30,180,180"]);
    let refined = refined["points"].as_array().unwrap();
    assert_eq!(refined.len(), 468 + 80 + 2 * 71 + 2 * 5);
    // The middles of both irises are where MediaPipe 0.10.14 finds them in the whole photo, with a region of its own.
    for (point, [x, y]) in [(690, [203.5, 101.1]), (695, [246.6, 103.5])] {
        let actual = [number_of(&refined[point]["x"]), number_of(&refined[point]["y"])];
        assert!((actual[0] - x).hypot(actual[1] - y) < 3.0, "the iris at {x}, {y} is found at {actual:?}");
    }
    for (model, what) in [("face_landmark", "face"), ("hand_landmark_full", "hand"), ("hand_landmark_lite", "hand")] {
        let stdout = text(&["run", model, "--input", "astronaut"]);
        assert!(
            stdout.contains(&format!("\n  no {what}: its score is ")) && stdout.contains("--crop X,Y,"),
            "{stdout}"
        );
    }
    let outside = command::texpool(&["run", "face_landmark", "--input", "astronaut", "--crop", "600,0,10,10"]);
    assert!(stderr(&outside).contains("is 512x512, and the part"), "{}", stderr(&outside));
    let eye = answer("iris_landmark", "astronaut", &["--crop", "175,85,60,60"]);
    assert_eq!(eye["points"].as_array().unwrap().len(), 76);
    let rnet = answer("mtcnn_rnet", "astronaut", &["--crop", "177,64,105,118"]);
    assert!(number_of(&rnet["score"]) > 0.9, "{rnet}");
    assert_eq!(answer("hand_recrop", "astronaut", &[])["points"].as_array().unwrap().len(), 2);
    assert!(!answer("mtcnn_pnet", "astronaut", &[])["boxes"].as_array().unwrap().is_empty());
}

#[test]
fn objects_and_masks_are_those_of_the_photos() {
    for (photo, label) in [("chelsea", "cat"), ("coffee", "cup")] {
        let document = answer("tiny_yolo_v2", photo, &[]);
        assert_eq!(document["boxes"][0]["label"], label, "{document}");
    }
    let cat = answer("deeplabv3", "chelsea", &[]);
    assert!(cat["classes"][0]["label"] == "cat" && number_of(&cat["classes"][0]["share"]) > 0.5, "{cat}");
    let shares: Vec<f64> = ["selfie_segmentation", "selfie_segmentation_landscape", "u2netp"]
        .into_iter()
        .map(|model| number_of(&answer(model, "astronaut", &[])["share"]))
        .collect();
    assert!(shares.iter().all(|share| (0.45..0.65).contains(share)), "{shares:?}");
}

/// The page's heading and its first line, as they are printed.
#[test]
fn printed_text_is_found_and_read() {
    let lines = answer("ppocr_det", "page", &[]);
    let boxes = lines["boxes"].as_array().unwrap();
    assert!(boxes.len() >= 6, "{} of the page's lines were found", boxes.len());
    let edges: Vec<f64> = boxes[0]["bounds"].as_array().unwrap().iter().map(number_of).collect();
    let [left, top, right, bottom] = [edges[0].floor(), edges[1].floor(), edges[2].ceil(), edges[3].ceil()];
    let crop = format!("{left},{top},{},{}", right - left, bottom - top);
    let heading = answer("ppocr_rec", "page", &["--crop", &crop]);
    assert_eq!(heading["text"].as_str().unwrap().trim(), "Region-based segmentation");
    let wide = ["--crop", "3,48,378,18", "--dim", "p2o.DynamicDimension.1=1024"];
    let line = answer("ppocr_rec", "page", &wide);
    assert_eq!(line["text"], "Let us first determine markers of the coins and the");

    let dir = tempfile::tempdir().unwrap();
    let turned = dir.path().join("turned.png");
    let page = read_picture(fetched("page").as_ref()).unwrap();
    let heading = image::imageops::crop_imm(&page, 0, 8, 200, 28).to_image();
    write_png(&turned, &image::imageops::rotate180(&heading)).unwrap();
    for (photo, more, label) in
        [("page", &["--crop", "0,8,200,28"][..], "upright"), (turned.to_str().unwrap(), &[], "upside down")]
    {
        let side = answer("ppocr_cls", photo, more);
        assert_eq!(side["classes"][0]["label"], label, "{side}");
    }
}

#[test]
fn networks_without_trained_weights_say_so() {
    for model in ["light_squeezenet", "resnet18"] {
        let stdout = text(&["run", model, "--input", "chelsea"]);
        assert!(stdout.contains("the weights are not trained, so these classes mean nothing"), "{stdout}");
    }
}

#[test]
fn every_network_except_encoders_of_text_has_a_decoding_with_its_source() {
    let catalogue = Catalog::builtin().unwrap();
    for entry in catalogue.files.iter().filter(|entry| entry.kind == Kind::Model) {
        let decoding = entry.decoding.as_ref();
        assert_eq!(decoding.is_none(), ["minilm", "mobilebert"].contains(&&*entry.name), "{}", entry.name);
        assert!(decoding.is_none_or(|decoding| decoding.source.len() > 10), "{}", entry.name);
    }
}

/// A model of one's own: three values that pass through.
fn own(folder: &Path) -> (String, String) {
    let mut model = Model::new();
    model.raw_input("x", FLOAT, &[number(1, 1), number(1, 3)]);
    model.raw_node("Neg", &["x"], &["y"], &[]);
    model.output("y");
    let (file, input) = (folder.join("own.onnx"), folder.join("x.npy"));
    fs::write(&file, model.bytes()).unwrap();
    write_npy(&input, &[1, 3], &[4.312e-8, -3.0, 1.0]).unwrap();
    (file.to_str().unwrap().to_owned(), input.to_str().unwrap().to_owned())
}

#[test]
fn an_own_model_shows_numbers_or_labelled_classes() {
    let dir = tempfile::tempdir().unwrap();
    let (model, input) = own(dir.path());
    let stdout = text(&["run", &model, "--input", &input]);
    assert!(stdout.contains("x.npy → x [1, 3], -3 to 1, mean -0.667"), "{stdout}");
    assert!(
        stdout.contains("\n  y [1, 3]  -1 to 3, mean 0.667\n") && stdout.contains("--labels FILE names classes"),
        "{stdout}"
    );
    let labels = |lines: &str| {
        let file = dir.path().join("labels.txt");
        fs::write(&file, lines).unwrap();
        file.to_str().unwrap().to_owned()
    };
    for list in ["cat\ndog\ncup\n", "background\ncat\ndog\ncup\n"] {
        let named = text(&["run", &model, "--input", &input, "--labels", &labels(list)]);
        // The softmax of 0, 3 and -1.
        assert!(named.contains("   93.6 %  dog  ") && named.contains("    4.7 %  cat  "), "{named}");
    }
    let few = command::texpool(&["run", &model, "--input", &input, "--labels", &labels("cat\ndog\n")]);
    assert_eq!(few.status.code(), Some(2));
    assert!(stderr(&few).contains("labels.txt names 2 classes, one a line, and the model has 3"), "{}", stderr(&few));
}

#[test]
fn several_pictures_are_run_one_after_another() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let stdout = text(&["run", "mobilenet_v1", "--input", "chelsea", "coffee", "--output", out.to_str().unwrap()]);
    let [cat, coffee] =
        ["chelsea → ", "coffee → "].map(|photo| stdout.find(photo).unwrap_or_else(|| panic!("{stdout}")));
    assert!(cat < stdout.find("Egyptian cat").unwrap() && stdout.find("Egyptian cat").unwrap() < coffee, "{stdout}");
    assert!(stdout[coffee..].contains("espresso") && stdout.matches(" of the device (").count() == 1, "{stdout}");
    for folder in ["0_chelsea", "1_coffee"] {
        assert_eq!(fs::read_dir(out.join(folder)).unwrap().count(), 1, "{folder}");
    }
    let document = json(&["run", "mobilenet_v1", "--input", "chelsea", "--input", "coffee", "--json"]);
    let labels = [0, 1].map(|run| document["runs"][run]["answer"]["classes"][0]["label"].clone());
    assert_eq!(labels, ["tabby", "espresso"]);
    assert!(document["answer"].is_null() && document["schema"] == 1);
}

/// Each run begins with the values that the one before left in the model's variables; the first ones are in the file, a
/// running sum that begins with 10 and 20. Measuring the time changes nothing.
#[test]
fn several_files_are_run_with_the_variables_of_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/tflite/variables");
    fs::copy(seed, dir.path().join("sum.tflite")).unwrap();
    for (name, values) in [("a.npy", [1.0, 2.0]), ("b.npy", [3.0, 4.0])] {
        write_npy(&dir.path().join(name), &[2], &values).unwrap();
    }
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (sum, a, b) = (at("sum.tflite"), at("a.npy"), at("b.npy"));
    let document = json(&["run", &sum, "--input", &a, &b, &b, "--json"]);
    let values = [0, 1, 2].map(|run| {
        let outputs = document["runs"][run]["outputs"].as_array().unwrap().clone();
        assert_eq!(outputs.len(), 1, "the variable is no output");
        ["min", "max"].map(|end| outputs[0][end].as_f64().unwrap())
    });
    assert_eq!(values, [[11.0, 22.0], [14.0, 26.0], [17.0, 30.0]]);
    let compared = json(&["compare", &sum, "--input", &a, "--against", "cpu", "--json"]);
    assert_eq!(compared["agrees"], true, "{compared}");
}

#[test]
fn files_are_divided_among_the_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    for name in ["a", "b"] {
        model.raw_input(name, FLOAT, &[number(1, 1), number(1, 1)]);
    }
    model.raw_node("Sub", &["a", "b"], &["y"], &[]);
    model.output("y");
    fs::write(dir.path().join("two.onnx"), model.bytes()).unwrap();
    for (name, value) in [("one.npy", 1.0), ("five.npy", 5.0)] {
        write_npy(&dir.path().join(name), &[1, 1], &[value]).unwrap();
    }
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (two, one, five) = (at("two.onnx"), at("one.npy"), at("five.npy"));
    let document = json(&["run", &two, "--input", &five, &one, &one, &five, "--json"]);
    let maxima = [0, 1].map(|run| document["runs"][run]["outputs"][0]["max"].clone());
    assert_eq!(maxima, [4.0, -4.0]);
    arguments::refused(
        dir.path(),
        &["run", "two.onnx", "--input", "one.npy", "five.npy", "one.npy"],
        1,
        &["takes 2 inputs", "3 were given"],
    );
    let mixed = ["run", "two.onnx", "--input", "one.npy", "five.npy", "--input", "one.npy", "five.npy"];
    arguments::refused(dir.path(), &mixed, 2, &["have no order"]);
    let both = [
        "compare",
        "two.onnx",
        "--against",
        "cpu",
        "--input",
        "one.npy",
        "--input",
        "one.npy",
        "--input",
        "one.npy",
        "--input",
        "one.npy",
    ];
    arguments::refused(dir.path(), &both, 2, &["takes 2 inputs", "4 were given"]);
}

#[test]
fn a_drawing_shows_the_answer_on_the_photo() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = dir.path().join("face.png");
    let to = drawn.to_str().unwrap();
    let stdout = text(&["run", "blazeface", "--input", "astronaut", "--draw", to]);
    assert!(stdout.contains("drawn in ") && stdout.contains("face.png"), "{stdout}");
    let (before, after) = (read_picture(fetched("astronaut").as_ref()).unwrap(), read_picture(&drawn).unwrap());
    let changed: Vec<(u32, u32)> = before
        .enumerate_pixels()
        .filter(|&(x, y, pixel)| after.get_pixel(x, y) != pixel)
        .map(|(x, y, _)| (x, y))
        .collect();
    let around = |&(x, y): &(u32, u32)| (165..290).contains(&x) && (60..190).contains(&y);
    assert!(changed.len() > 500 && changed.iter().all(around), "{} pixels", changed.len());
    for (args, words) in [
        (&["--input", "astronaut", "--draw", "face.jpg"][..], ".png"),
        (&["--input", "astronaut", "chelsea", "--draw", to], "--draw draws one picture, and 2 were given"),
        (&["--random", "--draw", to], "the input shows no picture"),
    ] {
        let refused = command::texpool(&[&["run", "blazeface"][..], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(words), "{args:?}: {}", stderr(&refused));
    }
    let photo = fetched("astronaut");
    let over = command::texpool(&["run", "blazeface", "--input", &photo, "--draw", &photo]);
    assert!(!over.status.success() && stderr(&over).contains("an input"), "{}", stderr(&over));
}

/// Grey, transparent and 16-bit files of one photo have one answer.
#[test]
fn pictures_of_every_kind_have_the_same_answer() {
    let dir = tempfile::tempdir().unwrap();
    let photo = image::DynamicImage::ImageRgb8(read_picture(fetched("coffee").as_ref()).unwrap());
    let kinds = [
        ("alpha.png", image::DynamicImage::ImageRgba8(photo.to_rgba8())),
        ("deep.png", image::DynamicImage::ImageRgb16(photo.to_rgb16())),
        ("grey.png", image::DynamicImage::ImageLuma8(photo.to_luma8())),
        ("deep_grey_alpha.png", image::DynamicImage::ImageLumaA16(photo.to_luma_alpha16())),
    ];
    for (name, picture) in kinds {
        let path = dir.path().join(name);
        picture.save(&path).unwrap();
        let answer = answer("mobilenet_v2", path.to_str().unwrap(), &[]);
        assert_eq!(answer["classes"][0]["label"], "espresso", "{name}: {answer}");
    }
}

/// A model comes with the names of its classes, and without them their numbers are shown.
#[test]
fn names_of_classes_come_with_the_model() {
    let (model, _) = (fetched("mobilenet_v1"), fetched("imagenet_labels"));
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty");
    let folder = Path::new(&model).parent().unwrap();
    let mut fetch = Command::new(env!("CARGO_BIN_EXE_texpool"));
    fetch
        .args(["models", "fetch", "mobilenet_v1", "--json"])
        .env("TEXPOOL_CACHE", &empty)
        .env("TEXPOOL_MODELS", folder);
    let listed: Value = serde_json::from_slice(&fetch.output().unwrap().stdout).unwrap();
    let listed = &listed["files"];
    assert_eq!([&listed[0]["name"], &listed[1]["name"]], ["mobilenet_v1", "imagenet_labels"]);

    // Nothing can be fetched without a client.
    let alone = dir.path().join("alone");
    fs::create_dir(&alone).unwrap();
    fs::copy(&model, alone.join("mobilenet_v1_1.0_224.tflite")).unwrap();
    let coffee = fetched("coffee");
    let mut run = Command::new(env!("CARGO_BIN_EXE_texpool"));
    run.args(["run", "mobilenet_v1", "--input", &coffee]).env("TEXPOOL_CACHE", &alone).env_remove("TEXPOOL_MODELS");
    let output = run.env("PATH", dir.path()).output().unwrap();
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        stderr(&output).contains("warning: the names of the classes could not be fetched: "),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout.contains("class 968") && stdout.contains("`texpool models fetch imagenet_labels` brings"),
        "{stdout}"
    );
}
