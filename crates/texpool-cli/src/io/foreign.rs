//! Recognises files of other formats that are given as pictures, and names the command that converts them.

use super::{npy, python_literal, shell_word};
use std::path::Path;

/// Identifies a file that is neither PNG nor JPEG by its first bytes, and suggests a remedy.
pub(super) fn described(path: &Path, bytes: &[u8]) -> String {
    let [png, jpeg] = ["png", "jpg"].map(|extension| shell_word(&path.with_extension(extension)));
    let file = shell_word(path);
    let magick = |kind: &str, frame: &str| format!("it is {kind}: convert it with `magick {file}{frame} {png}`");
    match bytes {
        [] => "it is empty".into(),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            format!("it is a WebP picture: convert it with `dwebp {file} -o {png}`")
        }
        [_, _, _, _, b'f', b't', b'y', b'p', brands @ ..] => match brand(brands) {
            Some("avif") => format!("it is an AVIF picture: convert it with `avifdec {file} {png}`"),
            Some(_) => format!("it is a HEIC photo: convert it with `heif-convert {file} {jpeg}`"),
            None => format!("it is a video: take a picture of it with `ffmpeg -i {file} -frames:v 1 {png}`"),
        },
        [0xff, 0x0a, ..] | [0, 0, 0, 0x0c, b'J', b'X', b'L', b' ', ..] => {
            format!("it is a JPEG XL picture: convert it with `djxl {file} {png}`")
        }
        _ if bytes.starts_with(b"GIF8") => magick("a GIF", "[0]"),
        _ if bytes.starts_with(b"BM") => magick("a BMP", ""),
        _ if bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*") => magick("a TIFF", "[0]"),
        _ if bytes.starts_with(b"%PDF") => {
            let stem = path.with_extension("");
            format!("it is a PDF: draw its first page with `pdftoppm -png -singlefile {file} {}`", shell_word(&stem))
        }
        _ if is_svg(bytes) => format!("it is an SVG: draw it with `rsvg-convert {file} -o {png}`"),
        // FlatBuffers have their identifier in bytes four to seven.
        [_, _, _, _, b'T', b'F', b'L', b'3', ..] => "it is a TensorFlow Lite model".into(),
        _ if bytes.starts_with(npy::MAGIC) => "it is a NumPy array".into(),
        _ if bytes.starts_with(b"PK\x03\x04") && bytes.windows(4).any(|word| word == b".npy") => {
            let [archive, array] = [path, &path.with_extension("npy")].map(python_literal);
            format!(
                "it is an archive of NumPy arrays: take its first by `python -c \"import numpy; \
                 numpy.save({array}, next(iter(numpy.load({archive}).values())))\"`"
            )
        }
        _ if bytes.starts_with(b"PK\x03\x04") => "it is a zip archive, as .npz and .pt files are".into(),
        _ if bytes.starts_with(b"RIFF") => "it is a sound or a video".into(),
        _ if bytes.starts_with(b"<") => "it is XML or a web page; the download went wrong".into(),
        _ => "it begins as neither".into(),
    }
}

/// Returns the kind of still picture among the brands of an ISO media file: the major brand and the compatible ones.
fn brand(brands: &[u8]) -> Option<&'static str> {
    const AVIF: [&[u8]; 2] = [b"avif", b"avis"];
    const HEIC: [&[u8]; 8] = [b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"];
    let any = |of: &[&[u8]]| brands.chunks_exact(4).any(|brand| of.contains(&brand));
    match () {
        () if any(&AVIF) => Some("avif"),
        () if any(&HEIC) => Some("heic"),
        () => None,
    }
}

/// Returns true if text begins like an SVG drawing: with its element, or with a declaration that names it.
fn is_svg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"<") && bytes.windows(4).any(|word| word == b"<svg" || word == b" svg")
}
