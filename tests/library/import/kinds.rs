//! Other kinds of files given as models are recognised by their bytes.

use std::{fs, sync::Arc};
use texpool_model::import::{FileKind, ImportError, from_bytes, open};

fn kind(bytes: &[u8]) -> FileKind {
    match from_bytes(Arc::new(bytes.to_vec())) {
        Err(ImportError::NotAModel { kind }) => kind,
        other => panic!("{other:?}"),
    }
}

/// The head of a zip archive's entry, and its directory at the end with these names.
fn zip(names: &[&str]) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend([0; 2_000]);
    for name in names {
        bytes.extend(b"PK\x01\x02");
        bytes.extend(name.as_bytes());
    }
    bytes
}

/// A field of a protocol buffer's message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, content.len() as u8][..], content].concat()
}

#[test]
fn files_of_other_programs_are_called_what_they_are() {
    let padded = |start: &[u8]| [start, &[0; 64]].concat();
    let safetensors = [&10u64.to_le_bytes()[..], b"{\"a\": {}} ", &[0; 8]].concat();
    let node = field(1, &[field(1, b"input"), field(2, b"Placeholder")].concat());
    let saved = [&[0x08, 0x01][..], &field(2, &field(1, &field(1, b"x")))].concat();
    let network = [&[0xa2, 0x1f, 2][..], &[0x0a, 0]].concat();
    let core_ml = [&[0x08, 0x05][..], &field(2, &field(1, b"")), &network].concat();
    for (bytes, expected) in [
        (zip(&["archive/data.pkl", "archive/data/0"]), FileKind::TorchCheckpoint),
        (zip(&["m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"]), FileKind::TorchScript),
        (zip(&["m/archive_format", "m/models/model.json", "m/data/weights/data.pkl"]), FileKind::TorchExport),
        (zip(&["serialized_exported_program.json", "serialized_state_dict.pt"]), FileKind::TorchExport),
        (zip(&["metadata.json", "config.json", "model.weights.h5"]), FileKind::Keras),
        (zip(&["x.npy", "y.npy"]), FileKind::NumpyArray),
        (zip(&["hand_detector.tflite"]), FileKind::ModelArchive),
        ([&[0; 2][..], &zip(&["hand_detector.tflite"])].concat(), FileKind::ModelArchive),
        (zip(&["Manifest.json", "Data/com.apple.CoreML/model.mlmodel"]), FileKind::CoreMl),
        (zip(&["readme.txt"]), FileKind::Zip),
        (padded(b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), FileKind::TorchCheckpoint),
        (padded(b"\x80\x04\x95"), FileKind::Pickle),
        (safetensors, FileKind::Safetensors),
        (padded(b"GGUF\x03\0\0\0"), FileKind::Gguf),
        (padded(b"\x89HDF\r\n\x1a\n"), FileKind::Hdf5),
        (saved, FileKind::SavedModel),
        (node, FileKind::GraphDef),
        (padded(b"\x1c\0\0\0ORTM"), FileKind::Ort),
        (padded(b"ftrt"), FileKind::TensorRt),
        (b"7767517\n75 83\nInput data 0 1 data\n".to_vec(), FileKind::Ncnn),
        (b"<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">".to_vec(), FileKind::OpenVino),
        (b"<!DOCTYPE html><html>".to_vec(), FileKind::WebPage),
        (core_ml, FileKind::CoreMl),
        (padded(b"\0\0\0\x18ftypheic"), FileKind::Picture),
        (padded(b"%PDF-1.7"), FileKind::Pdf),
        (b"short".to_vec(), FileKind::TooShort),
        (vec![0xff; 64], FileKind::Unknown),
    ] {
        assert_eq!(kind(&bytes), expected, "{:?}", &bytes[..bytes.len().min(20)]);
        // A file cut at any point must not cause a panic.
        (0..bytes.len()).step_by(7).for_each(|end| drop(from_bytes(Arc::new(bytes[..end].to_vec()))));
    }
}

/// MediaPipe's archives begin with zeros, and only their names say what they are.
#[test]
fn archives_of_mediapipe_are_called_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let of = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        match open(&path) {
            Err(ImportError::NotAModel { kind }) => kind,
            other => panic!("{other:?}"),
        }
    };
    let archive = [&[0; 2][..], &zip(&["hand_detector.tflite"])].concat();
    assert_eq!(of("hand.task", &archive), FileKind::MediaPipeTask);
    assert_eq!(of("hand.TASK", &zip(&["TF_LITE_PREFILL_DECODE"])), FileKind::MediaPipeTask);
    assert_eq!(of("hand.zip", &archive), FileKind::ModelArchive);
    assert_eq!(of("hand.task", &[0; 64]), FileKind::Unknown);
}
