//! Operators that read images at computed places, or put values together to images: DeformConv, GridSample, Col2Im and
//! MaxUnpool, against loops over all elements.

use super::support::{
    import,
    onnx::{Attr, INT64, Model, number},
};
use texpool_ops::ops::reference;

/// Numbers from -1 to 1 that repeat late.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0).collect()
}

fn output(m: &mut Model, inputs: &[Vec<f32>]) -> Vec<f32> {
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    reference::outputs(&graph, inputs).unwrap().remove(0)
}

fn refusal(m: &mut Model) -> String {
    m.output("y");
    import(m.bytes()).unwrap_err().to_string()
}

fn is_near(actual: &[f32], expected: &[f32]) {
    assert_eq!(actual.len(), expected.len());
    for (i, (a, b)) in actual.iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-4, "{i}: {a}, not {b}");
    }
}

/// A plane of an image, with zeros outside.
struct Plane<'x> {
    pixels: &'x [f32],
    extents: [usize; 2],
}

impl Plane<'_> {
    fn at(&self, y: i64, x: i64) -> f32 {
        let [height, width] = self.extents.map(|extent| extent as i64);
        let is_inside = (0..height).contains(&y) && (0..width).contains(&x);
        if is_inside { self.pixels[(y * width + x) as usize] } else { 0.0 }
    }

    fn linear(&self, y: f32, x: f32) -> f32 {
        let (top, left) = (y.floor(), x.floor());
        let (down, right) = (y - top, x - left);
        let row = |y: i64| self.at(y, left as i64) * (1.0 - right) + self.at(y, left as i64 + 1) * right;
        row(top as i64) * (1.0 - down) + row(top as i64 + 1) * down
    }
}

/// Two items of four channels, in two groups of weights and two of offsets, with a stride, a dilation and borders.
#[test]
fn deformed_windows_read_between_pixels() {
    let (batch, channels, outputs, parts, groups) = (2, 4, 2, 2, 2);
    let ([height, width], [tall, wide]) = ([5usize, 6usize], [2usize, 3usize]);
    let ([rows, columns], taps) = ([3usize, 3usize], tall * wide);
    let x = values(batch * channels * height * width, 1);
    let weights = values(outputs * channels / groups * taps, 2);
    let offsets = values(batch * parts * taps * 2 * rows * columns, 3);
    let mask = values(batch * parts * taps * rows * columns, 4);
    let bias = [0.5, -1.0];
    let mut m = Model::new();
    m.input("x", &[2, 4, 5, 6]);
    m.floats("w", &[2, 2, 2, 3], &weights);
    m.input("offsets", &[2, 24, 3, 3]);
    m.floats("bias", &[2], &bias);
    m.input("mask", &[2, 12, 3, 3]);
    let attributes = [
        ("group", Attr::Int(2)),
        ("offset_group", Attr::Int(2)),
        ("strides", Attr::Ints(vec![2, 2])),
        ("dilations", Attr::Ints(vec![1, 2])),
        ("pads", Attr::Ints(vec![1, 2, 0, 1])),
    ];
    m.node("DeformConv", &["x", "w", "offsets", "bias", "mask"], &["y"], &attributes);
    let mut expected = Vec::new();
    for n in 0..batch {
        for o in 0..outputs {
            for place in 0..rows * columns {
                let (row, column) = (place / columns, place % columns);
                let mut sum = bias[o];
                for i in 0..channels / groups {
                    let c = o * (channels / groups) + i;
                    let part = n * parts + c / (channels / parts);
                    let pixels = &x[(n * channels + c) * height * width..][..height * width];
                    let plane = Plane { pixels, extents: [height, width] };
                    for tap in 0..taps {
                        let offset = |axis| offsets[((part * taps + tap) * 2 + axis) * rows * columns + place];
                        let y = (2 * row + tap / wide) as f32 - 1.0 + offset(0);
                        let at = (2 * column + tap % wide * 2) as f32 - 2.0 + offset(1);
                        let share = mask[(part * taps + tap) * rows * columns + place];
                        sum += weights[(o * channels / groups + i) * taps + tap] * share * plane.linear(y, at);
                    }
                }
                expected.push(sum);
            }
        }
    }
    is_near(&output(&mut m, &[x, offsets, mask]), &expected);
}

#[test]
fn deformed_windows_need_offsets_for_each_tap() {
    let mut m = Model::new();
    m.input("x", &[1, 1, 3, 3]);
    m.floats("w", &[1, 1, 2, 2], &[1.0; 4]);
    m.input("offsets", &[1, 4, 2, 2]);
    m.node("DeformConv", &["x", "w", "offsets"], &["y"], &[]);
    let refused = refusal(&mut m);
    assert!(refused.contains("its offsets are [1, 4, 2, 2], not [1, 8, 2, 2]"), "{refused}");
    let mut m = Model::new();
    m.input("x", &[1, 1, 3]);
    m.floats("w", &[1, 1, 2], &[1.0; 2]);
    m.input("offsets", &[1, 2, 2]);
    m.node("DeformConv", &["x", "w", "offsets"], &["y"], &[]);
    let refused = refusal(&mut m);
    assert!(refused.contains("only images are supported"), "{refused}");
}

/// Blocks of two items overlap, leave gaps and hang over a border.
#[test]
fn blocks_are_added_up_where_they_overlap() {
    let ([height, width], [tall, wide]) = ([4usize, 5usize], [2usize, 2usize]);
    let [down, across] = [4usize, 3usize];
    let (channels, taps, blocks) = (2, tall * wide, down * across);
    let x = values(2 * channels * taps * blocks, 5);
    let mut m = Model::new();
    m.input("x", &[2, (channels * taps) as i64, blocks as i64]);
    m.ints("image", &[4, 5]);
    m.ints("block", &[2, 2]);
    let attributes = [
        ("strides", Attr::Ints(vec![1, 2])),
        ("dilations", Attr::Ints(vec![2, 1])),
        ("pads", Attr::Ints(vec![1, 1, 1, 0])),
    ];
    m.node("Col2Im", &["x", "image", "block"], &["y"], &attributes);
    let mut expected = vec![0.0; 2 * channels * height * width];
    for (i, value) in x.iter().enumerate() {
        let (block, tap, plane) = (i % blocks, i / blocks % taps, i / blocks / taps);
        let y = (block / across + tap / wide * 2).wrapping_sub(1);
        let at = (block % across * 2 + tap % wide).wrapping_sub(1);
        if y < height && at < width {
            expected[(plane * height + y) * width + at] += value;
        }
    }
    is_near(&output(&mut m, &[x]), &expected);
    let mut m = Model::new();
    m.input("x", &[1, 4, 5]);
    m.ints("image", &[4, 5]);
    m.ints("block", &[2, 2]);
    m.node("Col2Im", &["x", "image", "block"], &["y"], &[]);
    let refused = refusal(&mut m);
    assert!(refused.contains("[1, 4, 5] are no blocks of [2, 2] for an image of [4, 5]"), "{refused}");
}

/// Returns the weights of the four pixels around a place that is `part` of a pixel behind the second one.
fn cubic(part: f32) -> [f32; 4] {
    [1.0 + part, part, 1.0 - part, 2.0 - part].map(|d| match d {
        d if d <= 1.0 => (1.25 * d - 2.25) * d * d + 1.0,
        d => ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0,
    })
}

/// Returns the pixel that lies at a place outside an axis: its border, or its reflection.
fn within(place: i64, extent: usize, padding: &str, align_corners: bool) -> Option<usize> {
    let (extent, mut place) = (extent as i64, place);
    match padding {
        "border" => return Some(place.clamp(0, extent - 1) as usize),
        "reflection" => {
            while !(0..extent).contains(&place) {
                let ends = if align_corners { [0, 2 * (extent - 1)] } else { [-1, 2 * extent - 1] };
                place = ends[usize::from(place >= extent)] - place;
            }
        }
        _ => {}
    }
    (0..extent).contains(&place).then_some(place as usize)
}

#[test]
fn images_are_sampled_by_cubic_functions() {
    let ([height, width], points) = ([4usize, 5usize], 6);
    for padding in ["zeros", "border", "reflection"] {
        for align_corners in [false, true] {
            let (x, grid) = (values(2 * 3 * height * width, 6), values(2 * points * 2, 7));
            let grid: Vec<f32> = grid.iter().map(|place| place * 1.4).collect();
            let mut m = Model::new();
            m.input("x", &[2, 3, 4, 5]);
            m.input("grid", &[2, 2, 3, 2]);
            let attributes = [
                ("mode", Attr::Text("cubic")),
                ("padding_mode", Attr::Text(padding)),
                ("align_corners", Attr::Int(i64::from(align_corners))),
            ];
            m.node("GridSample", &["x", "grid"], &["y"], &attributes);
            let pixel = |place: f32, extent: usize| match align_corners {
                true => (place + 1.0) / 2.0 * (extent - 1) as f32,
                false => ((place + 1.0) * extent as f32 - 1.0) / 2.0,
            };
            let mut expected = Vec::new();
            for plane in 0..6 {
                for point in 0..points {
                    let place = &grid[(plane / 3 * points + point) * 2..][..2];
                    let (across, down) = (pixel(place[0], width), pixel(place[1], height));
                    let (by_row, by_column) = (cubic(down - down.floor()), cubic(across - across.floor()));
                    let mut sum = 0.0;
                    for tap in 0..16 {
                        let y = within(down.floor() as i64 + tap as i64 / 4 - 1, height, padding, align_corners);
                        let at = within(across.floor() as i64 + tap as i64 % 4 - 1, width, padding, align_corners);
                        if let (Some(y), Some(at)) = (y, at) {
                            sum += by_row[tap / 4] * by_column[tap % 4] * x[(plane * height + y) * width + at];
                        }
                    }
                    expected.push(sum);
                }
            }
            is_near(&output(&mut m, &[x, grid]), &expected);
        }
    }
}

/// Two volumes of two channels, at places beside and between their voxels.
#[test]
fn volumes_are_sampled_between_voxels() {
    let ([depth, height, width], points) = ([3usize, 2usize, 4usize], 4);
    for padding in ["zeros", "border"] {
        let (x, grid) = (values(2 * 2 * depth * height * width, 8), values(2 * points * 3, 9));
        let grid: Vec<f32> = grid.iter().map(|place| place * 1.3).collect();
        let mut m = Model::new();
        m.input("x", &[2, 2, 3, 2, 4]);
        m.input("grid", &[2, 1, 2, 2, 3]);
        m.node("GridSample", &["x", "grid"], &["y"], &[("padding_mode", Attr::Text(padding))]);
        let mut expected = Vec::new();
        for volume in 0..4 {
            for point in 0..points {
                let place = &grid[(volume / 2 * points + point) * 3..][..3];
                let extents = [width, height, depth];
                let at: [f32; 3] = std::array::from_fn(|a| ((place[a] + 1.0) * extents[a] as f32 - 1.0) / 2.0);
                let mut sum = 0.0;
                for corner in 0..8usize {
                    let behind = [corner & 1, corner >> 1 & 1, corner >> 2];
                    let mut share = 1.0;
                    let voxel: [Option<usize>; 3] = std::array::from_fn(|a| {
                        let part = at[a] - at[a].floor();
                        share *= if behind[a] == 1 { part } else { 1.0 - part };
                        within(at[a].floor() as i64 + behind[a] as i64, extents[a], padding, false)
                    });
                    if let [Some(column), Some(row), Some(plane)] = voxel {
                        sum += share * x[((volume * depth + plane) * height + row) * width + column];
                    }
                }
                expected.push(sum);
            }
        }
        is_near(&output(&mut m, &[x, grid]), &expected);
    }
    let mut m = Model::new();
    m.input("x", &[1, 1, 2, 2, 2]);
    m.input("grid", &[1, 1, 1, 1, 3]);
    m.node("GridSample", &["x", "grid"], &["y"], &[("mode", Attr::Text("cubic"))]);
    let refused = refusal(&mut m);
    assert!(refused.contains("volumes without cubic functions"), "{refused}");
}

/// Maxima of two items, each with indices of its own, and with a border that the pool had.
#[test]
fn maxima_return_to_their_places() {
    let indices = [5i64, 2, 8, 11, 12, 15, 20, 23];
    let mut m = Model::new();
    m.input("x", &[2, 1, 2, 2]);
    m.raw_input("indices", INT64, &[2, 1, 2, 2].map(|n| number(1, n)));
    let attributes = |stride| {
        [
            ("kernel_shape", Attr::Ints(vec![2, 2])),
            ("strides", Attr::Ints(vec![stride, stride])),
            ("pads", Attr::Ints(vec![0, 0, 1, 0])),
        ]
    };
    m.node("MaxUnpool", &["x", "indices"], &["y"], &attributes(2));
    let mut refused = m.clone();
    let x = values(8, 10);
    let mut expected = vec![0.0; 24];
    for (&index, &value) in indices.iter().zip(&x) {
        expected[index as usize] = value;
    }
    assert_eq!(output(&mut m, &[x, indices.map(|index| index as f32).to_vec()]), expected);
    refused.nodes.clear();
    refused.node("MaxUnpool", &["x", "indices"], &["y"], &attributes(1));
    let refused = refusal(&mut refused);
    assert!(refused.contains("windows of 2 at a distance of 1, which overlap"), "{refused}");
}
