//! Recognises the kind of files that are not in a supported format, by their bytes.

use std::{fmt, path::Path};

/// Kind of a file that is neither a TensorFlow Lite nor an ONNX model.
///
/// ```
/// use std::sync::Arc;
/// use texpool::import::{FileKind, ImportError, from_bytes};
///
/// let refused = from_bytes(Arc::new(*b"GGUF\x03\0\0\0\0\0\0\0"));
/// assert!(matches!(refused, Err(ImportError::NotAModel { kind: FileKind::Gguf })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A PyTorch pickle of tensors, or of a module with tensors.
    TorchCheckpoint,
    /// A compiled PyTorch program.
    TorchScript,
    /// A PyTorch program that `torch.export` wrote.
    TorchExport,
    /// Any other Python pickle.
    Pickle,
    /// An archive of Keras.
    Keras,
    /// An HDF5 file, as written by older versions of Keras.
    Hdf5,
    /// Tensors by name, without a network.
    Safetensors,
    /// A language model for llama.cpp.
    Gguf,
    /// A TensorFlow program with its signatures.
    SavedModel,
    /// A TensorFlow graph without signatures.
    GraphDef,
    /// A model in ONNX Runtime's own format.
    Ort,
    /// An engine that TensorRT built for one GPU.
    TensorRt,
    /// A network for ncnn.
    Ncnn,
    /// A network for OpenVINO.
    OpenVino,
    /// A model for Apple's Core ML.
    CoreMl,
    /// A program for ExecuTorch.
    ExecuTorch,
    /// Weights without a network, as stored beside a network for ncnn or OpenVINO.
    Weights,
    /// An archive that contains models.
    ModelArchive,
    /// An archive that MediaPipe calls a task.
    MediaPipeTask,
    /// Any other zip archive.
    Zip,
    /// A gzip archive.
    Gzip,
    /// A Git LFS pointer instead of the actual file.
    GitLfsPointer,
    /// A web page or XML.
    WebPage,
    /// A picture.
    Picture,
    /// One or several NumPy arrays.
    NumpyArray,
    /// A PDF.
    Pdf,
    /// Too few bytes for any format.
    TooShort,
    /// Unknown kind.
    Unknown,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TorchCheckpoint => "it is a PyTorch checkpoint",
            Self::TorchScript => "it is a TorchScript program",
            Self::TorchExport => "it is a program of torch.export",
            Self::Pickle => "it is a Python pickle; export the model that it holds",
            Self::Keras => "it is a Keras model",
            Self::Hdf5 => "it is an HDF5 file, as older versions of Keras write",
            Self::Safetensors => "it is a safetensors file, which has weights and no network",
            Self::Gguf => "it is a GGUF file, a language model for llama.cpp",
            Self::SavedModel => "it is a TensorFlow SavedModel",
            Self::GraphDef => "it is a TensorFlow GraphDef",
            Self::Ort => "it is a model in ONNX Runtime's own format",
            Self::TensorRt => "it is a TensorRT engine",
            Self::Ncnn => "it is a network for ncnn",
            Self::OpenVino => "it is a network for OpenVINO",
            Self::CoreMl => "it is a Core ML model",
            Self::ExecuTorch => "it is an ExecuTorch program",
            Self::Weights => "it begins as no format that is known; such files have weights for ncnn or OpenVINO",
            Self::ModelArchive => "it is a zip archive with models in it; unpack it, and name one of these",
            Self::MediaPipeTask => {
                "it is a MediaPipe task, a zip archive of `.tflite` files; unpack it, and name one of these"
            }
            Self::Zip => "it is a zip archive; unpack it first",
            Self::Gzip => "it is a gzip archive; unpack it first",
            Self::GitLfsPointer => "it is a Git LFS pointer; fetch the file that it stands for with `git lfs pull`",
            Self::WebPage => "it is a web page or XML; the download went wrong",
            Self::Picture => "it is a picture; a model comes first, and the picture is an input",
            Self::NumpyArray => "it is a NumPy array; a model comes first, and the array is an input",
            Self::Pdf => "it is a PDF",
            Self::TooShort => "it is too short",
            Self::Unknown => "its first bytes are those of neither",
        })
    }
}

/// Most zeros in front of an archive. MediaPipe aligns the models in its archives by such zeros.
const MOST_ZEROS: usize = 64;
/// Number of bytes at either end of an archive that are searched for file names.
const NAMES: usize = 1 << 20;

impl FileKind {
    /// Recognises a file by its first bytes, and an archive also by its name. Returns `None` for unknown signatures.
    pub(super) fn of_signature(bytes: &[u8], path: Option<&Path>) -> Option<Self> {
        const STARTS: [(&[u8], FileKind); 22] = [
            (b"\x89PNG", FileKind::Picture),
            (b"\xff\xd8\xff", FileKind::Picture),
            (b"GIF8", FileKind::Picture),
            (b"RIFF", FileKind::Picture),
            (b"BM", FileKind::Picture),
            (b"II*\0", FileKind::Picture),
            (b"MM\0*", FileKind::Picture),
            (b"%PDF", FileKind::Pdf),
            (b"\x1f\x8b", FileKind::Gzip),
            (b"\x93NUMPY", FileKind::NumpyArray),
            (b"version https://git-lfs", FileKind::GitLfsPointer),
            (b"\x89HDF\r\n\x1a\n", FileKind::Hdf5),
            (b"GGUF", FileKind::Gguf),
            (b"ptrt", FileKind::TensorRt),
            (b"ftrt", FileKind::TensorRt),
            // ncnn's magic number, as text and in binary, and its flag for 16-bit weights.
            (b"7767517", FileKind::Ncnn),
            (b"\xdd\x85\x76\x00", FileKind::Ncnn),
            (b"\x47\x6b\x30\x01", FileKind::Weights),
            // A pickle that begins with PyTorch's magic number, and any other pickle.
            (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9", FileKind::TorchCheckpoint),
            (b"\x80\x02", FileKind::Pickle),
            (b"\x80\x04", FileKind::Pickle),
            (b"\x80\x05", FileKind::Pickle),
        ];
        if bytes.len() < 8 {
            return Some(Self::TooShort);
        }
        let start = || STARTS.iter().find(|(start, _)| bytes.starts_with(start)).map(|&(_, kind)| kind);
        match &bytes[4..8] {
            b"ORTM" => return Some(Self::Ort),
            b"ET12" => return Some(Self::ExecuTorch),
            b"ftyp" => return Some(Self::Picture),
            _ => {}
        }
        let zeros = bytes.iter().take(MOST_ZEROS).take_while(|&&byte| byte == 0).count();
        match bytes {
            _ if bytes[zeros..].starts_with(b"PK\x03\x04") => Some(match Self::of_archive(bytes) {
                Self::ModelArchive | Self::Zip if extension(path).as_deref() == Some("task") => Self::MediaPipeTask,
                kind => kind,
            }),
            [b'<', ..] if contains(&bytes[..bytes.len().min(512)], b"<net ") => Some(Self::OpenVino),
            [b'<', ..] => Some(Self::WebPage),
            _ if is_safetensors(bytes) => Some(Self::Safetensors),
            _ => start(),
        }
    }

    /// Recognises the contents of a zip archive by the file names in it.
    fn of_archive(bytes: &[u8]) -> Self {
        let (head, tail) = (&bytes[..bytes.len().min(NAMES)], &bytes[bytes.len().saturating_sub(NAMES)..]);
        let has = |name: &[u8]| contains(head, name) || contains(tail, name);
        match () {
            // These archives hold the weights as archives of tensors, whose names are in them, too.
            () if has(b"archive_format") || has(b"serialized_exported_program.json") => Self::TorchExport,
            () if has(b"data.pkl") && has(b"/code/") => Self::TorchScript,
            () if has(b"data.pkl") => Self::TorchCheckpoint,
            () if has(b"model.weights.h5") || (has(b"config.json") && has(b"metadata.json")) => Self::Keras,
            () if has(b".mlmodel") => Self::CoreMl,
            () if has(b"saved_model.pb") => Self::SavedModel,
            () if has(b".tflite") || has(b".onnx") => Self::ModelArchive,
            () if has(b".npy") => Self::NumpyArray,
            () => Self::Zip,
        }
    }

    /// Recognises a file that has no signature and does not look like an ONNX model: by its protobuf messages, or
    /// else by its name.
    pub(super) fn of_content(bytes: &[u8], path: Option<&Path>) -> Option<Self> {
        match extension(path).as_deref() {
            _ if is_saved_model(bytes) => Some(Self::SavedModel),
            _ if is_graph_def(bytes) => Some(Self::GraphDef),
            _ if is_core_ml(bytes) => Some(Self::CoreMl),
            Some("engine" | "plan" | "trt") => Some(Self::TensorRt),
            Some("bin") => Some(Self::Weights),
            _ => None,
        }
    }
}

/// Returns the extension of a file's name in small letters.
fn extension(path: Option<&Path>) -> Option<String> {
    path.and_then(Path::extension).map(|ending| ending.to_string_lossy().to_lowercase())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns whether a file begins with the length of a JSON text, followed by that text.
fn is_safetensors(bytes: &[u8]) -> bool {
    let stated = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    let fits = stated.is_some_and(|length| length >= 2 && length <= (bytes.len() as u64).saturating_sub(8));
    fits && bytes.get(8) == Some(&b'{')
}

/// A field of a protobuf message: its number, and its bytes if it is length-delimited.
type Field<'a> = (u64, Option<&'a [u8]>);

/// Iterates over the first fields of a message, up to the first unreadable one.
fn fields(mut bytes: &[u8]) -> impl Iterator<Item = Field<'_>> {
    /// The network is one of the first few fields of a Core ML model.
    const MOST: usize = 64;
    let next = move || {
        let tag = varint(&mut bytes)?;
        let content = match tag & 7 {
            0 => varint(&mut bytes).map(|_| None)?,
            1 => bytes.split_off(..8).map(|_| None)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                // The last field may be truncated; the available part is sufficient.
                let whole = length.min(bytes.len());
                Some(bytes.split_off(..whole)?)
            }
            5 => bytes.split_off(..4).map(|_| None)?,
            _ => return None,
        };
        Some((tag >> 3, content))
    };
    std::iter::from_fn(next).take(MOST)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Returns whether a message begins with schema version 1 and a graph with metadata, like `saved_model.pb`.
fn is_saved_model(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x08, 0x01, 0x12])
        && fields(bytes).nth(1).is_some_and(|(number, graph)| {
            number == 2
                && graph.is_some_and(|graph| fields(graph).any(|(number, inner)| number == 1 && inner.is_some()))
        })
}

/// Returns whether a message begins with a node that has a name followed by an operator, like a GraphDef.
fn is_graph_def(bytes: &[u8]) -> bool {
    let Some((1, Some(node))) = fields(bytes).next() else { return false };
    let mut parts = fields(node);
    let text = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic());
    let (name, operator) = (parts.next(), parts.next());
    matches!((name, operator), (Some((1, Some(name))), Some((2, Some(operator)))) if text(name)
        && text(operator) && operator[0].is_ascii_uppercase())
}

/// Returns whether a message has the fields of a Core ML model: a version, a description, and a network with a high
/// field number.
fn is_core_ml(bytes: &[u8]) -> bool {
    let numbers: Vec<u64> = fields(bytes).map(|(number, _)| number).collect();
    matches!(numbers[..], [1, 2, ..]) && numbers.iter().any(|number| (200..=3000).contains(number))
}
