//! Accepted inputs and models of the command, and its messages for everything else. Only the photos need a device.

use crate::{
    arguments::{refused, stderr_of, texpool},
    command,
    onnx_model::{FLOAT, Model, bytes, number},
};
use npyz::WriterBuilder;
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
};
use texpool_cli::io::write_npy;

/// Numbers of element types in `.onnx` files.
const UINT8: i64 = 2;
const INT64: i64 = 7;

/// A model that adds its input to itself, with two elements of a type.
fn doubled(folder: &Path, file: &str, kind: i64, dims: &[i64]) {
    let mut model = Model::new();
    let dims: Vec<Vec<u8>> = dims.iter().map(|&extent| number(1, extent)).collect();
    model.raw_input("x", kind, &dims);
    model.raw_node("Add", &["x", "x"], &["y"], &[]);
    model.output("y");
    fs::write(folder.join(file), model.bytes()).unwrap();
}

fn npy<T: npyz::AutoSerialize + Copy>(folder: &Path, file: &str, values: &[T]) {
    let to = File::create(folder.join(file)).unwrap();
    let shape = [values.len() as u64];
    let mut npy = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(to).begin_nd().unwrap();
    npy.extend(values.iter().copied()).unwrap();
    npy.finish().unwrap();
}

#[test]
fn values_that_do_not_fit_the_type_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    doubled(dir.path(), "long.onnx", INT64, &[2]);
    doubled(dir.path(), "byte.onnx", UINT8, &[2]);
    doubled(dir.path(), "float.onnx", FLOAT, &[2]);
    npy(dir.path(), "fractions.npy", &[1.0f32, 1.5]);
    npy(dir.path(), "signs.npy", &[-3.0f32, 300.0]);
    npy(dir.path(), "nan.npy", &[f32::NAN, 1.0]);
    npy(dir.path(), "large.npy", &[1i64, (1 << 24) + 1]);
    npy(dir.path(), "huge.npy", &[1e300f64, 1.0]);
    npy(dir.path(), "three.npy", &[1.0f32; 3]);
    for (model, file, words) in [
        ("long.onnx", "fractions.npy", &["input `x`: fractions.npy: element [1] is 1.5", "i64", "np.rint"][..]),
        ("byte.onnx", "signs.npy", &["input `x`: signs.npy: element [0] is -3.0", "u8, 0 to 255"]),
        ("long.onnx", "nan.npy", &["element [0] is NaN", "i64"]),
        ("long.onnx", "large.npy", &["element [1] is 16777217", "16777216"]),
        ("float.onnx", "huge.npy", &["element [0] is 1e300", "32-bit floats"]),
        ("float.onnx", "three.npy", &["input `x`: three.npy has shape [3] instead of [2]"]),
    ] {
        refused(dir.path(), &["run", model, "--input", file], 1, words);
    }
    refused(dir.path(), &["compare", "long.onnx", "--input", "fractions.npy", "--against", "cpu"], 2, &["1.5"]);
    // Integers that are not exact in 16 bits.
    npy(dir.path(), "thousands.npy", &[1i64, 3001]);
    let half = ["run", "long.onnx", "--input", "thousands.npy", "--precision", "f16"];
    refused(dir.path(), &half, 1, &["element [1] is 3001", "16-bit floats"]);
}

/// With correct inputs the command goes on to open the device, which fails here.
#[test]
fn pictures_are_whole_numbers_where_the_input_is() {
    let dir = tempfile::tempdir().unwrap();
    doubled(dir.path(), "byte.onnx", UINT8, &[1, 2, 2, 3]);
    image::RgbImage::from_fn(2, 2, |x, y| image::Rgb([(x + y) as u8; 3])).save(dir.path().join("p.png")).unwrap();
    let run = ["run", "byte.onnx", "--input", "p.png"];
    refused(dir.path(), &run, 1, &["no GPU adapter"]);
    let signed = [&run[..], &["--range", "signed"]].concat();
    refused(dir.path(), &signed, 1, &["input `x`: p.png", "values such as -1", "integers of type u8", "(--range raw)"]);
    refused(dir.path(), &[&run[..], &["--mean", "0.5"]].concat(), 2, &["--std"]);
    refused(dir.path(), &[&run[..], &["--mean", "0.5", "--std", "0"]].concat(), 2, &["cannot be divided by"]);
    refused(dir.path(), &[&run[..], &["--mean", "1,2", "--std", "1"]].concat(), 2, &["three channels"]);
}

/// With a fitting array the command goes on to open the device, which fails here.
#[test]
fn an_array_may_have_fewer_rows_than_the_bound() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    model.raw_input("x", FLOAT, &[bytes(2, b"n"), number(1, 2)]);
    model.raw_node("Add", &["x", "x"], &["y"], &[]);
    model.output("y");
    fs::write(dir.path().join("open.onnx"), model.bytes()).unwrap();
    for rows in [2, 4] {
        write_npy(&dir.path().join(format!("{rows}.npy")), &[rows, 2], &vec![1.0; rows * 2]).unwrap();
    }
    let run = |file| ["run", "open.onnx", "--dim", "n<=3", "--input", file];
    refused(dir.path(), &run("2.npy"), 1, &["no GPU adapter"]);
    refused(dir.path(), &run("4.npy"), 1, &["has shape [4, 2] instead of [≤3, 2]"]);
    refused(dir.path(), &["plan", "open.onnx", "--dim", "n<=3", "--dim", "n=2"], 2, &["--dim says twice what `n` is"]);
    let file = dir.path().join("open.onnx");
    let plan = ["plan", file.to_str().unwrap(), "--dim", "n<=3"];
    let text = command::texpool(&plan);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("one plan for each extent up to the bound: input x [≤3, 2], output y [≤3, 2]"), "{text}");
    let document: Value = serde_json::from_slice(&command::texpool(&[&plan[..], &["--json"]].concat()).stdout).unwrap();
    let open = &document["open_extents"];
    assert_eq!(
        open[1],
        serde_json::json!({ "role": "output", "name": "y", "shape": [3, 2], "axes": [0] }),
        "{document}"
    );
}

/// A picture keeps its aspect ratio where the height and the width are open.
#[test]
fn pictures_have_the_size_that_fits_the_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    model.raw_input("x", FLOAT, &[number(1, 1), number(1, 3), bytes(2, b"h"), bytes(2, b"w")]);
    model.raw_node("Add", &["x", "x"], &["y"], &[]);
    model.output("y");
    fs::write(dir.path().join("open.onnx"), model.bytes()).unwrap();
    for (name, w, h) in [("small", 40, 24), ("wide", 300, 60)] {
        image::RgbImage::new(w, h).save(dir.path().join(format!("{name}.png"))).unwrap();
    }
    for [h, w] in [[24, 40], [20, 40]] {
        write_npy(&dir.path().join(format!("{h}.npy")), &[1, 3, h, w], &vec![1.0; 3 * h * w]).unwrap();
    }
    let run = |file| ["run", "open.onnx", "--dim", "h<=64:8", "--dim", "w<=96:8", "--input", file];
    for file in ["small.png", "wide.png", "24.npy"] {
        refused(dir.path(), &run(file), 1, &["no GPU adapter"]);
    }
    let bad = ["run", "open.onnx", "--dim", "h<=60:8", "--dim", "w=8"];
    refused(dir.path(), &bad, 2, &["`60` is no multiple of 8; 56 is one"]);
}

#[test]
fn standard_input_is_an_input_once() {
    let dir = tempfile::tempdir().unwrap();
    doubled(dir.path(), "float.onnx", FLOAT, &[2]);
    npy(dir.path(), "two.npy", &[1.0f32, 2.0]);
    npy(dir.path(), "three.npy", &[1.0f32; 3]);
    let run = ["run", "float.onnx", "--input", "-"];
    let redirected = texpool(dir.path(), &run).stdin(File::open(dir.path().join("two.npy")).unwrap()).output().unwrap();
    assert!(stderr_of(&redirected).contains("no GPU adapter"), "{}", stderr_of(&redirected));
    let mut piped = texpool(dir.path(), &run);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all(&fs::read(dir.path().join("three.npy")).unwrap()).unwrap();
    let piped = piped.wait_with_output().unwrap();
    assert!(stderr_of(&piped).contains("has shape [3] instead of [2]"), "{}", stderr_of(&piped));
    let twice = ["run", "float.onnx", "--input", "-", "--input", "-"];
    refused(dir.path(), &twice, 2, &["standard input can be read once"]);
}

#[test]
fn an_output_that_is_compared_is_called_an_output() {
    let dir = tempfile::tempdir().unwrap();
    doubled(dir.path(), "float.onnx", FLOAT, &[2]);
    npy(dir.path(), "two.npy", &[1.0f32, 2.0]);
    npy(dir.path(), "three.npy", &[1.0f32; 3]);
    let at = |file: &str| dir.path().join(file).to_str().unwrap().to_owned();
    let compared =
        command::texpool(&["compare", &at("float.onnx"), "--input", &at("two.npy"), "--against", &at("three.npy")]);
    let text = command::stderr(&compared);
    assert_eq!(compared.status.code(), Some(2), "{text}");
    assert!(text.contains("output `y`: ") && text.contains("has shape [3] instead of [2]"), "{text}");
    assert!(!text.contains("input"), "{text}");
}

/// A photo with more pixels than the limit for decoding it whole takes no more memory than one at the limit.
#[test]
fn a_large_photo_is_read_in_bounded_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.png");
    let (width, height) = (12_000u32, 7_000u32);
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(&path).unwrap()), width, height);
    encoder.set_depth(png::BitDepth::One);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&vec![0x55; (width / 8 * height) as usize]).unwrap();
    writer.finish().unwrap();
    doubled(dir.path(), "small.onnx", FLOAT, &[1, 3, 16, 16]);
    // Decoded whole, its pixels alone would take 252 MB, and the grey values 84.
    let script = r#"ulimit -v 300000; exec "$0" run small.onnx --input large.png"#;
    let mut run = Command::new("bash");
    run.args(["-c", script, env!("CARGO_BIN_EXE_texpool")]).current_dir(dir.path());
    run.envs([("VK_DRIVER_FILES", crate::ABSENT), ("VK_ICD_FILENAMES", crate::ABSENT), ("TEXPOOL_NO_INSTALL", "1")]);
    let output = run.output().unwrap();
    assert!(stderr_of(&output).contains("no GPU adapter"), "{}", stderr_of(&output));
}

#[test]
fn other_kinds_of_files_are_named_with_a_command_that_converts_them() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let zip = |name: &str, files: &[&str]| {
        let mut zip = zip::ZipWriter::new(File::create(at(name)).unwrap());
        for file in files {
            zip.start_file(*file, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(b"\x80\x02").unwrap();
        }
        zip.finish().unwrap();
    };
    zip("torch.pt", &["archive/data.pkl", "archive/version"]);
    zip("net.pt2", &["net/archive_format", "net/models/model.json", "net/data/weights/model.pt", "data.pkl"]);
    zip("net.keras", &["metadata.json", "config.json", "model.weights.h5"]);
    fs::write(at("w.safetensors"), [&2u64.to_le_bytes()[..], b"{}"].concat()).unwrap();
    fs::write(at("llm.gguf"), b"GGUF\x03\0\0\0").unwrap();
    fs::write(at("net.h5"), b"\x89HDF\r\n\x1a\n").unwrap();
    fs::write(at("net.ort"), b"\x1c\0\0\0ORTM").unwrap();
    fs::write(at("weights.bin"), [0xffu8; 64]).unwrap();
    fs::create_dir(at("saved")).unwrap();
    fs::write(at("saved/saved_model.pb"), [0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x0a, 0x00]).unwrap();
    for (file, words) in [
        ("torch.pt", &["it is a PyTorch checkpoint", "torch.load('torch.pt'", "'torch.onnx'"][..]),
        ("net.pt2", &["torch.export", "torch.onnx.export(torch.export.load('net.pt2'), f='net.onnx', dynamo=True)"]),
        ("net.keras", &["it is a Keras model", "keras.saving.load_model('net.keras').export('net.onnx'"]),
        ("w.safetensors", &["it is a safetensors file", "optimum-cli export onnx --model ."]),
        ("llm.gguf", &["it is a GGUF file", "optimum-cli"]),
        ("net.h5", &["it is an HDF5 file", "load_model('net.h5')"]),
        ("net.ort", &["ONNX Runtime's own format", "the .onnx file that it was made of"]),
        ("weights.bin", &["weights for ncnn or OpenVINO"]),
        ("saved/saved_model.pb", &["TensorFlow SavedModel", "tf2onnx.convert --saved-model saved"]),
        ("saved", &["is a folder", "tf2onnx.convert --saved-model saved"]),
    ] {
        refused(dir.path(), &["plan", file], 1, words);
        assert!(!stderr_of(&texpool(dir.path(), &["plan", file]).output().unwrap()).contains("unpack"), "{file}");
    }
}

#[test]
fn a_slip_of_the_keyboard_is_understood() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["run", "mobilnet_v2"][..], &["models", "fetch", "mobilnet_v2"]] {
        refused(dir.path(), args, 1, &["did you mean `mobilenet_v2`?", "texpool models list"]);
        assert!(stderr_of(&texpool(dir.path(), args).output().unwrap()).len() < 200);
    }
}

#[test]
fn standard_input_is_read_for_one_thing() {
    let dir = tempfile::tempdir().unwrap();
    doubled(dir.path(), "float.onnx", FLOAT, &[2]);
    for args in [
        &["compare", "float.onnx", "--input", "-", "--against", "-"][..],
        &["compare", "float.onnx", "--against", "-", "--against", "-"],
        &["run", "float.onnx", "--input", "-", "--input", "-"],
    ] {
        refused(dir.path(), args, 2, &["standard input can be read once"]);
    }
}

/// A log written to a file has no colours, and sizes are accepted in upper and lower case.
#[test]
fn a_log_in_a_file_has_no_colours_and_sizes_are_read_in_any_case() {
    let dir = tempfile::tempdir().unwrap();
    doubled(dir.path(), "float.onnx", FLOAT, &[2]);
    let plan = ["plan", "float.onnx", "--budget", "4mb"];
    let logged = texpool(dir.path(), &plan).env("TEXPOOL_LOG", "trace").output().unwrap();
    assert!(logged.status.success(), "{}", stderr_of(&logged));
    assert!(!stderr_of(&logged).is_empty() && !stderr_of(&logged).contains('\u{1b}'), "{}", stderr_of(&logged));
}

fn shown(photo: &str, model: &str) -> Value {
    command::json(&["run", model, "--input", &command::fetched(photo), "--json"])
}

/// Photos as each publisher prepares them, and the first of the classes.
#[test]
fn photos_are_prepared_as_the_catalogue_says() {
    for (model, photo, label) in [
        ("mobilenet_v2", "coffee", "espresso"),
        ("mobilenet_v2", "chelsea", "Egyptian cat"),
        ("mobilenet_v1", "coffee", "espresso"),
        ("efficientnet_lite0", "coffee", "espresso"),
    ] {
        let answer = shown(photo, model);
        let class = &answer["outputs"][0]["classes"][0];
        assert_eq!(class["label"], label, "{model} of {photo}: {}", answer["outputs"][0]["classes"]);
        assert_eq!(answer["inputs"][0]["preprocessing"]["chosen_by"], "catalogue");
        if (model, photo) == ("mobilenet_v2", "coffee") {
            assert!(class["share"].as_f64() > Some(0.9), "{class}");
        }
    }
    let coffee = command::fetched("coffee");
    // Preparation works for a named file, too, since its bytes are recognised.
    let path = command::fetched("mobilenet_v2");
    let text = command::texpool(&["run", &path, "--input", &coffee, "--details"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let line = "photo → 224x224, centre crop of 0.875, ImageNet mean and deviation (from the catalogue)";
    assert!(text.contains(line) && text.contains("espresso (967)"), "{text}");
    let changed = command::json(&["run", &path, "--input", &coffee, "--range", "unit", "--json"]);
    let used = &changed["inputs"][0]["preprocessing"];
    assert_eq!((&used["range"], &used["fit"]), (&"unit".into(), &"centre".into()), "{used}");
    assert_eq!(used["chosen_by"], "catalogue_and_flags");
}

#[test]
fn the_catalogue_prepares_pictures_for_all_but_text() {
    let catalogue = texpool_cli::fetch::Catalog::builtin().unwrap();
    let models = catalogue.files.iter().filter(|entry| entry.kind == texpool_cli::fetch::Kind::Model);
    for entry in models {
        let preprocessing = entry.preprocessing.as_ref();
        assert_eq!(preprocessing.is_none(), ["minilm", "mobilebert"].contains(&&*entry.name), "{}", entry.name);
        assert!(preprocessing.is_none_or(|preprocessing| preprocessing.source.len() > 10), "{}", entry.name);
        let labels = entry.labels.as_ref().map(|labels| catalogue.entry(&labels.entry).map(|list| list.kind));
        assert!(labels.is_none_or(|kind| kind.unwrap() == texpool_cli::fetch::Kind::Labels), "{}", entry.name);
    }
}
