//! Arrays as inputs of a model: values that fit the input's element type are taken unchanged. Others are refused with
//! their position.

use super::npy;
use half::f16;
use npyz::Order;
use std::path::Path;
use texpool_cli::io::{InputFile, IoError};
use texpool_model::tensor::convert::TensorSpec;
use texpool_ops::graph::{ElementType, Quantization};
use texpool_plan::TexelFormat;

const QUANTIZATION: Quantization = Quantization { scale: 0.5, zero_point: 3 };

fn spec(element_type: ElementType, quantization: Option<Quantization>, dims: &[usize]) -> TensorSpec<'_> {
    TensorSpec { dims, element_type, quantization, integer_range: None }
}

/// Saves two elements and reads them as an input.
fn read<T: npyz::AutoSerialize + Copy>(
    path: &Path,
    values: [T; 2],
    element_type: ElementType,
    quantization: Option<Quantization>,
    format: TexelFormat,
) -> Result<Vec<f32>, IoError> {
    npy(path, &[1, 2], Order::C, &values);
    let read = InputFile::open(path).unwrap().input(spec(element_type, quantization, &[1, 2]), &[], format)?;
    Ok(read.1)
}

/// Checks that the second element is refused with an error that contains these words.
fn refused<T: npyz::AutoSerialize + Copy>(path: &Path, good: T, bad: T, element_type: ElementType, words: &[&str]) {
    let format = TexelFormat::Rgba32Float;
    let outcome = read(path, [good, good], element_type, None, format);
    assert!(outcome.is_ok(), "{element_type}: {outcome:?}");
    let error = read(path, [good, bad], element_type, None, format).unwrap_err();
    assert!(matches!(error, IoError::Element { .. }), "{error}");
    let text = error.to_string();
    for word in [&["element [0, 1]"], words].concat() {
        assert!(text.contains(word), "`{word}` is missing: {text}");
    }
}

#[test]
fn no_fraction_becomes_an_integer_and_no_number_leaves_its_type() {
    use ElementType::{Bool, F16, F32, I8, I16, I32, I64, U8, U16, U32, U64};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npy");
    for element_type in [I8, U8, I16, U16, I32, U32, I64, U64, Bool] {
        let name = element_type.name();
        refused(&path, 1.0f32, 1.5, element_type, &["1.5", name, "np.rint"]);
        refused(&path, 0.0f64, f64::NAN, element_type, &["NaN", name]);
        refused(&path, 1.0f32, f32::INFINITY, element_type, &["inf", name]);
        refused(&path, f16::from_f32(1.0), f16::from_f32(0.25), element_type, &["0.25", name]);
    }
    refused(&path, 0.0f32, -6.0, U8, &["-6.0", "u8", "0 to 255"]);
    refused(&path, 255.0f32, 300.0, U8, &["300.0", "u8", "0 to 255"]);
    refused(&path, 255i64, 256, U8, &["256", "u8"]);
    refused(&path, 0i8, -1, U8, &["-1", "u8"]);
    refused(&path, 127u8, 128, I8, &["128", "i8", "-128 to 127"]);
    refused(&path, -32768i32, -32769, I16, &["-32769", "i16"]);
    refused(&path, 65535.0f64, 65536.0, U16, &["65536", "u16"]);
    refused(&path, 0i64, -1, U32, &["-1", "u32"]);
    refused(&path, 0i64, -1, U64, &["-1", "u64"]);
    refused(&path, 1u8, 2, Bool, &["2", "bool", "0 or 1"]);
    // Texels round some integers beyond this limit.
    refused(&path, 1i64 << 24, (1 << 24) + 1, I64, &["16777217", "16777216"]);
    refused(&path, -(1i64 << 24), -(1 << 40), I64, &["-1099511627776", "16777216"]);
    refused(&path, 16_777_216.0f64, 16_777_217.0, I32, &["16777217", "16777216"]);
    refused(&path, 1u64, u64::MAX, U64, &["18446744073709551615", "16777216"]);
    // Floats are rounded, and never become infinite; integers that floats round are refused.
    refused(&path, 0.1f64, 1e39, F32, &["1e39", "32-bit floats"]);
    refused(&path, 1i64 << 40, (1 << 40) + 1, F32, &["1099511627777", "32-bit floats"]);
    refused(&path, 65504.0f32, 70000.0, F16, &["70000.0", "16-bit floats", "65504"]);
    refused(&path, 65504i32, 70000, F16, &["70000", "16-bit floats"]);
    for element_type in [F32, F16] {
        let read = read(&path, [f64::NAN, f64::NEG_INFINITY], element_type, None, TexelFormat::Rgba32Float).unwrap();
        assert!(read[0].is_nan() && read[1] == f32::NEG_INFINITY);
    }
}

#[test]
fn integers_are_exact_in_16_bits_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npy");
    let half = TexelFormat::Rgba16Float;
    assert_eq!(read(&path, [2048i64, -2048], ElementType::I64, None, half).unwrap(), [2048.0, -2048.0]);
    let error = read(&path, [0i64, 2049], ElementType::I64, None, half).unwrap_err().to_string();
    assert!(error.contains("2049") && error.contains("16-bit floats") && error.contains("32-bit texels"), "{error}");
}

/// An array of the input's own type contains stored integers; floats are the real numbers that those stand for.
#[test]
fn a_quantised_input_takes_its_own_integers_and_real_numbers() {
    use ElementType::{I8, I32, U8};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npy");
    let (format, some) = (TexelFormat::Rgba32Float, Some(QUANTIZATION));
    assert_eq!(read(&path, [0u8, 255], U8, some, format).unwrap(), [-1.5, 126.0]);
    assert_eq!(read(&path, [-128i8, 5], I8, some, format).unwrap(), [-65.5, 1.0]);
    assert_eq!(read(&path, [1i32 << 30, 3], I32, some, format).unwrap()[1], 0.0);
    assert_eq!(read(&path, [0.25f32, 1e6], U8, some, format).unwrap(), [0.25, 1e6]);
    assert_eq!(read(&path, [0.25f64, -1.0], I8, some, format).unwrap(), [0.25, -1.0]);
    // Other integers are ambiguous: stored integers or real numbers.
    for refused in [
        read(&path, [1i8, 2], U8, some, format),
        read(&path, [1u8, 2], I8, some, format),
        read(&path, [1i64, 2], U8, some, format),
        read(&path, [true, false], U8, some, format),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, IoError::DType { .. }), "{error}");
        assert!(error.to_string().contains("int8\")") && error.to_string().contains("float32"), "{error}");
    }
    let nan = read(&path, [0.0, f32::NAN], U8, some, format).unwrap_err();
    assert!(matches!(nan, IoError::Element { .. }) && nan.to_string().contains("[0, 1] is NaN"), "{nan}");
    // An output behaves likewise, but arrays of any other type contain numbers to compare with.
    npy(&path, &[2], Order::C, &[0u8, 255]);
    let output = |quantization| InputFile::open(&path).unwrap().output(spec(U8, quantization, &[2])).unwrap();
    assert_eq!((output(some), output(None)), (vec![-1.5, 126.0], vec![0.0, 255.0]));
}
