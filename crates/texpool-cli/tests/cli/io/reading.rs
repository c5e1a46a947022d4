//! Reading: arrays of every type, incomplete pictures, and paths that are not files.

use image::{Rgb, RgbImage};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{Cursor, Write},
    os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    path::Path,
    thread,
    time::{Duration, Instant},
};
use texpool_cli::io::{InputFile, IoError, printable, printable_lines, read_npy, read_picture, read_text};

/// Far above any time limit of the library, on any machine.
const NOT_A_HANG: Duration = Duration::from_secs(60);

/// An array with this header's dictionary.
fn array(path: &Path, dictionary: &str, data: &[u8]) {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dictionary.len() as u16).to_le_bytes());
    fs::write(path, [&bytes, dictionary.as_bytes(), data].concat()).unwrap();
}

fn plain(path: &Path, descr: &str, fortran: &str, shape: &str, data: &[u8]) {
    array(path, &format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"), data);
}

/// Guards integers, booleans and byte orders: values that 32-bit floats represent are taken unchanged.
#[test]
fn arrays_of_every_type_that_floats_can_hold_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let cases: [(&str, Vec<u8>); 18] = [
        ("|b1", vec![0, 1, 1, 0]),
        ("|i1", [0i8, 1, -128, 127].map(|v| v as u8).to_vec()),
        ("|u1", vec![0, 1, 128, 255]),
        ("<i2", [0i16, 1, -32768, 32767].map(i16::to_le_bytes).concat()),
        (">i2", [0i16, 1, -32768, 32767].map(i16::to_be_bytes).concat()),
        ("<u2", [0u16, 1, 32768, 65535].map(u16::to_le_bytes).concat()),
        (">u2", [0u16, 1, 32768, 65535].map(u16::to_be_bytes).concat()),
        ("<i4", [0i32, 1, -(1 << 24), i32::MIN].map(i32::to_le_bytes).concat()),
        (">i4", [0i32, 1, -(1 << 24), i32::MIN].map(i32::to_be_bytes).concat()),
        ("<u4", [0u32, 1, 1 << 24, 1 << 31].map(u32::to_le_bytes).concat()),
        ("<i8", [0i64, 1, (1 << 24) + 2, i64::MIN].map(i64::to_le_bytes).concat()),
        (">i8", [0i64, 1, (1 << 24) + 2, i64::MIN].map(i64::to_be_bytes).concat()),
        ("<u8", [0u64, 1, 1 << 40, 1 << 63].map(u64::to_le_bytes).concat()),
        ("<f2", [0.0, 1.0, -2.5, 65504.0].map(|v| half::f16::from_f32(v).to_le_bytes()).concat()),
        (">f2", [0.0, 1.0, -2.5, 65504.0].map(|v| half::f16::from_f32(v).to_be_bytes()).concat()),
        (">f4", [0.0f32, 1.0, -2.5, 3e38].map(f32::to_be_bytes).concat()),
        ("<f8", [0.0f64, 1.0, -2.5, 1e38].map(f64::to_le_bytes).concat()),
        (">f8", [0.0f64, 1.0, -2.5, f64::INFINITY].map(f64::to_be_bytes).concat()),
    ];
    let last = [
        0.0,
        127.0,
        255.0,
        32767.0,
        32767.0,
        65535.0,
        65535.0,
        -2147483648.0,
        -2147483648.0,
        2147483648.0,
        -9223372036854775808.0,
        -9223372036854775808.0,
        9223372036854775808.0,
        65504.0,
        65504.0,
        3e38,
        1e38f32,
        f32::INFINITY,
    ];
    for ((descr, data), last) in cases.iter().zip(last) {
        plain(&path, descr, "False", "(2, 2)", data);
        let row_major = read_npy(&path, &[2, 2]).unwrap_or_else(|e| panic!("{descr}: {e}"));
        assert_eq!((row_major[0], row_major[1], row_major[3]), (0.0, 1.0, last), "{descr}");
        plain(&path, descr, "True", "(2, 2)", data);
        let column_major = read_npy(&path, &[2, 2]).unwrap();
        let turned = [row_major[0], row_major[2], row_major[1], row_major[3]];
        assert_eq!(column_major, turned, "{descr}");
    }
}

/// Guards the numbers: an array with too many elements to count was not read.
#[test]
fn extents_whose_product_overflows_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    for (shape, expected) in [("(4294967296, 4294967296)", &[1 << 32, 1 << 32][..]), ("(0, 2)", &[0, 1 << 32, 1 << 32])]
    {
        plain(&path, "<f4", "True", shape, &[0; 16]);
        let error = read_npy(&path, expected).unwrap_err();
        assert!(error.to_string().contains("more elements than can be counted"), "{error}");
    }
}

/// Guards numbers: the error for a value that a float would round names its position.
#[test]
fn integers_that_floats_would_round_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let integers = [1i64, 2, 3, 4, (1 << 24) + 1, 6].map(i64::to_le_bytes).concat();
    for (fortran, index) in [("False", "[1, 1]"), ("True", "[0, 2]")] {
        plain(&path, "<i8", fortran, "(2, 3)", &integers);
        let error = read_npy(&path, &[2, 3]).unwrap_err();
        assert!(matches!(error, IoError::Element { .. }), "{error}");
        assert!(error.to_string().contains(index) && error.to_string().contains("16777217"), "{error}");
    }
    plain(&path, "<u8", "False", "(1,)", &u64::MAX.to_le_bytes());
    assert!(matches!(read_npy(&path, &[1]).unwrap_err(), IoError::Element { .. }));
    plain(&path, "<f8", "False", "(1,)", &1e300f64.to_le_bytes());
    assert!(matches!(read_npy(&path, &[1]).unwrap_err(), IoError::Element { .. }));
}

/// Guards the message for non-numeric types, and that no such value is interpreted.
#[test]
fn arrays_of_other_types_are_refused_by_type() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    for (descr, words) in [
        ("'<c8'", "complex numbers"),
        ("'<f16'", "128-bit floats"),
        ("'|O'", "Python objects"),
        ("'<U7'", "text"),
        ("'|S3'", "text"),
        ("'|V4'", "raw data"),
        ("'<M8[s]'", "dates"),
        ("[('a', '<f4'), ('b', '<i4', (2, 3))]", "records of named fields"),
    ] {
        array(&path, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n"), &[0; 64]);
        let error = read_npy(&path, &[1]).unwrap_err();
        assert!(matches!(error, IoError::DType { .. }), "{descr}: {error}");
        assert!(error.to_string().contains(words) && error.to_string().contains("float32"), "{error}");
    }
}

/// Guards the parser of headers, which recurses as deep as the brackets and could allocate any stated length.
#[test]
fn hostile_headers_are_refused_in_bounded_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let begun = Instant::now();
    for depth in [9, 30, 3000] {
        let nested = format!("{{'descr': {}1{}}}\n", "(".repeat(depth), ")".repeat(depth));
        array(&path, &nested, &[]);
        assert!(read_npy(&path, &[1]).unwrap_err().to_string().contains("nested"));
    }
    // A length of 4 GiB, with and without that much behind it.
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{";
    fs::write(&path, long).unwrap();
    assert!(read_npy(&path, &[1]).unwrap_err().to_string().contains("too long"));
    File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(read_npy(&path, &[1]).unwrap_err().to_string().contains("too long"));
    fs::write(&path, b"PK\x03\x04 and more").unwrap();
    assert!(read_npy(&path, &[1]).unwrap_err().to_string().contains(".npz"));
    fs::write(&path, b"").unwrap();
    assert!(read_npy(&path, &[1]).unwrap_err().to_string().contains("empty"));
    assert!(begun.elapsed() < NOT_A_HANG);
}

/// Guards memory: of a file of any length, only the necessary part is read.
#[test]
fn files_without_end_are_read_as_far_as_needed_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let begun = Instant::now();
    let lengthen = || File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    plain(&path, "<i8", "False", "(1,)", &7i64.to_le_bytes());
    lengthen();
    assert_eq!(read_npy(&path, &[1]).unwrap(), [7.0]);
    for start in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff\xe0"] {
        fs::write(&path, start).unwrap();
        lengthen();
        assert!(matches!(read_picture(&path).unwrap_err(), IoError::TooLarge { .. }));
    }
    fs::write(&path, b"a").unwrap();
    lengthen();
    assert!(matches!(read_text(&path).unwrap_err(), IoError::TooLarge { .. }));
    assert!(matches!(read_picture(&path).unwrap_err(), IoError::NotAPicture { .. }));
    assert!(begun.elapsed() < NOT_A_HANG);
}

/// Guards against devices without end, and against folders and sockets.
#[test]
fn devices_folders_and_sockets_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let _listening = UnixListener::bind(&socket).unwrap();
    let link = dir.path().join("link.png");
    symlink("/dev/zero", &link).unwrap();
    for (path, what) in [(dir.path(), "a folder"), (&socket, "a socket"), (&link, "a device")] {
        for refused in [read_npy(path, &[1]).map(|_| ()), read_picture(path).map(|_| ()), read_text(path).map(|_| ())] {
            let error = refused.unwrap_err();
            assert!(matches!(error, IoError::NotAFile { .. }) && error.to_string().contains(what), "{error}");
        }
    }
}

/// Guards pipes: the reader waits for a writer and recognises the content by its first bytes, but never waits
/// endlessly.
#[test]
fn pipes_are_read_from_a_writer_and_given_up_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let (path, source) = (dir.path().join("pipe"), dir.path().join("a.npy"));
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let values: Vec<u8> = (0..200_000).flat_map(|i| (i as f32).to_le_bytes()).collect();
    plain(&source, "<f4", "False", "(200000,)", &values);
    let bytes = fs::read(&source).unwrap();
    let to = path.clone();
    let writer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        let mut pipe = File::options().write(true).open(to).unwrap();
        for part in bytes.chunks(100_000) {
            pipe.write_all(part).unwrap();
            // A pause of the writer is not the end of the file.
            thread::sleep(Duration::from_millis(20));
        }
    });
    let input = InputFile::open(&path).unwrap();
    assert!(input.is_array());
    let read = input.array(&[200_000]).unwrap();
    writer.join().unwrap();
    assert!(read.iter().enumerate().all(|(i, &v)| v == i as f32));
    let begun = Instant::now();
    let error = read_text(&path).unwrap_err();
    assert!(error.to_string().contains("nobody has written to this pipe for 5 s"), "{error}");
    assert!(begun.elapsed() < NOT_A_HANG);
}

fn jpeg() -> Vec<u8> {
    let photo = RgbImage::from_fn(64, 48, |x, y| Rgb([(x * 4) as u8, (y * 5) as u8, ((x * y) % 256) as u8]));
    let mut bytes = Vec::new();
    photo.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Jpeg).unwrap();
    bytes
}

/// Guards the network's input: the missing part of a photo was once filled with grey.
#[test]
fn a_jpeg_that_is_cut_anywhere_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("photo.jpg");
    let whole = jpeg();
    for cut in (3..whole.len()).step_by(7).chain([whole.len() - 2, whole.len() - 1]) {
        fs::write(&path, &whole[..cut]).unwrap();
        let error = read_picture(&path).unwrap_err();
        assert!(matches!(error, IoError::Malformed { .. }), "{cut}: {error}");
        assert!(error.to_string().contains("photo.jpg") && error.to_string().contains("cut short"), "{error}");
    }
    // An embedded thumbnail has an end marker too, which is not the end of the picture.
    let inner = [&[0xff, 0xe1, 0, 12][..], b"thumb\0", &[0xff, 0xd9, 0xff, 0xd9]].concat();
    let mut with_inner = whole.clone();
    with_inner.splice(2..2, inner);
    fs::write(&path, &with_inner[..with_inner.len() / 2]).unwrap();
    assert!(matches!(read_picture(&path).unwrap_err(), IoError::Malformed { .. }));
    fs::write(&path, &with_inner).unwrap();
    let shown = read_picture(&path).unwrap();
    // Bytes after the end are ignored: cameras store films and depth maps there.
    fs::write(&path, [&whole[..], &[0; 100]].concat()).unwrap();
    assert_eq!(read_picture(&path).unwrap(), shown);
}

/// Guards pictures in PNG: cut anywhere, or with one bit turned.
#[test]
fn a_png_that_is_cut_or_altered_anywhere_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("photo.png");
    let photo = RgbImage::from_fn(40, 30, |x, y| Rgb([(x * 6) as u8, (y * 8) as u8, 9]));
    let mut whole = Vec::new();
    photo.write_to(&mut Cursor::new(&mut whole), image::ImageFormat::Png).unwrap();
    fs::write(&path, &whole).unwrap();
    assert_eq!(read_picture(&path).unwrap(), photo);
    for cut in 8..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(matches!(read_picture(&path).unwrap_err(), IoError::Malformed { .. }), "{cut}");
    }
    for at in 8..whole.len() {
        let mut altered = whole.clone();
        altered[at] ^= 1;
        fs::write(&path, &altered).unwrap();
        assert!(read_picture(&path).is_err(), "byte {at}");
    }
}

/// Guards memory: a JPEG's extents are checked before memory is allocated for them.
#[test]
fn a_jpeg_that_claims_to_be_huge_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.jpg");
    let mut bytes = jpeg();
    let frame = bytes.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    bytes[frame + 5..frame + 9].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let begun = Instant::now();
    let error = read_picture(&path).unwrap_err();
    assert!(matches!(error, IoError::NotAPicture { .. }) && error.to_string().contains("imit"), "{error}");
    assert!(begun.elapsed() < NOT_A_HANG);
}

/// Guards the error texts for files of other kinds.
#[test]
fn a_file_of_another_kind_is_called_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("photo.png");
    for (content, words) in [
        (&b""[..], "it is empty"),
        (b"GIF89a..", "a GIF"),
        (b"RIFF....WEBP", "a WebP picture: convert it with `dwebp"),
        (b"RIFF....WAVE", "a sound"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a HEIC photo: convert it with `heif-convert"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", "an AVIF picture: convert it with `avifdec"),
        (b"\0\0\0\x18ftypisom\0\0\0\0isommp42", "a video"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL picture: convert it with `djxl"),
        (b"%PDF-1.7", "a PDF: draw its first page with `pdftoppm"),
        (b"BM......", "a BMP"),
        (b"II*\0....", "a TIFF"),
        (b"PK\x03\x04..........................arr_0.npy", "an archive of NumPy arrays: take its first by `python"),
        (b"PK\x03\x04....", "zip archive, as .npz and .pt files are"),
        (b"\x1c\0\0\0TFL3....", "TensorFlow Lite model"),
        (b"<svg></svg>", "SVG: draw it with `rsvg-convert"),
        (b"<?xml version=\"1.0\"?><svg xmlns=\"http:", "SVG"),
        (b"<!DOCTYPE html>", "a web page"),
    ] {
        fs::write(&path, content).unwrap();
        let error = read_picture(&path).unwrap_err();
        assert!(matches!(error, IoError::NotAPicture { .. }) && error.to_string().contains(words), "{error}");
    }
    fs::write(&path, b"a\xffb").unwrap();
    assert!(matches!(read_text(&path).unwrap_err(), IoError::NotText { at: 1, .. }));
}

/// Guards the terminal: printed names cannot control it, and remain distinguishable.
#[test]
fn foreign_text_is_shown_without_its_effects() {
    let name = OsStr::from_bytes(b"a\x1b[31m\n\xff\xc2\x9b\xe2\x80\xae.png");
    assert_eq!(printable(name).to_string(), "a\\u{1b}[31m\\n\\xff\\u{9b}\\u{202e}.png");
    assert_eq!(printable("r\u{e9}sum\u{e9} \u{1f600}.npy").to_string(), "r\u{e9}sum\u{e9} \u{1f600}.npy");
    assert_eq!(printable_lines("a\n\tb"), "a\n\tb");
    assert_eq!(printable_lines("a\r\u{1b}]0;x\u{7}\nb"), "a\\r\\u{1b}]0;x\\u{7}\nb");
    let error = read_text(Path::new(name)).unwrap_err().to_string();
    assert!(error.contains("\\u{1b}[31m\\n\\xff") && !error.contains('\u{1b}'), "{error}");
}
