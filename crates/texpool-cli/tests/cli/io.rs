//! Pictures, arrays and whole files.

#![cfg(test)]

mod fitting;
mod pictures;
#[cfg(unix)]
mod reading;
#[cfg(unix)]
mod writing;

use image::{Rgb, RgbImage};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};
use texpool_cli::io::{
    Fit, IoError, OutputArray, Preprocessing, Range, output_file_name, preprocess, read_npy, read_picture,
    write_atomic, write_npy, write_outputs, write_png,
};
use texpool_ops::graph::{ElementType, GraphBuilder, Quantization, Tensor, Unary};

fn paths_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect()
}

fn npy<T: npyz::AutoSerialize + Copy>(path: &Path, shape: &[u64], order: npyz::Order, values: &[T]) {
    use npyz::WriterBuilder;
    let file = File::create(path).unwrap();
    let mut npy = npyz::WriteOptions::new().default_dtype().shape(shape).order(order).writer(file).begin_nd().unwrap();
    npy.extend(values.iter().copied()).unwrap();
    npy.finish().unwrap();
}

#[test]
fn arrays_come_back_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let values = [1.5, -0.0, f32::MIN_POSITIVE, f32::INFINITY, 3e38, -7.25];
    write_npy(&path, &[1, 2, 3], &values).unwrap();
    let back = read_npy(&path, &[1, 2, 3]).unwrap();
    assert_eq!(back.map_bits(), values.to_vec().map_bits());
    assert_eq!(paths_in(dir.path()), [path]);
}

trait Bits {
    fn map_bits(self) -> Vec<u32>;
}

impl Bits for Vec<f32> {
    fn map_bits(self) -> Vec<u32> {
        self.into_iter().map(f32::to_bits).collect()
    }
}

#[test]
fn halves_doubles_and_column_major_arrays_are_converted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    npy(&path, &[2, 2], npyz::Order::C, &[1.5f64, 2.0, 3.0, 4.0]);
    assert_eq!(read_npy(&path, &[2, 2]).unwrap(), [1.5, 2.0, 3.0, 4.0]);
    npy(&path, &[3], npyz::Order::C, &[0.5, -2.0, 65504.0].map(half::f16::from_f32));
    assert_eq!(read_npy(&path, &[3]).unwrap(), [0.5, -2.0, 65504.0]);
    npy(&path, &[2, 3], npyz::Order::Fortran, &[1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(read_npy(&path, &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn a_wrong_shape_says_what_was_expected_and_what_came() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    write_npy(&path, &[1, 2, 3], &[0.0; 6]).unwrap();
    let error = read_npy(&path, &[1, 3, 2]).unwrap_err();
    assert!(matches!(error, IoError::Shape { .. }));
    assert!(error.to_string().contains("[1, 2, 3]") && error.to_string().contains("[1, 3, 2]"), "{error}");
}

#[test]
fn arrays_cut_empty_or_of_a_billion_elements_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    write_npy(&path, &[100], &[0.0; 100]).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in [0, 5, 20, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        let error = read_npy(&path, &[100]).unwrap_err();
        assert!(matches!(error, IoError::NotAnArray { .. }), "{cut}: {error}");
    }
    let huge = String::from_utf8_lossy(&whole[..128]).replace("(100, ) ", "(9999999999999,)");
    fs::write(&path, huge).unwrap();
    assert!(read_npy(&path, &[100]).is_err());
    assert!(matches!(read_npy(&dir.path().join("none.npy"), &[1]).unwrap_err(), IoError::Read { .. }));
}

#[test]
fn a_file_that_is_no_picture_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("photo.png");
    fs::write(&path, b"just some text").unwrap();
    let error = read_picture(&path).unwrap_err();
    assert!(matches!(error, IoError::NotAPicture { .. }), "{error}");
    write_png(&path, &RgbImage::from_pixel(40, 40, Rgb([7, 8, 9]))).unwrap();
    assert_eq!(read_picture(&path).unwrap().get_pixel(3, 4).0, [7, 8, 9]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(read_picture(&path).unwrap_err(), IoError::Malformed { .. }));
    assert!(matches!(read_picture(dir.path()).unwrap_err(), IoError::NotAFile { .. }));
}

#[test]
fn a_picture_that_claims_to_be_huge_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.png");
    write_png(&path, &RgbImage::new(2, 2)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The header: length, "IHDR", width, height, five bytes, checksum over name and content.
    bytes[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.sum().to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let error = read_picture(&path).unwrap_err();
    assert!(matches!(error, IoError::NotAPicture { .. }), "{error}");
    assert!(error.to_string().contains("imit"), "{error}");
}

#[test]
fn a_picture_is_turned_as_its_camera_noted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("photo.jpg");
    let mut jpeg = Vec::new();
    let photo = RgbImage::from_fn(32, 16, |x, _| Rgb([if x < 16 { 0 } else { 255 }; 3]));
    photo.write_to(&mut io::Cursor::new(&mut jpeg), image::ImageFormat::Jpeg).unwrap();
    // An Exif segment with one entry: orientation (0x0112) 6, to be turned a quarter clockwise.
    let exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let segment = [&[0xff, 0xe1, 0, exif.len() as u8 + 2][..], exif].concat();
    jpeg.splice(2..2, segment);
    fs::write(&path, jpeg).unwrap();
    let turned = read_picture(&path).unwrap();
    assert_eq!(turned.dimensions(), (16, 32));
    assert!(turned.get_pixel(8, 2).0[0] < 40 && turned.get_pixel(8, 29).0[0] > 215);
}

#[test]
fn values_are_scaled_and_the_frame_says_where_they_come_from() {
    let mut photo = RgbImage::from_pixel(40, 20, Rgb([255, 0, 127]));
    let signed = preprocess(&photo, 8, 8, &Preprocessing::new(Fit::Stretch, Range::Signed));
    assert_eq!(signed.values.len(), 8 * 8 * 3);
    assert_eq!(signed.values[..3], [1.0, -1.0, 127.0 / 127.5 - 1.0]);
    assert_eq!(signed.frame.at(0.5, 0.5), [20.0, 10.0]);
    assert_eq!(
        preprocess(&photo, 8, 8, &Preprocessing::new(Fit::Stretch, Range::Unit)).values[..3],
        [1.0, 0.0, 127.0 / 255.0]
    );
    assert_eq!(
        preprocess(&photo, 8, 8, &Preprocessing::new(Fit::Stretch, Range::Raw)).values[..3],
        [255.0, 0.0, 127.0]
    );

    let planar = preprocess(&photo, 8, 8, &Preprocessing::new(Fit::Stretch, Range::Imagenet)).planar();
    let expected = [(1.0 - 0.485) / 0.229, (0.0 - 0.456) / 0.224, (127.0 / 255.0 - 0.406) / 0.225];
    assert_eq!([planar[0], planar[64], planar[191]], expected);

    // The middle square of the photo alone is white.
    for (x, _, pixel) in photo.enumerate_pixels_mut() {
        *pixel = Rgb([if (10..30).contains(&x) { 255 } else { 0 }; 3]);
    }
    let centre = preprocess(&photo, 8, 8, &Preprocessing::new(Fit::Centre, Range::Unit));
    assert!(centre.values.iter().all(|&v| v == 1.0));
    assert_eq!(centre.frame.at(0.0, 0.0), [10.0, 0.0]);
    assert_eq!(centre.frame.at(1.0, 1.0), [30.0, 20.0]);

    let boxed = preprocess(
        &RgbImage::from_pixel(40, 20, Rgb([255; 3])),
        8,
        8,
        &Preprocessing::new(Fit::Letterbox, Range::Unit),
    );
    let row = |y: usize| boxed.values[y * 24..][..24].iter().sum::<f32>();
    assert_eq!([0, 1, 2, 5, 6, 7].map(row), [0.0, 0.0, 24.0, 24.0, 0.0, 0.0]);
    assert_eq!(boxed.frame.at(0.0, 0.25), [0.0, 0.0]);
    assert_eq!(boxed.frame.at(1.0, 0.75), [40.0, 20.0]);
}

#[test]
fn shrinking_averages_as_pillow_does() {
    // Pillow's BILINEAR of eight alternating columns to two: weights 5 7 7 5 3 1 (of 28), and the same from behind.
    let photo = RgbImage::from_fn(8, 1, |x, _| Rgb([if x % 2 == 0 { 0 } else { 200 }; 3]));
    let small = preprocess(&photo, 2, 1, &Preprocessing::new(Fit::Stretch, Range::Raw));
    assert_eq!(small.values, [93.0, 93.0, 93.0, 107.0, 107.0, 107.0]);
}

#[test]
fn a_photo_becomes_what_pillow_makes_of_it() {
    let bar = texpool_cli::fetch::Bar::default();
    let fetcher = texpool_cli::fetch::Fetcher::new(&bar).unwrap();
    // The crops are those the goldens' manifest states.
    for (photo, golden, [x, y, width, height], size) in [
        ("astronaut", "blazeface_short_range", [96, 0, 256, 256], 128),
        ("coffee", "mobilenet_v1_1.0_224", [100, 0, 400, 400], 224),
        ("astronaut", "posenet_mv1_075_337", [0, 0, 512, 512], 337),
    ] {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/goldens"))
            .join(golden)
            .join("input_u8.npy");
        let expected: Vec<u8> = npyz::NpyFile::new(File::open(path).unwrap()).unwrap().into_vec().unwrap();
        let whole = read_picture(&fetcher.get(photo).unwrap()).unwrap();
        let part = image::imageops::crop_imm(&whole, x, y, width, height).to_image();
        let values = preprocess(&part, size, size, &Preprocessing::new(Fit::Stretch, Range::Raw)).values;
        assert_eq!(values.len(), expected.len());
        let differences = values.iter().zip(&expected).map(|(a, &b)| (a - f32::from(b)).abs());
        let worst = differences.fold(0.0, f32::max);
        assert!(worst <= 1.0, "{golden}: off by {worst} of 255");
    }
}

/// An output of 32-bit floats.
fn floats<'a>(name: &'a str, dims: &'a [usize], values: &'a [f32]) -> OutputArray<'a> {
    OutputArray { name, dims, values, element_type: ElementType::F32 }
}

/// Integers and truth values keep the type of the output, and real numbers of quantised outputs are floats.
#[test]
fn outputs_have_the_types_of_their_tensors() {
    let dir = tempfile::tempdir().unwrap();
    let values = [0.0, 1.0, 200.0];
    let quantization = Some(Quantization { scale: 0.5, zero_point: 3 });
    let mut builder = GraphBuilder::new("g");
    let x = builder.input("x", &[1, 3]).unwrap();
    let y = builder.unary("y", Unary::Sin, x).unwrap();
    let graph = builder.finish(&[y]).unwrap();
    for (element_type, quantization, dtype) in [
        (ElementType::F32, None, "<f4"),
        (ElementType::F16, None, "<f4"),
        (ElementType::U8, quantization, "<f4"),
        (ElementType::U8, None, "|u1"),
        (ElementType::I16, None, "<i2"),
        (ElementType::I32, None, "<i4"),
        (ElementType::U32, None, "<u4"),
        (ElementType::I64, None, "<i8"),
        (ElementType::U64, None, "<u8"),
        (ElementType::Bool, None, "|b1"),
    ] {
        let tensor = Tensor { element_type, quantization, ..graph.tensors[y].clone() };
        let files = write_outputs(dir.path(), [OutputArray::of_tensor(&tensor, &[3], &values)]).unwrap();
        let written = npyz::NpyFile::new(File::open(&files[0]).unwrap()).unwrap();
        assert_eq!(written.dtype().descr(), format!("'{dtype}'"), "{element_type}");
        let expected = if element_type == ElementType::Bool { [0.0, 1.0, 1.0] } else { values };
        assert_eq!(read_npy(&files[0], &[3]).unwrap(), expected, "{element_type}");
    }
}

#[test]
fn outputs_are_named_by_index_and_safe_name() {
    assert_eq!(output_file_name(0, "MobilenetV1/Predictions/Reshape_1"), "0_MobilenetV1_Predictions_Reshape_1.npy");
    assert_eq!(output_file_name(3, "a:b\\c\0d"), "3_a_b_c_d.npy");
    assert_eq!(output_file_name(1, "../../x"), "1_.._.._x.npy");
    assert!(output_file_name(1, &"\u{e9}".repeat(400)).len() <= 255);

    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new/folder");
    let outputs = [floats("x/y", &[1, 2], &[1.0, 2.0]), floats("x/y", &[1], &[3.0])];
    let files = write_outputs(&folder, outputs).unwrap();
    assert_eq!(files, [folder.join("0_x_y.npy"), folder.join("1_x_y.npy")]);
    assert_eq!(read_npy(&files[0], &[1, 2]).unwrap(), [1.0, 2.0]);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    File::create(&file).unwrap();
    let error = write_outputs(&file.join("folder"), [floats("x", &[1], &[1.0])]).unwrap_err();
    assert!(matches!(error, IoError::Write { .. }), "{error}");
    assert!(error.to_string().contains("file/folder"), "{error}");
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kept");
    fs::write(&path, b"old").unwrap();
    // The kernel's own full device: every write to it fails for want of space.
    let full = |out: &mut dyn Write| {
        out.write_all(b"new, but only half of it")?;
        File::options().write(true).open("/dev/full")?.write_all(b"x")
    };
    let error = write_atomic::<io::Error>(&path, full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(paths_in(dir.path()), [path]);
}
