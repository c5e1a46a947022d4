//! Suggests commands that convert an unsupported model to a supported format.

use crate::io::{python_literal, shell_word};
use std::path::Path;
use texpool_model::import::{FileKind, folder_of};

/// Returns advice for a file of that kind, on a separate line; empty if the name of the kind is explanation enough.
pub(super) fn hint(kind: FileKind, path: &Path) -> String {
    let onnx = path.with_extension("onnx");
    let (literal, onnx_literal) = (python_literal(path), python_literal(&onnx));
    let folder = folder_of(path);
    let exported = |load: String| {
        format!(
            "convert it: python -c \"import torch; torch.onnx.export({load}.eval(), torch.zeros(1, 3, 224, 224), \
             {onnx_literal})\", with the extents of its input"
        )
    };
    let original = |of: &str| format!("there is no way back from it: take {of}");
    let todo = match kind {
        FileKind::TorchCheckpoint => {
            exported(format!("torch.load({literal}, weights_only=False)"))
                + "; if it has weights alone, load them into the model that they are of"
        }
        FileKind::TorchScript => exported(format!("torch.jit.load({literal})")),
        FileKind::TorchExport => format!(
            "convert it: python -c \"import torch; torch.onnx.export(torch.export.load({literal}), f={onnx_literal}, \
             dynamo=True)\""
        ),
        FileKind::Keras | FileKind::Hdf5 => format!(
            "convert it: python -c \"import keras; keras.saving.load_model({literal}).export({onnx_literal}, format='onnx')\""
        ),
        FileKind::SavedModel => saved_model(folder),
        FileKind::GraphDef => format!(
            "convert it: python -m tf2onnx.convert --graphdef {} --output {} --inputs INPUT:0 --outputs OUTPUT:0",
            shell_word(path),
            shell_word(&onnx)
        ),
        FileKind::MediaPipeTask => {
            let unpacked = path.with_extension("");
            format!("unpack it: python -m zipfile -e {} {}", shell_word(path), shell_word(&unpacked))
        }
        FileKind::Safetensors => hugging_face(folder),
        FileKind::Gguf => original("the weights that it was made of: optimum-cli export onnx --model NAME FOLDER"),
        FileKind::Ort | FileKind::TensorRt => original("the .onnx file that it was made of"),
        FileKind::Ncnn | FileKind::OpenVino | FileKind::CoreMl | FileKind::ExecuTorch | FileKind::Weights => original(
            "the model that it was made of, and export that: torch.onnx.export in PyTorch, `python -m \
                      tf2onnx.convert` for TensorFlow",
        ),
        _ => return String::new(),
    };
    format!("\n  {todo}")
}

/// Returns advice for a folder that contains a whole model; empty for other folders.
pub(super) fn hint_for_folder(path: &Path) -> String {
    let has = |name: &str| path.join(name).exists();
    let todo = match () {
        () if has("saved_model.pb") => saved_model(path),
        () if has("config.json") && (has("model.safetensors") || has("pytorch_model.bin")) => hugging_face(path),
        () if has("Manifest.json") && has("Data") => return hint(FileKind::CoreMl, path),
        () => return String::new(),
    };
    format!("\n  {todo}")
}

fn saved_model(folder: &Path) -> String {
    let folder = shell_word(folder);
    format!("convert it: python -m tf2onnx.convert --saved-model {folder} --output model.onnx")
}

fn hugging_face(folder: &Path) -> String {
    let folder = shell_word(folder);
    format!("convert it: optimum-cli export onnx --model {folder} exported")
}
