//! Conversion of elements of every type to the floats used for computing, and back.

use std::fmt::Debug;

use proptest::prelude::*;
use texpool::{Element, ElementType, Quantization, Tensor, TensorView, half::f16};
use texpool_model::tensor::{
    ConvertError,
    convert::{TensorSpec, read_reals, write_reals},
};
use texpool_plan::TexelFormat;

use super::{spec, written};

/// Values to floats and back.
fn there_and_back<T: Element + PartialEq + Debug>(values: &[T], reals: &[f32]) {
    let (dims, view) = ([values.len()], TensorView::from(values));
    let spec = spec(&dims, T::TYPE);
    assert_eq!(view.element_type(), T::TYPE);
    assert_eq!(written(&view, spec).unwrap(), reals, "{}", T::TYPE);
    let tensor = read_reals(reals, spec).unwrap();
    assert_eq!((tensor.dims(), tensor.element_type()), (&dims[..], T::TYPE));
    assert_eq!(tensor.as_slice::<T>().unwrap(), values, "{}", T::TYPE);
    assert_eq!(tensor.to_f32(), reals, "{}", T::TYPE);
    // Every type also accepts the same numbers as 32-bit floats.
    assert_eq!(written(&TensorView::from(reals), spec).unwrap(), reals, "{}", T::TYPE);
}

#[test]
fn every_type_goes_there_and_back() {
    const MOST: f32 = 16_777_216.0;
    there_and_back(&[0.0f32, -1.5, f32::MAX, f32::INFINITY], &[0.0, -1.5, f32::MAX, f32::INFINITY]);
    there_and_back(&[-2.5f32, 65504.0].map(f16::from_f32), &[-2.5, 65504.0]);
    there_and_back(&[0i8, -128, 127], &[0.0, -128.0, 127.0]);
    there_and_back(&[0u8, 255], &[0.0, 255.0]);
    there_and_back(&[-32768i16, 32767], &[-32768.0, 32767.0]);
    there_and_back(&[0u16, 65535], &[0.0, 65535.0]);
    there_and_back(&[-1i32, 1 << 24, -(1 << 24)], &[-1.0, MOST, -MOST]);
    there_and_back(&[0u32, 1 << 24], &[0.0, MOST]);
    there_and_back(&[-1i64, 1 << 24, -(1 << 24)], &[-1.0, MOST, -MOST]);
    there_and_back(&[0u64, 1 << 24], &[0.0, MOST]);
    there_and_back(&[false, true], &[0.0, 1.0]);
}

/// Positions at which 32-bit and 16-bit texels refuse a value: the first one out of range, if any.
fn refused<T: Element>(values: &[T]) -> [Option<(usize, i128)>; 2] {
    [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float].map(|texels| {
        let mut reals = vec![7.0];
        let result = write_reals(&TensorView::from(values), spec(&[values.len()], T::TYPE), texels, &mut reals);
        match result {
            Ok(()) => {
                assert_eq!(reals.len(), values.len());
                None
            }
            Err(ConvertError::Inexact { index, value, format }) => {
                assert_eq!(format, texels);
                assert!(reals.is_empty(), "nothing that might be taken for the values");
                Some((index, value))
            }
            Err(error) => panic!("{error}"),
        }
    })
}

#[test]
fn whole_numbers_that_texels_do_not_hold_are_refused() {
    assert_eq!(refused(&[0u8, 255]), [None, None]);
    assert_eq!(refused(&[-128i8, 127]), [None, None]);
    assert_eq!(refused(&[true]), [None, None]);
    assert_eq!(refused(&[2048i16, -2048]), [None, None]);
    assert_eq!(refused(&[0i16, -2049]), [None, Some((1, -2049))]);
    assert_eq!(refused(&[2048u16, 2048, 2049, 4000]), [None, Some((2, 2049))]);
    assert_eq!(refused(&[1i32 << 24, -(1 << 24)]), [None, Some((0, 1 << 24))]);
    assert_eq!(refused(&[(1i32 << 24) + 1]), [Some((0, (1 << 24) + 1)); 2]);
    assert_eq!(refused(&[i32::MIN]), [Some((0, i32::MIN.into())); 2]);
    assert_eq!(refused(&[0, u32::MAX]), [Some((1, u32::MAX.into())); 2]);
    assert_eq!(refused(&[0, 0, i64::MIN]), [Some((2, i64::MIN.into())); 2]);
    assert_eq!(refused(&[u64::MAX]), [Some((0, u64::MAX.into())); 2]);
    assert_eq!(refused(&[1e30f32]), [None, None], "floats are never refused");
    assert_eq!(refused(&[f16::MAX]), [None, None]);
}

#[test]
fn the_refused_number_and_its_place_are_named() {
    let mut ids = vec![0i64; 12];
    ids[7] = 40_000_001;
    let text = |view: TensorView<'_>, dims: &[usize], format| {
        write_reals(&view, spec(dims, ElementType::I64), format, &mut Vec::new()).unwrap_err().to_string()
    };
    assert_eq!(
        text(TensorView::from(&ids), &[12], TexelFormat::Rgba32Float),
        "element 7 is 40000001, but texels of 32-bit floats hold whole numbers without gaps only up to 16777216"
    );
    assert_eq!(
        text(TensorView::from(&ids), &[12], TexelFormat::Rgba16Float),
        "element 7 is 40000001, but texels of 16-bit floats hold whole numbers without gaps only up to 2048"
    );
    // In the model's order, which differs from the order in memory.
    let turned = TensorView::new(&ids, &[3, 4]).unwrap().permuted(&[1, 0]).unwrap();
    assert!(text(turned, &[4, 3], TexelFormat::Rgba32Float).starts_with("element 10 is"));
}

fn quantised(dims: &[usize], element_type: ElementType, scale: f32, zero_point: i32) -> TensorSpec<'_> {
    TensorSpec { quantization: Some(Quantization { scale, zero_point }), ..spec(dims, element_type) }
}

#[test]
fn quantised_integers_are_what_they_stand_for() {
    let all: Vec<u8> = (0..=255).collect();
    let dims = [256];
    let stated = quantised(&dims, ElementType::U8, 0.1, 128);
    let reals = written(&TensorView::from(&all), stated).unwrap();
    let by_hand = |q: u8| (f64::from(0.1f32) * (f64::from(q) - 128.0)) as f32;
    assert_eq!(reals, all.iter().map(|&q| by_hand(q)).collect::<Vec<f32>>());
    let tensor = read_reals(&reals, stated).unwrap();
    assert_eq!(tensor.as_slice::<u8>().unwrap(), all);
    assert_eq!(tensor.quantization(), stated.quantization);
    assert_eq!(tensor.to_f32(), reals);
    assert_eq!(written(&TensorView::from(&reals), stated).unwrap(), reals, "the reals are taken as they are");

    // Rounded to 16 bits on the way, as in textures of such floats.
    let halves: Vec<f32> = reals.iter().map(|&real| f16::from_f32(real).to_f32()).collect();
    assert_eq!(read_reals(&halves, stated).unwrap().as_slice::<u8>().unwrap(), all);

    // Scaled integers are real numbers, which are rounded like any other, however large the integer.
    let stated = quantised(&[2], ElementType::I32, 0.5, 0);
    assert_eq!(
        written(&TensorView::from(&[(1i32 << 25) + 2, i32::MIN]), stated).unwrap(),
        [16777216.0f32, -1073741824.0]
    );
}

#[test]
fn quantised_results_are_the_nearest_and_within_their_type() {
    let read = |values: &[f32]| {
        let dims = [values.len()];
        let tensor = read_reals(values, quantised(&dims, ElementType::I8, 0.5, -3)).unwrap();
        tensor.into_vec::<i8>().unwrap()
    };
    assert_eq!(read(&[0.0, 0.5, -0.5, 1.0]), [-3, -2, -4, -1]);
    assert_eq!(read(&[0.25, -0.25, 0.75, 0.24, -0.26]), [-2, -4, -1, -3, -4], "halves away from zero");
    assert_eq!(read(&[65.0, 65.5, 1e30, f32::INFINITY]), [127; 4]);
    assert_eq!(read(&[-62.5, -63.0, -1e30, f32::NEG_INFINITY]), [-128; 4]);
}

fn read_as<T: Element>(values: &[f32]) -> Vec<T> {
    read_reals(values, spec(&[values.len()], T::TYPE)).unwrap().into_vec().unwrap()
}

#[test]
fn integers_are_the_nearest_and_within_their_type() {
    assert_eq!(read_as::<i32>(&[0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, 2.5001]), [0, 2, 2, 0, -2, 2, 3]);
    assert_eq!(read_as::<u8>(&[-1.0, 255.4, 255.6, 1e9, f32::INFINITY]), [0, 255, 255, 255, 255]);
    assert_eq!(read_as::<i8>(&[-128.4, -200.0, 127.6]), [-128, -128, 127]);
    assert_eq!(read_as::<u16>(&[-0.4, 7e4]), [0, 65535]);
    assert_eq!(read_as::<i16>(&[-7e4, 7e4]), [i16::MIN, i16::MAX]);
    assert_eq!(read_as::<u32>(&[-1.0, 1e10]), [0, u32::MAX]);
    assert_eq!(read_as::<i32>(&[-1e10, 1e10]), [i32::MIN, i32::MAX]);
    assert_eq!(read_as::<i64>(&[-1e30, 1e30, -5.0]), [i64::MIN, i64::MAX, -5]);
    assert_eq!(read_as::<u64>(&[-1e30, 1e30, f32::NEG_INFINITY]), [0, u64::MAX, 0]);
    assert_eq!(read_as::<bool>(&[0.0, -0.0, 1.0, 0.25, -3.0]), [false, false, true, true, true]);
    let halves = read_as::<f16>(&[1.0 + 1.0 / 4096.0, 1e6, f32::NAN]);
    assert_eq!(halves[..2], [f16::ONE, f16::INFINITY]);
    assert!(halves[2].is_nan() && read_as::<f32>(&[f32::NAN])[0].is_nan(), "floats can say it");
}

#[test]
fn nan_does_not_convert_to_an_integer() {
    let values = [0.0, 1.0, f32::NAN, f32::NAN];
    for element_type in [ElementType::I64, ElementType::U8, ElementType::Bool] {
        let error = read_reals(&values, spec(&[4], element_type)).unwrap_err();
        assert_eq!(error, ConvertError::NotANumber { index: 2, element_type });
        assert_eq!(error.to_string(), format!("element 2 is NaN, which {element_type} cannot say"));
    }
    let error = read_reals(&values, quantised(&[4], ElementType::I8, 1.0, 0)).unwrap_err();
    assert_eq!(error.to_string(), "element 2 is NaN, which i8 cannot say");
}

#[test]
fn other_types_are_refused() {
    let text = |view: TensorView<'_>, element_type| written(&view, spec(&[2], element_type)).unwrap_err().to_string();
    assert_eq!(text(TensorView::from(&[1u8, 2]), ElementType::F32), "expected elements of type f32, found u8");
    assert_eq!(
        text(TensorView::from(&[1i32, 2]), ElementType::I64),
        "expected elements of type i64, or their values as f32, found i32"
    );
    assert_eq!(text(TensorView::from(&[f16::ONE; 2]), ElementType::F32), "expected elements of type f32, found f16");
    assert_eq!(
        text(TensorView::from(&[true, false]), ElementType::U8),
        "expected elements of type u8, or their values as f32, found bool"
    );
}

#[test]
fn other_extents_are_refused_but_for_ones_in_front() {
    let values = vec![0.5f32; 12];
    let write_as = |dims: &[usize], model: &[usize]| {
        written(&TensorView::new(&values, dims).unwrap(), spec(model, ElementType::F32)).map(|_| ())
    };
    assert_eq!(write_as(&[2, 6], &[2, 6]), Ok(()));
    assert_eq!(write_as(&[2, 6], &[1, 1, 2, 6]), Ok(()), "left out");
    assert_eq!(write_as(&[1, 1, 2, 6], &[1, 2, 6]), Ok(()), "added");
    let error = write_as(&[6, 2], &[1, 2, 6]).unwrap_err();
    assert_eq!(error, ConvertError::Extents { expected: vec![1, 2, 6], found: vec![6, 2] });
    assert_eq!(error.to_string(), "expected [1, 2, 6], found [6, 2]");
    assert!(write_as(&[2, 6, 1], &[2, 6]).is_err(), "ones behind are another layout");
    assert!(write_as(&[12], &[2, 6]).is_err(), "stated extents are not guessed");
    assert!(write_as(&[2, 1, 6], &[2, 6]).is_err());

    let dense =
        |values: &[f32], model: &[usize]| written(&TensorView::from(values), spec(model, ElementType::F32)).map(|_| ());
    assert_eq!(dense(&values, &[2, 6]), Ok(()));
    assert_eq!(dense(&values[..1], &[]), Ok(()));
    let error = dense(&values[..5], &[2, 6]).unwrap_err();
    assert_eq!(error, ConvertError::Count { expected: vec![2, 6], found: 5 });
    assert_eq!(error.to_string(), "expected [2, 6], which is 12 elements, found 5");
    let error = read_reals(&values[..5], spec(&[2, 6], ElementType::F32)).unwrap_err();
    assert_eq!(error.to_string(), "expected [2, 6], which is 12 elements, found 5");
}

/// A caller writes each frame into the same vector.
#[test]
fn the_memory_that_is_written_to_is_used_again() {
    let (frame, mut reals) = ([1u8; 48], Vec::new());
    let view = TensorView::picture(&frame, [2, 5, 3], 20).unwrap();
    let mut write = || {
        write_reals(&view, spec(&[1, 2, 5, 3], ElementType::U8), TexelFormat::Rgba32Float, &mut reals).unwrap();
        (reals.len(), reals.as_ptr())
    };
    let first = write();
    assert_eq!(first.0, 30);
    assert_eq!(allocation_counter::measure(|| assert_eq!(write(), first)).count_total, 0);
}

proptest! {
    #[test]
    fn integers_are_held_or_refused(values in prop::collection::vec(any::<i64>().prop_map(|v| v >> (v & 63)), 1..40)) {
        let beyond = values.iter().position(|v| v.unsigned_abs() > 1 << 24);
        let result = written(&TensorView::from(&values), spec(&[values.len()], ElementType::I64));
        match beyond {
            None => {
                let tensor = read_reals(result.unwrap(), spec(&[values.len()], ElementType::I64)).unwrap();
                prop_assert_eq!(tensor.as_slice::<i64>().unwrap(), &values[..]);
            }
            Some(index) => {
                let (value, format) = (values[index].into(), TexelFormat::Rgba32Float);
                prop_assert_eq!(result, Err(ConvertError::Inexact { index, value, format }));
            }
        }
    }

    #[test]
    fn eight_bits_keep_their_grid(scale in 1e-6f32..1e3, zero_point in -128i32..128) {
        let all: Vec<i8> = (-128..=127).collect();
        let stated = quantised(&[256], ElementType::I8, scale, zero_point);
        let reals = written(&TensorView::from(&all), stated).unwrap();
        let tensor: Tensor = read_reals(&reals, stated).unwrap();
        prop_assert_eq!(tensor.as_slice::<i8>().unwrap(), &all[..]);
    }
}
