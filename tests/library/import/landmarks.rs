//! MediaPipe's custom operators of regions of a face, with results computed by hand, and their refusals.

use texpool_ops::ops::reference;

use super::{import, one::near};
use crate::support::tflite::{F32, Flex, I32, Model, flex_map, flex_map_of};

pub(super) const MATRIX: &str = "Landmarks2TransformMatrix";
pub(super) const PICTURE: &str = "TransformTensorBilinear";
pub(super) const LANDMARKS: &str = "TransformLandmarks";

/// An operator. The first operand is an input, the second a constant matrix, if there is one.
pub(super) fn file(name: &str, input: &[i32], matrix: Option<&[f32; 16]>, result: &[i32], options: Vec<u8>) -> Vec<u8> {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", input), m.floats("y", result));
    let matrix = matrix.map(|matrix| matrix.iter().flat_map(|value| value.to_le_bytes()).collect());
    let matrix = matrix.map(|bytes| m.constant("matrix", &[1, 4, 4], F32, bytes));
    m.custom(name, &[Some(x), matrix].into_iter().flatten().collect::<Vec<_>>(), y, options);
    m.bytes(&[x], &[y])
}

fn computed(file: Vec<u8>, values: &[f32]) -> Result<Vec<f32>, String> {
    let graph = import(file).map_err(|error| error.to_string())?;
    Ok(reference::outputs(&graph, &[values.to_vec()]).map_err(|error| error.to_string())?.remove(0))
}

/// Four landmarks; a line from the first to the third has the sides 3, 4 and 5.
const FACE: [f32; 12] = [0.0, 0.0, 9.0, 50.0, -60.0, 9.0, 3.0, 4.0, 9.0, -8.0, 6.0, 9.0];

/// Options of the matrix, with other values for some.
pub(super) fn region(others: &[(&str, Flex<'_>)]) -> Vec<u8> {
    let plain = [
        ("left_rotation_idx", Flex::Number(0.0)),
        ("output_height", Flex::Number(8.0)),
        ("output_width", Flex::Number(4.0)),
        ("right_rotation_idx", Flex::Number(2.0)),
        ("scale_x", Flex::Number(2.0)),
        ("scale_y", Flex::Number(1.5)),
        ("subset_idxs", Flex::List(&[0.0, 2.0, 3.0])),
        ("target_rotation_radians", Flex::Number(0.0)),
    ];
    let value = |name| others.iter().find(|(other, _)| *other == name).map(|&(_, value)| value);
    flex_map_of(&plain.map(|(name, plain)| (name, value(name).unwrap_or(plain))))
}

fn matrix(others: &[(&str, Flex<'_>)]) -> Result<Vec<f32>, String> {
    computed(file(MATRIX, &[1, 4, 3], None, &[1, 4, 4], region(others)), &FACE)
}

/// The matrix without its lower two rows.
fn upper(others: &[(&str, Flex<'_>)]) -> Vec<f32> {
    let matrix = matrix(others).unwrap();
    near(&matrix[8..], &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    matrix[..8].to_vec()
}

/// The case of the operator for the table of cases.
pub(super) fn plain_matrix() -> Vec<f32> {
    upper(&[])
}

/// The line is turned to the angle 0, by the cosine 0.6 and the sine -0.8. The landmarks of the region are then at
/// (0, 0), (5, 0) and (0, 10), so a pixel is 5 * 2 / 4 by 10 * 1.5 / 8. The middle is at (2.5, 5), turned back.
pub(super) const PLAIN: &[f32] = &[1.5, -1.5, 0.0, 0.5, 2.0, 1.125, 0.0, -3.5];

#[test]
fn a_region_is_turned_to_an_angle() {
    near(&plain_matrix(), PLAIN);
    // A quarter turn further: the landmarks are at (0, 0), (0, 5) and (-10, 0).
    let quarter = upper(&[("target_rotation_radians", Flex::Number(std::f32::consts::FRAC_PI_2))]);
    near(&quarter, &[4.0, 0.5625, 0.0, -12.75, -3.0, 0.75, 0.0, 8.0]);
    // Two landmarks at one place have no angle.
    let flat = upper(&[("right_rotation_idx", Flex::Number(0.0))]);
    near(&flat, &[5.5, 0.0, 0.0, -13.5, 0.0, 1.125, 0.0, -1.5]);
}

#[test]
fn a_region_needs_no_angle_and_repeats_landmarks() {
    let list = Flex::List(&[3.0, 0.0, 3.0, 2.0, 2.0]);
    near(&upper(&[("subset_idxs", list)]), PLAIN);
    let mut options = region(&[("target_rotation_radians", Flex::Number(1.0))]);
    let name = options.windows(6).position(|bytes| bytes == b"target").unwrap();
    options[name] = b'T';
    near(&computed(file(MATRIX, &[1, 4, 3], None, &[1, 4, 4], options), &FACE).unwrap()[..8], PLAIN);
}

/// Two rows of three pixels.
const IMAGE: &[f32] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

/// The matrix with these upper rows; the third column is never read.
pub(super) fn with_rows([a, b, x]: [f32; 3], [c, d, y]: [f32; 3]) -> [f32; 16] {
    [a, b, 9.0, x, c, d, 9.0, y, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
}

pub(super) fn extents(height: f32, width: f32) -> Vec<u8> {
    flex_map(&[("output_height", height), ("output_width", width)])
}

/// A picture of `[height, width]` of the image.
pub(super) fn picture(matrix: [f32; 16], [height, width]: [i32; 2]) -> Vec<f32> {
    let options = extents(height as f32, width as f32);
    computed(file(PICTURE, &[1, 2, 3, 1], Some(&matrix), &[1, height, width, 1], options), IMAGE).unwrap()
}

#[test]
fn a_picture_takes_centres_of_pixels_to_places() {
    assert_eq!(picture(with_rows([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]), [2, 3]), IMAGE, "the identity");
    let transposed = picture(with_rows([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]), [3, 2]);
    near(&transposed, &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // The only pixel's centre is the middle of the image: between its rows, in the second column.
    near(&picture(with_rows([3.0, 0.0, 0.0], [0.0, 2.0, 0.0]), [1, 1]), &[2.5]);
}

#[test]
fn places_beyond_the_outermost_centres_are_zero() {
    let right = picture(with_rows([1.0, 0.0, 0.5], [0.0, 1.0, 0.0]), [2, 3]);
    near(&right, &[0.5, 1.5, 0.0, 3.5, 4.5, 0.0]);
    let left = picture(with_rows([1.0, 0.0, -0.25], [0.0, 1.0, 0.0]), [2, 3]);
    near(&left, &[0.0, 0.75, 1.75, 0.0, 3.75, 4.75]);
    let down = picture(with_rows([1.0, 0.0, 0.0], [0.0, 1.0, 0.25]), [2, 3]);
    near(&down, &[0.75, 1.75, 2.75, 0.0, 0.0, 0.0]);
    near(&picture(with_rows([1.0, 0.0, 1e30], [0.0, 1.0, 0.0]), [1, 2]), &[0.0; 2]);
}

/// Two landmarks of `values` values in the image.
pub(super) fn moved(values: i32) -> Vec<f32> {
    let matrix = with_rows([1.5, -1.5, 0.5], [2.0, 1.125, -3.5]);
    let face: &[f32] = if values == 2 { &[2.0, 4.0, 0.0, 0.0] } else { &[2.0, 4.0, 7.0, 0.0, 0.0, -7.0] };
    computed(file(LANDMARKS, &[1, 2, values], Some(&matrix), &[1, 2, values], Vec::new()), face).unwrap()
}

#[test]
fn landmarks_are_moved_in_two_dimensions() {
    near(&moved(2), &[-2.5, 5.0, 0.5, -3.5]);
    near(&moved(3), &[-2.5, 5.0, 7.0, 0.5, -3.5, -7.0]);
}

#[test]
fn results_may_be_stated_without_extents() {
    near(&computed(file(MATRIX, &[1, 4, 3], None, &[], region(&[])), &FACE).unwrap()[..8], PLAIN);
    let same = with_rows([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
    near(&computed(file(PICTURE, &[1, 2, 3, 1], Some(&same), &[], extents(2.0, 3.0)), IMAGE).unwrap(), IMAGE);
}

#[test]
fn options_of_a_region_that_make_no_sense_are_refused() {
    let number = |name, value| (name, Flex::Number(value));
    for (other, expected) in [
        (number("left_rotation_idx", 4.0), "its left_rotation_idx is 4, of 4 landmarks"),
        (number("left_rotation_idx", -1.0), "its left_rotation_idx is -1, of 4 landmarks"),
        (number("right_rotation_idx", 1.5), "its right_rotation_idx is 1.5, of 4 landmarks"),
        (number("right_rotation_idx", f32::NAN), "its right_rotation_idx is NaN, of 4 landmarks"),
        (("right_rotation_idx", Flex::List(&[1.0])), "its options have no number `right_rotation_idx`"),
        (("subset_idxs", Flex::List(&[0.0, 1e9])), "its subset_idxs is 1000000000, of 4 landmarks"),
        (("subset_idxs", Flex::List(&[])), "its subset_idxs is empty"),
        (number("subset_idxs", 1.0), "its options have no list of numbers `subset_idxs`"),
        (number("target_rotation_radians", f32::INFINITY), "its target_rotation_radians is inf"),
        (number("scale_x", 0.0), "its scale_x is 0"),
        (number("scale_y", f32::NAN), "its scale_y is NaN"),
        (number("scale_y", -2.0), "its scale_y is -2"),
        (number("output_width", 0.0), "its output_width is 0"),
        (number("output_height", 1e30), "its output_height is 1000000015047466200000000000000"),
    ] {
        let refused = matrix(&[other]).unwrap_err();
        assert!(refused.contains(&format!("CUSTOM {MATRIX} `y`: {expected}")), "{refused}");
    }
    let refused = computed(file(MATRIX, &[1, 4, 3], None, &[1, 4, 4], vec![1, 2, 3]), &FACE).unwrap_err();
    assert!(refused.contains("its options are no map of numbers"), "{refused}");
}

#[test]
fn other_extents_are_refused() {
    let same = with_rows([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
    let image = &[1, 2, 3, 1][..];
    for (file, expected) in [
        (file(MATRIX, &[1, 4, 2], None, &[1, 4, 4], region(&[])), "its landmarks have 2 values, not 3"),
        (file(MATRIX, &[2, 4, 3], None, &[1, 4, 4], region(&[])), "[2, 4, 3] are no landmarks of one face"),
        (file(MATRIX, &[1, 4, 3], None, &[1, 16], region(&[])), "its result is stated as [1, 16]"),
        (file(MATRIX, &[1, 4, 3], Some(&same), &[1, 4, 4], region(&[])), "it has 2 operands, must have 1"),
        (file(PICTURE, image, None, image, extents(2.0, 3.0)), "it has 1 operands, must have 2"),
        (file(PICTURE, &[2, 2, 3, 1], Some(&same), image, extents(2.0, 3.0)), "it has 2 images"),
        (file(PICTURE, &[2, 3, 1], Some(&same), image, extents(2.0, 3.0)), "its image must have four extents"),
        (file(PICTURE, image, Some(&same), image, extents(3.0, 3.0)), "its operands give [1, 3, 3, 1]"),
        (file(PICTURE, image, Some(&same), image, extents(0.0, 3.0)), "its output_height is 0"),
        (file(PICTURE, image, Some(&same), &[], extents(1e5, 1e5)), "too large"),
        (file(PICTURE, image, Some(&same), &[], extents(30_000.0, 30_000.0)), "too large"),
        (file(PICTURE, image, Some(&same), image, Vec::new()), "its options are no map of numbers"),
        (file(LANDMARKS, &[1, 2, 4], Some(&same), &[1, 2, 4], Vec::new()), "its landmarks have 4 values, not 2 or 3"),
        (file(LANDMARKS, &[2, 2], Some(&same), &[2, 2], Vec::new()), "[2, 2] are no landmarks of one face"),
        (file(LANDMARKS, &[1, 2, 2], Some(&same), &[1, 4], Vec::new()), "its result is stated as [1, 4]"),
    ] {
        let refused = import(file).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn other_types_and_matrices_are_refused() {
    let refused = |matrix: &[i32], types: [i8; 2]| {
        let mut m = Model::new();
        let (x, y) = (m.tensor("x", &[1, 2, 2], types[0]), m.tensor("y", &[1, 2, 2], types[1]));
        let matrix = m.floats("matrix", matrix);
        m.custom(LANDMARKS, &[x, matrix], y, Vec::new());
        import(m.bytes(&[x, matrix], &[y])).map(|_| ()).unwrap_err().to_string()
    };
    let of_matrix = refused(&[1, 3, 4], [F32; 2]);
    assert!(of_matrix.contains("[1, 3, 4] is no matrix of 4 by 4"), "{of_matrix}");
    for types in [[I32, F32], [F32, I32]] {
        let of_type = refused(&[1, 4, 4], types);
        assert!(of_type.contains("its operands and its result are not all of 32-bit floats"), "{of_type}");
    }
}

/// Version 1 has landmarks and options of another form, and no runtime tells a delegate the version.
#[test]
fn version_1_is_refused_by_its_form() {
    let same = with_rows([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
    let size = flex_map_of(&[("output_size", Flex::List(&[2.0, 3.0]))]);
    for (file, expected) in [
        (file(MATRIX, &[1, 1, 1, 12], None, &[1, 4, 4], region(&[])), "[1, 1, 1, 12] are no landmarks of one face"),
        (file(LANDMARKS, &[1, 1, 1, 4], Some(&same), &[1, 1, 1, 4], Vec::new()), "[1, 1, 1, 4] are no landmarks"),
        (file(PICTURE, &[1, 2, 3, 1], Some(&same), &[1, 2, 3, 1], size), "its options have no number `output_width`"),
    ] {
        let refused = import(file).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn no_bytes_of_the_options_make_the_importer_panic() {
    let options = region(&[]);
    for at in 0..options.len() {
        for value in [0, 1, 2, 0x34, 0x7f, 0x80, 0xff] {
            let mut changed = options.clone();
            changed[at] = value;
            let _ = matrix_of(changed);
        }
        let _ = matrix_of(options[at..].to_vec());
        let _ = matrix_of(options[..at].to_vec());
    }
}

fn matrix_of(options: Vec<u8>) -> Result<(), String> {
    import(file(MATRIX, &[1, 4, 3], None, &[1, 4, 4], options)).map(|_| ()).map_err(|error| error.to_string())
}
